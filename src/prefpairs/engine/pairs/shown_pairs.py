"""show: a few pairs out of many, in one pass that holds no more than those."""

import heapq
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from prefpairs.engine.inputs.row_reader import Rows, reading_rows
from prefpairs.engine.pairs.pairs_from_files import pair_readings
from prefpairs.errors import NotThere
from prefpairs.ledger import Ledger
from prefpairs.model.identity import draw
from prefpairs.model.message import flat_text
from prefpairs.model.pair import Pair
from prefpairs.plan import InputPlan

Worst = Literal["length-ratio", "gap"]

Key = Callable[[Pair], float]
"""What pairs are ordered by, smallest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPlan:
    """Which pairs are shown: the first ones, unless something else is asked for."""

    read: InputPlan
    most: int = sys.maxsize
    ids: Sequence[str] = ()
    """How the ids of the wanted pairs begin."""
    worst: Worst | None = None
    seed: int | None = None
    """Of the draw, if pairs are drawn."""


class Found(NamedTuple):
    """A pair, with its file and line."""

    place: str
    pair: Pair


def show(plan: ShowPlan, ledger: Ledger) -> Iterator[Found]:
    """The pairs of the plan, in the order in which they are shown."""
    shown = 0
    with reading_rows(plan.read, ledger) as rows, closing(_pairs(rows, ledger)) as pairs:
        for found in _chosen(pairs, plan):
            yield found
            shown += 1
    if not shown:
        raise NotThere("pair")


def _pairs(rows: Rows, ledger: Ledger) -> Generator[Found, None, None]:
    for source, readings in pair_readings(rows, ledger):
        for record, reading in readings:
            yield Found(f"{source.label}:{record.number}", reading.pair)


def _chosen(pairs: Iterable[Found], plan: ShowPlan) -> Iterable[Found]:
    if plan.ids:
        return islice(_with_ids(pairs, plan.ids), plan.most)
    key = _key_of(plan)
    if key is None:
        return islice(pairs, plan.most)
    # Ties are broken by ID, so the order of the input does not matter.
    return heapq.nsmallest(plan.most, pairs, lambda found: (key(found.pair), found.pair.id))


def _with_ids(pairs: Iterable[Found], ids: Sequence[str]) -> Iterator[Found]:
    """The pairs whose ids begin so; an error at the end if there is none for one of them."""
    lengths = {len(begin) for begin in ids}
    wanted, missing = {*ids}, dict.fromkeys(ids)
    for found in pairs:
        begins = wanted.intersection(found.pair.id[:length] for length in lengths)
        for begin in begins:
            missing.pop(begin, None)
        if begins:
            yield found
    if missing:
        raise NotThere("pair", [*missing])


def _key_of(plan: ShowPlan) -> Key | None:
    """What decides which pairs are shown, if it is not their place."""
    seed = plan.seed
    if seed is not None:
        return lambda pair: draw(seed, "show", bytes.fromhex(pair.id))
    return None if plan.worst is None else _WORST[plan.worst]


def _evenness(pair: Pair) -> float:
    """The length of the shorter answer as a part of the longer one's."""
    shorter, longer = sorted((len(flat_text(pair.chosen)), len(flat_text(pair.rejected))))
    return shorter / longer if longer else 1.0


def _gap(pair: Pair) -> float:
    """The gap; pairs of which it is not known come last."""
    return float("inf") if pair.gap is None else pair.gap


_WORST: dict[Worst, Key] = {"length-ratio": _evenness, "gap": _gap}
