"""NeMo Gym rollouts: each line is an agent's response in one run of one task."""

from collections.abc import Sequence
from typing import Any

from prefpairs.errors import BadField, NotJson
from prefpairs.fields.make_candidate import (
    Answer,
    RowOutcome,
    Unusable,
    add_candidate,
    expect_object,
)
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.responses_api import chat_of, prompt_of, tools_of
from prefpairs.model.candidate import read_index
from prefpairs.model.json_codec import decode, decode_counting
from prefpairs.model.message import Text
from prefpairs.model.path import look_up
from prefpairs.sources import nemo_gym_fast
from prefpairs.sources.base import FastReader, Native, RecordReader, Source

_PLACEHOLDER = b"<PLACEHOLDER"


def looks_like(record: bytes) -> bool:
    """Whether a record is a rollout, or the placeholder of one."""
    if record.startswith(_PLACEHOLDER):
        return True
    try:
        row = decode(record)
    except NotJson:
        return False
    return isinstance(row, dict) and isinstance(row.get("responses_create_params"), dict)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rollouts of one file are read."""
    if not is_default_reading(options):
        return RecordReader(lambda record: read_any_shape(record, options, label))

    def read(record: bytes) -> RowOutcome:
        plain = nemo_gym_fast.read(record)
        return RowOutcome([plain[0]], [1]) if plain else read_any_shape(record, options, label)

    # Paths that options name are looked for in the rows that the core would read.
    looked_for = options.context or options.ignore
    native = None if looked_for else Native("NemoGym", nemo_gym_fast.candidate_of_core)
    plain = FastReader(nemo_gym_fast.index_rows, nemo_gym_fast.read, nemo_gym_fast.read_question)
    return RecordReader(read, fast_reader=plain, native=native)


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    """What became of a row of any shape."""
    if record.startswith(_PLACEHOLDER) and "placeholder" not in options.keep_rows:
        return RowOutcome(row_lost="placeholder")
    value, replaced = decode_counting(record)
    row = expect_object(value)
    reading = RowOutcome(noticed=["surrogate_replaced"] * replaced)
    try:
        _check_fit(row, options)
        add_candidate(_answer(row), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _check_fit(row: dict[str, Any], options: ReadOptions) -> None:
    """Raise the first reason why this rollout should not be trained on.

    `failure_reason` is not one of them: verifiers set it as a verdict on good and bad answers.
    """
    response = row.get("response")
    unfit = {
        "masked": row.get("mask_sample") is True
        or look_up(row, "instance_config.mask_sample") is True,
        "failed": row.get("_ng_failure_class") not in (None, ""),
        "incomplete": isinstance(response, dict) and _is_cut_off(response),
    }
    for reason, applies in unfit.items():
        if applies and reason not in options.keep_rows:
            raise Unusable(reason)


def _is_cut_off(response: dict[str, Any]) -> bool:
    details = response.get("incomplete_details")
    return any(details.values()) if isinstance(details, dict) else bool(details)


def _answer(row: dict[str, Any]) -> Answer:
    params = row.get("responses_create_params")
    if not isinstance(params, dict):
        params = {}
    return Answer(
        row=row,
        prompt=prompt_of(params),
        response=_response(row),
        scores=[("reward", 1.0, row.get("reward"))],
        task=_task(row),
        index=read_index(row.get("_ng_rollout_index"), "_ng_rollout_index"),
        tools=tools_of(params),
    )


def _task(row: dict[str, Any]) -> list[Any] | None:
    task_index = row.get("_ng_task_index")
    if task_index is None:
        return None
    agent = row.get("agent_ref")
    return [agent.get("name") if isinstance(agent, dict) else None, task_index]


def _response(row: dict[str, Any]) -> Text | None:
    """`response.output`, or the top-level `output` of early documentation."""
    response = row.get("response")
    output = response.get("output") if isinstance(response, dict) else row.get("output")
    if output is None or isinstance(output, str):
        return output
    if not isinstance(output, list):
        raise BadField("response.output", output, "a list of items")
    if output and all(isinstance(step, list) for step in output):
        output = _one_transcript(output)
    return chat_of(output, "response.output")


def _one_transcript(steps: list[list[Any]]) -> list[Any]:
    """One list of items from one list per step.

    If each step repeats all items before it, the last step is the whole list.
    """
    whole: list[Any] = []
    for step in steps:
        if step[: len(whole)] == whole:
            whole = [*step]
        else:
            whole += step
    return whole


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
)
