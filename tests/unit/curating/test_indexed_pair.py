"""What a stage knows of a pair."""

import pytest
from run_stage import Held, row_of

from prefpairs.stages.base import IndexedPair, descending

ONE, TWO = bytes([1]) * 16, bytes([2]) * 16


def _entry(gap: float | None, score: float | None = None, identity: bytes = ONE) -> IndexedPair:
    return IndexedPair(1, 0, 0, gap, score, None, identity, b"", b"", b"", b"", b"")


@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "f"}}]])
def test_reversed_id(tools: list[object] | None) -> None:
    """The reversed ID is that of the row with its answers swapped."""
    rows = [row_of("Q", "A", "B", tools=tools), row_of("Q", "B", "A", tools=tools)]
    one, other = Held(rows).entries()
    assert (one.reversed_id(), other.reversed_id()) == (other.id, one.id)


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        (_entry(0.5), _entry(0.4)),
        (_entry(0.0), _entry(-0.5)),
        (_entry(-0.5), _entry(None)),
        (_entry(0.5, 0.1), _entry(0.4, 0.9)),
        (_entry(0.5, 0.9), _entry(0.5, 0.8)),
        (_entry(0.5, -0.9), _entry(0.5, None)),
        (_entry(None, 0.9), _entry(None, 0.8)),
        (_entry(0.5, 0.9, ONE), _entry(0.5, 0.9, TWO)),
        (_entry(None, None, ONE), _entry(None, None, TWO)),
    ],
)
def test_strength(stronger: IndexedPair, weaker: IndexedPair) -> None:
    """Strength is compared by gap, chosen score, then ID; unknown is weakest."""
    assert sorted([weaker, stronger], key=IndexedPair.strength) == [stronger, weaker]


def test_falling() -> None:
    """Large numbers come first, unknown ones last."""
    assert sorted([0.0, None, 2.0, -1.0], key=descending) == [2.0, 0.0, -1.0, None]
