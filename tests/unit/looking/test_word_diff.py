"""Finds the words that two texts share."""

import pytest

from prefpairs.analysis.text_diff import Effort, shared_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("one two", ["one", " ", "two"]),
        ("a_b2  c", ["a_b2", "  ", "c"]),
        ("f(x)!=3.5", ["f", "(", "x", ")", "!", "=", "3", ".", "5"]),
        ("das Öl", ["das", " ", "Öl"]),
        ("GPT日本ですよ", ["GPT", "日", "本", "で", "す", "よ"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    """The words joined together are the text."""
    assert words_of(text) == words
    assert "".join(words) == text


def _shared(left: str, right: str) -> list[str] | None:
    ours = words_of(left)
    found = shared_words(ours, words_of(right), Effort(10_000))
    if found is None:
        return None
    return ["".join(ours[match.left : match.left + match.length]) for match in found]


@pytest.mark.parametrize(
    ("left", "right", "shared"),
    [
        ("the answer is 41.", "the answer is 42.", ["the answer is ", "."]),
        ("x", "x", ["x"]),
        ("41", "42", None),
        ("", "something", None),
        ("nothing in common", "and so on", None),
        # A few letters of many: short words mean nothing.
        ("we add the two sides of it", "one can see that the limit of a", None),
        # A blank between two changed words is part of the change.
        ("keep this: green apples now", "keep this: red pears now", ["keep this: ", " now"]),
        # Twelve common letters are no coincidence.
        (
            "wholly other words, but interesting ones in here",
            "those are changed: but interesting ones among us",
            [" but interesting ones "],
        ),
    ],
)
def test_shared_words(left: str, right: str, shared: list[str] | None) -> None:
    """The shared words, if there are enough for a comparison."""
    assert _shared(left, right) == shared
