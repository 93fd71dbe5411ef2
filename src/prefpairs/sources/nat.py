"""NeMo Agent Toolkit: candidates are TTC_END steps, which were scored at test time.

Three shapes: items of `workflow_output.json` with their steps, single steps, and single payloads
of steps. Ids keep their JSON type: example 1 and example "1" are two examples.

Items whose outputs are text and scores are numbers are decoded into typed structs, which skip what
is not used. An item with anything else is decoded in full; what is read is the same:
tests/laws/test_nat_reader.py.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from prefpairs.errors import BadField, BadRecord
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.native_reading import native_reading
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode_object, decode_part, encode, finite
from prefpairs.model.message import (
    Message,
    Text,
    asks_something,
    is_messages,
    opens_thinking,
    read_messages,
)
from prefpairs.model.number import LARGEST_SCORE, read_score, round_score
from prefpairs.model.tool_calls import number_calls
from prefpairs.sources.base import Native, RecordReader, Source

_LARGEST_EXACT = 2**53
"""Up to this number, every integer is exact as a float."""

_LEVELS_OF_INPUT = 5
"""Item, steps, step, payload, data."""

_STEP_LISTS = ("intermediate_steps", "trajectory")


def looks_like(record: bytes) -> bool:
    """Whether a record is an item with steps, a step, or the payload of one."""
    row = decode_object(record)
    if row is None:
        return False
    steps = row.get("trajectory")
    of_steps = isinstance(steps, list) and any(map(_is_step, steps))
    return of_steps or _is_step(row) or isinstance(row.get("intermediate_steps"), list)


def _is_step(step: Any) -> bool:
    payload = step.get("payload", step) if isinstance(step, dict) else None
    return isinstance(payload, dict) and isinstance(payload.get("event_type"), str)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the items or steps of one file are read."""
    reading = native_reading(options)
    known = reading is not None and reading.group_by is None and not reading.scores
    native = Native("Nat", about=(reading, options.step_name)) if known else None
    if not is_default_reading(options):
        return RecordReader(lambda record: read_any_shape(record, options, label), native=native)

    def read(record: bytes) -> RowOutcome:
        usual = read_usual(record, options.step_name)
        return usual or read_any_shape(record, options, label)

    return RecordReader(read, native=native)


# Rows of any shape -----------------------------------------------------------------------------


def read_any_shape(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    """The outcome of an item or a step of any shape."""
    row, reading = begin_row(record)
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
        prompt = _without_answer(self._asked(data.get("input")), response, self._reading.noticed)
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
            self._prompt = _prompt_of(given)
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


def _prompt_of(given: Any) -> Text | None:
    """A prompt as recorded: text, a chat, or else JSON."""
    if given is None or given in ([], {}):
        return None
    if isinstance(given, str):
        return given
    if is_messages(given):
        return read_messages(given, "data.input")
    return encode(given).decode()


def _without_answer(prompt: Text | None, response: Text | None, noticed: list[str]) -> Text | None:
    """The prompt without the candidate's own answer at its end.

    The toolkit's tic-tac-toe example records prompts this way; they would give away the answer.
    """
    if not isinstance(prompt, list) or prompt[-1]["role"] != "assistant":
        return prompt
    if prompt[-1].get("tool_calls") or not _same_words(prompt[-1], response):
        return prompt
    noticed.append("prompt_held_answer")
    return prompt[:-1]


def _same_words(turn: Message, response: Text | None) -> bool:
    said = response[-1]["content"] if isinstance(response, list) and response else response
    content = turn["content"]
    return isinstance(said, str) and isinstance(content, str) and said.strip() == content.strip()


# Items of the usual shape ----------------------------------------------------------------------


class _Data(Struct, gc=False):
    input: Raw = Raw(b"null")
    output: Any = None
    turn_id: str | None = None
    score: Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)] | None = None
    candidate_index: Annotated[int, Meta(ge=-_LARGEST_EXACT, le=_LARGEST_EXACT)] | None = None


class _Payload(Struct, gc=False):
    event_type: str
    name: str | None = None
    data: _Data | None = None


class _Step(Struct, gc=False):
    payload: _Payload


class _Item(Struct, gc=False):
    id: int | str
    intermediate_steps: list[_Step]


class _Turn(Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    content: str


_item_of = msgspec.json.Decoder(_Item).decode
_chat_of = msgspec.json.Decoder(Annotated[list[_Turn], Meta(min_length=1)]).decode


def read_usual(record: bytes, step_name: str) -> RowOutcome | None:
    """The outcome of an item, if all its candidates are kept; else None."""
    try:
        item = _item_of(record)
        if not record.isascii():
            record.decode()  # msgspec does not validate the bytes that it skips
        return _reading_of(item, step_name)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadRecord):
        return None


def _reading_of(item: _Item, step_name: str) -> RowOutcome | None:
    kept: list[Candidate] = []
    noticed: list[str] = []
    asked, turn_id, group = b"", None, ""
    prompt: Text | None = None
    checked: Text | None = None
    meta: dict[str, Any] = {}
    for step in item.intermediate_steps:
        payload = step.payload
        if payload.event_type != "TTC_END" or payload.name != step_name:
            continue
        data = payload.data
        if data is None or data.turn_id is None or data.score is None:
            return None
        words = data.output
        if not isinstance(words, str) or not words or words.isspace():
            return None
        if ">" in words and "think>" in words:
            return None
        if data.turn_id != turn_id:
            turn_id = data.turn_id
            group = encode([item.id, turn_id]).decode()
            meta = {"example_id": item.id, "turn_id": turn_id}
        if (given := bytes(data.input)) != asked:
            asked, prompt = given, _usual_prompt_of(given)
        fair = _without_answer(prompt, words, noticed)
        if fair is None or not (fair is checked or _is_usual(fair)):
            return None
        checked = fair
        score = round_score(data.score)
        kept.append(
            Candidate(group, fair, words, score, data.candidate_index, "", None, None, meta)
        )
    if not kept:
        return None
    places = list(range(1, len(kept) + 1))
    return RowOutcome(kept, places, noticed=noticed, item=digest("item", encode(item.id)))


def _is_usual(prompt: Text) -> bool:
    """Whether a prompt asks something, and does not begin the answer's thinking."""
    return asks_something(prompt) and not opens_thinking(prompt)


def _usual_prompt_of(given: bytes) -> Text | None:
    """The prompt of a candidate, usually a plain chat."""
    try:
        return [{"role": turn.role, "content": turn.content} for turn in _chat_of(given)]
    except msgspec.DecodeError:
        prompt = _prompt_of(decode_part(given, _LEVELS_OF_INPUT))
        return None if prompt is None else number_calls(prompt, "")[0]


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
