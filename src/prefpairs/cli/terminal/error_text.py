"""The sentences and hints of errors.

error: rollouts.jsonl:17: score is "0.7", expected a number

hint: --cast-score reads numbers written as text
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress

from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.did_you_mean import MOST_TOLD, listed, near_of, nearest
from prefpairs.errors import (
    ArePairs,
    BadField,
    BadInput,
    BadRecord,
    BadRecords,
    CannotHold,
    DoesNotTrain,
    EmptyName,
    FileError,
    FilesDiffer,
    GateNotMet,
    InputChanged,
    MeansNothing,
    NoSuchPath,
    NothingCameOut,
    NotThere,
    OptionNeeds,
    OptionsBothNeeded,
    OptionsConflict,
    OtherRows,
    ReadsAsDates,
    ServiceError,
    SideLeaks,
    StepFailed,
    TooManyPairs,
    TwoReadings,
    UnknownWord,
    UsageError,
    WouldBeLost,
)
from prefpairs.files.input_paths import folder_entries
from prefpairs.model.number import read_score
from prefpairs.model.pair import Pair
from prefpairs.reasons import ALL

_FEWER = "limit them with --max-pairs-per-group or --rejected-per-chosen, or use --yes-all"

_WITH_COMMANDS = (
    BadRecords,
    DoesNotTrain,
    MeansNothing,
    NothingCameOut,
    OtherRows,
    SideLeaks,
    TwoReadings,
)
"""Errors with hints that are commands."""

_EMPTY_IN_SHELL = "is a variable of your shell empty?"
_MOST_MISSING = 5
_MOST_FILES = 3
_MOST_NAMES, _LIKE = 1000, 0.8
"""How many names of a directory are compared, and how similar a suggestion must be."""


def write_error(error: Exception, typed: Sequence[str] = ()) -> None:
    """Write an error and its hint to standard error; `typed` is the command line."""
    write_stderr(error_text(error, typed))


def error_text(error: Exception, typed: Sequence[str] = ()) -> str:
    """The error and its hint, safe to print."""
    if isinstance(error, StepFailed):
        return error.words
    sentences, hint = error_sentences(error)
    hints = [hint] if hint else []
    if isinstance(error, _WITH_COMMANDS):
        from prefpairs.cli.retry_commands import commands_for

        commands = [printable(command) for command in commands_for(error, typed)]
        others = isinstance(error, OtherRows) and not isinstance(error, ArePairs)
        hints = [*commands, *hints] if others else commands or hints
    text = "".join(f"error: {sentence}\n" for sentence in sentences)
    for number, told in enumerate(hints):
        text += f"  or: {told}\n" if number else f"\nhint: {told}\n"
    return text


def error_sentences(error: Exception) -> tuple[list[str], str | None]:
    """The sentences and the hint of an error, safe to print."""
    sentences, hint = _word(error)
    if isinstance(error, UsageError) and error.place is not None:
        sentences = [f"{error.place}: {sentence}" for sentence in sentences]
    return [printable(sentence) for sentence in sentences], hint and printable(hint)


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
            hint = "run the command again once nothing writes to the file"
            return [f"{error.path} changed while it was being read"], hint
        case CannotHold():
            what = "; ".join(ALL[code] for code in error.codes)
            sentence = f"pair {error.pair}: {error.target} does not support its content: {what}"
            return [
                sentence
            ], "--lossy flatten converts such content, --lossy drop leaves out such pairs"
        case ReadsAsDates():
            sentence = f"{error.file}: every text of {error.path} looks like a date"
            hint = "loaders would convert them to timestamps; a .parquet file keeps them as text"
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
        case OptionsConflict():
            why = f": {error.reason}" if error.reason else ""
            return [f"{listed(error.options, 'and')} cannot be used together{why}"], error.hint
        case OptionNeeds():
            return [f"{error.option} requires {error.other}"], error.hint
        case OptionsBothNeeded():
            both = f"{error.option} and {error.other} must be given together"
            return [both], "give both, or neither"
        case EmptyName():
            return [f"{error.what} is empty"], _EMPTY_IN_SHELL if error.place is None else None
        case UsageError():
            return [error.problem], error.hint
        case NotThere():
            return [*_word_not_there(error)], error.hint
        case NothingCameOut():
            sentence = f"the result has no {error.what}s, so nothing was written"
            return [f"{sentence}: {error.hint}" if error.choices else sentence], error.hint
        case GateNotMet():
            actual = "unknown" if error.actual is None else f"{error.actual:,}"
            hint = "the summary shows what was dropped and why"
            return [f"--require {error.gate} is not met: the value is {actual}"], hint
        case DoesNotTrain():
            return [*error.problems], None
        case WouldBeLost():
            lost = [f"{file} cannot be loaded" for file in error.files]
            if error.of:
                rows = f"{error.rows:,} of {plural(error.of, 'row')}"
                lost.append(f"{rows} would not train correctly with {error.target}")
            return lost, error.hint
        case ServiceError():
            return [f"{error.step}: {error.problem}"], error.hint
        case FileError():
            near = _like(error.path) if error.missing else None
            return [f"{error.path}: {error.problem}"], near
    return _word_foreign(error)


def _word_foreign(error: Exception) -> tuple[list[str], str | None]:
    """Errors of the file system and of typer have messages; anything else is a bug."""
    if isinstance(error, OSError):
        return [error.strerror or str(error)], None
    if hasattr(error, "format_message"):
        return [error.format_message().rstrip(".")], "see --help for the options"
    hint = "this is a bug in prefpairs; please report it with the command and the input"
    return [f"{type(error).__name__}: {error!s}"], hint


def _word_not_there(error: NotThere) -> Iterator[str]:
    if not error.names:
        yield f"there is no {error.what} to show"
    for name in error.names[:_MOST_MISSING]:
        yield f"there is no {error.what} {name}"
    if (more := len(error.names) - _MOST_MISSING) > 0:
        yield f"... and {more:,} more that do not exist"


def are_no_pairs(error: BadRecords) -> bool:
    """Whether pairs were expected and no row is one."""
    bad = error.first[0][1] if error.first and error.of_all_rows else None
    if not isinstance(bad, BadField) or bad.field not in ("prompt", "chosen"):
        return False
    return bad.value is None and len(error.kinds) == 1


def _word_bad_records(error: BadRecords) -> Iterator[str]:
    if are_no_pairs(error):
        place, bad = error.first[0]
        rows = (
            "its only row is not a pair"
            if error.count == 1
            else f"none of its {error.count:,} rows is a pair"
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
    so = "the output is incomplete" if error.partly_written else "so nothing was written"
    beyond = f", more than --max-errors {error.allowed} allows" if error.allowed else ""
    yield f"{plural(error.count, 'bad row')}{beyond}, {so}"


def _word_record(bad: BadRecord) -> str:
    if not isinstance(bad, BadField):
        return bad.problem
    return f"{bad.field} is {bad.shown}, expected {bad.expected}"


_HINT_OF_NO_JSON = (
    "no row is JSON; prefpairs reads JSON lines (one object per line), JSON arrays and Parquet"
)
_REMEDIES = {
    "lfs_pointer": "fetch the file with `git lfs pull`",
    "pretty_printed": "write one JSON value per line with `jq -c .`",
    "line_too_long": "--max-line SIZE allows longer lines",
    "unfinished": "is the file still being written? --on-error skip leaves out incomplete rows",
}
"""Hints for reasons with a known remedy."""


def _hint_of_bad_records(error: BadRecords) -> str | None:
    for _, bad in error.first:
        if bad.code in _REMEDIES:
            return _REMEDIES[bad.code]
        if _is_quoted_number(bad):
            return "--cast-score reads numbers written as text"
        if isinstance(bad, BadField) and bad.expected == "a number" and bad.numbers:
            return _hint_of_several_scores(bad)
    if are_no_pairs(error):
        return "to make pairs from rollouts, start the recipe with [pair]"
    if error.allowed or error.of_all_rows:  # leaving out every row would not help
        return _HINT_OF_NO_JSON if error.kinds.keys() == {"not_json"} else None
    return (
        "leave out bad rows with --on-error skip, "
        "or save them with --on-error quarantine --quarantine FILE"
    )


def _hint_of_several_scores(bad: BadField) -> str:
    """The score is an object with several numbers: name those that count."""
    paths = [shlex.quote(f"{bad.field}.{name}") for name in bad.numbers]
    hint = f"{bad.field} has {listed(bad.numbers, 'and')}; choose one: --score {paths[0]}"
    if len(paths) == 1:
        return hint
    return f"{hint}, or add several with weights: --score {paths[0]} --score {paths[1]}:0.2"


def _is_quoted_number(bad: BadRecord) -> bool:
    """Whether a score of a rollout is a number in quotes; scores of pairs are never cast."""
    if not isinstance(bad, BadField) or bad.expected != "a number" or bad.field in Pair._fields:
        return False
    with suppress(BadField):
        read_score(bad.value, bad.field, cast=True)
        return isinstance(bad.value, str)
    return False


def _like(path: str) -> str | None:
    """A file in the same directory with a similar name."""
    folder, name = os.path.split(path)
    with suppress(OSError, ValueError):
        names = [entry.name for entry in folder_entries(folder or ".")[:_MOST_NAMES]]
        if near := near_of(name, names, _LIKE):
            return f"did you mean {os.path.join(folder, near[0])}?"
    return None
