"""Data comes, drawings go."""

import pytest

from prefpairs.files.shared_terminal import drawn, make_room


def test_whoever_draws_is_told_to_leave() -> None:
    """As long as it stands, and no longer."""
    left: list[str] = []
    with drawn(lambda: left.append("a")):
        make_room()
        make_room()
    make_room()
    assert left == ["a", "a"]


def test_after_an_exception() -> None:
    """Nobody is told any more."""
    left: list[str] = []
    with pytest.raises(KeyboardInterrupt), drawn(lambda: left.append("a")):
        raise KeyboardInterrupt
    make_room()
    assert left == []
