"""NeMo Gym rollouts: each line is an agent's response in one run of one task.

msgspec fills the types below and skips the rest of a row. A field that does not fit its type is an
error; such a row is decoded as a whole and read by the functions for any shape. What is read is
the same: tests/laws/test_nemo_gym_reader.py.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any, NamedTuple, cast

import msgspec
from msgspec import Meta, Raw, Struct, field

from prefpairs.errors import BadField, BadRecord
from prefpairs.fields.make_candidate import Answer, add_candidate, split_turns
from prefpairs.fields.native_reading import native_reading
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.responses_api import (
    UsualItem,
    chat_of,
    chat_of_usual,
    prompt_of,
    question_of,
    tools_of,
)
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model import memory_guard
from prefpairs.model.candidate import LARGEST_INDEX, Candidate, read_index
from prefpairs.model.identity import (
    canonical_json,
    digest_prompt,
    digest_response,
    group_of_prompt,
)
from prefpairs.model.json_codec import decode_object, refuse_deeper
from prefpairs.model.message import Message, Text, asks_something
from prefpairs.model.number import LARGEST_SCORE, round_score
from prefpairs.model.path import look_up
from prefpairs.model.tool_calls import number_calls
from prefpairs.sources.base import FastReader, IndexedRow, Native, RecordReader, Source

_PLACEHOLDER = b"<PLACEHOLDER"
_FEW = 4
_SHORT = 15
"""The length of digests: Python stores 15 bytes in 48, and more than that in 64."""

Tools = list[Any] | None


def looks_like(record: bytes) -> bool:
    """Whether a record is a rollout, or the placeholder of one."""
    if record.startswith(_PLACEHOLDER):
        return True
    row = decode_object(record)
    return row is not None and isinstance(row.get("responses_create_params"), dict)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rollouts of one file are read."""
    reading = native_reading(options)
    if not is_default_reading(options):
        native = None if reading is None else Native("NemoGym", about=(reading,))
        return RecordReader(lambda record: read_any_shape(record, options, label), native=native)

    def read(record: bytes) -> RowOutcome:
        return read_usual(record, options) or read_any_shape(record, options, label)

    native = None if reading is None else Native("NemoGym", candidate_of_core, (reading,))
    usual = FastReader(
        lambda records: [_indexed(record, options) for record in records],
        lambda record: read_usual(record, options),
        read_question,
    )
    return RecordReader(read, fast_reader=usual, native=native)


# Rows of any shape -----------------------------------------------------------------------------


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    """The outcome of a row of any shape."""
    if record.startswith(_PLACEHOLDER) and "placeholder" not in options.keep_rows:
        return RowOutcome(row_lost="placeholder")
    row, reading = begin_row(record)
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
    drop_unless_kept(
        options,
        masked=row.get("mask_sample") is True
        or look_up(row, "instance_config.mask_sample") is True,
        failed=row.get("_ng_failure_class") not in (None, ""),
        incomplete=isinstance(response, dict) and _is_cut_off(response),
    )


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


# Rows of the usual shape -----------------------------------------------------------------------


class _Response(Struct, gc=False):
    output: list[UsualItem]
    incomplete_details: None = None


class _Agent(Struct, gc=False):
    name: str | None = None


class _Config(Struct, gc=False):
    mask_sample: bool | None = None


class _Asking(Struct, gc=False):
    request: Raw = field(name="responses_create_params")
    agent: Raw = field(name="agent_ref", default=Raw(b"null"))
    task: Raw = field(name="_ng_task_index", default=Raw(b"null"))


class _Row(_Asking, gc=False, kw_only=True):
    response: _Response
    reward: Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
    index: Annotated[int, Meta(ge=-LARGEST_INDEX, le=LARGEST_INDEX)] | None = field(
        name="_ng_rollout_index", default=None
    )
    failure: None = field(name="_ng_failure_class", default=None)
    mask_sample: bool | None = None
    config: _Config | None = field(name="instance_config", default=None)
    config_mask: None = field(name="instance_config.mask_sample", default=None)


_row_of = msgspec.json.Decoder(_Row).decode
_asking_of = msgspec.json.Decoder(_Asking).decode
_agent_of = msgspec.json.Decoder(_Agent | None).decode
_task_of = msgspec.json.Decoder(int | str | None).decode


class _Question(NamedTuple):
    """What rollouts of one task share."""

    given: list[Message]
    """The prompt with the ids of calls as they are in the row."""
    prompt: list[Message]
    tools: Tools
    group: str


