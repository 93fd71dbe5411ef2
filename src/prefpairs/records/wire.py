"""JSON text to values and back, exactly.

msgspec reads: as fast as orjson, and exact where that rounds (integers above 64 bits). orjson
writes. The standard library steps in for the rare line where they are too strict (NaN, a cut
emoji).
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec
import orjson

from prefpairs.errors import NotJson

DEEPEST = 250
"""Rows that are nested deeper are refused."""

_SHORTEST_DEEP = 2 * DEEPEST
"""No shorter line can be nested so deeply."""

_LONG, _LARGE = 1 << 16, 1 << 20
"""From here on brackets are counted before anything else; from there on memory is watched."""

_CONTAINERS, _BYTES_EACH = 500_000, 32
"""So many lists and objects may be in a large line, and another one for so many bytes: each takes
up to 230 bytes of memory, and the line may have written it in two."""

_decode = msgspec.json.Decoder().decode

_SURROGATE = re.compile("[\ud800-\udfff]")
_LFS_POINTER = b"version https://git-lfs"
_UNFINISHED = "the line ends in the middle of a JSON value"
# Tokens of which a torn line may hold the beginning, and the length of a whole \\uXXXX.
_TOKENS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "-0", ".0")
_ESCAPE = len("uXXXX")


def decode(line: bytes) -> Any:
    """The value of one line of JSON.

    >>> decode(b'{"a": 18446744073709551617, "b": NaN}')
    {'a': 18446744073709551617, 'b': nan}
    """
    return decode_counting(line)[0]


def decode_counting(line: bytes) -> tuple[Any, int]:
    r"""The value of one line of JSON, and how many lone surrogates became U+FFFD in it.

    >>> decode_counting(b'["cut \\ud83d"]')
    (['cut \ufffd'], 1)
    """
    if len(line) > _LARGE:
        _refuse_width(line)
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
    return _mend(value)


def _refuse_width(line: bytes) -> None:
    """Raise for more lists and objects than memory should be taken for."""
    most = _CONTAINERS + len(line) // _BYTES_EACH
    if line.count(b"[") + line.count(b"{") > most:
        bare = line.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in line else line
        found, in_text = 0, 0
        for start in range(0, len(bare), _LARGE):  # in pieces, for there may be millions of texts
            parts = bare[start : start + _LARGE].split(b'"')
            outside = b"".join(parts[in_text::2])  # brackets in texts are no lists
            found += outside.count(b"[") + outside.count(b"{")
            in_text ^= ~len(parts) & 1
            if found > most:
                problem = "it holds more lists and objects than a row of its length should"
                raise NotJson(problem, "too_many_values")


def _refuse_depth(line: bytes, value: Any) -> None:
    """Raise for nesting that not every step after this one could follow.

    orjson is the quickest judge of short lines (it follows 254 levels), but reserves 160 bytes of
    memory for each item of a list, and crashes where it gets none.
    """
    if len(line) > _LONG and line.count(b"[") + line.count(b"{") <= DEEPEST:
        return
    if len(line) <= _LARGE:
        try:
            orjson.dumps(value)
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
        return orjson.dumps(value)
    except TypeError:
        return _encode_slowly(value, sort_keys=False)


def encode_line(value: Any) -> bytes:
    """One line of JSON, newline included."""
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return _encode_slowly(value, sort_keys=False) + b"\n"


def encode_sorted(value: Any) -> bytes:
    """One line of JSON with the keys of every object in order: equal values, equal bytes.

    >>> encode_sorted({"b": 1, "a": [2.0]})
    b'{"a":[2.0],"b":1}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return _encode_slowly(value, sort_keys=True)


def _encode_slowly(value: Any, *, sort_keys: bool) -> bytes:
    """What orjson refuses: integers above 64 bits, deep nesting, text that is no Unicode."""
    text = json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    return text.encode("utf-8", "replace")


def encode_pretty(value: Any) -> bytes:
    """JSON for people, newline included."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # as in _encode_slowly
        text = json.dumps(finite(value), ensure_ascii=False, indent=2) + "\n"
        return text.encode("utf-8", "replace")


def _mend(value: Any) -> tuple[Any, int]:
    """The value with U+FFFD for every lone surrogate, and the number of those."""
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        items = [_mend(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        members = [(_mend(key), _mend(item)) for key, item in value.items()]
        count = sum(key[1] + item[1] for key, item in members)
        return {key[0]: item[0] for key, item in members}, count
    return value, 0


def finite(value: Any) -> Any:
    """The value with null for every NaN and infinity, as JSON has no form for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


def _explain(line: bytes, error: json.JSONDecodeError) -> NoReturn:
    """Raise what is wrong with a line that no JSON reader takes."""
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
        raise NotJson("lines that end in CR alone; tr '\\r' '\\n' mends them") from None
    problem = error.msg.removesuffix(" at")
    raise NotJson(f"not JSON: {problem} at column {error.pos + 1}") from None
