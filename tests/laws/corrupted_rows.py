"""Hypothesis strategies for rows of almost the usual shape, and for lines that are almost JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st
from run_in_process import Row

Fitting = dict[str, list[Any]]
Aims = Sequence[tuple[str, Fitting]]
"""A key by which objects are selected, and the values to put under other keys there."""

FUNCTION = {"type": "function", "name": "add", "parameters": {}, "strict": True}
CALL = {"id": "c7", "type": "function", "function": {"name": "add", "arguments": "{}"}}
ODD: list[Any] = [None, True, [], {}, [[]], "0.7", "A", 0, 1.0, [FUNCTION], {"name": "y"}]
RESPELT = [(b'"A"', b'"\\u0041\\/\\ud83d\\ude00"'), (b'"role"', b'"r\\u006fle"'), (b"1.0", b"1E0")]
RESPELT += [(b'"reward"', b'"\\u0072eward"'), (b'"message"', b'"mess\\u0061ge"'), (b"0", b"-0")]
RESPELT += [(b'"A"', b'"\\ud83d ......."'), (b'"Q"', b'"\\udc00"'), (b'"A"', b'"\\ud83d\\ud83d"')]
RESPELT += [(b'"Q"', b'"\xed\xa0\xbd"'), (b"1.0", b"1e400"), (b"1.0", b"01"), (b'"A"', b'"\x01"')]
AROUND = [b"", b" ", b"\r", b"\t", b"\x0b", b"\xef\xbb\xbf", b"\xc2\xa0", b"}", b"x", b"\x00"]


@st.composite
def nearly(draw: st.DrawFn, rows: st.SearchStrategy[Row], aims: Aims) -> Row:
    """The same rows with a few values removed, added or changed at any depth."""
    row: Row = json.loads(json.dumps(draw(rows)))
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        if draw(st.integers(0, 4)):
            _aim(draw, row, aims)
        else:
            _hit_anything(draw, row)
    return row


def _aim(draw: st.DrawFn, row: Row, aims: Aims) -> None:
    """Put a value into an object that has the selecting key."""
    has, fitting = draw(st.sampled_from(aims))
    objects = [one for one in _objects(row) if has in one]
    if objects:
        key = draw(st.sampled_from(list(fitting)))
        value = json.dumps(draw(st.sampled_from(fitting[key])))
        objects[draw(st.integers(0, len(objects) - 1))][key] = json.loads(value)


def _objects(value: Any) -> Iterator[Row]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from _objects(item)


def _hit_anything(draw: st.DrawFn, row: Row) -> None:
    """Delete, repeat or replace something anywhere."""
    holder = draw(st.sampled_from(list(_objects(row))))
    key = draw(st.sampled_from(list(holder) or [""]))
    change = draw(st.sampled_from(["delete", "repeat", "replace"]))
    if change == "delete":
        holder.pop(key, None)
    elif change == "repeat" and isinstance(holder.get(key), list):
        holder[key] = json.loads(json.dumps(holder[key] * 2))
    else:
        holder[key] = json.loads(json.dumps(draw(st.sampled_from(ODD))))


@st.composite
def lines_of(draw: st.DrawFn, rows: st.SearchStrategy[Row], repeated: Sequence[bytes]) -> bytes:
    """Rows as lines, some with a wrong byte or piece of text.

    `repeated` are members that may be added a second time.
    """
    row = draw(rows)
    text = json.dumps(row, ensure_ascii=draw(st.booleans()))
    line = text.encode("utf-8", draw(st.sampled_from(["replace", "surrogatepass"])))
    change = draw(st.sampled_from(["none"] * 5 + ["byte", "repeated", "respelt", "around"]))
    at = draw(st.integers(0, len(line)))
    if change == "byte":
        byte = draw(st.one_of(st.binary(max_size=1), st.sampled_from([b"\x00", b'"', b"\\", b","])))
        line = line[:at] + byte + line[at + draw(st.integers(0, 1)) :]
    elif change == "repeated":
        line = _with_member(line, at, draw(st.sampled_from(repeated)), last=draw(st.booleans()))
    elif change == "respelt":
        line = line.replace(*draw(st.sampled_from(RESPELT)), draw(st.integers(1, 2)))
    elif change == "around":
        line = draw(st.sampled_from(AROUND)) + line + draw(st.sampled_from(AROUND))
    return line.replace(b"\n", b" ") + b"\n"


def _with_member(line: bytes, at: int, member: bytes, *, last: bool) -> bytes:
    """The line with a member added to an object, first or last."""
    if last:
        place = line.find(b"}", at)
        return line[:place] + b"," + member + line[place:]
    place = line.rfind(b"{", 0, at + 1) + 1
    return line[:place] + member + b"," + line[place:]


def odd_values(aims: Aims) -> Iterator[tuple[str, str, Any]]:
    """Every value of these aims: the selecting key, the key to set and the value."""
    for has, fitting in aims:
        for key, values in fitting.items():
            yield from ((has, key, value) for value in values)
