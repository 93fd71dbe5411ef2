"""Texts that are nearly the same."""

import sys

import pytest
import rensa

from prefpairs.errors import UsageError
from prefpairs.model.message import Text
from prefpairs.optional_libraries import install_command
from prefpairs.stages.near_duplicates import NearTable, bands_and_rows, shingles_of, similarity

WORDS = [f"w{number}" for number in range(104)]


def _text(changed: int | None = None) -> str:
    return " ".join("other" if place == changed else word for place, word in enumerate(WORDS))


@pytest.mark.parametrize(
    ("text", "shingles"),
    [
        ("", {b""}),
        (" \n ", {b""}),
        ("One  two\nTHREE", {b"one two three"}),
        ("a b c d e", {b"a b c d e"}),
        ("a b c d e f g", {b"a b c d e", b"b c d e f", b"c d e f g"}),
        ("a a a a a a a", {b"a a a a a"}),
        ("STRASSE Stra\u00dfe", {b"strasse strasse"}),
        ([{"role": "user", "content": "a b"}], {b"a b"}),
        (
            [{"role": "system", "content": "x y z"}, {"role": "user", "content": "a b"}],
            {b"a b"},
        ),
        (
            [{"role": "user", "content": "a b c"}, {"role": "assistant", "content": "d e f"}],
            {b"a b c d e", b"b c d e f"},
        ),
    ],
)
def test_shingles(text: Text, shingles: set[bytes]) -> None:
    """Shingles are five words, without case, white space and system messages."""
    assert shingles_of(text) == shingles


@pytest.mark.parametrize(
    ("ours", "theirs", "share"),
    [
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("abcd", "abc", 0.75),
        ("ab", "bc", 1 / 3),
        ("abcdefghij", "abcdefghi", 0.9),
    ],
)
def test_likeness(ours: str, theirs: str, share: float) -> None:
    """Similarity is the shared part of all shingles, and symmetric."""
    sets = [frozenset(letter.encode() for letter in letters) for letters in (ours, theirs)]
    assert (similarity(*sets), similarity(*reversed(sets))) == (share, share)


@pytest.mark.parametrize(
    ("threshold", "table"),
    [(0.5, (35, 3)), (0.7, (17, 4)), (0.8, (16, 6)), (0.9, (11, 10)), (1.0, (1, 128))],
)
def test_bands_and_rows(threshold: float, table: tuple[int, int]) -> None:
    """At most 128 hashes, with 1 in 100 missed at the threshold."""
    bands, rows = bands_and_rows(threshold)
    assert (bands, rows) == table
    assert bands * rows <= 128
    assert (1 - threshold**rows) ** bands <= 0.01


def test_sketches_keep_their_form() -> None:
    """Other sketches would find other near-duplicates, which needs a new major version."""
    sketch = rensa.RMinHash(num_perm=110, seed=42)
    sketch.update([b"a b c d e", b"b c d e f"])
    assert sketch.digest()[:4] == [3379257556, 664203908, 3591381950, 3598053546]


@pytest.mark.parametrize(("changed", "threshold", "found"), [(0, 0.98, [0]), (50, 0.98, [])])
def test_threshold(changed: int, threshold: float, found: list[int]) -> None:
    """Of 100 shingles, a word at the end changes one, a word in the middle five."""
    table = NearTable(threshold, lambda _: shingles_of(_text()))
    table.add(0, shingles_of(_text()))
    assert list(table.near(shingles_of(_text(changed)))) == found


def test_threshold_is_included() -> None:
    """The threshold is inclusive: nine of ten shingles are a similarity of exactly 0.9."""
    ten, nine = " ".join(WORDS[:14]), " ".join(WORDS[:13])
    table = NearTable(0.9, lambda _: shingles_of(ten))
    table.add(7, shingles_of(ten))
    assert similarity(shingles_of(ten), shingles_of(nine)) == 0.9
    assert list(table.near(shingles_of(nine))) == [7]


def test_all_that_are_near_in_order_of_their_numbers() -> None:
    """All similar texts are found, by number; the actual shingles decide."""
    texts = [_text(), "quite another text that is long enough to have runs", _text(0), _text(103)]
    table = NearTable(0.9, lambda number: shingles_of(texts[number]))
    for number in (3, 1, 2, 0):
        table.add(number, shingles_of(texts[number]))
    assert list(table.near(shingles_of(_text()))) == [0, 2, 3]


def test_hashes_alone_make_no_near_text() -> None:
    """A match of hashes is verified against the text."""
    table = NearTable(0.5, lambda _: shingles_of("something else"))
    table.add(0, shingles_of(_text()))
    assert list(table.near(shingles_of(_text()))) == []


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library, the error says what to install."""
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(UsageError) as caught:
        NearTable(0.9, lambda _: shingles_of(""))
    assert caught.value.hint == install_command("near")
