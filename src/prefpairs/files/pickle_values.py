"""Single values in a pickle, and the instructions that are never followed."""

import struct
from typing import Any, NoReturn

_REFUSED = {
    b"c": "GLOBAL", b"i": "INST", b"o": "OBJ", b"P": "PERSID", b"Q": "BINPERSID", b"p": "PUT",
    b"q": "BINPUT", b"r": "LONG_BINPUT", b"g": "GET", b"2": "DUP", b"0": "POP", b"1": "POP_MARK",
    b"I": "INT", b"L": "LONG", b"F": "FLOAT", b"S": "STRING", b"T": "BINSTRING",
    b"U": "SHORT_BINSTRING", b"V": "UNICODE", b"l": "LIST", b"d": "DICT", b"\x81": "NEWOBJ",
    b"\x82": "EXT1", b"\x83": "EXT2", b"\x84": "EXT4", b"\x8b": "LONG4", b"\x8f": "EMPTY_SET",
    b"\x90": "ADDITEMS", b"\x91": "FROZENSET", b"\x92": "NEWOBJ_EX", b"\x96": "BYTEARRAY8",
    b"\x97": "NEXT_BUFFER", b"\x98": "READONLY_BUFFER",
}  # fmt: skip
"""Instructions that plain data of protocols 4 and 5 never needs."""

_OBJECT, _NOT_READ = 32, 160
_TEXT, _WIDEST = 64, 4
"""The memory of a number, or of a text besides its characters of up to four bytes each."""


class Damaged(Exception):
    """Bytes that are not as they should be: the position, and the problem."""

    def __init__(self, place: int, problem: str) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem


class NotRead:
    """The placeholder for a value that is not read: its position, and why."""

    __slots__ = ("_place", "_problem")

    def __init__(self, place: int, problem: str) -> None:
        self._place = place
        self._problem = problem

    @property
    def damage(self) -> Damaged:
        """The exception for code that needs the value."""
        return Damaged(self._place, self._problem)


class PickledValues:
    """A pickle whose values are read one by one, and put on a stack."""

    def __init__(self, data: bytes, room: int) -> None:
        self._data = data
        self._place = 0
        self._room = room
        self._stack: list[Any] = []
        self._simple = True

    def _refuse(self, problem: str) -> NoReturn:
        raise Damaged(min(self._place, len(self._data)), problem)

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            self._refuse("it takes more memory than so few bytes should")

    def _not_read(self, problem: str, back: int = 0) -> NotRead:
        self._take(_NOT_READ + len(problem))
        return NotRead(self._place - back, problem)

    def _unread_instruction(self) -> NotRead:
        """The placeholder for the value of the last instruction."""
        code = self._data[self._place - 1 : self._place]
        name = _REFUSED.get(code, f"0x{code.hex()}")
        problem = f"the instruction {name}, which plain data does not need, is not run"
        return self._not_read(problem, back=1)

    def unknown(self) -> None:
        """An instruction that plain data does not have."""
        raise self._unread_instruction().damage

    def _bytes(self, count: int) -> bytes:
        end = self._place + count
        if end > len(self._data):
            self._refuse(f"{count} bytes are announced, and {len(self._data) - self._place} come")
        found = self._data[self._place : end]
        self._place = end
        return found

    def _number(self, count: int) -> int:
        return int.from_bytes(self._bytes(count), "little")

    def _text(self, count: int) -> None:
        try:
            text = self._bytes(count).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self._refuse("a text that is no UTF-8")
        self._room -= _TEXT + (count if text.isascii() else _WIDEST * len(text))
        self._stack.append(text)

    def frame(self) -> None:
        """A frame begins; its length is not needed."""
        self._bytes(8)

    def none(self) -> None:
        """Null."""
        self._stack.append(None)

    def true(self) -> None:
        """True."""
        self._stack.append(True)

    def false(self) -> None:
        """False."""
        self._stack.append(False)

    def small(self) -> None:
        """A number of one byte."""
        self._stack.append(self._data[self._place])
        self._place += 1

    def middling(self) -> None:
        """A number of two bytes."""
        self._room -= _OBJECT
        self._stack.append(self._number(2))

    def signed(self) -> None:
        """A signed number of four bytes."""
        self._room -= _OBJECT
        self._stack.append(int.from_bytes(self._bytes(4), "little", signed=True))

    def long(self) -> None:
        """A number of up to 255 bytes."""
        self._room -= _OBJECT
        self._stack.append(int.from_bytes(self._bytes(self._number(1)), "little", signed=True))

    def longer(self) -> None:
        """A number of more bytes, which is not read: no real number has that many."""
        made = self._unread_instruction()
        self._bytes(self._number(4))
        self._stack.append(made)

    def fraction(self) -> None:
        """A float."""
        (value,) = struct.unpack_from(">d", self._data, self._place)
        self._place += 8
        self._room -= _OBJECT
        self._simple = self._simple and value - value == 0
        self._stack.append(value)

    def short_text(self) -> None:
        """A text of up to 255 bytes."""
        self._text(self._number(1))

    def text(self) -> None:
        """A text of up to 4 GB."""
        self._text(self._number(4))

    def long_text(self) -> None:
        """A longer text."""
        self._text(self._number(8))

    def short_bytes(self) -> None:
        """Up to 255 bytes."""
        self._room -= _OBJECT
        self._stack.append(self._bytes(self._number(1)))

    def plain_bytes(self) -> None:
        """Up to 4 GB of bytes."""
        self._room -= _OBJECT
        self._stack.append(self._bytes(self._number(4)))

    def byte_array(self) -> None:
        """A bytearray."""
        made = self._unread_instruction()
        self._bytes(self._number(8))
        self._stack.append(made)
