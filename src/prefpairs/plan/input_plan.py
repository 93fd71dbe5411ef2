"""What a run reads: the options about inputs, and the files found by them."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, Self

from prefpairs.errors import OptionsBothNeeded, OptionsConflict, UsageError
from prefpairs.fields.read_options import READ, TROUBLE, ReadOptions
from prefpairs.files.copied_inputs import copies_among
from prefpairs.files.file_system import is_folder
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.input_paths import databases_in, find_inputs
from prefpairs.files.standard_output import refuse_stdout
from prefpairs.option import argument, option, options, size_of
from prefpairs.sources import (
    LAYOUTS,
    PREFERENCES,
    SOURCES,
    TABLES,
    TRACES,
    check_source,
    companions_of,
)
from prefpairs.targets import OF_TRACES, PAIR_FORMATS

_LONGEST_LINE = 4_000_000_000
_ERRORS = re.compile(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?) ?%")


def max_line_option() -> Any:
    """--max-line, of every command that reads lines."""
    return option(
        "64MB",
        metavar="SIZE",
        panel=TROUBLE,
        help="Longer lines are bad rows, and are not held in memory.",
    )


def max_unpacked_option() -> Any:
    """--max-unpacked, of every command that reads compressed files."""
    return option(
        None,
        metavar="SIZE",
        panel=TROUBLE,
        help="Limit on the unpacked size of compressed and Parquet files (default: 1GB, or 200 "
        "times their size).",
        show_default=False,
    )


def limits_of(max_line: str, max_unpacked: str | None) -> Limits:
    """How much of an input is accepted without being asked for."""
    line = size_of("--max-line", max_line)
    if line > _LONGEST_LINE:
        raise UsageError(f"--max-line {max_line}: no line can be that long", "4GB is the most")
    return Limits(
        line=line,
        unpacked=None if max_unpacked is None else size_of("--max-unpacked", max_unpacked),
    )


class Tolerated(NamedTuple):
    """How many rows may be bad before a run fails: a number of them, or a share."""

    word: str
    number: int | None = None
    percent: Decimal = Decimal(0)

    def exceeded(self, bad: int, read: int | None) -> bool:
        """Whether too many are bad. A share is known only once all rows were read."""
        if self.number is not None:
            return bad > self.number
        return read is not None and bad * 100 > self.percent * read


def _tolerated(word: str) -> Tolerated:
    found = _ERRORS.fullmatch(word.strip())
    if found is None or (found[2] and Decimal(found[2]) > 100):
        problem = f"--max-errors {word}: expected a number of rows, or a share"
        raise UsageError(problem, "as in 100 or 0.5%")
    if found[1]:
        return Tolerated(word, number=int(found[1]))
    return Tolerated(word, percent=Decimal(found[2]))


@options
class InputPlan:
    """Which inputs are read, and what is done about rows that cannot be."""

    paths: list[str] | None = argument(
        None,
        key="inputs",
        metavar="[INPUT]...",
        help="Files, directories, globs, or - for standard input (the default). JSON lines, JSON "
        "arrays, a JSON document, CSV, TSV, Parquet, TRXP, SQLite or Inspect logs; gzip and zstd "
        "are decompressed.",
    )
    limit: int | None = option(
        None, "-n", "--limit", metavar="N", least=0, panel=READ, help="Read only the first N rows."
    )
    rows: str | None = option(
        None,
        metavar="PATH",
        panel=READ,
        help="Path of the list of rows in a file that is one JSON document.",
    )
    on_error: str = option(
        "fail",
        choices=("fail", "skip", "quarantine"),
        panel=TROUBLE,
        help="What to do with rows that cannot be read.",
    )
    quarantine: str | None = option(
        None, metavar="FILE", panel=TROUBLE, help="File for bad rows, with reasons."
    )
    max_errors: str | None = option(
        None,
        metavar="N|P%",
        panel=TROUBLE,
        help="With skip or quarantine: fail if more rows than this are bad.",
    )
    max_line: str = max_line_option()
    max_unpacked: str | None = max_unpacked_option()

    inputs: Sequence[Input] = ()
    """The inputs that the paths name, once they are found."""
    dialect: str = "auto"
    """The format of rows that are pairs."""
    one_kind: str | None = None
    """What the first row is, if that decided: `pairs`, or the source of a rollout."""
    notes: Sequence[str] = ()
    """What was noticed while the inputs were found."""
    skipped_files: Sequence[tuple[str, str]] = ()
    """Files without rollouts, each with the tool that writes it next to its rollouts."""

    def check(self) -> None:
        """Raise for options that do not go together."""
        refuse_stdout("--quarantine", self.quarantine)
        if (self.on_error == "quarantine") != (self.quarantine is not None):
            raise OptionsBothNeeded("--on-error quarantine", "--quarantine FILE")
        if self.max_errors is not None and self.on_error == "fail":
            problem = "--max-errors is for --on-error skip and --on-error quarantine"
            raise UsageError(problem, "by itself one bad row is one too many")
        _ = self.limits, self.tolerated

    @cached_property
    def limits(self) -> Limits:
        """How much of an input is accepted."""
        return limits_of(self.max_line, self.max_unpacked)

    @cached_property
    def tolerated(self) -> Tolerated | None:
        """How many rows may be bad."""
        return None if self.max_errors is None else _tolerated(self.max_errors)

    def found(self) -> Self:
        """The same with the inputs that the paths name."""
        if not self.paths and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no input", "name files, or pipe rows into standard input")
        inputs = find_inputs(self.paths or [], self.limits, LAYOUTS, self.rows, TABLES)
        return replace(self, inputs=inputs)


@options
class PairInputPlan(InputPlan):
    """Which pairs are read."""

    dialect: str = option(
        "auto",
        "--from",
        metavar="FORMAT",
        panel=READ,
        help="auto (recognise each row by its columns), or the format of a trainer: "
        f"{', '.join(PAIR_FORMATS)}; {TRACES}, with export --to {' or '.join(OF_TRACES)}.",
    )

    def check(self) -> None:
        """Raise for options that do not go together, and for formats that are not known."""
        InputPlan.check(self)
        if self.dialect not in ("auto", TRACES):
            from prefpairs.engine.pairs.pairs_from_trainer_rows import reader_named

            reader_named(self.dialect)


@options
class ReadPlan(InputPlan):
    """Which rollouts are read, and how candidates are made of their rows."""

    source: str = option(
        "auto",
        "--from",
        metavar="SOURCE",
        panel=READ,
        help=f"auto (recognise each row by its columns), or one of {', '.join(SOURCES)}.",
    )

    options: ReadOptions = field(default_factory=ReadOptions)

    def reading(self, rows: ReadOptions) -> "ReadPlan":
        """The same with the inputs that the paths name, and with the files that options name."""
        return self.found().as_rollouts(rows)

    def as_rollouts(self, rows: ReadOptions) -> "ReadPlan":
        """The same, where the inputs are found and hold rollouts."""
        source = self.source.replace("_", "-")
        check_source(source)
        if rows.preference is not None and source not in ("auto", PREFERENCES):
            raise OptionsConflict("--preference", f"--from {source}")
        if rows.preference is not None:
            source = PREFERENCES
        named = {os.path.normpath(given.path) for given in self.inputs}
        skipped = {
            given: known.tool
            for known in companions_of(source)
            for given in self.inputs
            if known.names.search(given.path)
            and (not known.beside or _beside(given.path, known.beside) in named)
        }
        inputs = [
            given._replace(named=rows.named_fields())
            for given in self.inputs
            if given not in skipped
        ]
        databases = databases_in(self.paths or [])
        joined = [Input(path, path) for path in rows.join or ()]
        if any(given.delimiter for given in (*self.inputs, *joined)):
            rows = replace(rows, cast_score=True)  # the scores in a table are texts
        return replace(
            self,
            source=source,
            options=_with_files(rows, self.limits),
            inputs=inputs,
            notes=[
                *rows.notes_on_direction(),
                *_note_on_copies(inputs),
                *(f"{path} was not read: name the database file itself" for path in databases),
            ],
            skipped_files=[(given.label, tool) for given, tool in skipped.items()],
        )

    @property
    def references(self) -> list[Input]:
        """The files that are read in addition to the inputs."""
        rows = self.options
        paths = rows.prompt_template, rows.tokenizer, *(rows.join or ())
        return [Input(path, path) for path in paths if path]


def _note_on_copies(inputs: Sequence[Input]) -> Iterator[str]:
    """A note on files that look like copies of others: their pairs would be there several times."""
    copies = [*copies_among(inputs)]
    if copies:
        given, other = copies[0]
        files = "1 file seems" if len(copies) == 1 else f"{len(copies):,} files seem"
        yield (
            f"{files} to be a copy of another input, by size, beginning and end ({given.label} "
            f"of {other.label}): name only one, or `prefpairs dedupe` removes repeated pairs"
        )


def _beside(path: str, other: str) -> str:
    """The path of another file, from where a file is."""
    return os.path.normpath(os.path.join(os.path.dirname(path), other))


def _with_files(rows: ReadOptions, limits: Limits) -> ReadOptions:
    """The options with the files that they name."""
    if rows.join:
        from prefpairs.files.join_file import read_join_tables

        rows = replace(rows, joined=read_join_tables(rows.join, rows.on, limits))
    if rows.tokenizer is not None:
        from prefpairs.files.tokenizer import open_decoder

        rows = replace(rows, decoder=open_decoder(rows.tokenizer))
    if rows.prompt_template is None:
        return rows
    from prefpairs.chat.unrender import Unrenderer
    from prefpairs.files.option_files import read_template

    unrender = Unrenderer(read_template(rows.prompt_template))
    try:
        known = unrender.form is not None
    except UsageError as error:
        raise error.at(rows.prompt_template) from None
    if not known:
        problem = "--prompt-template: it renders no chat of a user and the model"
        raise UsageError(problem, "is this the chat template?").at(rows.prompt_template)
    return replace(rows, unrender=unrender)


@options
class TempDir:
    """Where input that cannot be read twice is kept for the time of the run."""

    temp_dir: str | None = option(
        None,
        metavar="DIR",
        panel="Execution",
        help="Directory for temporary copies of pipes and compressed files (default: the "
        "system's).",
    )

    def check(self) -> None:
        """Raise for a directory that does not exist, whether it will be needed or not."""
        if self.temp_dir is not None and not is_folder(self.temp_dir):
            raise UsageError(f"--temp-dir {self.temp_dir}: there is no such directory")
