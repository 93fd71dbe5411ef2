"""Fills splits by their fractions."""

import pytest

from prefpairs.stages.split_sides import TEST, TRAIN, VAL, LinkedKeys, fill_sides


@pytest.mark.parametrize(
    ("sizes", "shares", "rest", "sides"),
    [
        ([1], (0.5, 0.5, 0.0), TRAIN, [TRAIN]),
        ([1, 1], (0.9, 0.1, 0.0), TRAIN, [VAL, TRAIN]),
        ([1, 1, 1], (0.2, 0.6, 0.2), TRAIN, [VAL, TRAIN, TEST]),
        ([1, 1, 1, 1], (0.0, 0.5, 0.5), TEST, [VAL, VAL, TEST, TEST]),
        ([90, 1, 1, 1, 1, 1, 1, 1, 1, 2], (0.95, 0.05, 0.0), TRAIN, [0, 1, 1, 1, 1, 1, 0, 0, 0, 0]),
        ([90, 60], (0.9, 0.1, 0.0), TRAIN, [TRAIN, VAL]),
        ([0, 5, 0, 5], (0.5, 0.5, 0.0), TRAIN, [TRAIN, VAL, TRAIN, TRAIN]),
        ([3, 2], (1.0, 0.0, 0.0), TRAIN, [TRAIN, TRAIN]),
        ([3, 2], (0.0, 1.0, 0.0), VAL, [VAL, VAL]),
        ([], (0.8, 0.2, 0.0), TRAIN, []),
    ],
)
def test_sides(
    sizes: list[int], shares: tuple[float, float, float], rest: int, sides: list[int]
) -> None:
    """Val is filled from the start, test from the end; none is empty if there are enough keys."""
    assert list(fill_sides(sizes, range(len(sizes)), shares, rest)) == sides


def test_order() -> None:
    """Keys are taken in the given order, not by number."""
    assert list(fill_sides([1] * 4, [2, 0, 3, 1], (0.5, 0.25, 0.25), TRAIN)) == [0, 2, 1, 0]


def test_joined() -> None:
    """Linked keys have one root, over any number of links."""
    joined = LinkedKeys()
    joined.grow(2)
    joined.grow(6)
    for one, other in ((0, 1), (2, 3), (1, 3), (5, 5)):
        joined.link(one, other)
    roots = [joined.root(number) for number in range(6)]
    assert roots == [roots[0]] * 4 + [4, 5]
