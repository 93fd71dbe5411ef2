"""Generations of a trainer."""

import pytest

from prefpairs.errors import UsageError
from prefpairs.targets.base import release_of

NAMES = ["0.1", "0.4", "0.6"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (None, "0.6"),
        ("0.6", "0.6"),
        ("0.6.1", "0.6"),
        ("v0.7.0rc1", "0.6"),
        ("0.10", "0.6"),
        ("1", "0.6"),
        ("r0.5.0", "0.4"),
        ("nemo-rl 0.4", "0.4"),
        ("0.3.1", "0.1"),
        ("0.1", "0.1"),
    ],
)
def test_release(word: str | None, expected: str) -> None:
    """The last generation that is not newer."""
    assert release_of(word, NAMES) == expected


def test_trainer_of_one_generation() -> None:
    """A trainer with one generation needs no release."""
    assert release_of(None, []) == ""


@pytest.mark.parametrize("word", ["main", "", "v"])
def test_word_that_is_no_version(word: str) -> None:
    """The error for an invalid version shows a valid one."""
    with pytest.raises(UsageError) as caught:
        release_of(word, NAMES)
    assert caught.value.hint == "such as 0.6"


def test_release_before_the_first() -> None:
    """There was no such loader before the first release."""
    with pytest.raises(UsageError) as caught:
        release_of("0.3", ["0.4", "0.6"])
    assert caught.value.hint == "0.4 is the first"
