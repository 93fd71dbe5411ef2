"""The shapes of rows."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefpairs.dataset.column_types import InferredColumns, column_of, form_of, shape_of

_SCALARS = st.sampled_from([None, True, 1, 1.0, "a", "2026-01-01", "role"])
_KEYS = st.sampled_from(["role", "content", "a"])
_VALUES: Any = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_KEYS, inner, max_size=2)),
    max_leaves=6,
)
_ROWS = st.dictionaries(_KEYS, _VALUES, max_size=3)


def test_shape() -> None:
    """Every path with its type; items of a list share one, and null has none."""
    row = {
        "prompt": [{"role": "user"}, {"role": "tool", "call": {"a": 1, "b": True}}],
        "chosen": "A",
        "score": 0.5,
        "gap": None,
        "ids": [[1, 2.5, None], []],
    }
    assert shape_of(row) == {
        "prompt: list",
        "prompt[]: object",
        "prompt[].role: string",
        "prompt[].call: object",
        "prompt[].call.a: int",
        "prompt[].call.b: bool",
        "chosen: string",
        "score: float",
        "ids: list",
        "ids[]: list",
        "ids[][]: int",
        "ids[][]: float",
    }


def test_types_that_differ() -> None:
    """An integer is no float, and an empty list has no items."""
    assert shape_of({"a": 1}) != shape_of({"a": 1.0})
    assert shape_of({"a": []}) == {"a: list"}
    assert shape_of({"a": {}}) == {"a: object"}
    assert shape_of({"a": None}) == shape_of({}) == frozenset()


def test_column_of() -> None:
    """The first name of a path."""
    paths = ["a: string", "a: list", "a[]: object", "a[].b: int", "a.b[].c: null", "a.b: float"]
    assert list(map(column_of, paths)) == ["a"] * 6


@given(_ROWS, _ROWS)
def test_rows_of_one_form(row: dict[str, Any], other: dict[str, Any]) -> None:
    """Rows with equal columns, and objects with equal keys, have one shape."""
    assert form_of(row) == form_of(_varied(row))
    for same in (other, _varied(row)):
        if form_of(row) == form_of(same):
            assert shape_of(row) == shape_of(same)
            assert list(row) == list(same)
            assert _mixed(row) == _mixed(same) == _mixed(row, same)


def _varied(value: Any) -> Any:
    """Other texts and numbers, and every item repeated."""
    if isinstance(value, dict):
        return {key: _varied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [*map(_varied, value), *value]
    others = {"a": "b", "2026-01-01": "2026-02-02", 1: 2}
    return value if isinstance(value, (bool, float)) else others.get(value, value)


def _mixed(*rows: dict[str, Any]) -> set[str]:
    columns = InferredColumns()
    for row in rows:
        columns.learn(row)
    return columns.mixed


def test_forms() -> None:
    """Texts and the number of items do not matter; dates, types and keys do."""
    row: dict[str, Any] = {"a": [{"role": "user", "content": "Q"}], "b": "x", "c": 1}
    assert form_of(row) == form_of({**row, "a": row["a"] * 3, "b": "y", "c": 2})
    others: list[dict[str, Any]] = [
        {"b": "2026-01-01"},
        {"c": 1.0},
        {"c": None},
        {"c": True},
        {"a": []},
        {"a": {}},
        {"a": [[]]},
        {"a": [{"role": "user", "content": None}]},
        {"a": [{"role": "user"}]},
        {"d": 1},
    ]
    assert len({form_of(row), *(form_of({**row, **other}) for other in others)}) == 11
    assert form_of({"a": 1, "b": "x"}) != form_of({"b": 1, "a": "x"})
