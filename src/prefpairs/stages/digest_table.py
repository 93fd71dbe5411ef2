"""Digests to numbers, in a table of bytes."""

from array import array
from collections.abc import Iterator

from prefpairs.model.identity import DIGEST

_FIRST_SLOTS = 1024
"""The table begins with so many slots, a power of two, and doubles when two thirds are taken."""


class DigestTable:
    """Digests, numbered as they first come: some 30 bytes each, where a dict takes 140.

    The digests are kept here and nowhere else, so table and digests cannot disagree. Slots come
    from Python's own keyed hash: rows that were made to collide do not slow it down.

    >>> numbering = DigestTable()
    >>> numbering.number_of(b"sixteen bytes  1"), numbering.number_of(b"sixteen bytes  2")
    (0, 1)
    >>> numbering.number_of(b"sixteen bytes  1"), numbering.find(b"sixteen bytes  3")
    (0, -1)
    >>> numbering[1]
    b'sixteen bytes  2'
    """

    def __init__(self) -> None:
        self._digests = bytearray()
        self._slots = array("I", bytes(4 * _FIRST_SLOTS))  # a number plus one, or nothing
        self._mask = len(self._slots) - 1
        self._count = 0

    def __len__(self) -> int:
        """How many digests have a number."""
        return self._count

    def __getitem__(self, number: int) -> bytes:
        """The digest that has a number."""
        return bytes(self._digests[DIGEST * number : DIGEST * (number + 1)])

    def __iter__(self) -> Iterator[bytes]:
        """The digests in the order of their numbers."""
        return map(self.__getitem__, range(self._count))

    def number_of(self, digest: bytes) -> int:
        """The number of a digest; a new one gets the next."""
        slot = self._slot(digest)
        if found := self._slots[slot]:
            return found - 1
        if len(digest) != DIGEST:
            raise ValueError(f"a digest has {DIGEST} bytes, not {len(digest)}")
        self._digests += digest
        self._slots[slot] = self._count = self._count + 1
        if 3 * self._count > 2 * len(self._slots):
            self._grow()
        return self._count - 1

    def find(self, digest: bytes) -> int:
        """The number of a digest, or -1."""
        return self._slots[self._slot(digest)] - 1

    def _slot(self, digest: bytes) -> int:
        """Where a digest stands, or would stand."""
        slot = hash(digest) & self._mask
        while number := self._slots[slot]:
            if self._digests[DIGEST * (number - 1) : DIGEST * number] == digest:
                return slot
            slot = (slot + 1) & self._mask
        return slot

    def _grow(self) -> None:
        size = 2 * len(self._slots)
        self._mask = size - 1
        self._slots = array("I", bytes(4 * size))
        for number, digest in enumerate(self, 1):  # all differ: each takes the next free slot
            slot = hash(digest) & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number
