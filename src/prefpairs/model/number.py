"""Scores: decimal numbers with 15 significant digits."""

import math
from decimal import Decimal
from functools import lru_cache
from typing import Any

from prefpairs.errors import BadField

_IN_WORDS = {"true": 1.0, "false": 0.0}
LARGEST_SCORE = 8e307
"""The difference of any two scores must be finite, too."""


def read_score(value: Any, field: str, *, cast: bool = False) -> float:
    """The number in a field. NaN and infinities are allowed.

    >>> read_score(True, "reward"), read_score(7, "reward")
    (1.0, 7.0)
    >>> read_score("0.7", "reward", cast=True), read_score("True", "passed", cast=True)
    (0.7, 1.0)
    """
    if isinstance(value, (float, int)):
        return _to_float(value)
    if cast and isinstance(value, str) and value.isascii() and "_" not in value:
        try:
            word = value.lower()
            return _IN_WORDS[word] if word in _IN_WORDS else float(value)
        except ValueError:
            pass
    raise BadField(field, value, "a number")


@lru_cache(maxsize=4096)
def round_score(score: float) -> float:
    """The score to 15 significant digits, so that rounding errors make no preference.

    >>> round_score(0.1 + 0.2)
    0.3
    >>> round_score(-0.0)
    0.0
    """
    rounded = float(f"{score:.15g}") + 0.0
    return rounded if math.isfinite(rounded) else score  # a few would round to infinity


@lru_cache(maxsize=4096)
def gap_between(chosen: float, rejected: float) -> float:
    """The decimal difference of two rounded scores.

    >>> 0.9 - 0.8, gap_between(0.9, 0.8)
    (0.09999999999999998, 0.1)
    """
    return float(Decimal(repr(chosen)) - Decimal(repr(rejected)))


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest float
        return math.inf if value > 0 else -math.inf
