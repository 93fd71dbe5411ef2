"""Rows of a prompt, one answer as text and a number as score, read at half the cost or less.

This is the one clever place of the source, as nemo_gym_plain.py is of its own. msgspec fills a
type made for the fields of the file and skips the rest of the row; whatever it does not expect
there is an error, and the row is read by generic.py, which knows every shape. Both find the same
in a row: tests/laws/test_plain_rows.py. (Of 0.7 KB: 2.2 us to index it and 3.3 to read it, where
generic.py takes 7 for either.)
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, defstruct, field

from prefpairs.errors import BadRecord
from prefpairs.records.candidate import Candidate, read_text
from prefpairs.records.identity import digest_prompt, digest_turn, group_of_prompt
from prefpairs.records.message import Text, asks_something
from prefpairs.records.number import LARGEST_SCORE, round_score
from prefpairs.records.wire import decode
from prefpairs.sources.answer import ReadOptions, as_they_stand
from prefpairs.sources.guess import Fields
from prefpairs.sources.protocol import Scanned, Shortcut

_FEW = 4
_SHORT = 15
"""As in nemo_gym_plain.py."""

_TOOLS = "tools"
_Score = Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
_NoTools = Annotated[list[Any], Meta(max_length=0)] | None


def shortcut_to(fields: Fields, options: ReadOptions) -> Shortcut | None:
    """How rows with these fields are read, if each of the fields is one of the row's own keys."""
    scores = fields.named_scores or tuple((name, 1.0) for name in fields.scores)
    paths = (*fields.prompts, *fields.responses, *(path for path, weight in scores if weight == 1))
    one_each = len(fields.prompts) == len(fields.responses) == len(scores) == 1
    own = len({*paths, _TOOLS}) == 4 and all(map(_is_plain, paths))
    if not (one_each and own and as_they_stand(options)):
        return None
    prompt, response, score = paths
    members = [
        ("prompt", Raw, field(name=prompt)),
        ("response", str, field(name=response)),
        ("score", _Score, field(name=score)),
        ("tools", _NoTools, field(name=_TOOLS, default=None)),
    ]
    row = defstruct("_Row", members, gc=False)
    plain = _Plain(msgspec.json.Decoder(row).decode, rendered=fields.rendered)
    return Shortcut(plain.scan, plain.read)


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
    prompt = read_text(decode(given), "prompt")
    return group_of_prompt(digest_prompt(prompt)), prompt