def read_usual(record: bytes, options: ReadOptions) -> RowOutcome | None:
    """The candidate in a row of the usual shape; None for any other row, and for losses."""
    if len(record) > memory_guard.CHECKED_FROM:
        memory_guard.check_values(record)
    row = _usual(record)
    if row is None or (answer := _answer_in(row, options)) is None:
        return None
    if (question := _question_in(row)) is None:
        return None
    response, noticed = answer
    _, prompt, tools, group = question
    score = round_score(row.reward)
    candidate = Candidate(group, prompt, response, score, row.index, "", tools)
    return RowOutcome([candidate], [1], noticed=noticed)


def read_question(record: bytes) -> Candidate | None:
    """A candidate with the question of an indexed row, and no answer."""
    question = _question_in(_asking_of(record))
    return question and Candidate(question.group, question.prompt, [], 0.0, tools=question.tools)


def _indexed(record: bytes, options: ReadOptions) -> IndexedRow | None:
    """What the index stores of a row of the usual shape; None for any other row, and for losses."""
    row = _usual(record)
    if row is None or (answer := _answer_in(row, options)) is None:
        return None
    response, noticed = answer
    digest = digest_response(response)
    question = sha256(b"\0".join((row.request, row.agent, row.task))).digest()[:_SHORT]
    return question, round_score(row.reward), row.index, digest, tuple(noticed)


def _usual(record: bytes) -> _Row | None:
    try:
        row = _row_of(record)
        if not record.isascii():
            record.decode()  # msgspec does not validate the bytes that it skips
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    masked = row.mask_sample or (row.config is not None and row.config.mask_sample)
    return None if masked else row


def _answer_in(row: _Row, options: ReadOptions) -> tuple[list[Message], list[str]] | None:
    """The answer in a row, if it can be used, and what has to be noticed."""
    turns = chat_of_usual(row.response.output)
    if not turns or turns[0]["role"] != "assistant":
        return None
    if len(turns) == 1 and "tool_calls" not in (turn := turns[0]):
        words = turn["content"]
        if words and not words.isspace() and not (">" in words and "think>" in words):
            return turns, []
    asked: list[Message] = []
    if _may_call(bytes(row.request)):  # its calls are numbered before those of the answer
        if (question := _question_in(row)) is None:
            return None
        asked = question.given
    noticed: list[str] = []
    try:
        _, answer = split_turns(asked, turns, options, _BARE, noticed)
    except Unusable:
        return None
    return cast("list[Message]", answer), noticed


_BARE = Answer(None, None, None, ())

_CALL = b"_call"
_NO_CALLS = (b'"max_tool_calls"', b'"parallel_tool_calls"')


def _may_call(request: bytes) -> bool:
    """Whether there may be a call in a prompt: all keys and types of calls contain `_call`."""
    others = sum([request.count(key) for key in _NO_CALLS])
    return request.count(_CALL) > others or b"\\u00" in request  # an escape in a key


def _question_in(row: _Asking) -> _Question | None:
    """The question of a row; None if it asks nothing, or in an unusual way."""
    request, agent, task = bytes(row.request), bytes(row.agent), bytes(row.task)
    try:
        question = _question_of(request, agent, task)
    except (msgspec.DecodeError, RecursionError, BadRecord, Unusable):
        return None
    # An answer may repeat what the model said at the beginning of the prompt.
    asks = asks_something(question.prompt) and question.prompt[0]["role"] != "assistant"
    return question if asks else None


@lru_cache(_FEW)
def _question_of(request: bytes, agent: bytes, task: bytes) -> _Question:
    given, tools = question_of(request)
    refuse_deeper([[given, tools]], request)
    prompt = cast("list[Message]", number_calls(given, "")[0])
    return _Question(given, prompt, tools, _group_of(prompt, agent, task))


def _group_of(prompt: list[Message], agent: bytes, task: bytes) -> str:
    name, number = _agent_of(agent), _task_of(task)
    if number is None:
        return group_of_prompt(digest_prompt(prompt))
    return canonical_json([name and name.name, number]).decode()


# Rows that the native core has read ------------------------------------------------------------

_ReadByCore = tuple[
    tuple[bytes, bytes, bytes], list[Message], list[Message], float, int | None, bytes, bool
]


def candidate_of_core(read: _ReadByCore, origin: str) -> tuple[Candidate, bytes, list[str]] | None:
    """The candidate of a row that the native core has read; prompt and tools are read here."""
    asked, leading, response, score, index, digest, cut = read
    try:
        question = _question_of(*asked)
        if leading:
            prompt = [*question.prompt, *leading]
            question = question._replace(prompt=prompt, group=_group_of(prompt, *asked[1:]))
    except (msgspec.DecodeError, RecursionError, BadRecord, Unusable):
        return None
    prompt = question.prompt
    if not asks_something(prompt) or prompt[0]["role"] == "assistant":
        return None
    noticed = ["leading_turn_moved"] * bool(leading) + ["trailing_turn_cut"] * cut
    candidate = Candidate(question.group, prompt, response, score, index, origin, question.tools)
    return candidate, digest, noticed


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
)
