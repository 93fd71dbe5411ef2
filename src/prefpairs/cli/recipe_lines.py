"""The lines of a recipe: where each word has its value, and which has two of them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from prefpairs.errors import UsageError

_HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_KEY = re.compile(r"\s*([\w-]+)\s*=")


def spelled(word: str) -> str:
    """A word as a key: `-` and `_` are alike."""
    return word.replace("-", "_")


def given_twice(place: str, one: str, other: str) -> UsageError:
    """The error for a word with two values."""
    return UsageError(f"{place} is given twice: {one} and {other}", "give it once")


class _Line(NamedTuple):
    """A line of a recipe that begins a table, or gives a word of one its value."""

    number: int
    table: str
    key: str
    value: str


def _lines_in(text: str) -> Iterator[_Line]:
    """The lines that begin tables (without a key), and those that give words their values."""
    table = ""
    within = False
    for number, line in enumerate(text.split("\n"), 1):
        before, within = within, within ^ (len(_LONG_TEXT.findall(line)) % 2 == 1)
        if before:  # in the middle of a text of several lines
            continue
        if header := _HEADER.match(line):
            table = header[1]
            yield _Line(number, table, "", "")
        elif key := _KEY.match(line):
            yield _Line(number, table, spelled(key[1]), line[key.end() :].strip())


def lines_of(text: str, path: str) -> dict[tuple[str, str], str]:
    """Where each table and each of its words stands."""
    lines: dict[tuple[str, str], str] = {}
    for line in _lines_in(text):
        lines.setdefault((line.table, line.key), f"{path}:{line.number}")
    return lines


def refuse_twice(text: str, path: str) -> None:
    """Raise for a word that has two values; TOML itself does not say what they are."""
    first: dict[tuple[str, str], _Line] = {}
    for line in _lines_in(text):
        other = first.setdefault((line.table, line.key), line)
        if other is not line and line.key:
            told = f"{other.value} (line {other.number})"
            twice = given_twice(f"{line.table}.{line.key}", told, line.value)
            raise twice.at(f"{path}:{line.number}")
