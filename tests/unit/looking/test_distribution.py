"""The distribution of numbers."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.analysis.distribution import (
    MOST_VALUES,
    Bin,
    edges_of,
    length_edges,
    round_edges,
    spread_of,
)


def test_few_values_are_listed() -> None:
    """A few distinct values are listed with counts, smallest first."""
    spread = spread_of(array("d", [0.5, 1.0, 0.5, 0.0]))
    assert spread is not None
    assert (spread.kind, spread.number, spread.mean) == ("discrete", 4, 0.5)
    assert (spread.values, spread.bins) == ([(0.0, 1), (0.5, 2), (1.0, 1)], [])


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([1.0, 1.0], "constant"),
        ([0.0, 1.0, 1.0], "binary"),
        ([*map(float, range(MOST_VALUES))], "discrete"),
        ([*map(float, range(MOST_VALUES + 1))], "continuous"),
    ],
)
def test_kinds(numbers: list[float], kind: str) -> None:
    """Pass/fail scores and judge scores are of different kinds."""
    spread = spread_of(array("d", numbers))
    assert spread is not None
    assert spread.kind == kind


def test_many_values_go_into_bins() -> None:
    """Many values go into bins; a bin includes its lower edge, the last also its upper one."""
    spread = spread_of(array("d", [number / 100 for number in range(101)]))
    assert spread is not None
    assert spread.bins[0] == Bin(0.0, 0.1, 10)
    assert spread.bins[-1] == Bin(0.9, 1.0, 11)
    assert spread.quantiles == {"p05": 0.05, "median": 0.5, "p95": 0.95}


def test_nothing_spreads_nowhere() -> None:
    """Without numbers there is no distribution."""
    assert spread_of(array("d")) is None


def test_edges_of_two_columns_are_those_of_both() -> None:
    """Two columns share their edges, so that bars can be compared."""
    low, high = array("d", [0.0, 0.01]), array("d", [float(number) for number in range(20)])
    assert edges_of([low, high]) == [float(edge) for edge in range(0, 21, 2)]
    assert edges_of([low, array("d")]) == ()


@pytest.mark.parametrize(
    ("low", "high", "first", "last", "number"),
    [
        (-0.97, 0.41, -1.0, 0.5, 16),
        (3.0, 1200.0, 0.0, 1200.0, 13),
        (-8e307, 8e307, -8e307, 8e307, 9),
        (1e-320, 1.4e-319, 1e-320, 1.4e-319, 14),
    ],
)
def test_edges_are_round(low: float, high: float, first: float, last: float, number: int) -> None:
    """Edges are round for any numbers: large, small or negative."""
    edges = round_edges(low, high)
    assert (edges[0], edges[-1], len(edges)) == (first, last, number)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60))
def test_each_number_is_counted_once(numbers: list[float]) -> None:
    """Each number is counted once, in any order."""
    spread = spread_of(array("d", numbers))
    assert spread is not None
    counts = [count for _, count in spread.values] or [found.number for found in spread.bins]
    assert sum(counts) == len(numbers) == spread.number
    assert spread == spread_of(array("d", reversed(numbers)))
    for low, high, count in spread.bins:
        last = high == spread.bins[-1].high
        inside = [low <= number < high or (last and number == high) for number in numbers]
        assert sum(inside) == count


def test_lengths_double() -> None:
    """Each bin of lengths is about twice as wide as the one before, up to the longest."""
    assert length_edges(0) == [0, 10]
    assert length_edges(10) == [0, 10, 20]
    assert length_edges(4999) == [0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
