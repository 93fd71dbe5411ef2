"""How much memory the values of a line of JSON take, known before any of them is made.

A value takes many times the bytes that it is written in: `{},` is three bytes, and takes a hundred.
"""

from prefpairs.errors import NotJson
from prefpairs.model.memory_guard import LIMITED, spare

_MOST, _TIMES = 256_000_000, 2
"""The values of a line may take so much memory, and so many times the bytes of the line."""

_A_QUOTE = 16
_WEIGHTS = ((b",", 40), (b":", 64), (b'"', _A_QUOTE), (b"[", 64), (b"{", 136))
"""What these signs stand for: a value with its place in a list, the place of a member in an object,
half a text, an empty list, and an object with a member."""

LIGHT = _MOST // 64
"""No line of up to so many bytes is refused: a byte stands for less than 64."""

LOOKED_AT_FROM = 0 if LIMITED else LIGHT
"""Longer lines are looked at before they are decoded."""

_WIDEST = 4
"""Bytes that a character may take."""

_PIECE = 1 << 20


def look_at(line: bytes) -> None:
    """Raise if the values of a line would take more memory than they may, or than there is."""
    most = _MOST + _TIMES * len(line)
    if _weight(line) > most and _weight_outside_texts(line, most) > most:
        problem = "its values would take more memory than its length allows"
        raise NotJson(problem, "too_many_values")
    if LIMITED:
        spare(most_taken_by(line))


def most_taken_by(line: bytes) -> int:
    """The most memory that the values of a line may take, its texts included."""
    return _weight(line) + _WIDEST * len(line)


def _weight(text: bytes) -> int:
    return sum(weight * text.count(sign) for sign, weight in _WEIGHTS)


def _weight_outside_texts(line: bytes, most: int) -> int:
    """The weight without the signs that stand in texts, as far as it is up to `most`."""
    bare = line.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in line else line
    found, in_text = 0, 0
    for start in range(0, len(bare), _PIECE):  # in pieces, for there may be millions of texts
        parts = bare[start : start + _PIECE].split(b'"')
        found += _weight(b"".join(parts[in_text::2])) + _A_QUOTE * (len(parts) - 1)
        if found > most:
            break
        in_text ^= ~len(parts) & 1
    return found
