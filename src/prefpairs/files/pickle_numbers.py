"""Numbers of numpy in pickles: rewards and metrics often have such types.

In a pickle, such a number is a call: `scalar(dtype("f4", ...), bytes)`. No function is imported for
it: two names are recognised, and their result is computed here.
"""

import struct
from typing import Any, NamedTuple

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


class NotPlain(Exception):
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


def named(module: Any, name: Any) -> _Name:
    """The meaning of a name, if it is a known one.

    >>> named("numpy", "dtype")
    _Name(of='dtype')
    """
    known = _NAMES.get((str(module), str(name)))
    if known is None:
        shown = f"{str(module)[:60]}.{str(name)[:60]}"
        raise NotPlain(f"it names {shown}, which is code and no data; nothing of it is run")
    return _Name(known)


def called(function: Any, arguments: Any) -> Any:
    """The type or the number that a call would return."""
    match function, arguments:
        case _Name(of="dtype"), (str(code), bool(), bool()) if code in _CODES:
            return _Dtype(_CODES[code])
        case _Name(of="scalar"), (_Dtype(code, order), bytes(data)):
            if len(data) == struct.calcsize(order + code):
                return struct.unpack(order + code, data)[0]
    raise NotPlain("a call that makes no number of numpy; it is not made")


def build(thing: Any, state: Any) -> None:
    """Set the byte order of a type."""
    match thing, state:
        case _Dtype(), (int(), str(order), *_) if order in _ORDERS:
            thing.order = _ORDERS[order]
        case _:
            raise NotPlain("the state of something that is no type of numpy")
