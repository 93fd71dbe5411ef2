"""Values of any type in any place: each reader reads the row, drops it or rejects it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fuzz_seeds import seeds
from fuzz_targets import TARGETS

from prefpairs.sources import SOURCES

Place = tuple[str | int, ...]

VALUES: tuple[Any, ...] = (
    *(None, True, 7, -0.5, "", "x", "[]"),
    *([], [7], ["x"], [[]], {}, {"x": 7}, [{"x": [7]}]),
)


def places(value: Any, before: Place = ()) -> Iterator[Place]:
    """Every place in a row, from the outside in."""
    if not isinstance(value, (dict, list)):
        return
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*before, key)
        yield from places(value[key], (*before, key))


def put(row: Any, place: Place, value: Any) -> Any:
    """A copy of a row with another value in one place."""
    if not place:
        return value
    key, *rest = place
    copy = row.copy()
    copy[key] = put(row[key], tuple(rest), value)
    return copy


def mutants(target: str) -> Iterator[bytes]:
    """The seeds of a target with each value in each kind of place, once."""
    seen: set[Place] = set()
    for seed in seeds(target):
        try:
            row = json.loads(seed)
        except ValueError:
            continue
        for place in places(row):
            kind = tuple("[]" if isinstance(key, int) else key for key in place)
            if kind not in seen:
                seen.add(kind)
                for value in VALUES:
                    yield json.dumps(put(row, place, value)).encode()


def test_values_are_put_anywhere() -> None:
    """Values can be put in any place, or the test below would try too little."""
    row = {"a": [{"b": 1}]}
    assert list(places(row)) == [("a",), ("a", 0), ("a", 0, "b")]
    assert put(row, ("a", 0, "b"), []) == {"a": [{"b": []}]}
    assert row == {"a": [{"b": 1}]}


@pytest.mark.full
@pytest.mark.parametrize(
    "target",
    [
        pytest.param(name, marks=pytest.mark.stress if name == "generic" else ())
        for name in (*SOURCES, "pairs")
    ],
)
def test_any_value(target: str) -> None:
    """Each reader keeps its promise on rows with a value of another type in one place."""
    for row in mutants(target):
        TARGETS[target](row)
