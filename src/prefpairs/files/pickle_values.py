"""Single values in a pickle, numbers of numpy among them, and instructions never followed."""

import struct
from typing import Any, NamedTuple, NoReturn

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
"""The memory of a number, or of a text without its characters of up to four bytes each."""


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
            self._refuse("a text that is not UTF-8")
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


# Rewards and metrics are often numbers of numpy. In a pickle, these are calls such as
# `scalar(dtype("f4", ...), bytes)`. No function is imported for them: two names are recognised, and
# their result is computed here.
_SCALAR, _DTYPE = "scalar", "dtype"
_NAMES = {
    ("numpy._core.multiarray", "scalar"): _SCALAR,
    ("numpy.core.multiarray", "scalar"): _SCALAR,
    ("numpy", "dtype"): _DTYPE,
}
_CODES = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q",
    "u8": "Q", "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip
_ORDERS = {"<": "<", ">": ">", "|": "<"}


class NotNumpy(Exception):
    """Something other than a number of numpy."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class _Name(NamedTuple):
    """One of the known names."""

    of: str


class _Dtype:
    """The type of a number, as a code of `struct`.

    Its state comes later and is set in place, because the memo refers to the object already.
    """

    __match_args__ = ("code", "order")

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "<"


def numpy_name(module: Any, name: Any) -> _Name:
    """The meaning of a name, if it is a known one.

    >>> numpy_name("numpy", "dtype")
    _Name(of='dtype')
    """
    known = _NAMES.get((str(module), str(name)))
    if known is None:
        shown = f"{str(module)[:60]}.{str(name)[:60]}"
        raise NotNumpy(f"it names {shown}, which is code and no data; nothing of it is run")
    return _Name(known)


def numpy_call(function: Any, arguments: Any) -> Any:
    """The type or the number that a call would return."""
    match function, arguments:
        case _Name(of="dtype"), (str(code), bool(), bool()) if code in _CODES:
            return _Dtype(_CODES[code])
        case _Name(of="scalar"), (_Dtype(code, order), bytes(data)):
            if len(data) == struct.calcsize(order + code):
                return struct.unpack(order + code, data)[0]
    raise NotNumpy("a call that makes no number of numpy; it is not made")


def set_numpy_state(thing: Any, state: Any) -> None:
    """Set the byte order of a type."""
    match thing, state:
        case _Dtype(), (int(), str(order), *_) if order in _ORDERS:
            thing.order = _ORDERS[order]
        case _:
            raise NotNumpy("the state of something that is no type of numpy")
