"""The steps of a run, and the folder in which they leave what they found.

All that a step needs is in `plan.json` and in the files of earlier rounds, so it can run in any
process, on any machine that sees the files. `finish` puts the results into place.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from shlex import quote
from typing import Any, TypeVar, cast

import msgspec

from prefpairs import __version__
from prefpairs.engine.runners.phases import Phase, phases_of, step_name
from prefpairs.errors import BadInput, FileError, InputChanged, UsageError
from prefpairs.files.file_system import errors_named, is_file
from prefpairs.files.input_file import Input
from prefpairs.files.lines import byte_ranges
from prefpairs.files.open_input import open_input
from prefpairs.files.work_folder import WorkFolder
from prefpairs.model.identity import IDENTITY_VERSION
from prefpairs.plan import Plan

FORMAT = 2
WORK = ".shards"
"""The folder of the steps, within the one that the results go to."""

MANIFEST = "manifest.json"

_PLAN, _RECEIPT = "plan.json", "done"
_LEAST, _MOST_STEPS = 256_000_000, 1000

T = TypeVar("T")


class Stamped(msgspec.Struct, frozen=True):
    """A file that is read, as it was when the steps were planned."""

    path: str
    size: int
    modified: int

    def check(self, status: os.stat_result) -> None:
        """Raise InputChanged if a file does not have this status."""
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified):
            raise InputChanged(self.path)


class Piece(msgspec.Struct, frozen=True):
    """A range of whole lines of an input, or all of an input that does not consist of lines."""

    input: int
    start: int
    end: int
    lines: bool


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All that is decided before the first step."""

    format: int = FORMAT
    prefpairs: str = __version__
    identity: int = IDENTITY_VERSION
    command: list[str]
    """The words of the command line, which say what is done."""
    directory: str
    """Where the command was typed: names of files are relative to it."""
    inputs: list[Stamped]
    references: list[Stamped]
    """Files that are read besides the inputs."""
    pieces: list[list[Piece]]
    """What each step of the first round reads."""
    parts: int
    """How many buckets `pair` has."""


@dataclass(frozen=True)
class Work:
    """A run in steps: its plan, and where the steps leave their files.

    The folder of the files is named after the plan of steps, so that those of two plans never mix.
    """

    results: str
    """The folder that the results go to."""
    steps: StepPlan
    plan: Plan

    @cached_property
    def folder(self) -> WorkFolder:
        """The folder of the steps' files."""
        digest = blake2b(msgspec.json.encode(self.steps), digest_size=16).hexdigest()
        return WorkFolder(os.path.join(self.results, WORK, digest))

    @cached_property
    def phases(self) -> Sequence[Phase]:
        """The phases of the run."""
        return phases_of(self.plan, len(self.steps.pieces), self.steps.parts)

    def write_receipt(self, name: str, receipt: Any) -> None:
        """Write the receipt of a step, which says that the step is done."""
        self.folder.write(f"{name}/{_RECEIPT}", msgspec.msgpack.encode((__version__, receipt)))

    def is_done(self, name: str) -> bool:
        """Whether a step is done."""
        return is_file(self.folder.at(f"{name}/{_RECEIPT}"))

    def receipt(self, name: str, kind: type[T]) -> T | None:
        """The receipt of a step; None if the step is not done."""
        content = self.folder.read(f"{name}/{_RECEIPT}")
        if content is None:
            return None
        path = self.folder.at(f"{name}/{_RECEIPT}")
        try:
            version, receipt = msgspec.msgpack.decode(content, type=tuple[str, kind])  # type: ignore[valid-type]
        except msgspec.DecodeError as error:
            raise BadInput(path, f"no receipt: {error}") from None
        if version != __version__:
            raise other_version(path, version)
        return cast("T", receipt)

    def needed(self, phase: Phase, place: int, step: int, kind: type[T]) -> T:
        """The receipt of a step of a round of a phase; raises if the step is not done."""
        number, steps = phase.first + place, phase.sizes[place]
        found = self.receipt(step_name(number, step), kind)
        if found is None:
            folder = quote(self.results)
            problem = f"{folder}: step {step}/{steps} of round {number} is not done"
            hint = f"`prefpairs shards {number} {folder} {step}/{steps}` does it"
            raise UsageError(problem, hint)
        return found

    def receipts(self, phase: Phase, place: int, kind: type[T]) -> Iterator[T]:
        """The receipts of all steps of a round."""
        return (self.needed(phase, place, step, kind) for step in range(phase.sizes[place]))


