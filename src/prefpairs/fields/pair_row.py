"""Rows that are pairs: written by `prefpairs pair`, or with the same fields.

`read_pair_fast` reads rows as prefpairs writes them and leaves all others to `read_pair`. Both find
the same in a row: tests/laws/test_pair_fast_reader.py. (A row of 4 KB takes 12 us instead of 24.)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from prefpairs.fields.row_outcome import expect_object
from prefpairs.model.candidate import LARGEST_INDEX
from prefpairs.model.identity import (
    NO_TOOLS,
    digest_prompt,
    digest_response,
    digest_turn,
    group_of_prompt,
    pair_id,
)
from prefpairs.model.json_codec import decode_counting, refuse_deeper
from prefpairs.model.message import Message, Text, asks_something, says_something
from prefpairs.model.number import LARGEST_SCORE, gap_between, round_score
from prefpairs.model.pair import Digests, Pair, other_prompt, pair_of

Row = dict[str, Any]

_FIELDS = frozenset(Pair._fields)


@dataclass(slots=True)
class PairRowOutcome:
    """The outcome of one row: a pair, and the reason why it cannot be used, if there is one."""

    pair: Pair
    digests: Digests
    other_prompt: bytes
    lost: str | None
    noticed: list[str] = field(default_factory=list)


def read_pair(record: bytes, unwrap: Callable[[Row], Row] | None = None) -> PairRowOutcome:
    """The pair in a row. A pair that cannot be trained on is dropped, whichever program wrote it.

    `unwrap` converts a row from a trainer's format.
    """
    value, replaced = decode_counting(record)
    row = expect_object(value)
    if unwrap is not None:
        row = unwrap(row)
    pair, digests = pair_of(row)
    noticed = ["surrogate_replaced"] * replaced
    if not _FIELDS.issuperset(row):
        noticed.append("moved_to_meta")
    refuse_deeper([[*pair]], record)
    if row.get("id") not in (None, pair.id):
        noticed.append("id_renewed")
    if pair.gap is not None and pair.gap <= 0:
        noticed.append("not_preferred")
    return PairRowOutcome(pair, digests, other_prompt(pair), _why_unfit(pair, digests), noticed)


def _why_unfit(pair: Pair, digests: Digests) -> str | None:
    if not asks_something(pair.prompt):
        return "no_prompt"
    if not (_answers(pair.chosen) and _answers(pair.rejected)):
        return "empty_answer"
    return sides_equal(digests)


def sides_equal(digests: Digests) -> str | None:
    """The reason why a pair of two equal answers cannot be used."""
    return "sides_equal" if digests.chosen == digests.rejected else None


def _answers(text: Text) -> bool:
    """Whether the model says or calls something in an answer."""
    if isinstance(text, str):
        return bool(text.strip())
    return any(says_something(turn) for turn in text if turn["role"] == "assistant")


_Score = Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)] | None
_Index = Annotated[int, Meta(ge=-LARGEST_INDEX, le=LARGEST_INDEX)] | None


class _Turn(Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    content: str
    reasoning_content: str | None = None


_Chat = Annotated[list[_Turn], Meta(min_length=1)]


class _Row(Struct, gc=False, forbid_unknown_fields=True):
    id: str
    prompt: str | _Chat
    chosen: str | _Chat
    rejected: str | _Chat
    group: str | None = None
    chosen_score: _Score = None
    rejected_score: _Score = None
    gap: _Score = None
    chosen_index: _Index = None
    rejected_index: _Index = None
    chosen_origin: str | None = None
    rejected_origin: str | None = None
    tools: None = None
    chosen_tokens: None = None
    rejected_tokens: None = None
    meta: dict[str, str | int | float | bool | None] | None = None


_row_of = msgspec.json.Decoder(_Row).decode


def read_pair_fast(record: bytes) -> PairRowOutcome | None:
    """The pair of a row in the usual shape, if its id is that of its content; else None."""
    try:
        row = _row_of(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not type(row.prompt) is type(row.chosen) is type(row.rejected):
        return None
    prompt = _text(row.prompt)
    (chosen, better_digest), (rejected, worse_digest) = (
        _answer_and_digest(row.chosen),
        _answer_and_digest(row.rejected),
    )
    if not (better_digest and worse_digest and asks_something(prompt)):
        return None
    digests = Digests(digest_prompt(prompt), NO_TOOLS, better_digest, worse_digest)
    if (name := pair_id(*digests)) != row.id:
        return None
    better, worse, gap = _number(row.chosen_score), _number(row.rejected_score), _number(row.gap)
    if better is not None and worse is not None:
        gap = gap_between(better, worse)
    pair = Pair(
        name,
        row.group or group_of_prompt(digests.prompt),
        prompt,
        chosen,
        rejected,
        better,
        worse,
        gap,
        row.chosen_index,
        row.rejected_index,
        row.chosen_origin or "",
        row.rejected_origin or "",
        meta=row.meta or None,
    )
    noticed = ["not_preferred"] if gap is not None and gap <= 0 else []
    other = other_prompt(pair) if pair.meta else b""
    return PairRowOutcome(pair, digests, other, sides_equal(digests), noticed)


def _text(text: str | list[_Turn]) -> Text:
    return text if isinstance(text, str) else [_message(turn) for turn in text]


def _message(turn: _Turn) -> Message:
    message: Message = {"role": turn.role, "content": turn.content}
    if turn.reasoning_content:
        message["reasoning_content"] = turn.reasoning_content
    return message


def _answer_and_digest(text: str | list[_Turn]) -> tuple[Text, bytes]:
    """An answer and its digest; no digest where the general reader must decide."""
    if isinstance(text, str):
        return text, b"" if not text or text.isspace() else digest_response(text)
    turn = text[0]
    words, thoughts = turn.content, turn.reasoning_content
    if len(text) > 1 or turn.role != "assistant" or not words or words.isspace():
        return [], b""
    return [_message(turn)], digest_turn(words, thoughts or "")


def _number(number: float | None) -> float | None:
    return None if number is None else round_score(number)
