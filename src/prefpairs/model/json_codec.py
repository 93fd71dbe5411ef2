"""JSON text to values and back, exactly.

msgspec reads: it is as fast as orjson, which rounds integers above 64 bits. orjson writes. The
standard library handles the rare lines for which they are too strict (NaN, lone surrogates).
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec
import orjson

from prefpairs.errors import NotJson
from prefpairs.model import memory_guard

DEEPEST = 250
"""Rows that are nested deeper are rejected."""

_MOST_ADDED = 10
"""How many levels a candidate may add to its row, such as `meta` or the parts of a message."""

_SHORTEST_DEEP = 2 * DEEPEST
"""Shorter lines cannot be nested too deeply."""

_LONG, _LARGE = 1 << 16, 1 << 20
"""From which length brackets are counted first, and from which orjson is not used as a check."""

_decode = msgspec.json.Decoder().decode

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LFS_POINTER = b"version https://git-lfs"
_UNFINISHED = "the line ends in the middle of a JSON value"
# Tokens that may be cut off at the end of a torn line, and the length of a complete \\uXXXX.
_TOKENS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "-0", ".0")
_ESCAPE = len("uXXXX")


def decode(line: bytes) -> Any:
    """The value of one line of JSON.

    >>> decode(b'{"a": 18446744073709551617, "b": NaN}')
    {'a': 18446744073709551617, 'b': nan}
    """
    return decode_counting(line)[0]


def decode_object(line: bytes) -> dict[str, Any] | None:
    """The object in one line of JSON; None if it holds anything else, or is no JSON.

    >>> decode_object(b'{"a": 1}'), decode_object(b"[1]"), decode_object(b"{")
    ({'a': 1}, None, None)
    """
    try:
        value = decode(line)
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


def decode_counting(line: bytes) -> tuple[Any, int]:
    r"""The value of one line of JSON, and how many lone surrogates were replaced with U+FFFD.

    >>> decode_counting(b'["cut \\ud83d"]')
    (['cut \ufffd'], 1)
    """
    if len(line) > memory_guard.CHECKED_FROM:
        memory_guard.check_values(line)
    try:
        value = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        if len(line) > _SHORTEST_DEEP:
            _refuse_depth(line, value)
        return value, 0
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            raise NotJson(_UNFINISHED, "unfinished") from None
        raise NotJson(f"invalid UTF-8 at byte {error.start + 1}", "invalid_utf8") from None
    except json.JSONDecodeError as error:
        _explain(line, error)
    except RecursionError:
        raise NotJson("nested too deeply", "too_deep") from None
    except ValueError:
        raise NotJson("a number of more than 4300 digits", "number_too_long") from None
    _refuse_depth(line, value)
    return _replace_surrogates(value) if _ESCAPED_SURROGATE.search(line) else (value, 0)


def decode_part(part: bytes, levels: int) -> Any:
    """The value of a part of a line, nested `levels` deep in it; the same limits apply.

    >>> decode_part(b'{"a": 1}', 3)
    {'a': 1}
    """
    value = decode(b"[" * levels + part + b"]" * levels)
    for _ in range(levels):
        (value,) = value
    return value


def _refuse_depth(line: bytes, value: Any) -> None:
    """Raise if a value is nested too deeply for later steps.

    For short lines, orjson is the fastest check: it allows 254 levels, four more than a row may
    have. But it reserves 160 bytes of memory for each item of a list.
    """
    if len(line) > _LONG and line.count(b"[") + line.count(b"{") <= DEEPEST:
        return
    _refuse_depth_of(value, len(line))


def refuse_deeper(made: Iterable[Any], record: bytes) -> None:
    """Raise if anything that was made from a record is nested too deeply to be read again."""
    if record.count(b"[") + record.count(b"{") > DEEPEST - _MOST_ADDED:
        for one in made:
            _refuse_depth_of(one, len(record))


def _refuse_depth_of(value: Any, size: int) -> None:
    """Raise if a value, whose text has about this size, is nested too deeply."""
    if size <= _LARGE and not memory_guard.LIMITED:
        try:
            memory_guard.dumps([[[[value]]]])
        except TypeError:
            pass
        else:
            return
    level = _containers((value,))
    for _ in range(DEEPEST):
        level = [
            child
            for parent in level
            for child in _containers(parent.values() if isinstance(parent, dict) else parent)
        ]
    if level:
        raise NotJson("nested too deeply", "too_deep")


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict | list)]


def encode(value: Any) -> bytes:
    """One line of JSON, without its newline.

    >>> encode({"score": 1.0, "big": 2**64})
    b'{"score":1.0,"big":18446744073709551616}'
    """
    try:
        return memory_guard.dumps(value)
    except TypeError:
        return _encode_slowly(value, sort_keys=False)


def encode_line(value: Any) -> bytes:
    """One line of JSON, newline included."""
    try:
        return memory_guard.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return _encode_slowly(value, sort_keys=False) + b"\n"


def encode_sorted(value: Any) -> bytes:
    """One line of JSON with sorted keys, so that equal values give equal bytes.

    >>> encode_sorted({"b": 1, "a": [2.0]})
    b'{"a":[2.0],"b":1}'
    """
    try:
        return memory_guard.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return _encode_slowly(value, sort_keys=True)


def _encode_slowly(value: Any, *, sort_keys: bool) -> bytes:
    """What orjson rejects: integers above 64 bits, deep nesting, lone surrogates."""
    text = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    return text.encode("utf-8", "replace")


def encode_pretty(value: Any) -> bytes:
    """JSON for people, newline included."""
    try:
        return memory_guard.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # as in _encode_slowly
        text = json.dumps(finite(value), ensure_ascii=False, indent=2) + "\n"
        return text.encode("utf-8", "replace")


def _replace_surrogates(value: Any) -> tuple[Any, int]:
    """The value with U+FFFD in place of lone surrogates, and how many there were.

    Lists and objects are changed in place, since a copy could double the memory.
    """
    count = 0
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        for place, item in enumerate(value):
            value[place], found = _replace_surrogates(item)
            count += found
    elif isinstance(value, dict):
        for key, item in value.items():
            value[key], found = _replace_surrogates(item)
            count += found
        if any(map(_SURROGATE.search, value)):
            members = [(*_replace_surrogates(key), item) for key, item in value.items()]
            value = {key: item for key, _, item in members}
            count += sum(found for _, found, _ in members)
    return value, count


def finite(value: Any) -> Any:
    """The value with null in place of NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


def _explain(line: bytes, error: json.JSONDecodeError) -> NoReturn:
    """Raise an error that says what is wrong with a line."""
    if line.startswith(_LFS_POINTER):
        raise NotJson("a Git LFS pointer, not the file itself", "lfs_pointer") from None
    if line.endswith(b"\n") and line.strip() == b"{":
        raise NotJson("a JSON value over several lines", "pretty_printed") from None
    rest = error.doc[error.pos :].rstrip()
    escape = error.msg.startswith("Invalid \\u") and len(rest) < _ESCAPE
    torn = escape or any(token.startswith(rest) and token != rest for token in _TOKENS)
    if error.msg.startswith("Unterminated") or torn:
        raise NotJson(_UNFINISHED, "unfinished") from None
    if error.msg == "Extra data" and error.doc[error.pos - 1] == "\r":
        raise NotJson("lines that end in CR alone; tr '\\r' '\\n' fixes them") from None
    problem = error.msg.removesuffix(" at")
    raise NotJson(f"not JSON: {problem} at column {error.pos + 1}") from None