def step_plan(plan: Plan, command: Sequence[str], directory: str) -> StepPlan:
    """Divide the work of a plan into steps."""
    inputs = plan.read.inputs
    beside = [given.beside[1] for given in inputs if given.beside is not None]
    of_export = () if plan.export is None else plan.export.references
    besides = [*plan.references, *of_export, *plan.replaceable]
    recipe = [] if plan.manifest is None else [plan.manifest.recipe]
    references = [*recipe, *beside, *(given.path for given in besides)]
    stamped = [_stamped(given.path) for given in inputs]
    size = plan.runner.bytes_per_step or max(
        _LEAST, sum(given.size for given in stamped) // _MOST_STEPS
    )
    pieces = [*_steps(_pieces(inputs, stamped, size), size)]
    return StepPlan(
        command=[*command],
        directory=directory,
        inputs=stamped,
        references=[_stamped(path) for path in references],
        pieces=pieces,
        parts=plan.runner.parts or max(1, len(pieces)),
    )


def _stamped(path: str) -> Stamped:
    try:
        path.encode()
    except UnicodeEncodeError:
        problem = f"{path}: a plan cannot hold a name that is not UTF-8"
        raise UsageError(problem, "rename the file") from None
    with errors_named(path):
        status = os.stat(path) if path != "-" else None
    if status is None or not stat.S_ISREG(status.st_mode):
        name = "standard input" if path == "-" else path
        problem = f"{name}: several steps cannot read what can be read only once"
        raise UsageError(problem, "write it to a file first, and name that file")
    return Stamped(path, status.st_size, status.st_mtime_ns)


def _pieces(inputs: Sequence[Input], stamped: Sequence[Stamped], size: int) -> Iterator[Piece]:
    for number, (source, stamp) in enumerate(zip(inputs, stamped, strict=True)):
        with open_input(source) as opened:
            stamp.check(opened.seen)
            if not opened.seekable or opened.lines_from is None:
                yield Piece(number, 0, stamp.size, lines=False)
                continue
            begin, end = opened.lines_from, stamp.size
            for start, stop in byte_ranges(opened.descriptor, begin, end, -(-end // size)):
                yield Piece(number, start, stop, lines=True)


def _steps(pieces: Iterator[Piece], size: int) -> Iterator[list[Piece]]:
    """Pieces, as many in a step as its size allows: there may be thousands of small files."""
    step: list[Piece] = []
    filled = 0
    for piece in pieces:
        length = piece.end - piece.start
        if step and filled + length > size:
            yield step
            step, filled = [], 0
        step.append(piece)
        filled += length
    if step:
        yield step


def steps_in(results: str) -> WorkFolder:
    """The folder of the steps within a folder of results."""
    return WorkFolder(os.path.join(results, WORK))


def read_step_plan(results: str) -> StepPlan | None:
    """The plan of the steps in a folder of results; None if there is none."""
    folder = steps_in(results)
    content = folder.read(_PLAN)
    if content is None:
        return None
    path = folder.at(_PLAN)
    try:
        steps = msgspec.json.decode(content, type=StepPlan)
    except msgspec.DecodeError as error:
        raise BadInput(path, f"no plan of steps: {error}") from None
    if (steps.format, steps.prefpairs) != (FORMAT, __version__):
        raise other_version(path, steps.prefpairs)
    return steps


def other_version(path: str, version: str) -> UsageError:
    """The error of a file that another version of prefpairs wrote."""
    problem = f"{path}: prefpairs {version} wrote it, and this is {__version__}"
    return UsageError(problem, "all steps need the same version; install one on all machines")


def write_step_plan(results: str, steps: StepPlan) -> None:
    """Begin a run: create its folder, with the plan in it, and forget any other plan."""
    folder = steps_in(results)
    if folder.read(_PLAN) is not None:
        folder.remove()
    folder.create()
    folder.write(_PLAN, msgspec.json.format(msgspec.json.encode(steps)) + b"\n")


def check_files(steps: StepPlan, plan: Plan) -> None:
    """Raise if the files that a plan reads are not those that the steps were planned for."""
    found = [given.path for given in plan.read.inputs]
    planned = [stamped.path for stamped in steps.inputs]
    if found != planned:
        other = next(iter({*found} ^ {*planned}), planned[0] if planned else steps.directory)
        raise InputChanged(other)
    for stamped in steps.references:
        try:
            stamped.check(os.stat(stamped.path))
        except OSError as error:
            raise FileError.of(stamped.path, error) from None
