"""The references of groups: 8 bytes for a group, and nothing if no row has a reference."""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from prefpairs.fields.reference import columns_that_differ

_MARK = 8


class GroupReferences:
    """The least mark in each group, and the largest one in the few groups that have several.

    >>> from prefpairs.fields.reference import mark_of
    >>> references = GroupReferences()
    >>> references.add(0, mark_of(("answer", "4")))
    >>> references.add(0, mark_of(("target", "4")))
    >>> references.add(1, mark_of(("answer", "4")))
    >>> references.add(1, mark_of(("target", "5")))
    >>> [*references.that_differ()]
    [(1, ['target', 'answer'])]
    """

    def __init__(self) -> None:
        self._least = array("Q")
        self._largest: dict[int, int] = {}

    def add(self, group: int, mark: int) -> None:
        """Add a mark to a group. The order does not matter."""
        if group >= len(self._least):
            self._least.frombytes(bytes(_MARK * (group + 1 - len(self._least))))
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

    def that_differ(self) -> Iterator[tuple[int, list[str]]]:
        """Each group with different references, and their columns."""
        for group, largest in self._largest.items():
            if columns := columns_that_differ(self._least[group], largest):
                yield group, columns
