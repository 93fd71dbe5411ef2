"""Rows of a prompt, one answer as text and a number as score, read at half the cost or less.

This is the one clever place of the source, as nemo_gym_plain.py is of its own. msgspec fills a
type made for the fields of the file and skips the rest of the row; whatever it does not expect
there is an error, and the row is read by generic.py, which knows every shape. Both find the same
in a row: tests/laws/test_plain_rows.py. (Of 0.7 KB: 2.2 us to index it and 3.3 to read it, where
generic.py takes 7 for either.)
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Raw, UnsetType, defstruct, field

from prefpairs.errors import BadRecord
from prefpairs.records.calls import number_calls
from prefpairs.records.candidate import Candidate, read_text
from prefpairs.records.identity import digest_prompt, digest_turn, group_of_prompt
from prefpairs.records.message import Text, asks_something
from prefpairs.records.number import LARGEST_SCORE, round_score
from prefpairs.records.wire import decode_part
from prefpairs.sources.answer import ReadOptions, as_they_stand
from prefpairs.sources.detect import SIGNS
from prefpairs.sources.guess import NAMES, REFERENCES, RIVALS, Fact, Fields
from prefpairs.sources.protocol import Scanned, Shortcut
from prefpairs.sources.question import COLUMNS, MEDIA

_FEW = 4
_SHORT = 15
"""As in nemo_gym_plain.py."""

_TOOLS = "tools"
_Score = Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
_NoTools = Annotated[list[Any], Meta(max_length=0)] | None
_NoText = Annotated[str, Meta(max_length=0)]
_Nothing = _NoText | Annotated[list[Any], Meta(max_length=0)] | None


def shortcut_to(fields: Fields, options: ReadOptions, shown: tuple[Fact, ...]) -> Shortcut | None:
    """How rows with these fields are read, if each of the fields is one of the row's own keys.

    Rows in which another field could be meant, or more of the question stands beside the prompt,
    are not of the usual shape: their other columns must be empty.
    """
    if fields.prompt is None or fields.response is None or fields.log == "trl":
        return None
    (score, weight), *more = fields.scores
    own = fields.prompt, fields.response, score
    read_already = replace(options, prompt=None, response=None, scores=())
    keys = len({*own, _TOOLS}) == 4 and all(map(_is_plain, own))
    if not keys or weight != 1 or more or options.context or not as_they_stand(read_already):
        return None
    others = _others(fields, options, own, frozenset(shown))
    row = _row_type(own, tuple(sorted(others.items())))
    plain = _Plain(msgspec.json.Decoder(row).decode, rendered=fields.log is not None)
    return Shortcut(plain.scan, plain.read, shown=shown)


def _others(
    fields: Fields, options: ReadOptions, own: Collection[str], shown: Collection[Fact]
) -> dict[str, str]:
    """The columns that could change what is read, and what may stand there."""
    others = dict.fromkeys(SIGNS, "missing")
    if fields.log is not None:
        others |= dict.fromkeys((*MEDIA, *RIVALS), "nothing")
    else:
        others |= dict.fromkeys(COLUMNS, "nothing")
        if options.prompt is None:
            others |= dict.fromkeys(NAMES["prompt"], "nothing")
        if options.response is None:
            others |= _other_responses(fields, shown)
        if not options.scores:
            others |= dict.fromkeys(NAMES["score"], "null")
        if options.prompt is None and options.response is None:
            others |= dict.fromkeys(_of_logs(own), "missing")
    for name in (*own, *options.ignore):
        others.pop(name, None)
    if fields.log is not None:
        others |= {"step": "there", "gts": "there"}
    return others


def _other_responses(fields: Fields, shown: Collection[Fact]) -> dict[str, str]:
    """A reference counts where nothing else is there; beside the response it is once told of."""
    if fields.response in REFERENCES:
        return dict.fromkeys(NAMES["response"], "missing")
    others = dict.fromkeys(NAMES["response"], "nothing")
    for name in REFERENCES:
        if ("stands beside", name, fields.response) in shown:
            del others[name]
    return others


def _of_logs(own: Collection[str]) -> Iterator[str]:
    """The columns that make the log of a trainer of a row with these fields."""
    if {"prompt", "completion"} <= {*own}:
        yield "advantage"
    if {"input", "output"} <= {*own}:
        yield "gts"


_MAY_BE: dict[str, tuple[Any, Any]] = {
    "nothing": (_Nothing, None),
    "null": (None, None),
    "missing": (UnsetType, UNSET),
    "there": (Raw, NODEFAULT),
}
"""The type of a column of which nothing is read, and what stands for it where it is missing."""


@lru_cache
def _row_type(own: tuple[str, str, str], others: tuple[tuple[str, str], ...]) -> Any:
    prompt, response, score = own
    members: list[Any] = [
        ("prompt", Raw, field(name=prompt)),
        ("response", str, field(name=response)),
        ("score", _Score, field(name=score)),
        ("tools", _NoTools, field(name=_TOOLS, default=None)),
    ]
    for place, (name, may_be) in enumerate(others):
        kind, default = _MAY_BE[may_be]
        members.append((f"other_{place}", kind, field(name=name, default=default)))
    return defstruct("_Row", members, gc=False, kw_only=True)


def _is_plain(path: str) -> bool:
    """Whether a path is a key of the row, and one that JSON writes without an escape."""
    return path.isprintable() and not set(path) & set('."\\')


class _Plain:
    """Rows of one file, of which it is known which keys hold what."""

    def __init__(self, row_of: Callable[[bytes], Any], *, rendered: bool) -> None:
        self._row_of = row_of
        self._rendered = rendered

    def scan(self, records: Sequence[bytes]) -> list[Scanned | None]:
        """What the index remembers of rows, and nothing where a row is not of the usual shape."""
        found: list[Scanned | None] = []
        last, short = b"", b""
        for record in records:
            row = self._row(record)
            if row is None:
                found.append(None)
                continue
            if row.prompt != last:  # rows of one prompt often stand together
                last, short = row.prompt, sha256(row.prompt).digest()[:_SHORT]
            found.append((short, round_score(row.score), None, digest_turn(row.response, "")))
        return found

    def read(self, record: bytes, origin: str = "") -> tuple[Candidate, bytes] | None:
        """The candidate of a row of the usual shape, and the digest of its response."""
        row = self._row(record)
        if row is None:
            return None
        try:
            group, prompt = _question_of(bytes(row.prompt))
        except BadRecord:
            return None
        if not asks_something(prompt):
            return None
        words = row.response
        candidate = Candidate(group, prompt, words, round_score(row.score), None, origin)
        return candidate, digest_turn(words, "")

    def _row(self, record: bytes) -> Any:
        """A row whose answer is fit to train on as it stands."""
        try:
            row = self._row_of(record)
            if not record.isascii():
                record.decode()  # msgspec does not look at the bytes of what it skips
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        words = row.response
        if not words or words.isspace() or ("think>" in words and not self._rendered):
            return None
        return row


@lru_cache(_FEW)
def _question_of(given: bytes) -> tuple[str, Text]:
    """Group and prompt: what both answers of a pair share."""
    prompt, _ = number_calls(read_text(decode_part(given, 1), "prompt"), "")
    return group_of_prompt(digest_prompt(prompt)), prompt
