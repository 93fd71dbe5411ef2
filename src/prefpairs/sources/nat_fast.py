"""The fast reader of NeMo Agent Toolkit items whose outputs are text and scores are numbers.

msgspec fills the types below and skips the rest of the item. Whatever they do not expect is an
error, and the item is left to the general reader in nat.py. Both find the same in an item:
tests/laws/test_nat_fast_reader.py. (20 candidates in 44 KB take 70 us instead of 178; 40 of the 70
are decoding and checking the UTF-8 of what is skipped.)
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from prefpairs.errors import BadRecord
from prefpairs.fields.make_candidate import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode_part, encode
from prefpairs.model.message import Message, Text, asks_something, is_messages, read_messages
from prefpairs.model.number import LARGEST_SCORE, round_score
from prefpairs.model.tool_calls import number_calls

_LARGEST_INDEX = 2**53
"""Up to this number, every integer is exact as a float."""

_LEVELS_OF_INPUT = 5
"""Item, steps, step, payload, data."""


class _Data(Struct, gc=False):
    input: Raw = Raw(b"null")
    output: Any = None
    turn_id: str | None = None
    score: Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)] | None = None
    candidate_index: Annotated[int, Meta(ge=-_LARGEST_INDEX, le=_LARGEST_INDEX)] | None = None


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


def read(record: bytes, step_name: str) -> RowOutcome | None:
    """What became of an item, if all its candidates are kept; else None."""
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
            asked, prompt = given, _prompt_of(given)
        fair = without_answer(prompt, words, noticed)
        if fair is None or not (fair is checked or asks_something(fair)):
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


def _prompt_of(given: bytes) -> Text | None:
    """The prompt of a candidate, usually a plain chat."""
    try:
        return [{"role": turn.role, "content": turn.content} for turn in _chat_of(given)]
    except msgspec.DecodeError:
        prompt = prompt_of(decode_part(given, _LEVELS_OF_INPUT))
        return None if prompt is None else number_calls(prompt, "")[0]


def prompt_of(given: Any) -> Text | None:
    """A prompt as recorded: text, a chat, or else JSON."""
    if given is None or given in ([], {}):
        return None
    if isinstance(given, str):
        return given
    if is_messages(given):
        return read_messages(given, "data.input")
    return encode(given).decode()


def without_answer(prompt: Text | None, response: Text | None, noticed: list[str]) -> Text | None:
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
