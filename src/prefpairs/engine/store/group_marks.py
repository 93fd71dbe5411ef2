"""Marks of groups, by which groups with several references or tasks are found."""

from array import array
from collections.abc import Iterable, Iterator, Sequence

MARK = 8
"""The bytes of a mark."""


class GroupMarks:
    """The least mark in each group, and the largest one in the few groups that have several.

    A mark takes 8 bytes a group; nothing is kept if there are none.

    >>> marks = GroupMarks()
    >>> marks.add(0, 4)
    >>> marks.add(1, 4)
    >>> marks.add(1, 5)
    >>> [*marks.several()]
    [(1, 4, 5)]
    """

    def __init__(self) -> None:
        self._least = array("Q")
        self._largest: dict[int, int] = {}

    def add(self, group: int, mark: int) -> None:
        """Add a mark to a group. The order does not matter."""
        if group >= len(self._least):
            self._least.frombytes(bytes(MARK * (group + 1 - len(self._least))))
        least = self._least[group]
        if not least:
            self._least[group] = mark
        elif mark != least:
            self._least[group] = min(least, mark)
            self._largest[group] = max(least, mark, self._largest.get(group, 0))

    def of(self, groups: Iterable[int]) -> bytes:
        """Both marks of each group; 0 where there is none, and nothing if there are none at all."""
        if not self._least:
            return b""
        known = len(self._least)
        marks = array("Q")
        for group in groups:
            marks.append(self._least[group] if group < known else 0)
            marks.append(self._largest.get(group, 0))
        return marks.tobytes()

    def join(self, groups: Sequence[int], marks: bytes) -> None:
        """Add the marks that others found in these groups."""
        for place, mark in enumerate(array("Q", marks)):
            if mark:
                self.add(groups[place // 2], mark)

    def truncate(self, groups: int) -> None:
        """Remove the marks of all groups but the first ones."""
        del self._least[groups:]
        self._largest = {group: mark for group, mark in self._largest.items() if group < groups}

    def several(self) -> Iterator[tuple[int, int, int]]:
        """Each group with several marks: the least and the largest."""
        for group, largest in self._largest.items():
            yield group, self._least[group], largest
