"""The exceptions: facts and exit codes."""

import gc
import inspect
import weakref
from typing import Any

import pytest

from prefpairs import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.PrefpairsError(), 70),
        (errors.BadRecord("odd"), 1),
        (errors.NotJson("odd"), 1),
        (errors.BadField("score", "x", "a number"), 1),
        (errors.BadRecords(1, []), 1),
        (errors.BadInput("f", "odd"), 1),
        (errors.InputChanged("f"), 1),
        (errors.UsageError("odd"), 2),
        (errors.UnknownWord("source", "x", []), 2),
        (errors.NoSuchPath("--score", "x", []), 2),
        (errors.TooManyPairs(11, 10), 2),
        (errors.NothingCameOut("pair"), 3),
        (errors.NotThere("pair", ["x"]), 3),
        (errors.FileError("f", "full"), 5),
    ],
)
def test_exit_codes(error: Any, code: int) -> None:
    """Bad data 1, wrong usage 2, nothing 3, the file system 5."""
    assert error.exit_code == code


def test_tree_on_top_names_every_exception() -> None:
    """The class tree in the module docstring names every exception."""
    tree = inspect.getdoc(errors) or ""
    classes = [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
    own = [name for name in classes if vars(errors)[name].__module__ == errors.__name__]
    assert len(own) > 10
    assert [name for name in own if name not in tree] == []


class Value(list[Any]):
    """A list that can be weakly referenced."""


def test_a_bad_value_is_let_go_at_once() -> None:
    """A bad value is freed at once, since it may be large and Python 3.13 rarely collects."""
    value = Value([[number] for number in range(100)])
    alive = weakref.ref(value)
    gc.disable()
    try:
        shown = errors.BadField("score", value, "a number").shown
        del value
        assert alive() is None
    finally:
        gc.enable()
    assert shown == "[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11..."


def test_a_value_that_holds_itself_is_shown_in_part() -> None:
    """A value that contains itself, which pickled rows can have, is shown in part."""
    value: dict[str, Any] = {}
    value["of"] = [value]
    assert errors.BadField("score", value, "a number").shown == '{"of": [' * 7 + '{"of...'
