"""Rows that are pairs: written by `prefpairs pair`, or with the same fields."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prefpairs.fields.answer import expect_object
from prefpairs.model.json_codec import decode_counting, refuse_deeper
from prefpairs.model.message import Text, asks_something, says_something
from prefpairs.model.pair import Digests, Pair, other_prompt, pair_of

Row = dict[str, Any]

_FIELDS = frozenset(Pair._fields)


@dataclass(slots=True)
class PairRowOutcome:
    """What became of one row: a pair, and the reason why it cannot be used, if there is one."""

    pair: Pair
    digests: Digests
    other_prompt: bytes
    lost: str | None
    noticed: list[str] = field(default_factory=list)


def read_pair(record: bytes, unwrap: Callable[[Row], Row] | None = None) -> PairRowOutcome:
    """The pair in a row. A pair that cannot be trained on is lost, whoever made it.

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
    refuse_deeper([*pair], record)
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
