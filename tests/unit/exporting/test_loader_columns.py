"""The columns that loaders infer from a file, row by row."""

from typing import Any

import pytest

from prefpairs.dataset.column_types import FIRST_BLOCK, InferredColumns
from prefpairs.dataset.row_rules import Finding, Row

Told = tuple[str, str, str]


def _plain(found: Any) -> list[Told]:
    return [(str(effect), code, field) for effect, code, field in found]


def _early(*rows: Row) -> list[list[Told]]:
    """The findings for each row in the first block of a file."""
    columns = InferredColumns()
    return [_plain(columns.see(row, 0)) for row in rows]


def _late(row: Row, *before: Row) -> list[Told]:
    """The findings for a row after the first block, with some rows before it."""
    columns = InferredColumns()
    for first in before:
        list(columns.see(first, 0))
    return _plain(columns.see(row, FIRST_BLOCK))


def _no_load(*places: str) -> list[Told]:
    return [("fails to load", "late_field", place) for place in places]


def _differ(*places: str) -> list[Told]:
    return [("warning", "types_differ", place) for place in places]


def test_first_block() -> None:
    """The fields of a row that begins in the first block are known; those of later rows are not."""
    assert FIRST_BLOCK == 10_485_760
    columns = InferredColumns()
    assert _plain(columns.see({"a": 1}, 0)) == []
    assert _plain(columns.see({"a": 1, "b": 1}, FIRST_BLOCK - 1)) == []
    assert _plain(columns.see({"a": 1, "b": 1}, FIRST_BLOCK)) == []
    assert _plain(columns.see({"a": 1, "c": 1}, FIRST_BLOCK)) == _no_load("c")


@pytest.mark.parametrize(
    ("before", "row", "place"),
    [
        ({"a": "x"}, {"a": "x", "b": "y"}, "b"),
        ({"a": None}, {"a": "x"}, "a"),
        ({"a": []}, {"a": ["x"]}, "a[]"),
        ({"a": 1}, {"a": 0.5}, "a"),
        ({"a": 1}, {"a": "1"}, "a"),
        ({"a": "x"}, {"a": ["x"]}, "a"),
        ({"a": "2026-01-01"}, {"a": "x"}, "a"),
        ({"a": [{"role": "u"}]}, {"a": [{"role": "u", "calls": [{"id": "1"}]}]}, "a[].calls"),
        ({"m": {"k": 1}}, {"m": {"k": 1, "l": 1}}, "m.l"),
    ],
)
def test_late_fields(before: Row, row: Row, place: str) -> None:
    """New names, types and items are found; only the outermost is reported."""
    assert _late(row, before) == _no_load(place)


@pytest.mark.parametrize(
    ("before", "row"),
    [
        ({"a": "x"}, {"a": None}),
        ({"a": "x"}, {}),
        ({"a": ["x"]}, {"a": []}),
        ({"a": 0.5}, {"a": 1}),
        ({"a": "x"}, {"a": "2026-01-01"}),
        ({"a": {"b": 1}}, {"a": {}}),
    ],
)
def test_late_rows_that_fit(before: Row, row: Row) -> None:
    """Missing fields are fine, and so are values that fit a wider type."""
    assert _late(row, before) == []


def test_late_field_is_reported_once() -> None:
    """Only the first row with a late field is reported."""
    columns = InferredColumns()
    list(columns.see({"a": 1}, 0))
    assert _plain(columns.see({"a": 1, "b": 1}, FIRST_BLOCK)) == _no_load("b")
    assert _plain(columns.see({"a": 1, "b": 1}, FIRST_BLOCK + 9)) == []


def test_several_late_fields() -> None:
    """Several late fields are sorted by name."""
    assert _late({"c": {"d": 1}, "b": "x", "bb": 1}, {"a": 1}) == _no_load("b", "bb", "c")


def test_types_that_differ() -> None:
    """The first row with a different type is a warning, once per field."""
    rows: list[Row] = [{"a": "x"}, {"a": ["x"]}, {"a": {"b": 1}}, {"a": "x"}]
    assert _early(*rows) == [[], _differ("a"), [], []]
    assert _early({"a": 1}, {"a": "1"}) == [[], _differ("a")]
    assert _early({"a": True}, {"a": 1}) == [[], _differ("a")]
    items: list[Row] = [{"m": [{"content": "x"}]}, {"m": [{"content": ["x"]}]}]
    assert _early(*items) == [[], _differ("m[].content")]


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 0.5), (0.5, 1), ("x", "2026-01-01"), ("2026-01-01", "x"), (None, 1), ([], [1]), (1, None)],
)
def test_types_that_go_together(one: Any, other: Any) -> None:
    """Within the first block, Arrow widens a type."""
    assert _early({"a": one}, {"a": other}) == [[], []]


