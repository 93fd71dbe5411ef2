"""Removes drawings before data is printed."""

import pytest

from prefpairs.files.standard_output import clear_drawings, drawing


def test_drawings_are_asked_to_leave() -> None:
    """The drawing is asked to leave while its block lasts, and no longer."""
    left: list[str] = []
    with drawing(lambda: left.append("a")):
        clear_drawings()
        clear_drawings()
    clear_drawings()
    assert left == ["a", "a"]


def test_after_an_exception() -> None:
    """After an exception, it is not asked any more."""
    left: list[str] = []
    with pytest.raises(KeyboardInterrupt), drawing(lambda: left.append("a")):
        raise KeyboardInterrupt
    clear_drawings()
    assert left == []
