"""Pairs in memory, as stages get them."""

from collections.abc import Iterator, Sequence
from typing import Any

from prefpairs.engine.pairs.pairs_from_files import entry_of
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.ledger import StageCounts
from prefpairs.model.message import Message
from prefpairs.model.pair import Pair, other_prompt, pair_of
from prefpairs.model.tool_calls import tool_call
from prefpairs.stages.base import IndexedPair, Stage
from prefpairs.stages.pair_columns import PairColumns, blocks_of

Row = dict[str, Any]


class Held:
    """The pairs of rows; `asked` records whose texts were read."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._read = [pair_of(row) for row in rows]
        self.asked: list[int] = []

    def entries(self) -> Iterator[IndexedPair]:
        """The entries of all pairs, as stages see them."""
        for place, (pair, digests) in enumerate(self._read):
            reading = PairRowOutcome(pair, digests, other_prompt(pair), None)
            yield entry_of(reading, place + 1, place, 1)

    def blocks(self) -> Iterator[PairColumns]:
        """The same in columns."""
        return blocks_of(self.entries())

    def pair(self, entry: IndexedPair, /) -> Pair:
        """The pair of an entry."""
        self.asked.append(entry.place)
        return self._read[entry.place][0]

    def pair_in(self, pairs: PairColumns, slot: int, /) -> Pair:
        """The pair in a slot."""
        return self.pair(pairs.indexed(slot))


def row_of(
    prompt: str, chosen: str = "A", rejected: str = "B", gap: float | None = None, **more: Any
) -> Row:
    """A row with scores that give this gap, if any."""
    row: Row = {"prompt": prompt, "chosen": chosen, "rejected": rejected, **more}
    return row if gap is None else {"chosen_score": gap, "rejected_score": 0.0, **row}


def staged(stage: Stage, rows: Sequence[Row]) -> tuple[list[int], StageCounts]:
    """The positions of the rows that stay, in output order."""
    held, counts = Held(rows), StageCounts(stage.name)
    kept = stage.select(_counted(held, counts), held, counts, frozenset({"id"}))
    return [place for block in kept for place in block.places], counts


def _counted(held: Held, stage: StageCounts) -> Iterator[PairColumns]:
    for block in held.blocks():
        stage.found += len(block)
        yield block


def said(text: str, *calls: str) -> list[Message]:
    """An assistant message with text and calls."""
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [tool_call("f", call) for call in calls]
    return [message]
