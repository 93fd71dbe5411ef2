"""Facts to sentences: what an error says, and what to do about it.

error: rollouts.jsonl:17: score is "0.7", expected a number

hint: --cast-score reads numbers written as text
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

from prefpairs.did_you_mean import MOST_TOLD, listed, near_of, nearest
from prefpairs.errors import (
    ArePairs,
    BadField,
    BadInput,
    BadRecord,
    BadRecords,
    CannotHold,
    DoesNotTrain,
    FileError,
    FilesDiffer,
    GateNotMet,
    InputChanged,
    MeansNothing,
    NoSuchPath,
    NothingCameOut,
    NotThere,
    OtherRows,
    ReadsAsDates,
    SideLeaks,
    TooManyPairs,
    TwoReadings,
    UnknownWord,
    UsageError,
    WouldBeLost,
)
from prefpairs.files.standard_output import STEERING
from prefpairs.model.pair import Pair
from prefpairs.reasons import ALL

_CONTROL = re.compile(f"[\x00-\x1f{STEERING}\ud800-\udfff]")
_FEWER = "--max-pairs-per-group or --rejected-per-chosen take fewer, --yes-all writes them all"

_WITH_COMMANDS = (
    BadRecords,
    DoesNotTrain,
    MeansNothing,
    NothingCameOut,
    OtherRows,
    SideLeaks,
    TwoReadings,
)
"""Errors after which a changed command does what was meant."""

_MOST_MISSING = 5
_MOST_FILES = 3
_MOST_NAMES, _LIKE = 1000, 0.8
"""So many names of a folder are looked at; one that was meant is so much like the one typed."""


def say_error(error: Exception, typed: Sequence[str] = ()) -> None:
    """Write an error, and its hint, to standard error; `typed` are the words of the command."""
    sentences, hint = word_error(error)
    hints = [hint] if hint else []
    if isinstance(error, _WITH_COMMANDS):
        from prefpairs.cli.retry_commands import commands_for

        commands = [visible(command) for command in commands_for(error, typed)]
        others = isinstance(error, OtherRows) and not isinstance(error, ArePairs)
        hints = [*commands, *hints] if others else commands or hints
    text = "".join(f"error: {sentence}\n" for sentence in sentences)
    for number, told in enumerate(hints):
        text += f"  or: {told}\n" if number else f"\nhint: {told}\n"
    say(text)


def say(text: str) -> None:
    """Write to standard error; that nobody can hear it changes nothing about the run."""
    with suppress(OSError, AttributeError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def word_error(error: Exception) -> tuple[list[str], str | None]:
    """The sentences and the hint of an error; whatever they cite, it steers no terminal."""
    sentences, hint = _word(error)
    if isinstance(error, UsageError) and error.place is not None:
        sentences = [f"{error.place}: {sentence}" for sentence in sentences]
    return [visible(sentence) for sentence in sentences], hint and visible(hint)


def _word(error: Exception) -> tuple[list[str], str | None]:
    match error:
        case BadRecords():
            return list(_word_bad_records(error)), _hint_of_bad_records(error)
        case BadInput():
            return [f"{error.path}: {error.problem}"], error.hint
        case ArePairs():
            files = listed([*error.files[:_MOST_FILES]], "and")
            more = ", ..." if len(error.files) > _MOST_FILES else ""
            return [f"{files}{more}: {error.problem}"], error.hint
        case OtherRows():
            return [error.problem], error.hint
        case InputChanged():
            hint = "run it again when nothing writes to the file any more"
            return [f"{error.path} changed while it was being read"], hint
        case CannotHold():
            what = "; ".join(ALL[code] for code in error.codes)
            sentence = f"pair {error.pair}: {error.target} cannot hold it as it is: {what}"
            return [sentence], "--lossy flatten writes it so, --lossy drop leaves such pairs out"
        case ReadsAsDates():
            sentence = f"{error.file}: every text of {error.path} looks like a date"
            hint = "loaders would make timestamps of them; a .parquet file keeps them text"
            return [sentence], hint
        case FilesDiffer():
            return [*error.differences], None
        case UnknownWord():
            near = nearest(error.word, error.known, error.hint)
            if error.option is not None:
                return [f"{error.option} {error.word}: unknown {error.what}"], near
            return [f"unknown {error.what}: {error.word}"], near
        case NoSuchPath():
            near = nearest(error.path.replace(".*", "[]"), error.known, most=MOST_TOLD)
            return [f"{error.option} {error.path}: no row has this field"], near
        case TooManyPairs():
            sentence = f"this would write {error.pairs:,} pairs; the limit is {error.limit:,}"
            return [sentence], _FEWER
        case UsageError():
            return [error.problem], error.hint
        case NotThere():
            return [*_word_not_there(error)], error.hint
        case NothingCameOut():
            sentence = f"no {error.what} came out, so nothing was written"
            return [f"{sentence}: {error.hint}" if error.choices else sentence], error.hint
        case GateNotMet():
            actual = "unknown" if error.actual is None else f"{error.actual:,}"
            hint = "the counts say what was lost, and why"
            return [f"--require {error.gate} is not met: it is {actual}"], hint
        case DoesNotTrain():
            return [*error.problems], None
        case WouldBeLost():
            lost = [f"{file} cannot be loaded" for file in error.files]
            if error.of:
                rows = f"{error.rows:,} of {plural(error.of, 'row')}"
                lost.append(f"{rows} would not train as they should with {error.target}")
            return lost, error.hint
        case FileError():
            near = _like(error.path) if error.missing else None
            return [f"{error.path}: {error.problem}"], near
    return _word_foreign(error)


def _word_foreign(error: Exception) -> tuple[list[str], str | None]:
    """Errors of the file system and of typer have a message; anything else is a bug."""
    if isinstance(error, OSError):
        return [error.strerror or str(error)], None
    if hasattr(error, "format_message"):
        return [error.format_message().rstrip(".")], "--help lists the options"
    hint = "this is a bug in prefpairs; please report it with the command and the input"
    return [f"{type(error).__name__}: {error!s}"], hint


def _word_not_there(error: NotThere) -> Iterator[str]:
    if not error.names:
        yield f"there is no {error.what} to show"
    for name in error.names[:_MOST_MISSING]:
        yield f"there is no {error.what} {name}"
    if (more := len(error.names) - _MOST_MISSING) > 0:
        yield f"... nor {more:,} more"


def are_no_pairs(error: BadRecords) -> bool:
    """Whether not one row is a pair, where pairs are read."""
    bad = error.first[0][1] if error.first and error.of_all_rows else None
    if not isinstance(bad, BadField) or bad.field not in ("prompt", "chosen"):
        return False
    return bad.value is None and len(error.kinds) == 1


def _word_bad_records(error: BadRecords) -> Iterator[str]:
    if are_no_pairs(error):
        place, bad = error.first[0]
        rows = (
            "its only row is no pair"
            if error.count == 1
            else f"none of {error.count:,} rows is a pair"
        )
        why = bad.field if isinstance(bad, BadField) else ""
        yield f"{place.rpartition(':')[0]}: {rows} ({why} is null), so nothing was written"
        return
    untold = error.count - len(error.first)
    for kind in dict.fromkeys(bad.kind for _, bad in error.first):
        like = [(place, bad) for place, bad in error.first if bad.kind == kind]
        for place, bad in like:
            yield f"{place}: {_word_record(bad)}"
        more = error.kinds.get(kind, 0) - len(like)
        if 0 < more < untold:
            yield f"... and {more:,} more like these"
            untold -= more
    if untold:
        yield f"... and {untold:,} more"
    so = "what was written is not complete" if error.partly_written else "so nothing was written"
    beyond = f", more than --max-errors {error.allowed} allows" if error.allowed else ""
    yield f"{plural(error.count, 'bad row')}{beyond}, {so}"


def _word_record(bad: BadRecord) -> str:
    if not isinstance(bad, BadField):
        return bad.problem
    return f"{bad.field} is {bad.shown}, expected {bad.expected}"


_HINT_OF_NO_JSON = (
    "no row is JSON; prefpairs reads JSON lines (an object on each line), JSON arrays and Parquet"
)
_REMEDIES = {
    "lfs_pointer": "`git lfs pull` fetches the file itself",
    "pretty_printed": "`jq -c .` writes each JSON value on a line of its own",
    "line_too_long": "--max-line SIZE allows more",
    "unfinished": "is the file still being written? --on-error skip leaves such rows out",
}
"""What helps against rows that are bad for a reason of which it is known."""


def _hint_of_bad_records(error: BadRecords) -> str | None:
    for _, bad in error.first:
        if bad.code in _REMEDIES:
            return _REMEDIES[bad.code]
        if _is_quoted_number(bad):
            return "--cast-score reads numbers written as text"
        if isinstance(bad, BadField) and bad.expected == "a number" and bad.numbers:
            return _hint_of_several_scores(bad)
    if are_no_pairs(error):
        return "[pair], as the first stage of a recipe, makes pairs of rollouts"
    if error.allowed or error.of_all_rows:  # to leave out all rows helps nobody
        return _HINT_OF_NO_JSON if error.kinds.keys() == {"not_json"} else None
    return "--on-error skip leaves bad rows out; --on-error quarantine --quarantine FILE keeps them"


def _hint_of_several_scores(bad: BadField) -> str:
    """Where a score was looked for stands an object of several: which of them count, and how."""
    paths = [shlex.quote(f"{bad.field}.{name}") for name in bad.numbers]
    hint = f"{bad.field} holds {listed(bad.numbers, 'and')}; name what counts: --score {paths[0]}"
    if len(paths) == 1:
        return hint
    return f"{hint}, or several with weights: --score {paths[0]} --score {paths[1]}:0.2"


def _is_quoted_number(bad: BadRecord) -> bool:
    """Whether a score of a rollout is a number in quotes; those of pairs are never cast."""
    if not isinstance(bad, BadField) or bad.expected != "a number" or bad.field in Pair._fields:
        return False
    try:
        float(bad.value)
    except (TypeError, ValueError):
        return False
    return isinstance(bad.value, str)


def _like(path: str) -> str | None:
    """The file beside it that may have been meant."""
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError), os.scandir(folder or ".") as found:
        names = [entry.name for entry in islice(found, _MOST_NAMES)]
        if near := near_of(name, names, _LIKE):
            return f"did you mean {os.path.join(folder, near[0])}?"
    return None


def visible(text: str) -> str:
    r"""The text with what could steer a terminal written out, and bytes of names that are no UTF-8.

    >>> visible("red \x1b[31m"), visible("caf\udce9.jsonl")
    ('red \\x1b[31m', 'caf\\xe9.jsonl')
    """
    with suppress(UnicodeError):  # where Python reads names as ASCII they may be UTF-8 all the same
        text = text.encode("utf-8", "surrogateescape").decode()
    return _CONTROL.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    byte = ord(found[0]) - 0xDC00
    if 0x80 <= byte <= 0xFF:  # so Python holds what it could not decode
        return f"\\x{byte:02x}"
    return found[0].encode("unicode_escape").decode()


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "pair"), plural(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
