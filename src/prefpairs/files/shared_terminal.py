"""The terminal that data and whatever is drawn beside it share: data comes, drawings go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_drawings: list[Callable[[], None]] = []


@contextmanager
def drawn(leave: Callable[[], None]) -> Iterator[None]:
    """Something is drawn for the time of a block, unless data comes: then it is told to leave."""
    _drawings.append(leave)
    try:
        yield
    finally:
        _drawings.remove(leave)


def make_room() -> None:
    """Let everything leave that is drawn, for data is about to be seen."""
    for leave in _drawings:
        leave()
