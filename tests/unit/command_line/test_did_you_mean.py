"""Suggestions for mistyped words."""

import pytest

from prefpairs.did_you_mean import listed, near_of, nearest

OPTIONS = ["--max-gap", "--min-gap", "--min-chosen-score", "--quiet", "-q"]


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("--min-gpa", OPTIONS, ["--min-gap"]),
        ("--mingap", OPTIONS, ["--min-gap"]),
        ("--min", OPTIONS, ["--min-gap", "--min-chosen-score"]),
        ("--min_gap", OPTIONS, ["--min-gap"]),
        ("--no-quiet", OPTIONS, ["--quiet"]),
        ("-z", OPTIONS, []),
        ("--", OPTIONS, []),
        ("TRL", ["trl", "trl-kto"], ["trl"]),
        ("pair", ["pairs", "pairs_at_min_gap", "pairs_across_prompts"], ["pairs"]),
        ("easy", ["easy-first", "hard-first"], ["easy-first"]),
        ("stages.dedpue.dropped.x", ["pairs", "stages.dedupe.kept"], ["stages.dedupe.kept"]),
        ("frobnicate", ["filter", "pair"], []),
        ("me", ["me10", "me20", "me3", "me40"], ["me3"]),
        ("m", ["m1"], []),
        ("", ["a"], []),
    ],
)
def test_near_of(word: str, known: list[str], near: list[str]) -> None:
    """The most similar word, or those with the same beginning; none if that would be a guess."""
    assert near_of(word, known) == near


@pytest.mark.parametrize(
    ("word", "known", "otherwise", "said"),
    [
        ("scroe", ["prompt", "score"], None, "did you mean score?"),
        ("zz", ["a", "b"], None, "one of a, b"),
        ("zz", ["a", "b"], "see the list", "see the list"),
        ("aa", ["aab", "aac"], "see the list", "did you mean aab or aac?"),
        ("zz", [], None, None),
        ("zz", [], "see the list", "see the list"),
        ("zz", ["a.b.c", "a.b", "a"], None, "one of a, a.b, a.b.c"),
        (
            "zz",
            [f"a{number}" for number in range(13)],
            None,
            "one of a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12",
        ),
    ],
)
def test_did_you_mean(word: str, known: list[str], otherwise: str | None, said: str | None) -> None:
    """Top-level fields are suggested before nested ones; long lists are cut."""
    assert nearest(word, known, otherwise) == said


def test_listed() -> None:
    """Lists one, two or many words."""
    words = ["a", "b", "c"]
    assert [listed(words[:number], "or") for number in (1, 2, 3)] == ["a", "a or b", "a, b or c"]


def test_most_words_listed() -> None:
    """Only the first of many words are listed."""
    assert nearest("zz", ["a.b", "a", "b"], most=2) == "one of a, b, ..."
