"""The shape of rows."""

from prefpairs.targets.shape import column_of, shape_of


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
