"""Plain data from a pickle, by a reader that supports nothing else.

A pickle is a program, which Python's own module executes. This reader reads numbers, texts, lists
and objects. Anything else becomes a `NotRead` with the reason, and reading continues. The only
exception are numbers of numpy (pickle_values.py), which are recognised by name.

Memory: one byte of a pickle may take hundreds, so the memory of each instruction is counted against
a budget.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from prefpairs.files.pickle_values import (
    NotNumpy,
    NotRead,
    PickledValues,
    numpy_call,
    numpy_name,
    set_numpy_state,
)

_SMALL, _TIMES_SMALL = 1_000_000, 32
_LARGE, _TIMES = 128_000_000, 10
"""A pickle may take a megabyte and 32 times its size; a large one 128 MB and ten times its size.
Experiences take about twice their size."""

_AT_ONCE, _SLOT = 1024, 20
"""Instructions between two checks of the budget. Each may take a slot on the stack, and another in
the memo or in a list; slots are allocated in advance."""

_LIST, _DICT, _FIRST_MEMBER, _MEMBER, _SHARED = 72, 80, 160, 40, 300
"""The memory of an empty list or object, of an object's first member, of each member, and what is
added if it occurs twice, since its size is stored then."""

_MOST_MARKS = 1000

_REPEATS = 16
"""If references repeat more than this many times the size of the pickle, sizes are checked."""


class Unpickled(NamedTuple):
    """The content of a pickle. `simple` if nothing occurs twice and all numbers are finite.

    The size of content that is not simple is unknown: it may even contain itself.
    """

    value: Any
    simple: bool
    repeated: int = 0
    """How many characters occur only by reference."""
    taken: int = 0
    """The memory that was counted."""
    shared: dict[int, Any] = {}  # noqa: RUF012 - never changed
    """The lists and objects that occur more than once, by their ids."""


def unpickled(data: bytes, room: int | None = None) -> Unpickled:
    """The plain data of a pickle; Damaged if it is none, or takes too much memory.

    >>> unpickled(bytes.fromhex("8005 7d 8c0161 4b07 73 2e")).value
    {'a': 7}
    """
    size = len(data)
    most = min(_SMALL + _TIMES_SMALL * size, _LARGE + _TIMES * size)
    return _Reader(data, most if room is None else min(most, room)).read()


class _Reader(PickledValues):
    """A pickle that is being read; complete values are on the stack."""

    def __init__(self, data: bytes, room: int) -> None:
        super().__init__(data, room)
        self._below: list[list[Any]] = []
        self._memo: list[Any] = []
        self._given = room
        self._repeated = 0
        self._shared: dict[int, Any] = {}

    def read(self) -> Unpickled:
        """Follow the instructions up to the last one."""
        data, steps = self._data, _STEPS
        if data[:1] != b"\x80" or data[1:2] not in (b"\x04", b"\x05"):
            self._refuse("not a pickle of protocol 4 or 5")
        self._place = 2
        try:
            while True:
                self._take(_AT_ONCE * _SLOT)
                for _ in range(_AT_ONCE):
                    if (code := data[self._place]) == _STOP:
                        return self._finished()
                    self._place += 1
                    steps[code](self)
        except (IndexError, struct.error):
            self._refuse("it ends too early, or uses a missing value")

    def _finished(self) -> Unpickled:
        if len(self._stack) != 1 or self._below or self._place + 1 != len(self._data):
            self._refuse("it ends with more, or with less, than one value")
        (value,) = self._stack
        if isinstance(value, NotRead):
            raise value.damage
        simple = self._simple and self._repeated <= _REPEATS * len(self._data)
        taken = self._given - self._room
        return Unpickled(value, simple, self._repeated, taken, self._shared)

    def _begin(self, value: Any, size: int) -> None:
        self._take(size)
        self._stack.append(value)

    def empty_list(self) -> None:
        """A list begins."""
        self._begin([], _LIST)

    def empty_dict(self) -> None:
        """An object begins."""
        self._begin({}, _DICT)

    def empty_tuple(self) -> None:
        """An empty tuple."""
        self._stack.append(())

    # Containers -------------------------------------------------------------------------------

    def mark(self) -> None:
        """The items of a container follow."""
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
        self._extend([item])

    def appends(self) -> None:
        """More items of a list."""
        items = self._since_mark()
        self._extend(items)

    def _extend(self, items: list[Any]) -> None:
        into = self._stack[-1]
        if type(into) is list:
            into.extend(items)
        elif type(into) is not NotRead:
            self._refuse("items for something that is not a list")

    def set_item(self) -> None:
        """One more member of an object."""
        value, key = self._stack.pop(), self._stack.pop()
        self._update([key, value])

    def set_items(self) -> None:
        """More members of an object."""
        items = self._since_mark()
        if len(items) % 2:
            self._refuse("a key without a value")
        self._update(items)

    def _update(self, items: list[Any]) -> None:
        into = self._stack[-1]
        if type(into) is dict:
            self._take(_MEMBER * len(items) // 2 + (0 if into else _FIRST_MEMBER))
            for key, value in zip(items[::2], items[1::2], strict=True):
                if type(key) is str:
                    into[key] = value
                else:
                    self._set_oddly(into, key, value)
        elif type(into) is not NotRead:
            self._refuse("members for something that is not an object")

    def _set_oddly(self, into: dict[Any, Any], key: Any, value: Any) -> None:
        """A key as text, as in JSON. Consecutive numbers would also make a dict slow."""
        if key is None or type(key) in (bool, int, float):
            into[str(key)] = value
        else:
            into[self._not_read("a key that is neither text nor a number")] = None

    def tuple_of(self, count: int) -> None:
        """A tuple of the last few values."""
        if len(self._stack) < count:
            raise IndexError
        items = tuple(self._stack[-count:])
        del self._stack[-count:]
        self._begin(items, _LIST)

    def tuple_since_mark(self) -> None:
        """A tuple of all values since the mark."""
        items = self._since_mark()
        self._begin(tuple(items), _LIST)

    # Values used again ------------------------------------------------------------------------

    def memoize(self) -> None:
        """Store the last value for later use."""
        self._memo.append(self._stack[-1])

    def get(self) -> None:
        """Use a stored value again."""
        self._again(self._memo[self._data[self._place]])
        self._place += 1

    def long_get(self) -> None:
        """Use a stored value again, with a large index."""
        self._again(self._memo[self._number(4)])

    def _again(self, value: Any) -> None:
        if type(value) is str:
            self._repeated += len(value)
        elif isinstance(value, (list, dict, tuple)):
            self._simple = False
            if id(value) not in self._shared:
                self._take(_SHARED)
                self._shared[id(value)] = value
        self._stack.append(value)

    # Numbers of numpy -------------------------------------------------------------------------

    def named(self) -> None:
        """Something known by name: only names that numbers of numpy need are supported."""
        name, module = self._stack.pop(), self._stack.pop()
        self._make(numpy_name, module, name)

    def called(self) -> None:
        """The result of a call, if it makes a number of numpy."""
        arguments, function = self._stack.pop(), self._stack.pop()
        if type(function) is NotRead:
            self._stack.append(function)
        else:
            self._make(numpy_call, function, arguments)

    def built(self) -> None:
        """Set the state of the last value, if it is a type of numpy."""
        state, thing = self._stack.pop(), self._stack[-1]
        if type(thing) is NotRead:
            return
        try:
            set_numpy_state(thing, state)
        except NotNumpy as refusal:
            self._refuse(refusal.problem)

    def _make(self, make: Callable[[Any, Any], Any], one: Any, other: Any) -> None:
        try:
            value = make(one, other)
        except NotNumpy as refusal:
            value = self._not_read(refusal.problem)
        if isinstance(value, float):
            self._simple = self._simple and value - value == 0
        self._stack.append(value)

    # Known instructions that are skipped ----------------------------------------------------------

    def object_of(self, count: int) -> None:
        """An object of a class, made from the last few values."""
        made_of = [self._stack.pop() for _ in range(count)]
        origin = made_of[-1]
        if type(origin) is not NotRead:
            origin = self._unread_instruction()
        self._stack.append(origin)

    def empty_set(self) -> None:
        """A set begins."""
        self._stack.append(self._unread_instruction())

    def frozen_set(self) -> None:
        """A frozen set."""
        self._since_mark()
        self._stack.append(self._unread_instruction())

    def add_items(self) -> None:
        """More members of a set."""
        self._since_mark()
        if type(self._stack[-1]) is not NotRead:
            self._refuse("members for something that is not a set")


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
    b"\x81": lambda reader: reader.object_of(2),
    b"\x92": lambda reader: reader.object_of(3),
    b"\x8f": _Reader.empty_set,
    b"\x90": _Reader.add_items,
    b"\x91": _Reader.frozen_set,
    b"\x96": _Reader.byte_array,
    b"\x8b": _Reader.longer,
}
_STEPS = [_KNOWN.get(bytes([code]), _Reader.unknown) for code in range(256)]
