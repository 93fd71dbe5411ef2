"""The folder that results are written into: its files appear together, and replace only ours."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from prefpairs.engine.outputs.overwrite_guard import (
    IsOurs,
    is_row,
    is_signed,
    kinds_of_dataset,
    refuse_strangers,
)
from prefpairs.errors import FileError, UsageError
from prefpairs.files.file_system import exists, head_of, is_folder
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.files.output import Output, open_output_folder
from prefpairs.files.work_folder import names_in
from prefpairs.plan import ExportPlan
from prefpairs.stages.split_sides import SIDES
from prefpairs.targets import CARD, OF_TARGETS

_PART = re.compile(rf"(?:{'|'.join(SIDES)})-[0-9]+-of-[0-9]+\.jsonl")
"""A part of a side, as a run in steps writes it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of files that appear together, each known by a name of ours."""

    path: str
    files: Mapping[str, str]
    """The file of each name."""
    family: Sequence[str]
    """All files that such a run may write; those that this one does not write are removed."""
    kinds: Mapping[str, IsOurs]
    """How to tell each of them from files that no run wrote."""
    of_others: Sequence[str] = ()
    """Files that would describe this run's data wrongly, or be read with it."""
    others: str = "target"
    """What those are of."""
    force: bool = False
    """Whether files that no run wrote may be lost."""

    @property
    def paths(self) -> dict[str, str]:
        """Where each name is written."""
        return {name: os.path.join(self.path, file) for name, file in self.files.items()}

    @property
    def swept(self) -> list[str]:
        """Every file that is written, or goes."""
        return [os.path.join(self.path, file) for file in self.family]

    def spared(self, files: Iterable[Input]) -> list[Input]:
        """The files less those that are written, or go."""
        replaced = set(map(os.path.realpath, self.swept))
        return [given for given in files if os.path.realpath(given.path) not in replaced]

    def refuse_strangers(self) -> None:
        """Raise if a file would be lost that no run wrote, or stay that is about other data."""
        for path in (os.path.join(self.path, name) for name in self.of_others):
            if exists(path):
                problem = f"{path} is a file of another {self.others}"
                raise UsageError(problem, "name another folder, or remove it")
        if CARD not in self.family and _is_our_card(os.path.join(self.path, CARD)):
            problem = "another run wrote a dataset there meanwhile; nothing was changed"
            raise FileError(self.path, problem)
        if not self.force:
            refuse_strangers(self.path, self.kinds)

    @contextmanager
    def opened(
        self,
        inputs: Sequence[Input],
        transaction: FileTransaction,
        *,
        keep_if_same: bool = False,
    ) -> Iterator[Mapping[str, Output]]:
        """The output of each name."""
        files = [*self.files.values()]
        transaction.check_last(self.refuse_strangers)
        with open_output_folder(
            self.path,
            files,
            self.family,
            inputs,
            keep_if_same=keep_if_same,
            transaction=transaction,
        ) as outputs:
            yield {name: outputs[file] for name, file in self.files.items()}


def folder_of_sides(path: str, sides: Iterable[str], *, force: bool = False) -> Folder:
    """The folder of a split."""
    family = [f"{side}.jsonl" for side in SIDES]
    files = {side: f"{side}.jsonl" for side in sides}
    kinds: dict[str, IsOurs] = dict.fromkeys(family, is_row)
    present = names_in(path) if is_folder(path) else []
    parts = [name for name in present if _PART.fullmatch(name)]
    family, kinds = _with_card(path, family, kinds)
    return Folder(path, files, family, kinds, parts, "split", force)


def folder_of_dataset(
    path: str, export: ExportPlan, sides: Iterable[str], *, force: bool = False
) -> Folder:
    """The folder of a trainer's dataset. It has no place for files of another target."""
    target = export.target
    family = [*target.files_of(target.files).values()]
    kinds = kinds_of_dataset(path, target, export.options)
    of_others = sorted(OF_TARGETS.difference(family))
    family, kinds = _with_card(path, family, kinds)
    files = target.files_of(sides)
    return Folder(path, files, family, kinds, of_others, force=force)


def _with_card(
    path: str, family: list[str], kinds: dict[str, IsOurs]
) -> tuple[list[str], dict[str, IsOurs]]:
    """The same, and a card that we wrote: the data it describes is replaced, so it is removed."""
    if CARD in family or not _is_our_card(os.path.join(path, CARD)):
        return family, kinds
    return [*family, CARD], {**kinds, CARD: is_signed}


def _is_our_card(path: str) -> bool:
    """Whether a README.md is one that we wrote."""
    return is_signed(head_of(path))
