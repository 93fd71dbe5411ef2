"""Experiences of Trinity-RFT as one frame (TRXP): lines of JSON in, the frame out at the end.

Trinity reads only the first frame of a file, so all experiences are in one, and in memory until it
is written. Texts and numbers become a pickle of nothing but values: loading it runs no code. Lists
of numbers under the names of tensors become safetensors.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from prefpairs.files.file_signatures import TRXP
from prefpairs.files.input_file import Input
from prefpairs.files.output import Output, open_binary
from prefpairs.files.trxp_reader import HEAD, VERSION
from prefpairs.model.json_codec import decode, encode

TENSORS = {"tokens": "I32", "action_mask": "BOOL", "chosen": "I32", "rejected": "I32"}
"""The type of each tensor."""

_CODES = {"I32": "i", "BOOL": "?"}
_META: dict[str, Any] = {
    "eid": None, "reward": None, "truncate_status": None, "info": {}, "metrics": {},
    "prompt_length": 1, "response_text": None, "prompt_text": None, "messages": None,
    "tools": None, "chosen_messages": None, "rejected_messages": None, "custom_fields": [],
    "multi_modal_input_keys": [],
}  # fmt: skip
"""The other fields, as Trinity orders them, with the values of those that are not known."""

_PROTOCOL = b"\x80\x05"
_STOP = b"."
_EIGHT = 8
_INT, _LONG = 4, 255
"""The most bytes of integers that are written whole, and of those whose length is one byte."""


class FrameItems:
    """Experiences, packed one by one."""

    def __init__(self) -> None:
        self._items: list[bytes] = []
        self._tensors: list[tuple[str, str, int, bytes]] = []

    def add(self, row: dict[str, Any]) -> None:
        """Pack one experience."""
        number = len(self._items)
        for name, kind in TENSORS.items():
            values = row.get(name)
            if values is not None:
                data = struct.pack(f"<{len(values)}{_CODES[kind]}", *values)
                self._tensors.append((f"{number}:{name}", kind, len(values), data))
        known = {name: row.get(name, default) for name, default in _META.items()}
        self._items.append(b"".join(_pickled(known)))

    def frame(self) -> bytes:
        """All of them as one frame."""
        metadata = b"".join(
            [
                *(_PROTOCOL, b"}(", *_pickled("version"), *_pickled(VERSION)),
                *(*_pickled("num_items"), *_pickled(len(self._items))),
                *(*_pickled("items"), b"](", *self._items, b"eu", _STOP),
            ]
        )
        tensors = _safetensors(self._tensors)
        return HEAD.pack(TRXP, VERSION, len(metadata), len(tensors)) + metadata + tensors


def _pickled(value: Any) -> Iterator[bytes]:
    """The instructions that make a value. No value is shared, so equal values give equal bytes."""
    if value is None:
        yield b"N"
    elif isinstance(value, bool):
        yield b"\x88" if value else b"\x89"
    elif isinstance(value, int):
        yield _pickled_integer(value)
    elif isinstance(value, float):
        yield b"G" + struct.pack(">d", value)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        yield b"X" + struct.pack("<I", len(text)) + text
    elif isinstance(value, list):
        yield b"]("
        for item in value:
            yield from _pickled(item)
        yield b"e"
    else:
        yield b"}("
        for key, item in value.items():
            yield from _pickled(key)
            yield from _pickled(item)
        yield b"u"


def _pickled_integer(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if len(data) <= _INT:
        return b"J" + struct.pack("<i", value)
    if len(data) <= _LONG:
        return b"\x8a" + bytes([len(data)]) + data
    return b"\x8b" + struct.pack("<i", len(data)) + data


def _safetensors(tensors: Sequence[tuple[str, str, int, bytes]]) -> bytes:
    header, place = {}, 0
    for name, kind, length, data in tensors:
        end = place + len(data)
        header[name] = {"dtype": kind, "shape": [length], "data_offsets": [place, end]}
        place = end
    text = encode(header)
    text += b" " * (-len(text) % _EIGHT)
    return struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors)


class _Frames:
    """Takes lines of JSON."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._items = FrameItems()

    def write(self, lines: bytes, /) -> None:
        """Take one line."""
        self._items.add(decode(lines))

    def end(self) -> None:
        """Write the frame."""
        self._file.write(self._items.frame())


@contextmanager
def open_frames(path: str, inputs: Sequence[Input] = (), **how: Any) -> Iterator[Output]:
    """A file of one frame, which appears when the block succeeds."""
    with open_binary(path, inputs, **how) as file:
        frames = _Frames(file)
        yield frames
        frames.end()