def test_wider_type_does_not_hide_another() -> None:
    """Integers and floats are compatible, but texts in the same field are still reported."""
    assert _early({"a": 1}, {"a": "x"}, {"a": 0.5}) == [[], _differ("a"), []]
    assert _early({"a": "2026-01-01"}, {"a": 1}, {"a": "x"}) == [[], _differ("a"), []]


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ([{"m": [{"role": "u"}]}, {"m": [{"role": "u", "name": "Ann"}]}], ["m[].calls"]),
        ([{"m": [{"role": "u"}, {"role": "u", "name": "Ann"}]}], ["m[].calls"]),
        ([{"m": "x"}, {"m": [{"role": "u"}]}], []),
    ],
)
def test_late_fields_of_a_mixed_column(before: list[Row], told: list[str]) -> None:
    """Newer releases read such columns as JSON; only older ones reject them, reported once."""
    assert _late({"m": [{"role": "u", "calls": [{"id": "1"}]}]}, *before) == _differ(*told)


def test_mixed_column_says_nothing_of_others() -> None:
    """A late field in another column still fails."""
    before: list[Row] = [{"m": [{"a": 1}, {"b": 1}], "n": [{"a": 1}]}]
    late: Row = {"m": [{"c": 1}], "n": [{"c": 1}]}
    assert _late(late, *before) == [*_differ("m[].c"), *_no_load("n[].c")]


def test_mixed_columns() -> None:
    """A column is mixed if objects at any level of it have different keys."""
    columns = InferredColumns()
    columns.learn({"a": {"k": 1}, "b": [{"k": {"x": 1}}], "c": [{"k": 1}]})
    columns.learn({"a": {"k": 2}, "b": [{"k": {"y": 1}}], "c": [{"k": 1}], "d": 1})
    assert columns.mixed == {"b"}
    columns.learn({"a": {}})
    assert columns.mixed == {"a", "b"}


def test_shape() -> None:
    """All paths and types seen, early and late."""
    columns = InferredColumns()
    for offset, row in ((0, {"a": 1}), (FIRST_BLOCK, {"b": ["x"]})):
        list(columns.see(row, offset))
    assert columns.shape == {"a: int", "b: list", "b[]: string"}


def test_texts_that_are_dates() -> None:
    """A field is read as a date only if all of its texts are dates."""
    columns = InferredColumns()
    rows: list[Row] = [
        {"chosen": [{"content": "2024-01-01"}], "rejected": [{"content": "2024-01-01"}]},
        {"chosen": [{"content": "2024-01-02"}], "rejected": [{"content": "Never."}]},
    ]
    for row in rows:
        assert list(columns.see(row, 0)) == []
    found: list[Finding] = list(columns.settle({"chosen", "rejected"}))
    assert _plain(found) == [("trains on nothing", "reads_as_date", "chosen[].content")]


def test_dates_in_a_mixed_column() -> None:
    """In newer releases JSON stays text, so it is a warning for older ones."""
    columns = InferredColumns()
    for row in ({"m": [{"at": "2024-01-01"}]}, {"m": [{"at": "2024-01-01", "k": 1}]}):
        assert list(columns.see(row, 0)) == []
    assert _plain(columns.settle({"m", "a"})) == [("warning", "reads_as_date", "m[].at")]


def test_dates_in_unused_columns() -> None:
    """Columns that are not used for training may contain anything."""
    columns = InferredColumns()
    assert list(columns.see({"chosen": "a", "at": "2024-01-01"}, 0)) == []
    assert _plain(columns.settle({"chosen"})) == [("warning", "reads_as_date", "at")]


def test_types_that_differ_in_one_row() -> None:
    """Different types in one row are found, and make the column JSON for newer releases."""
    columns = InferredColumns()
    assert _plain(columns.see({"a": ["x", {"b": 1}]}, 0)) == [("warning", "types_differ", "a[]")]
    assert columns.mixed == {"a"}


def test_no_rows() -> None:
    """Without rows, nothing is reported."""
    assert list(InferredColumns().settle({"a"})) == []
