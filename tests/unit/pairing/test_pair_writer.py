"""Writes pairs as lines, and counts them."""

from collections.abc import Iterator, Sequence
from typing import Any

from rows_and_output import Lines

from prefpairs.engine.pairs import pair_io
from prefpairs.engine.pairs.pair_io import WHOLE, PairLines
from prefpairs.ledger import Ledger
from prefpairs.model.pair import Pair, pair_line, pair_of
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns


def test_pair_lines() -> None:
    """Each line, the known numbers, and the first pair as an example."""
    rows: list[dict[str, Any]] = [
        {"prompt": "Q", "chosen": "A", "rejected": "B"},
        {"prompt": "R", "chosen": "C", "rejected": "D", "chosen_score": 1, "rejected_score": 0.5},
    ]
    output, ledger = Lines(), Ledger()
    pairs = [pair_of(row)[0] for row in rows]
    sink = PairLines({WHOLE: output}, ledger)
    assert all(sink.put(pair, WHOLE) for pair in pairs)
    assert output.lines == [pair_line(pair) for pair in pairs]
    assert (ledger.pairs, ledger.example) == (2, ("Q", "A", "B"))
    assert ledger.gaps.summary() == {"mean": 0.5, "min": 0.5, "max": 0.5}
    assert dict(ledger.pairs_at_gap) == {0.1: 2, 0.2: 2}  # no --min-gap drops the unknown one


class _Held:
    """Pairs by position, with copied lines for odd positions."""

    def __init__(self, pairs: list[Pair]) -> None:
        self._pairs = pairs

    def pair(self, entry: IndexedPair, /) -> Pair:
        return self._pairs[entry.place]

    def pair_in(self, pairs: PairColumns, slot: int, /) -> Pair:
        return self.pair(pairs.indexed(slot))

    def lines(self, pairs: PairColumns, /) -> Iterator[tuple[Sequence[int], pair_io.Lines]]:
        for slot, place in enumerate(pairs.places):
            yield [slot], [pair_line(self._pairs[place])] if place % 2 else None


def test_copied_lines() -> None:
    """Copied lines are written, and counted like their pairs."""
    numbers: list[dict[str, Any]] = [
        {"chosen_score": 1, "rejected_score": 0.5},
        {"chosen_score": 0.9, "rejected_score": 0.8, "meta": {"gap": 7.0, "rejected_score": 7.0}},
        {"gap": 0.5},
        {"gap": 0.25, "chosen_score": 1.0},
        {},
        {"rejected_score": -1.0},
    ]
    pairs = [
        pair_of({"prompt": f"Q{place}", "chosen": "A", "rejected": "B", **row})[0]
        for place, row in enumerate(numbers)
    ]
    for given in (pairs, pairs[::-1]):
        put, taken = Ledger(), Ledger()
        one, other = Lines(), Lines()
        block = PairColumns()
        for place, pair in enumerate(given):
            known = pair.gap, pair.chosen_score, pair.rejected_score
            block.add([IndexedPair(0, place, 0, *known, b"", b"", b"", b"", b"", b"")])
            assert PairLines({WHOLE: one}, put).put(pair, WHOLE)
        sink = PairLines({WHOLE: other}, taken)
        assert sink.take(block, _Held(given), [WHOLE] * len(block)) == {WHOLE: 6}
        assert one.lines == other.lines == [pair_line(pair) for pair in given]
        assert (
            (taken.pairs, taken.lines_written) == (put.pairs, put.lines_written) == (6, {WHOLE: 6})
        )
        assert taken.example == put.example == (given[0].prompt, "A", "B")
        for name in ("gaps", "chosen_scores", "rejected_scores"):
            assert getattr(taken, name).summary() == getattr(put, name).summary()
