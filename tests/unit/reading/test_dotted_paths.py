"""Dotted paths into a record."""

from typing import Any

import pytest

from prefpairs.model.path import MISSING, look_up, paths_of

RECORD = {
    "a": {"b": [{"c": 1}, {"c": None}], "x.y": {"z": 2}},
    "d.e": 3,
    "d": {"e": 4, "f": 5},
    "7": {"0": 6},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b.0.c", 1),
        ("a.b.0", {"c": 1}),
        ("a.b.2", MISSING),
        ("a.b.1.c", None),
        ("a.x.y.z", MISSING),
        ("a.x.y", {"z": 2}),
        ("d.e", 3),
        ("d.f", 5),
        ("7.0", 6),
        ("a.b.2.c", MISSING),
        ("a.b.-1", MISSING),
        ("a.b.c", MISSING),
        ("a.b.0.c.d", MISSING),
        ("nothing", MISSING),
        ("", MISSING),
    ],
)
def test_look_up(path: str, value: Any) -> None:
    """Keys and indexes are followed; a null is a value, a missing value is MISSING."""
    assert look_up(RECORD, path) == value


@pytest.mark.parametrize("record", [None, 1, "text", []])
def test_look_up_in_no_object(record: Any) -> None:
    """A value that is no object contains nothing."""
    assert look_up(record, "a.b") is MISSING


def test_missing_names_itself() -> None:
    """MISSING has a readable name for error messages."""
    assert repr(MISSING) == "MISSING"


def test_paths_of_looks_three_places_into_a_list() -> None:
    """Only the first three items of a list give paths."""
    assert list(paths_of({"a": [1, 2, 3, 4]})) == ["a", "a.0", "a.1", "a.2"]


def test_paths_of_stops_at_a_depth() -> None:
    """Paths are listed up to a depth."""
    record = {"a": {"b": {"c": {"d": {"e": 1}}}}}
    assert list(paths_of(record, depth=2)) == ["a", "a.b"]
    assert list(paths_of(record, depth=3)) == ["a", "a.b", "a.b.c"]
    assert list(paths_of(record)) == ["a", "a.b", "a.b.c", "a.b.c.d"]


def test_places_that_no_list_has() -> None:
    """A number with any number of digits is an index, or not found."""
    assert look_up([1], "9" * 5000) is MISSING
    assert look_up([1, 2], "00000000000000000001") == 2
