"""Scores as decimal numbers."""

import math
import sys
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.model.number import gap_between, read_score, round_score


@pytest.mark.parametrize(
    ("value", "score"),
    [(1, 1.0), (0.5, 0.5), (True, 1.0), (False, 0.0), (-12.7, -12.7), (2**70, 2.0**70)],
)
def test_numbers_and_booleans_are_scores(value: Any, score: float) -> None:
    """True and false count as 1 and 0."""
    read = read_score(value, "reward")
    assert (read, type(read)) == (score, float)


@pytest.mark.parametrize("value", ["0.7", None, [], {}, [1.0], ""])
def test_anything_else_is_a_bad_field(value: Any) -> None:
    """The error has the field, the value and the expected type."""
    with pytest.raises(BadField) as caught:
        read_score(value, "reward")
    assert (caught.value.field, caught.value.value, caught.value.expected) == (
        "reward",
        value,
        "a number",
    )


@pytest.mark.parametrize(("value", "score"), [("0.7", 0.7), (" 1 ", 1.0), ("-2e3", -2000.0)])
def test_cast_reads_numbers_written_as_text(value: str, score: float) -> None:
    """With --cast-score, a numeric string is a score."""
    assert read_score(value, "reward", cast=True) == score


@pytest.mark.parametrize("value", ["good", "", "1,5", "1_000", "\u0663", None, [1]])
def test_cast_reads_no_other_text(value: Any) -> None:
    """--cast-score accepts no other text."""
    with pytest.raises(BadField):
        read_score(value, "reward", cast=True)


@pytest.mark.parametrize(
    ("value", "sign"), [(10**400, 1.0), (-(10**400), -1.0)], ids=["above", "below"]
)
def test_integer_beyond_all_floats_is_infinite(value: int, sign: float) -> None:
    """A huge integer becomes infinite, which is dropped later."""
    assert read_score(value, "reward") == sign * math.inf


@pytest.mark.parametrize(
    ("score", "rounded"),
    [
        (0.1 + 0.2, 0.3),
        (0.9 - 0.8, 0.1),
        (1.0000000000000002, 1.0),
        (1.00000000000001, 1.00000000000001),
        (123456789.123456789, 123456789.123457),
        (1e-300, 1e-300),
    ],
)
def test_scores_count_to_15_digits(score: float, rounded: float) -> None:
    """Noise after the fifteenth digit is rounded away."""
    assert round_score(score) == rounded


def test_negative_zero_is_zero() -> None:
    """Minus zero equals zero, in its bytes, too."""
    assert [math.copysign(1.0, round_score(zero)) for zero in (-0.0, 0.0)] == [1.0, 1.0]


def test_rounding_keeps_a_finite_score_finite() -> None:
    """Rounding the largest floats does not make them infinite."""
    assert math.isfinite(round_score(sys.float_info.max))


@pytest.mark.parametrize(
    ("chosen", "rejected", "gap"),
    [
        (0.9, 0.8, 0.1),
        (0.3, 0.2, 0.1),
        (0.3, 0.1, 0.2),
        (1.0, 1.0, 0.0),
        (1.0, -12.7, 13.7),
        (1e16, 1.0, 9999999999999999.0),
        (0.8, 0.9, -0.1),
    ],
)
def test_gap_is_the_decimal_difference(chosen: float, rejected: float, gap: float) -> None:
    """The gap is the decimal difference."""
    assert gap_between(chosen, rejected) == gap
