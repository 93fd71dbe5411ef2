"""A compact table that numbers digests."""

from array import array
from collections.abc import Iterable, Iterator

from prefpairs.model.identity import DIGEST

_FIRST_SLOTS = 1024
"""The initial size of the table, a power of two; it doubles when two thirds of it are in use."""


NO_DIGEST = bytes(DIGEST)
"""What stands in a column where there is no digest."""


def digest_at(digests: bytes | bytearray, slot: int) -> bytes:
    """One of many digests that follow each other."""
    return bytes(digests[DIGEST * slot : DIGEST * (slot + 1)])


def digests_at(digests: bytes | bytearray, slots: Iterable[int]) -> list[bytes | bytearray]:
    """Some of them."""
    return [digests[DIGEST * slot : DIGEST * (slot + 1)] for slot in slots]


class DigestTable:
    """Numbers digests in the order in which they first come: 30 bytes each, where a dict takes 140.

    The digests are stored here only, so that table and digests cannot disagree. Slots are chosen
    by Python's own keyed hash, so that rows cannot be crafted to collide and slow it down.

    >>> table = DigestTable()
    >>> table.number_of(b"sixteen bytes  1"), table.number_of(b"sixteen bytes  2")
    (0, 1)
    >>> table.number_of(b"sixteen bytes  1"), table.find(b"sixteen bytes  3")
    (0, -1)
    >>> table[1]
    b'sixteen bytes  2'
    """

    def __init__(self) -> None:
        self._digests = bytearray()
        self._slots = array("I", bytes(4 * _FIRST_SLOTS))  # a number plus one; 0 if free
        self._mask = len(self._slots) - 1
        self._count = 0

    def __len__(self) -> int:
        """The number of different digests."""
        return self._count

    def __getitem__(self, number: int) -> bytes:
        """The digest with this number."""
        return bytes(self._digests[DIGEST * number : DIGEST * (number + 1)])

    def since(self, number: int) -> bytes:
        """The digests from this number on, one after the other."""
        return bytes(self._digests[DIGEST * number :])

    def __iter__(self) -> Iterator[bytes]:
        """The digests in the order of their numbers."""
        return map(self.__getitem__, range(self._count))

    def number_of(self, digest: bytes) -> int:
        """The number of a digest; a new digest gets the next free number."""
        slot = hash(digest) & self._mask  # as in `find`: a call would take as long as the search
        while number := self._slots[slot]:
            if self._digests[DIGEST * (number - 1) : DIGEST * number] == digest:
                return number - 1
            slot = (slot + 1) & self._mask
        if len(digest) != DIGEST:
            raise ValueError(f"a digest has {DIGEST} bytes, not {len(digest)}")
        self._digests += digest
        self._slots[slot] = self._count = self._count + 1
        if 3 * self._count > 2 * len(self._slots):
            self._rebuild(2 * len(self._slots))
        return self._count - 1

    def numbers_of(self, digests: bytes | bytearray) -> "array[int]":
        """The numbers of digests that follow each other."""
        slots = range(len(digests) // DIGEST)
        return array("I", [self.number_of(digest_at(digests, slot)) for slot in slots])

    def truncate(self, count: int) -> None:
        """Forget all digests but so many first ones."""
        del self._digests[DIGEST * count :]
        self._count = count
        self._rebuild(len(self._slots))

    def find_all(self, digests: bytes | bytearray) -> Iterator[tuple[int, int]]:
        """Of digests that follow each other, the slots and numbers of those that have one."""
        for slot in range(len(digests) // DIGEST):
            number = self.find(digest_at(digests, slot))
            if number >= 0:
                yield slot, number

    def find(self, digest: bytes) -> int:
        """The number of a digest, or -1 if it has none."""
        slot = hash(digest) & self._mask
        while number := self._slots[slot]:
            if self._digests[DIGEST * (number - 1) : DIGEST * number] == digest:
                return number - 1
            slot = (slot + 1) & self._mask
        return -1

    def _rebuild(self, size: int) -> None:
        self._mask = size - 1
        self._slots = array("I", bytes(4 * size))
        for number, digest in enumerate(self, 1):  # all differ, so each takes the next free slot
            slot = hash(digest) & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number
