"""Digests to numbers, in a table of bytes."""

from array import array

from prefpairs.sieves.entry import DIGEST


class Numbering:
    """Digests, numbered as they first come: some 30 bytes each, where a dict takes 120.

    >>> numbering = Numbering()
    >>> numbering.number_of(b"sixteen bytes  1"), numbering.number_of(b"sixteen bytes  2")
    (0, 1)
    >>> numbering.number_of(b"sixteen bytes  1"), numbering.find(b"sixteen bytes  3")
    (0, -1)
    """

    def __init__(self, digests: bytearray | None = None) -> None:
        """Given `digests`, whoever asks for a number puts each new digest at their end."""
        self._keeps = digests is None
        self._digests = bytearray() if digests is None else digests
        self._slots = array("I", bytes(4 * 1024))  # a number plus one, or nothing
        self._mask = len(self._slots) - 1
        self._count = 0

    def __len__(self) -> int:
        """How many digests have a number."""
        return self._count

    def number_of(self, digest: bytes) -> int:
        """The number of a digest; a new one gets the next."""
        slot = self._slot(digest)
        if found := self._slots[slot]:
            return found - 1
        self._slots[slot] = self._count = self._count + 1
        if self._keeps:
            self._digests += digest
        if 3 * self._count > 2 * len(self._slots):
            self._grow()
        return self._count - 1

    def find(self, digest: bytes) -> int:
        """The number of a digest, or -1."""
        return self._slots[self._slot(digest)] - 1

    def _slot(self, digest: bytes) -> int:
        """Where a digest stands, or would stand."""
        slot = int.from_bytes(digest[:8], "little") & self._mask
        while number := self._slots[slot]:
            if self._digests[DIGEST * (number - 1) : DIGEST * number] == digest:
                return slot
            slot = (slot + 1) & self._mask
        return slot

    def _grow(self) -> None:
        size = 2 * len(self._slots)
        self._mask = size - 1
        self._slots = array("I", bytes(4 * size))
        for number in range(self._count):
            digest = self._digests[DIGEST * number : DIGEST * (number + 1)]
            slot = int.from_bytes(digest[:8], "little") & self._mask
            while self._slots[slot]:
                slot = (slot + 1) & self._mask
            self._slots[slot] = number + 1
