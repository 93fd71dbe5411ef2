"""Law 5 for odd values: whether a row is bad does not depend on other rows and files.

Rows of the usual shape go to a fast reader that skips unused fields, other rows are decoded
completely, and neighboring rows decide which reader is used. Both must judge a row alike.
"""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_with_tool_calls import SOURCES
from run_in_process import (
    Asked,
    Outcome,
    extract_lines,
    lines_of,
    pair_lines,
    pair_piped,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.json_codec import DEEPEST, decode

pytestmark = pytest.mark.full

HERE = "@here@"
ASKED = Asked(strategy="exhaustive")
CHANCE = st.randoms(use_true_random=False)
NEIGHBOURS = lines_of(
    {"question": "Q", "answer": "Z0", "reward": 0},
    {"question": "Q", "answer": "Z1", "reward": 1},
    {"prompt": "Q", "response": [{"role": "assistant", "content": "Z"}], "score": 5},
)

PLACES: dict[str, list[tuple[str | int, ...]]] = {
    "generic": [("note",), ("tools",), ("score",), ("prompt", 0, "images"), ("prompt", 0, "id")],
    "candidates": [("note",), ("index",), ("meta",), ("prompt", 0, "id")],
    "nemo-gym": [
        ("note",),
        ("response", "usage"),
        ("reward",),
        ("responses_create_params", "temperature"),
        ("responses_create_params", "input", 0, "images"),
        ("responses_create_params", "input", 0, "status"),
    ],
    "nat": [
        ("note",),
        ("intermediate_steps", 0, "payload", "metadata"),
        ("intermediate_steps", 0, "payload", "data", "input"),
        ("intermediate_steps", 0, "payload", "data", "score"),
        ("intermediate_steps", 0, "payload", "data", "input", 0, "id"),
    ],
}
"""Where an odd value is put: some fields are read, and some are not."""


def _nested(levels: int, shape: str) -> str:
    before, after = {"lists": ("[", "]"), "objects": ('{"a":', "}"), "both": ('[{"a":', "},1]")}[
        shape
    ]
    times = levels // len(before.replace('"a":', ""))
    return before * times + '"[{"' + after * times


NESTED = st.builds(
    _nested,
    st.sampled_from([100, *range(240, 260), 300, 900, 960, 1000, 5000]),
    st.sampled_from(["lists", "objects", "both"]),
)
NUMBERS = st.builds(
    str.__add__,
    st.sampled_from([size * "1" for size in (20, 4299, 4300, 4301, 6000)]),
    st.sampled_from(["", ".5", "e5", "E-5000"]),
)
ODD = st.one_of(NESTED, NUMBERS, NUMBERS.map("-".__add__), NUMBERS.map("[0.{0},{0}]".format))


def _rows(source: str, place: tuple[str | int, ...], value: str) -> list[bytes]:
    """Two usual rows, and a third one with an odd value."""
    rows = [
        SOURCES[source]([{"role": "user", "content": "Q"}], f"A{score}", score)
        for score in range(3)
    ]
    _put(rows[-1], place, HERE)
    usual = [json.dumps(row) for row in rows]
    return [line.replace(f'"{HERE}"', value).encode() + b"\n" for line in usual]


def _put(row: Any, place: tuple[str | int, ...], value: Any) -> None:
    for step in place[:-1]:
        row = row[step]
    row[place[-1]] = value


def _found(outcome: Outcome) -> tuple[list[str], int]:
    """The pairs in any order, without origins, and the number of bad rows."""
    return outcome.contents(), outcome.ledger.rows_bad


def _every_way(lines: list[bytes], chance: Random) -> list[tuple[list[str], int]]:
    """The results in several orders, shards and containers."""
    shuffled = [*lines]
    chance.shuffle(shuffled)
    cut = chance.randrange(len(lines) + 1)
    return [
        _found(outcome)
        for outcome in (
            pair_lines(lines, ASKED),
            pair_lines(lines[::-1], ASKED),
            pair_lines(shuffled, ASKED),
            pair_shards([shuffled[:cut], shuffled[cut:]], ASKED),
            pair_shards([[line] for line in lines], ASKED),
            pair_piped(b"".join(shuffled), ASKED),
        )
    ]


@pytest.mark.parametrize("source", SOURCES)
@examples(80)
@given(data=st.data(), value=ODD, chance=CHANCE)
def test_odd_values_are_judged_alike(source: str, data: Any, value: str, chance: Random) -> None:
    """The same in every order, with any shards, and next to rows that disable the fast reader."""
    rows = _rows(source, data.draw(st.sampled_from(PLACES[source])), value)
    alone, *others = _every_way(rows, chance)
    assert [alone] * len(others) == others
    beside, *others = _every_way([*NEIGHBOURS, *rows], chance)
    assert [beside] * len(others) == others
    assert beside[1] == alone[1]


@pytest.mark.parametrize("source", SOURCES)
@examples(40)
@given(data=st.data(), value=ODD)
def test_extract_judges_as_pair_does(source: str, data: Any, value: str) -> None:
    """`extract`, which decodes every row completely, gives the same verdict."""
    rows = _rows(source, data.draw(st.sampled_from(PLACES[source])), value)
    candidates, pairs = extract_lines(rows, ReadOptions()), pair_lines(rows, ASKED)
    assert candidates.ledger.rows_bad == pairs.ledger.rows_bad
    assert pair_lines(candidates.lines, ASKED).contents() == pairs.contents()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "value",
    [
        _nested(260, "lists"),
        "1" * 5000,
        "[" + "[]," * 70_000 + "0]",
        pytest.param("[" + "[]," * 700_000 + "0]", marks=pytest.mark.stress),
    ],
    ids=["nested", "long number", "many lists", "very many lists"],
)
def test_what_is_not_read_makes_no_row_bad(source: str, value: str) -> None:
    """An odd value in an unused field makes neither its row nor others bad."""
    rows = _rows(source, ("note",), value)
    for lines in (rows, rows[::-1], [*NEIGHBOURS, *rows]):
        assert pair_lines(lines, ASKED).ledger.rows_bad == 0


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("generic", ("prompt", 0, "images")),
        ("nemo-gym", ("responses_create_params", "input", 0, "images")),
        ("nat", ("intermediate_steps", 0, "payload", "data", "input")),
    ],
)
def test_the_limit_is_the_same_for_a_part_of_a_row(
    source: str, place: tuple[str | int, ...]
) -> None:
    """Fast readers decode the prompt by itself: the levels around it count, too.

    An image of a message is one level deeper in a candidate, where it is a part of the content.
    """
    added = source == "generic"
    for levels in range(243, 252):
        rows = _rows(source, place, "[" * levels + "0" + "]" * levels)
        alone = _found(pair_lines(rows, ASKED))
        beside = _found(pair_lines([*NEIGHBOURS, *rows], ASKED))
        assert beside[1] == alone[1] == (levels + len(place) + added > DEEPEST)


