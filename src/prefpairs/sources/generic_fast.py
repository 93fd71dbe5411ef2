"""The fast reader of generic rows: a prompt, one answer as text, and a number as its score.

msgspec fills a type made for the fields of one file, and skips the rest of the row. Whatever the
type does not expect is an error, and the row is left to the general reader in generic.py. Both
find the same in a row: tests/laws/test_generic_fast_reader.py. (A row of 0.7 KB takes 2.2 us to
index and 3.3 us to read; the general reader takes 7 us for either.)
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Raw, UnsetType, defstruct, field

from prefpairs.errors import BadRecord
from prefpairs.fields.answers_in_row import CONTENT
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.field_names import (
    CALLS,
    CHATS,
    MAYBE_REFERENCE,
    NAMES,
    OUTPUTS,
    RIVALS,
    THOUGHTS,
    TURNS,
    USUALLY_REFERENCE,
    VERDICTS,
    VERSIONS,
)
from prefpairs.fields.guess_fields import Fields
from prefpairs.fields.native_reading import NativeReading, native_reading
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.reference import column_code, reference_columns
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.fields.training_logs import TRAINING_LOGS, TrainingLog
from prefpairs.model.candidate import Candidate, Reference, read_text
from prefpairs.model.identity import canonical_json, digest_prompt, digest_turn, group_of_prompt
from prefpairs.model.json_codec import decode, decode_part, finite, refuse_deeper
from prefpairs.model.marks import COLUMNS as MARK_COLUMNS
from prefpairs.model.marks import is_marked
from prefpairs.model.message import RENDERED, Text, asks_something
from prefpairs.model.number import LARGEST_SCORE, round_score
from prefpairs.model.pair import OF_PAIRS
from prefpairs.model.question_columns import COLUMNS, MEDIA, PACKED, holds_something
from prefpairs.model.tool_calls import number_calls
from prefpairs.sources import KEY_NAMES
from prefpairs.sources.base import FastReader, IndexedRow, Native
from prefpairs.sources.detect import SOURCE_COLUMNS

_FEW = 4
_LONGEST_END = 800
"""Bytes at the end of a text prompt that may hold `<think>`, even if all characters are escaped."""
_ESCAPED_LETTER = re.compile(rb"\\u00[3-7]")
_SHORT = 15
"""The length of digests: Python stores 15 bytes in 48, and more than that in 64."""

_OF_SOURCES = dict.fromkeys((*SOURCE_COLUMNS, *OF_PAIRS, *chain(*KEY_NAMES.values())), "missing")
"""Columns by which another source may know a row, even if an option ignores them."""

_TOOLS = "tools"
_REFERENCE = "reference"
_Score = Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
_NoTools = Annotated[list[Any], Meta(max_length=0)] | None
_NoText = Annotated[str, Meta(max_length=0)]
_Nothing = _NoText | Annotated[list[Any], Meta(max_length=0)] | None


class FastReading(NamedTuple):
    """What reads the rows of a file without the general reader."""

    fast_reader: FastReader | None
    native: Native | None


def fast_reading_of(
    sample: dict[str, Any], fields: Fields, options: ReadOptions, facts: tuple[Fact, ...]
) -> FastReading | None:
    """How rows with these fields are read fast, if prompt and response are columns of the row.

    Rows in which another field could be meant, or with more columns of the question, are left to
    the general reader: in rows of the usual shape, such columns must be empty.
    """
    if fields.prompt is None or fields.response is None or not _can_be_fast(fields.log):
        return None
    if options.unrender is not None or options.context:
        return None
    own = {fields.prompt: "prompt", fields.response: "response"}
    task = () if fields.log is None else fields.log.task_columns
    (score, weight), *more = fields.scores
    one_score = weight == 1 and not more and is_column(score)
    if one_score:
        own[score] = "score"
    elif not options.scores:
        return None
    keys = len({*own, *task, _TOOLS}) == 2 + one_score + len(task) + 1
    if not keys or not all(map(is_column, own)) or not _OF_SOURCES.keys().isdisjoint(own):
        return None
    others = other_columns(fields, options, own, frozenset(facts))
    strict = options.response is None and fields.response in MAYBE_REFERENCE
    judged = not options.scores and score in VERDICTS
    read_columns = {*own, _TOOLS, *task}
    columns = _columns_of(sample, {*read_columns, *options.ignore}, strict=strict) | others
    usual = {*sample, *MARK_COLUMNS, *THOUGHTS[:1]}
    like_the_sample = {name: columns[name] for name in columns if name in usual}
    like_the_sample |= {
        name: others.get(name, "anything")
        for name in options.ignore
        if is_column(name) and name not in read_columns
    }
    of_chats = fields.prompt in CHATS
    fast_reader = None
    if one_score and not isinstance(sample.get(score), str) and _is_plain(fields, options):
        row_of = partial(_rows_of, tuple(own), bool if judged else _Score, fields.log)
        narrow = row_of(tuple(sorted(like_the_sample.items())), narrow=True)
        wide = narrow if strict else row_of(tuple(sorted(others.items())), narrow=False)
        plain = _FastReader(narrow, wide, fields.log, facts, of_chats=of_chats)
        fast_reader = FastReader(plain.index_rows, plain.read)
    texts = bool(options.cast_score or options.score_map)
    reading = _native_reading(options, fields.scores if texts or not one_score else ())
    if reading is None or fields.log is not None:
        return FastReading(fast_reader, None)
    held_to = {**(like_the_sample if strict else others), **own, _TOOLS: "nothing"}
    if texts:
        held_to[score] = "anything"
    about = (reading, tuple(sorted(held_to.items())), judged, strict, of_chats)
    return FastReading(fast_reader, Native("Generic", about=about))


def _is_plain(fields: Fields, options: ReadOptions) -> bool:
    """Whether no option changes what is read, once the fields are known."""
    known = replace(options, prompt=None, response=None, scores=())
    if fields.log is None and options.group_by == "prompt":
        known = replace(known, group_by="auto")  # rows of one's own name no task
    return is_default_reading(known)


def _native_reading(
    options: ReadOptions, scores: tuple[tuple[str, float], ...]
) -> NativeReading | None:
    """What the core must know of the options, with the paths of scores that are no column."""
    if not all(map(is_column, options.ignore)):
        return None
    return native_reading(replace(options, prompt=None, response=None, scores=scores, ignore=()))


def other_columns(
    fields: Fields, options: ReadOptions, own: Collection[str], facts: Collection[Fact]
) -> dict[str, str]:
    """The columns that could change what is read, and what each may contain."""
    others: dict[str, str] = {**MARK_COLUMNS}
    others |= dict.fromkeys((*THOUGHTS, *CALLS), "nothing")
    if fields.log is not None:
        others |= dict.fromkeys((*MEDIA, *PACKED, *RIVALS), "nothing")
    else:
        others |= _others_of_ones_own(fields, options, own, facts)
    if fields.response == CONTENT:  # the row may be a message
        others["role"] = "missing"
    for name in options.ignore:
        others.pop(name, None)
    others = _OF_SOURCES | others
    if fields.response not in OUTPUTS:  # else a row with another output in an object has two
        others = dict.fromkeys(OUTPUTS, "no object") | others
    for name in own:
        others.pop(name, None)
    if fields.log is not None:
        others |= dict.fromkeys(
            fields.log.columns.difference(own, fields.log.task_columns), "there"
        )
    return others


def _others_of_ones_own(
    fields: Fields, options: ReadOptions, own: Collection[str], facts: Collection[Fact]
) -> dict[str, str]:
    """Those of rows that are from no log."""
    others = dict.fromkeys(COLUMNS, "nothing") | dict.fromkeys(TURNS, "missing")
    if options.prompt is None:
        others |= _of_kind("prompt", facts)
    if options.response is None:
        others |= _other_responses(fields, facts)
    if not options.scores:
        others |= _of_kind("score", facts)
    for name in reference_columns(fields.response, options):
        others.setdefault(name, f"{_REFERENCE} {column_code(name)}")
    if options.prompt is None and options.response is None:
        others |= dict.fromkeys(_of_logs(own), "missing")
    return others


def _can_be_fast(log: TrainingLog | None) -> bool:
    return log is None or log.task_key is not None


def _columns_of(sample: dict[str, Any], others: Collection[str], *, strict: bool) -> dict[str, str]:
    """The other columns of the sample, and what each may contain.

    If `strict`, any other text could be the response instead. The facts of the sample cover its
    own texts; its other columns must not become texts.
    """
    return {
        name: "no text" if strict and not isinstance(value, (str, list, dict)) else "anything"
        for name, value in sample.items()
        if name not in others and is_column(name)
    }


def _of_kind(what: str, facts: Collection[Fact]) -> dict[str, str]:
    """Names of a field that may be present only if empty, as in the sample."""
    silent = {fact[2] for fact in facts if fact[:2] == ("silent beside", what)}
    may_be = "null" if what == "score" else "nothing"
    return {name: may_be if name in silent else "missing" for name in NAMES[what]}


def _other_responses(fields: Fields, facts: Collection[Fact]) -> dict[str, str]:
    """Other names of responses; a reference next to the response must be known from the sample."""
    others = _of_kind("response", facts) | dict.fromkeys(VERSIONS, "missing")
    if fields.response in MAYBE_REFERENCE:
        return others | dict.fromkeys(USUALLY_REFERENCE, "missing")
    for name in MAYBE_REFERENCE:
        if ("stands beside", name, fields.response) in facts:
            del others[name]
        else:
            others[name] = "nothing"
    return others


def _of_logs(own: Collection[str]) -> Iterator[str]:
    """The columns without which a row with these fields is from no training log."""
    for log in TRAINING_LOGS:
        if {log.prompt, log.response} <= {*own}:
            yield min(log.columns.difference(own))


class _Unmarked:
    """A value in a column of marks that marks nothing."""

    reason: str

    def __init_subclass__(cls, reason: str) -> None:
        cls.reason = reason


class _Ended(_Unmarked, reason="incomplete"):
    pass


class _NoError(_Unmarked, reason="failed"):
    pass


def _held_to(kind: type[_Unmarked], value: Any) -> _Unmarked:
    """Refuse a mark, or a value in a column that must be empty."""
    if not issubclass(kind, _Unmarked) or is_marked(kind.reason, value):
        raise ValueError
    return kind()


_MAY_BE: dict[str, tuple[Any, Any]] = {
    "nothing": (_Nothing, None),
    "null": (None, None),
    "missing": (UnsetType, UNSET),
    "incomplete": (_Ended | None, None),
    "failed": (_NoError | None, None),
    "there": (Raw, NODEFAULT),
    "anything": (Raw, Raw()),
    "no text": (float | bool | None, None),
    "no object": (str | float | bool | list[Raw] | None, None),
}
"""The type of a column that is only checked, and its default if it is missing."""


class _Rows(NamedTuple):
    """How rows are decoded."""

    decode: Callable[[bytes], Any]
    references: tuple[tuple[str, str], ...]
    """The fields of references and their columns; the first counts."""
    columns: bytes
    """These columns."""
    parts: Callable[[Any], Any]
    """The prompt of a row, and what those columns hold."""


@lru_cache
def _rows_of(
    own: tuple[str, str, str],
    kind_of_score: Any,
    log: TrainingLog | None,
    others: tuple[tuple[str, str], ...],
    *,
    narrow: bool,
) -> _Rows:
    """How rows are decoded; a narrow decoder refuses all other columns, and is faster."""
    prompt, response, score = own
    members: list[Any] = [
        ("prompt", Raw, field(name=prompt)),
        ("response", str, field(name=response)),
        ("score", kind_of_score, field(name=score)),
        ("tools", _NoTools, field(name=_TOOLS, default=None)),
    ]
    for place, name in enumerate(() if log is None else log.task_columns):
        default = NODEFAULT if log is not None and name in log.columns else Raw(b"null")
        members.append((f"task_{place}", Raw, field(name=name, default=default)))
    references: list[tuple[int, str, str]] = []
    for place, (name, may_be) in enumerate(others):
        kind, _, code = may_be.partition(f"{_REFERENCE} ")
        references += [(int(code), f"other_{place}", name)] if code else []
        type_of, default = _MAY_BE[kind or "anything"]
        members.append((f"other_{place}", type_of, field(name=name, default=default)))
    row = defstruct("_Row", members, gc=False, kw_only=True, forbid_unknown_fields=narrow)
    decode = msgspec.json.Decoder(row, dec_hook=_held_to).decode
    known = tuple((member, name) for _, member, name in sorted(references))
    columns = ",".join(name for _, name in known).encode()
    return _Rows(decode, known, columns, attrgetter("prompt", *(member for member, _ in known)))


def is_column(path: str) -> bool:
    """Whether a path is a column of the row whose name JSON writes without an escape."""
    return path.isprintable() and not set(path) & set('."\\')


class _FastReader:
    """The fast reader of the rows of one file, whose fields are known."""

    def __init__(
        self,
        narrow: _Rows,
        wide: _Rows,
        log: TrainingLog | None,
        facts: tuple[Fact, ...],
        *,
        of_chats: bool,
    ) -> None:
        self._facts = facts
        self._of_chats = of_chats
        self._rows = narrow
        self._wide = wide
        self._log = log
        self._rendered = log is not None and log.always_rendered
        places = range(0 if log is None else len(log.task_columns))
        self._task_columns = tuple(f"task_{place}" for place in places)

    def index_rows(self, records: Sequence[bytes]) -> list[IndexedRow | None]:
        """What the index stores of each row; None for rows not of the usual shape."""
        found: list[IndexedRow | None] = []
        last, short = b"", b""
        for record in records:
            row = self._row(record)
            if row is None:
                found.append(None)
                continue
            question = row.prompt
            if self._log is not None:
                question = b"\0".join(self._question(row))
            elif self._rows.references:
                question = self._rows.columns + b"\0".join(self._rows.parts(row))
            if question != last:  # rows of one prompt are often adjacent
                last, short = question, sha256(question).digest()[:_SHORT]
            found.append((short, round_score(row.score), None, digest_turn(row.response, ""), ()))
        return found

    def read(self, record: bytes) -> RowOutcome | None:
        """The candidate of a row of the usual shape; else None."""
        row = self._row(record)
        if row is None:
            return None
        try:
            group, prompt = _question_of(self._log, *self._question(row))
        except BadRecord:
            return None
        if not asks_something(prompt) or _ends_in_an_answer(prompt):
            return None
        words, meta = row.response, {RENDERED: True} if self._rendered else None
        score, reference = round_score(row.score), self._reference(row)
        candidate = Candidate(group, prompt, words, score, meta=meta, reference=reference)
        return RowOutcome([candidate], [1], facts=self._facts)

    def _question(self, row: Any) -> tuple[bytes, ...]:
        """The prompt, and the key of its task in a log."""
        prompt = bytes(row.prompt)
        if self._log is None or self._log.task_key is None:
            return (prompt,)
        return prompt, *self._log.task_key(
            *(bytes(getattr(row, name)) for name in self._task_columns)
        )

    def _reference(self, row: Any) -> Reference | None:
        """The reference that counts."""
        for member, column in self._rows.references:
            given = bytes(getattr(row, member))
            if given and holds_something(value := _value_of(given)):
                return column, value
        return None

    def _decoded(self, record: bytes) -> Any:
        """The decoded row; once a valid row has more columns, all use the wide decoder."""
        try:
            return self._rows.decode(record)
        except msgspec.DecodeError:
            row = self._wide.decode(record)
            self._rows = self._wide
            return row

    def _row(self, record: bytes) -> Any:
        """The decoded row, if its answer can be used unchanged."""
        try:
            row = self._decoded(record)
            if not record.isascii():
                record.decode()  # msgspec does not validate the bytes that it skips
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        words = row.response
        if not words or words.isspace() or ("think>" in words and self._log is None):
            return None
        if self._log is not None and not bytes(row.prompt).startswith(b'"'):  # no text
            return None
        if _may_open_thinking(bytes(row.prompt)):
            return None
        if self._of_chats and bytes(row.prompt).startswith(b'"'):  # the JSON text of a chat?
            return None
        return row


def _may_open_thinking(prompt: bytes) -> bool:
    """Whether a prompt ends like one after which the model thinks; a quick look, so it may not.

    >>> _may_open_thinking(b'"user\\nHi\\nassistant\\n<think>\\n"'), _may_open_thinking(b'"Hi"')
    (True, False)
    """
    end = prompt if prompt.startswith(b"[") else prompt[-_LONGEST_END:]
    return b"<think>" in end or (rb"\u00" in end and _ESCAPED_LETTER.search(end) is not None)


@lru_cache(_FEW)
def _question_of(log: TrainingLog | None, given: bytes, *task_key: bytes) -> tuple[str, Text]:
    """The group and the prompt, which answers of one task share."""
    prompt, _ = number_calls(read_text(decode_part(given, 1), "prompt"), "")
    refuse_deeper([[prompt]], given)
    task = None
    if log is not None:
        task = log.task_of(dict(zip(log.task_columns, map(decode, task_key), strict=True)))
    if task is None:
        return group_of_prompt(digest_prompt(prompt)), prompt
    return canonical_json(task).decode(), prompt


@lru_cache(_FEW)
def _value_of(given: bytes) -> Any:
    return finite(decode_part(given, 1))


def _ends_in_an_answer(prompt: Text) -> bool:
    """Whether a prompt ends in an answer, so that it may be a whole conversation."""
    return not isinstance(prompt, str) and prompt[-1]["role"] == "assistant"
