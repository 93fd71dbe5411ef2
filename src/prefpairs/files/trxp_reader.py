"""Experiences of Trinity-RFT in frames (TRXP), as lines of JSON.

A frame is a header, a pickle of everything except tensors, and the tensors (safetensors). The
pickle is read without executing it. Of the tensors only tokens and masks are read, and those that
options name; others are skipped, however large they are. A file may have several frames.

An item that cannot be read is one bad row, and so is a frame whose end is known.
"""

import io
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, NoReturn

import msgspec
import orjson

from prefpairs.errors import BadInput
from prefpairs.files.file_signatures import TRXP
from prefpairs.files.input_file import Input, too_much
from prefpairs.files.lines import Refused, json_line
from prefpairs.files.pickle_reader import unpickled
from prefpairs.files.pickle_size_check import SizeCheck
from prefpairs.files.pickle_values import Damaged, NotRead
from prefpairs.files.safetensors import (
    LARGEST_HEADER,
    Tensor,
    numbers_of,
    read_header,
)
from prefpairs.model.memory_guard import LIMITED

HEAD = struct.Struct("<4sBQQ")
VERSION = 1
_LENGTH = struct.Struct("<Q")
_TENSORS = frozenset({"tokens", "action_mask", "chosen", "rejected"})
_IF_NAMED = frozenset(
    {"logprobs", "token_level_reward", "advantages", "returns", "teacher_logprobs"}
)
"""Tensors as long as answers, which are read if an option names them."""

_FIELDS = (
    "eid", "prompt_length", "info", "metrics", "prompt_text", "response_text", "messages",
    "tools", "chosen_messages", "rejected_messages", "reward", "truncate_status",
    "multi_modal_input_keys",
)  # fmt: skip

_BLOCK = 1 << 20
_LARGEST_ITEM, _TIMES = 1 << 16, 20
"""How long an item may be, and how many times the metadata; never longer than a line may be."""

_BYTES_A_NUMBER = 8
"""The share of the longest line that each number of a tensor takes."""


def trxp_rows(
    stream: BinaryIO, source: Input, packed: Callable[[], int] | None = None
) -> Iterator[bytes | Refused]:
    """Each experience as JSON. The texts and tokens of one frame are in memory at a time.

    If the file is compressed, `packed` returns how many compressed bytes were read.
    """
    frames = _Frames(stream, source, packed)
    written = 0
    try:
        while (frame := frames.next()) is not None:
            for row in [frame] if isinstance(frame, Refused) else frame.rows():
                yield row
                written += 1 if isinstance(row, Refused) else len(row)
                if written > source.limits.unpacked_from(frames.place):
                    raise too_much(source)
    except Damaged as damage:
        raise BadInput(source.label, f"byte {damage.place}: {damage.problem}") from None


def item_line(
    data: bytes | None, change: Callable[[dict[str, Any]], dict[str, Any]], source: Input
) -> bytes:
    """The only experience of a frame, or an empty one, as JSON after a change."""
    if data is None:
        sizes = SizeCheck({}, _LARGEST_ITEM)
        return _Frame([change({})], [{}], simple=False, sizes=sizes, most=0, place=0).line(0)
    frames = _Frames(io.BytesIO(data), source)
    frame = frames.next()
    if isinstance(frame, Refused):
        raise frames.damage
    if frame is None or len(frame.items) != 1 or frames.place != len(data):
        raise Damaged(0, "not a frame (TRXP) of one experience")
    item = change(_plain(frame.items[0]))
    reward = item.get("reward")
    finite = type(reward) is not float or reward - reward == 0
    return frame._replace(items=[item], simple=frame.simple and finite).line(0)