@pytest.mark.parametrize("value", [_nested(260, "objects"), "1" * 5000])
def test_what_is_carried_along_makes_its_row_bad(value: str) -> None:
    """A --keep field makes its row bad if it is too deep, or too long a number, to be written."""
    asked = Asked(strategy="exhaustive", read=ReadOptions(keep=("note",)))
    assert pair_lines(_rows("generic", ("note",), value), asked).ledger.rows_bad == 1


@pytest.mark.parametrize(
    ("source", "place"), [("nat", ("id",)), ("generic", ("note",)), ("generic", ("image",))]
)
def test_what_is_found_can_be_read_again(source: str, place: tuple[str | int, ...]) -> None:
    """Candidates and pairs add levels around a row's values; these count, too."""
    read = ReadOptions(keep=("note",) if place == ("note",) else ())
    verdicts = set()
    for levels in range(240, 252):
        rows = _rows(source, place, '{"a":' * levels + "0" + "}" * levels)
        pairs = pair_lines(rows, Asked(strategy="exhaustive", read=read))
        candidates = extract_lines(rows, read)
        assert candidates.ledger.rows_bad == pairs.ledger.rows_bad
        again = pair_lines(candidates.lines, ASKED)
        assert (again.ledger.rows_bad, again.contents()) == (0, pairs.contents())
        for line in (*candidates.lines, *pairs.lines):
            decode(line)
        verdicts.add(pairs.ledger.rows_bad)
    assert verdicts == {0, 1}


def test_more_values_than_memory_is_given_for_are_bad_everywhere() -> None:
    """Long rows are checked for memory, whichever reader reads them."""
    rows = _rows("generic", ("note",), "[" + "[]," * 3_000_000 + "0]")
    for lines in (rows, rows[::-1], [*NEIGHBOURS, *rows]):
        assert pair_lines(lines, ASKED).ledger.rows_bad == 1
