"""What was seen before, in a fixed space: sure where it says yes, forgetful after a million."""

from array import array

_SLOTS = 1 << 20


class Memory:
    """Remembers the last key of each of a million slots: 8 MB, whatever comes.

    >>> memory = Memory()
    >>> memory.has(b"sixteen bytes ok"), memory.has(b"sixteen bytes ok")
    (False, True)
    """

    def __init__(self) -> None:
        self._prints = array("Q", bytes(8 * _SLOTS))

    def has(self, key: bytes) -> bool:
        """Whether a key came before; from now on it did."""
        slot = int.from_bytes(key[:8], "little") % _SLOTS
        mark = int.from_bytes(key[8:16], "little")
        before, self._prints[slot] = self._prints[slot], mark
        return before == mark
