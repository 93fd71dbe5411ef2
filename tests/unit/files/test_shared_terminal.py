"""Data comes, drawings go."""

import pytest

from prefpairs.files.standard_output import clear_drawings, drawing


def test_whoever_draws_is_told_to_leave() -> None:
    """As long as it stands, and no longer."""
    left: list[str] = []
    with drawing(lambda: left.append("a")):
        clear_drawings()
        clear_drawings()
    clear_drawings()
    assert left == ["a", "a"]


def test_after_an_exception() -> None:
    """Nobody is told any more."""
    left: list[str] = []
    with pytest.raises(KeyboardInterrupt), drawing(lambda: left.append("a")):
        raise KeyboardInterrupt
    clear_drawings()
    assert left == []