class _Frames:
    """The frames of a stream, one after the other.

    `place` is how far it was read; `damage` is the problem of the last bad frame.
    """

    def __init__(
        self, stream: BinaryIO, source: Input, packed: Callable[[], int] | None = None
    ) -> None:
        self._stream = stream
        self._source = source
        self._tensors_wanted = _TENSORS | (_IF_NAMED & source.named)
        self._packed = packed
        self._held = 0
        self._ended = False
        self.damage = Damaged(0, "")
        self.place = 0

    def next(self) -> "_Frame | Refused | None":
        """The next frame, or None; Refused if only this one is damaged.

        Raises Damaged if it is not known where the next one begins.
        """
        begin, self._held = self.place, 0
        head = self._read(HEAD.size)
        if not head:
            return None
        if not head.startswith(TRXP[: len(head)]):
            raise Damaged(begin, "no frame begins here (TRXP)")
        if len(head) < HEAD.size:
            self._cut_off()
        _, version, metadata_size, tensors_size = HEAD.unpack(head)
        if version != VERSION:
            raise Damaged(begin + len(TRXP), f"a frame of version {version}; 1 is known")
        begin = self.place
        end = begin + metadata_size + tensors_size
        try:
            return self._frame(metadata_size, tensors_size)
        except Damaged as damage:
            if self._ended:
                raise
            self._skip(end - self.place)
            self.damage = damage
            return Refused(f"byte {damage.place}: {damage.problem}")

    def _frame(self, metadata_size: int, tensors_size: int) -> "_Frame":
        begin = self.place
        metadata = self._take(metadata_size)
        try:
            found = unpickled(metadata, self._room())
        except Damaged as damage:
            raise Damaged(begin + damage.place, damage.problem) from None
        self._held += found.taken
        items = _items(found.value, begin)
        longest = self._source.limits.item
        simple = found.simple and metadata_size + found.repeated <= longest
        room = min(_LARGEST_ITEM + _TIMES * metadata_size, longest)
        most = longest // _BYTES_A_NUMBER
        sizes = SizeCheck(found.shared, room)
        return _Frame(items, self._tensors(tensors_size, len(items)), simple, sizes, most, begin)

    def _room(self) -> int:
        """How much more memory this frame may take."""
        read = self.place if self._packed is None else self._packed()
        return self._source.limits.held_from(read) - self._held

    def _tensors(self, size: int, count: int) -> list[dict[str, tuple[Tensor, bytes]]]:
        """The tensors that are read, for each item."""
        begin = self.place
        if size < _LENGTH.size:
            raise Damaged(begin, f"tensors (safetensors) do not fit into {size} bytes")
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        if length > min(LARGEST_HEADER, size - _LENGTH.size):
            raise Damaged(begin, f"a header of {length} bytes, which is too large")
        try:
            text = self._take(length)
            header = read_header(text, size - _LENGTH.size - length, self._hold)
            return self._wanted(header, count)
        except Damaged as damage:
            if damage.place:
                raise
            raise Damaged(begin, damage.problem) from None

    def _wanted(
        self, header: dict[str, Tensor], count: int
    ) -> list[dict[str, tuple[Tensor, bytes]]]:
        found: list[dict[str, tuple[Tensor, bytes]]] = [{} for _ in range(count)]
        for name, tensor in header.items():
            size = tensor.data_offsets[1] - tensor.data_offsets[0]
            number, _, field = name.partition(":")
            if not (number.isascii() and number.isdecimal()) or len(number) > len(str(count)):
                raise Damaged(self.place, f"the tensor {name[:60]} belongs to no item")
            if int(number) >= count:
                raise Damaged(self.place, f"the tensor {name[:60]}, and only {count} items")
            if field in self._tensors_wanted:
                found[int(number)][field] = tensor, self._take(size)
            else:
                self._skip(size)
        return found

    def _take(self, count: int) -> bytes:
        """Exactly `count` bytes; Damaged if there are fewer."""
        data = self._read(count)
        if len(data) < count:
            self._cut_off()
        return data

    def _read(self, count: int) -> bytes:
        """Up to `count` bytes, in memory only as far as they exist."""
        parts = []
        while count > 0 and (part := self._stream.read(min(count, _BLOCK))):
            parts.append(part)
            count -= len(part)
            self.place += len(part)
            self._hold(2 * len(part))  # for a moment as pieces, too
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _hold(self, size: int) -> None:
        self._held += size
        if self._room() < 0:
            raise Damaged(self.place, "a frame that unpacks to more than should be in memory")

    def _skip(self, count: int) -> None:
        while count > 0:
            skipped = len(self._stream.read(min(count, _BLOCK)))
            if not skipped:
                self._cut_off()
            count -= skipped
            self.place += skipped

    def _cut_off(self) -> NoReturn:
        self._ended = True
        problem = "the frame ends too early: it was cut off or is still being written"
        raise Damaged(self.place, problem)


def _items(metadata: Any, place: int) -> list[Any]:
    """The metadata of each experience, not checked yet."""
    items = metadata.get("items") if type(metadata) is dict else None
    if type(items) is not list:
        raise Damaged(place, "the metadata has no items")
    if metadata.get("num_items", len(items)) != len(items):
        raise Damaged(place, f"num_items is not {len(items)}, the number of items")
    return items


def _plain(item: Any) -> dict[str, Any]:
    """An item as an object; Damaged if it could not be read."""
    if type(item) is NotRead:
        raise item.damage
    if type(item) is not dict:
        raise Damaged(0, "an item that is not an object")
    return item


class _Frame(NamedTuple):
    """A frame with its texts and tokens."""

    items: list[Any]
    tensors: list[dict[str, tuple[Tensor, bytes]]]
    simple: bool
    sizes: SizeCheck
    """The sizes of items that are not simple."""
    most: int
    """How many numbers the tensors of an item may have in total."""
    place: int

    def rows(self) -> Iterator[bytes | Refused]:
        """Each item as JSON."""
        for number in range(len(self.items)):
            try:
                yield self.line(number)
            except Damaged as damage:
                yield Refused(f"byte {damage.place}: {damage.problem}")

    def line(self, number: int) -> bytes:
        """An item as JSON."""
        try:
            item = _plain(self.items[number])
            row = {key: item[key] for key in _FIELDS if item.get(key) is not None}
            tensors = self._tensors_of(
                number
            )  # first, since rejecting it is cheaper than making a line
            line = self._line(item, {"eid": {}, "prompt_length": None, **row})
        except Damaged as damage:
            place = self.place + damage.place
            raise Damaged(place, f"item {number}: {damage.problem}") from None
        return b",".join([line[:-1], *tensors]) + b"}"

    def _tensors_of(self, number: int) -> list[bytes]:
        """The tensors of an item as members of its JSON object."""
        left, found = self.most, []
        for field, (tensor, data) in self.tensors[number].items():
            numbers = numbers_of(field, tensor, data, left)
            left -= len(numbers)
            slowly = LIMITED or tensor.dtype.startswith("F")
            write = json_line if slowly else msgspec.json.encode
            found.append(b'"%s":%s' % (field.encode(), write(numbers)))
        return found

    def _line(self, item: dict[str, Any], row: dict[str, Any]) -> bytes:
        if self.simple and not LIMITED:
            with suppress(TypeError):  # for what it does not support, such as lone surrogates
                return orjson.dumps(row)
        self.sizes.check(item, row)
        return json_line(row)
