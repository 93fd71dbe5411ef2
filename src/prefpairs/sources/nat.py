"""NeMo Agent Toolkit: candidates are TTC_END steps, which were scored at test time.

Three shapes: items of `workflow_output.json` with their steps, single steps, and single payloads
of steps. Ids keep their JSON type: example 1 and example "1" are two examples.
"""

from collections.abc import Iterator, Sequence
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
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode, decode_counting, encode, finite
from prefpairs.model.message import Text, is_messages, read_messages
from prefpairs.model.number import read_score
from prefpairs.sources import nat_fast
from prefpairs.sources.base import Native, RecordReader, Source
from prefpairs.sources.nat_fast import prompt_of, without_answer

_STEP_LISTS = ("intermediate_steps", "trajectory")


def looks_like(record: bytes) -> bool:
    """Whether a record is an item with steps, a step, or the payload of one."""
    try:
        row = decode(record)
    except NotJson:
        return False
    if not isinstance(row, dict):
        return False
    steps = row.get("trajectory")
    of_steps = isinstance(steps, list) and any(map(_is_step, steps))
    return of_steps or _is_step(row) or isinstance(row.get("intermediate_steps"), list)


def _is_step(step: Any) -> bool:
    payload = step.get("payload", step) if isinstance(step, dict) else None
    return isinstance(payload, dict) and isinstance(payload.get("event_type"), str)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the items or steps of one file are read."""
    if not is_default_reading(options):
        return RecordReader(lambda record: read_any_shape(record, options, label))

    def read(record: bytes) -> RowOutcome:
        plain = nat_fast.read(record, options.step_name)
        return plain or read_any_shape(record, options, label)

    changed = options.context or options.ignore or options.unrender is not None
    native = None if changed else Native("Nat", about=(options.step_name,))
    return RecordReader(read, native=native)


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    """What became of an item or a step of any shape."""
    value, replaced = decode_counting(record)
    row = expect_object(value)
    reading = RowOutcome(noticed=["surrogate_replaced"] * replaced)
    steps = _Steps(row, reading)
    names = []
    for payload in _ended_steps(row, reading):
        names.append(payload.get("name"))
        if payload.get("name") == options.step_name:
            try:
                answer = steps.answer(payload)
            except Unusable as loss:
                reading.lost.append(loss.reason)
            else:
                add_candidate(answer, options, label, reading)
    if not names:
        reading.row_lost = "no_ttc_steps"
    elif options.step_name not in names:
        reading.row_lost = "other_step_name"
    return reading


def _ended_steps(row: dict[str, Any], reading: RowOutcome) -> Iterator[dict[str, Any]]:
    """The payloads of the TTC_END steps in a row of any shape."""
    steps = next((row[key] for key in _STEP_LISTS if isinstance(row.get(key), list)), None)
    if steps is None:
        steps = [row]
    elif "id" in row:
        reading.item = digest("item", encode(row["id"]))
    for step in steps:
        payload = step.get("payload", step) if isinstance(step, dict) else None
        if isinstance(payload, dict) and payload.get("event_type") == "TTC_END":
            yield payload


class _Steps:
    """The steps of one row. Candidates of one turn share a prompt, which is read once."""

    def __init__(self, row: dict[str, Any], reading: RowOutcome) -> None:
        self._row = row
        self._reading = reading
        self._given = b""
        self._prompt: Text | None = None

    def answer(self, payload: dict[str, Any]) -> Answer:
        """The candidate of one step."""
        data = payload.get("data")
        if not isinstance(data, dict):
            raise Unusable("no_step_data")
        turn_id = _turn_id(data.get("turn_id"))
        response = _response(data.get("output"))
        prompt = without_answer(self._asked(data.get("input")), response, self._reading.noticed)
        meta = {"example_id": finite(self._row.get("id")), "turn_id": turn_id}
        return Answer(
            row=payload,
            prompt=prompt,
            response=response,
            scores=[("data.score", 1.0, _score(data.get("score")))],
            task=[self._row.get("id"), turn_id],
            index=_index(data.get("candidate_index")),
            meta={key: value for key, value in meta.items() if value is not None},
        )

    def _asked(self, given: Any) -> Text | None:
        as_written = encode(given)  # to Python, 1 and true are equal
        if as_written != self._given:
            self._prompt = prompt_of(given)
            self._given = as_written
        return self._prompt


def _turn_id(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise Unusable("no_turn_id")
    return value


def _score(value: Any) -> float | None:
    """The score; numeric strings count, as in the toolkit's own models."""
    if value is None:
        return None
    try:
        return read_score(value, "data.score", cast=True)
    except BadField:
        raise Unusable("no_score") from None


def _index(value: Any) -> int | None:
    """A whole number in any spelling ("3", 2.0), as the toolkit's own models read it."""
    if value is None:
        return None
    try:
        number = float(value)
        index = int(value) if isinstance(value, (int, str)) else int(number)
    except (TypeError, ValueError, OverflowError):
        raise Unusable("bad_index") from None
    if index != number or abs(number) >= 2**63:
        raise Unusable("bad_index")
    return index


def _response(output: Any) -> Text | None:
    """A response as text or messages; any other structure becomes JSON, not a Python repr."""
    if output is None or output in ([], {}):
        return ""
    if isinstance(output, str):
        return output
    if is_messages(output):
        return read_messages(output, "data.output")
    return encode(output).decode()


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_ttc_steps": "NAT writes TTC steps only if its configuration sets "
        "eval.general.output.workflow_output_step_filter: [TTC_END]",
        "other_step_name": "--step-name NAME selects steps with another name",
    },
)
