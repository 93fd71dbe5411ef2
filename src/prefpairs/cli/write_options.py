"""The options that say what is written, and the run of a command around its engine."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from prefpairs.cli.terminal.error_text import say
from prefpairs.cli.terminal.next_steps import next_steps, ways_out, why_nothing
from prefpairs.cli.terminal.progress_display import read_whole, show_progress
from prefpairs.cli.terminal.summary_text import summary_of, summary_text
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import DatasetPlan, ExportPlan, InputPlan
from prefpairs.errors import (
    FileError,
    GateNotMet,
    NothingCameOut,
    PrefpairsError,
    TwoReadings,
    UsageError,
)
from prefpairs.files.file_system import exists, is_folder, missing_folder, target_of
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.folder_handle import keep_files
from prefpairs.files.inputs import Input
from prefpairs.files.output import Output, open_output, refuse_same_file, write_file
from prefpairs.files.standard_output import STDOUT, ClosedPipe, refuse_stdout
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import flag, option, options

if TYPE_CHECKING:
    from prefpairs.cli.gates import Gate
    from prefpairs.cli.output_places import Folder

_WRITE = "What is written"


def force_option() -> Any:
    """--force, of every command that writes into a directory."""
    return flag(
        panel=_WRITE,
        help="Also replace and delete files of these names in --out-dir that prefpairs did not "
        "write.",
    )


Opener = Callable[..., AbstractContextManager[Output]]
"""What opens the one file of a run."""


@options
class TellWords:
    """The words about what is told of a run, as they were typed."""

    summary: str | None = option(
        None,
        metavar="FILE",
        panel=_WRITE,
        help="Write the counts as JSON, too, also those of a run that fails.",
    )
    require: list[str] | None = option(
        None,
        metavar="NAME>=N",
        panel=_WRITE,
        help="Exit with 4 unless a count of the summary is so: 'pairs>=5000'. Outputs stay as "
        "they were then, but for --summary. Repeatable.",
    )
    quiet: bool = flag("-q", "--quiet", panel=_WRITE, help="Say nothing but errors.")
    allow_empty: bool = flag(panel=_WRITE, help="An empty result is no error.")

    @contextmanager
    def telling(
        self, command: str, ledger: Ledger, written: str, plan: InputPlan, *, hashed: bool = False
    ) -> Iterator[FileTransaction]:
        """Show how far a run is; write its summary, and say it, however it ends.

        The files of a run that ends well appear together, its summary among them.
        """
        refuse_stdout("--summary", self.summary)
        try:
            with (
                FileTransaction(hashed=hashed) as transaction,
                show_progress(ledger.progress, read_whole(plan), quiet=self.quiet),
            ):
                yield transaction
                self._write_summary(command, ledger, transaction)
        except NothingCameOut as error:
            self._summarise_failure(command, ledger, aloud=True)
            error.hint = error.hint or why_nothing(command, ledger)
            error.choices = ways_out(ledger, plan)
            raise
        except TwoReadings:
            raise  # it stopped at the first such row: counts of a part would say nothing
        except PrefpairsError as error:
            self._summarise_failure(command, ledger, aloud=isinstance(error, GateNotMet))
            raise
        except ClosedPipe:
            self._write_summary(command, ledger)
            raise
        self._say_summary(command, ledger, written)
        if sys.stderr is not None and sys.stderr.isatty() and not self.quiet:
            say(next_steps(command, ledger, written))

    @contextmanager
    def filling(
        self,
        command: str,
        folder: "Folder",
        plan: InputPlan,
        ledger: Ledger,
        *,
        also_read: Sequence[Input] = (),
    ) -> Iterator[Mapping[str, Output]]:
        """The files of a folder; they appear when the run ends well and meets its gates."""
        written = [*folder.swept, self.summary, plan.quarantine]
        check_written(written, [*plan.inputs, *also_read], new=folder.path)
        check_quarantine(plan.quarantine, folder.path)
        folder.refuse_strangers()
        gates = self.gates(command)
        with (
            self.telling(command, ledger, ", ".join(folder.paths.values()), plan) as transaction,
            folder.opened(plan.inputs, transaction) as outputs,
        ):
            yield outputs
            for gate in gates:
                gate.check(summary_of(command, ledger))

    def gates(self, command: str) -> "list[Gate]":
        """What the counts must be."""
        if not self.require:
            return []
        from prefpairs.cli.gates import read_gates

        return read_gates(self.require, summary_of(command, Ledger()))

    def _summarise_failure(self, command: str, ledger: Ledger, *, aloud: bool) -> None:
        """A summary that cannot be written, either, does not hide why the run failed."""
        with suppress(FileError):
            self._write_summary(command, ledger)
        if aloud:
            self._say_summary(command, ledger, STDOUT)

    def _write_summary(
        self, command: str, ledger: Ledger, transaction: FileTransaction | None = None
    ) -> None:
        if self.summary is not None:
            write_file(self.summary, encode_pretty(summary_of(command, ledger)), transaction)

    def _say_summary(self, command: str, ledger: Ledger, written: str) -> None:
        if not self.quiet:
            say(summary_text(command, ledger, written))


@options
class WriteWords(TellWords):
    """The words about writing one file, as they were typed."""

    output: str = option(
        STDOUT,
        "-o",
        "--output",
        metavar="FILE",
        panel=_WRITE,
        help="Where results go (default: standard output). The file appears when all of it "
        "is there; .gz and .zst compress it.",
        show_default=False,
    )

    @contextmanager
    def opened(
        self,
        command: str,
        plan: InputPlan,
        ledger: Ledger,
        *,
        also_read: Sequence[Input] = (),
        opening: Opener = open_output,
    ) -> Iterator[Output]:
        """The output of a run. It appears when the run ends well and meets what is required."""
        written = [self.output, self.summary, plan.quarantine]
        check_written(written, [*plan.inputs, *also_read])
        gates = self.gates(command)
        with (
            self.telling(command, ledger, self.output, plan) as transaction,
            opening(self.output, plan.inputs, transaction=transaction) as output,
        ):
            yield output
            for gate in gates:
                gate.check(summary_of(command, ledger))


@options
class PlaceWords(WriteWords):
    """The words about writing one file, or the files of a dataset, as they were typed."""

    output: str = option(
        STDOUT,
        "-o",
        "--output",
        metavar="FILE",
        panel=_WRITE,
        help="Where results go (default: standard output). The file appears when all of it "
        "is there; .gz and .zst compress it; with --to, .parquet types its columns.",
        show_default=False,
    )
    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Where the dataset appears, as --to TARGET wants it: its files, and a "
        "configuration that runs.",
    )
    force: bool = force_option()

    @contextmanager
    def placed(
        self, command: str, plan: DatasetPlan, ledger: Ledger
    ) -> Iterator[Mapping[str, Output]]:
        """The outputs of a dataset; they appear when the run ends well and meets its gates."""
        also_read = plan.export.references
        if self.out_dir is None:
            opening = opener_of(self.output, plan.export)
            with self.opened(
                command, plan.read, ledger, also_read=also_read, opening=opening
            ) as output:
                yield {WHOLE: output}
            return
        if not self.out_dir:
            raise UsageError("--out-dir has no name", "is a variable of your shell empty?")
        if self.output != STDOUT:
            raise UsageError("-o and --out-dir do not go together", "leave one away")
        from prefpairs.cli.output_places import folder_of_dataset

        target, sides = plan.export.target, {*plan.sides.values()}
        ordered = [side for side in (WHOLE, *target.files) if side in sides]
        folder = folder_of_dataset(self.out_dir, plan.export, ordered or [WHOLE], force=self.force)
        with self.filling(command, folder, plan.read, ledger, also_read=also_read) as outputs:
            yield outputs


@options
class FolderWords(TellWords):
    """The words about writing the files of a folder, as they were typed."""

    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Where train.jsonl, val.jsonl and test.jsonl appear, all together.",
    )
    force: bool = force_option()

    @contextmanager
    def opened(
        self,
        sides: Sequence[str],
        plan: InputPlan,
        ledger: Ledger,
        *,
        also_read: Sequence[Input] = (),
        old: Sequence[Input] = (),
    ) -> Iterator[Mapping[str, Output]]:
        """The output of each side; all appear when the run ends well and meets its gates.

        Of all that is read besides the inputs, it may take the place of `old` files alone.
        """
        if not self.out_dir:
            raise UsageError("split writes several files", "--out-dir DIR says where")
        from prefpairs.cli.output_places import folder_of_sides

        folder = folder_of_sides(self.out_dir, sides, force=self.force)
        also_read = [*also_read, *folder.spared(old)]
        with self.filling("split", folder, plan, ledger, also_read=also_read) as outputs:
            yield outputs


def _is_within(folder: str, new: str) -> bool:
    """Whether a folder is a new one, or one inside of it."""
    return (folder + os.sep).startswith(os.path.realpath(new) + os.sep)


def check_quarantine(path: str | None, new: str) -> None:
    """Raise if bad rows would go into a folder that the run makes only when it ends well."""
    if path is None:
        return
    folder = os.path.dirname(target_of(path))
    if not is_folder(folder, path) and _is_within(folder, new):
        problem = f"--quarantine {path}: {new} appears only when the run ends well"
        raise UsageError(problem, "name a file in a directory that is there")


def opener_of(path: str, export: ExportPlan | None) -> Opener:
    """What opens this file: rows of trainers that know the type of each column may be Parquet."""
    if export is None or not export.target.typed or not path.endswith(".parquet"):
        return open_output
    from prefpairs.files.parquet_writer import open_table

    return open_table


def check_written(
    written: Sequence[str | None], inputs: Sequence[Input], *, new: str | None = None
) -> None:
    """Raise if a file could not be written, or would take the place of another one.

    What can be told before a run is told before it. `new` is a folder that the run may make.
    """
    keep_files(0 if given.is_stdin else given.path for given in inputs)
    if STDOUT in written:
        refuse_same_file(STDOUT, inputs)
    files = [path for path in written if path is not None and path != STDOUT]
    for path in files:
        if not path:
            raise UsageError("an output has no name", "is a variable of your shell empty?")
        folder = os.path.dirname(target_of(path))
        made = is_folder(folder, path) or (new is not None and _is_within(folder, new))
        if not made and not exists(path):
            raise missing_folder(path)
        refuse_same_file(path, inputs)
    for path, count in Counter(map(os.path.realpath, files)).items():
        if count > 1:
            problem = f"{os.path.relpath(path)} would be written twice"
            raise UsageError(problem, "give each output a file of its own")
