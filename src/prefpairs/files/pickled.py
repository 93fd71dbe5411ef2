"""Plain data out of a pickle, by a reader of our own that knows nothing else.

A pickle is a program, and Python's own module runs it. Here numbers, texts, lists and objects are
read; whatever names, calls or builds something is refused by its name. The numbers of numpy are
the one exception (pickled_numbers.py): they are told by name, and made without it.

Memory: what each instruction makes is in proportion to its bytes. There are no places in the memo
but the next one, and lists and objects, of which one byte makes hundreds, are counted.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from prefpairs.files import pickled_numbers
from prefpairs.files.pickled_values import PickledValues

_FEWEST, _BYTES_EACH = 4096, 8
"""So many lists and objects may be there, and another one for so many bytes."""

_MOST_MARKS = 1000

_REPEATS = 16
"""Texts that stand for more than so many times their bytes are looked at with care."""


class Unpickled(NamedTuple):
    """What a pickle holds. `simple` if nothing stands twice in it, and all its numbers are finite.

    Of what is not simple nobody knows how large it is: it may even hold itself.
    """

    value: Any
    simple: bool


def unpickled(data: bytes) -> Unpickled:
    """The plain data of a pickle; Damaged where it is none, or asks for anything else.

    >>> unpickled(bytes.fromhex("8005 7d 8c0161 4b07 73 2e"))
    Unpickled(value={'a': 7}, simple=True)
    """
    return _Reader(data).read()


class _Reader(PickledValues):
    """A pickle that is being read: what is finished stands on the stack."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._below: list[list[Any]] = []
        self._memo: list[Any] = []
        self._room = _FEWEST + len(data) // _BYTES_EACH
        self._repeated = 0

    def read(self) -> Unpickled:
        """Do what each instruction says, up to the last one."""
        data, steps = self._data, _STEPS
        if data[:1] != b"\x80" or data[1:2] not in (b"\x04", b"\x05"):
            self._refuse("no pickle of protocol 4 or 5")
        self._place = 2
        try:
            while (code := data[self._place]) != _STOP:
                self._place += 1
                steps[code](self)
        except (IndexError, struct.error):
            self._refuse("it ends too early, or takes what is not there")
        if len(self._stack) != 1 or self._below or self._place + 1 != len(data):
            self._refuse("it ends with more, or with less, than one value")
        simple = self._simple and self._repeated <= _REPEATS * len(data)
        return Unpickled(self._stack[0], simple)

    def _begin(self, value: Any) -> None:
        self._room -= 1
        if self._room < 0:
            self._refuse("it holds more lists than so few bytes should")
        self._stack.append(value)

    def empty_list(self) -> None:
        """A list begins."""
        self._begin([])

    def empty_dict(self) -> None:
        """An object begins."""
        self._begin({})

    def empty_tuple(self) -> None:
        """A list without items, that stays so."""
        self._stack.append(())

    # What is put together ---------------------------------------------------------------------

    def mark(self) -> None:
        """What follows belongs together."""
        if len(self._below) >= _MOST_MARKS:
            self._refuse("nested too deeply")
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        found = self._stack
        self._stack = self._below.pop()
        return found

    def append(self) -> None:
        """One more item of a list."""
        item = self._stack.pop()
        self._list().append(item)

    def appends(self) -> None:
        """More items of a list."""
        items = self._since_mark()
        self._list().extend(items)

    def _list(self) -> list[Any]:
        into = self._stack[-1]
        if type(into) is not list:
            self._refuse("items for what is no list")
        return into

    def set_item(self) -> None:
        """One more member of an object."""
        value, key = self._stack.pop(), self._stack.pop()
        self._dict()[self._key(key)] = value

    def set_items(self) -> None:
        """More members of an object."""
        items = self._since_mark()
        into = self._dict()
        for key, value in zip(items[::2], items[1::2], strict=False):
            into[self._key(key)] = value
        if len(items) % 2:
            self._refuse("a key without a value")

    def _dict(self) -> dict[str, Any]:
        into = self._stack[-1]
        if type(into) is not dict:
            self._refuse("members for what is no object")
        return into

    def _key(self, key: Any) -> str:
        """A key as text, as JSON has it; numbers in a row would make a dict crawl, too."""
        if type(key) is str:
            return key
        if key is not None and type(key) not in (bool, int, float):
            self._refuse("a key that is neither text nor a number")
        return str(key)

    def tuple_of(self, count: int) -> None:
        """A list that stays as it is, of the last few values."""
        if len(self._stack) < count:
            raise IndexError
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self._begin(items)

    def tuple_since_mark(self) -> None:
        """The same of all since the mark."""
        items = self._since_mark()
        self._begin(tuple(items))

    # What is said twice -----------------------------------------------------------------------

    def memoize(self) -> None:
        """The last value may be wanted again."""
        self._memo.append(self._stack[-1])

    def get(self) -> None:
        """A value again."""
        self._again(self._memo[self._data[self._place]])
        self._place += 1

    def long_get(self) -> None:
        """A value again, of many."""
        self._again(self._memo[self._number(4)])

    def _again(self, value: Any) -> None:
        if type(value) is str:
            self._repeated += len(value)
        elif isinstance(value, (list, dict, tuple)):
            self._simple = False
        self._stack.append(value)

    # The numbers of numpy ---------------------------------------------------------------------

    def named(self) -> None:
        """Something that has a name: only what the numbers of numpy need is known."""
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(self._of_numpy(pickled_numbers.named, module, name))

    def called(self) -> None:
        """What a call would give, where it is one of those."""
        arguments, function = self._stack.pop(), self._stack.pop()
        self._stack.append(self._of_numpy(pickled_numbers.called, function, arguments))

    def built(self) -> None:
        """The state of something, where it is one of those."""
        state, thing = self._stack.pop(), self._stack.pop()
        self._stack.append(self._of_numpy(pickled_numbers.built, thing, state))

    def _of_numpy(self, make: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
        try:
            value = make(one, other)
        except pickled_numbers.NotPlain as refusal:
            self._refuse(refusal.problem)
        if isinstance(value, float):
            self._simple = self._simple and value - value == 0
        return value


_STOP = ord(".")
_KNOWN: dict[bytes, Callable[[_Reader], None]] = {
    b"\x95": _Reader.frame,
    b"N": _Reader.none,
    b"\x88": _Reader.true,
    b"\x89": _Reader.false,
    b"K": _Reader.small,
    b"M": _Reader.middling,
    b"J": _Reader.signed,
    b"\x8a": _Reader.long,
    b"G": _Reader.fraction,
    b"\x8c": _Reader.short_text,
    b"X": _Reader.text,
    b"\x8d": _Reader.long_text,
    b"C": _Reader.short_bytes,
    b"B": _Reader.plain_bytes,
    b"]": _Reader.empty_list,
    b"}": _Reader.empty_dict,
    b")": _Reader.empty_tuple,
    b"(": _Reader.mark,
    b"a": _Reader.append,
    b"e": _Reader.appends,
    b"s": _Reader.set_item,
    b"u": _Reader.set_items,
    b"\x85": lambda reader: reader.tuple_of(1),
    b"\x86": lambda reader: reader.tuple_of(2),
    b"\x87": lambda reader: reader.tuple_of(3),
    b"t": _Reader.tuple_since_mark,
    b"\x94": _Reader.memoize,
    b"h": _Reader.get,
    b"j": _Reader.long_get,
    b"\x93": _Reader.named,
    b"R": _Reader.called,
    b"b": _Reader.built,
}
_STEPS = [_KNOWN.get(bytes([code]), _Reader.unknown) for code in range(256)]
