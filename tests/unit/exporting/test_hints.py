"""Hints from a function of the user; those of tables are in test_sdpo.py."""

from pathlib import Path

import pytest

from prefpairs.chat.hints import hint_function
from prefpairs.errors import UsageError

MODULE = """
def hint(kind, meta):
    return f" {kind}: {meta.get('name')} "

def nothing(kind, meta):
    return "  " if meta else None

def broken(kind, meta):
    return meta["name"]

def number(kind, meta):
    return 1

word = "hint"
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hints_of_mine.py").write_text(MODULE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # and forgets the module afterwards


def test_what_it_is_given() -> None:
    """The kind of the error, and its details; errors without a name have one of ours."""
    hint = hint_function("hints_of_mine:hint")
    assert hint("gone", {"name": "a"}) == "gone: a"
    assert hint(True, "text") == "tool_error: None"


def test_no_hint() -> None:
    """None, or a text without a word."""
    hint = hint_function("hints_of_mine:nothing")
    assert (hint("gone", {}), hint("gone", {"name": "a"})) == (None, None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hints_of_mine", "expected a module and a function"),
        ("no_such_module:hint", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("hints_of_mine:none", "has no attribute 'none'"),
        ("hints_of_mine:word", "is no function"),
    ],
)
def test_what_cannot_be_used(name: str, problem: str) -> None:
    """A hint function that cannot be imported or called is reported with the reason."""
    with pytest.raises(UsageError) as caught:
        hint_function(name)
    assert problem in caught.value.problem


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("broken", "failed for gone: KeyError: 'name'"),
        ("number", "returned 1 for gone"),
    ],
)
def test_what_it_does_wrong(name: str, problem: str) -> None:
    """The run ends: no hint is made up."""
    hint = hint_function(f"hints_of_mine:{name}")
    with pytest.raises(UsageError) as caught:
        hint("gone", {})
    assert problem in caught.value.problem
