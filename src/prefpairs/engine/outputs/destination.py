"""Where the results of a run go: checked before anything is read, opened when it begins."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from shlex import join
from typing import TYPE_CHECKING

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import EmptyName, OptionsConflict, UsageError
from prefpairs.files.file_system import (
    exists,
    is_folder,
    missing_folder,
    target_of,
)
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.folder_handle import keep_files
from prefpairs.files.input_file import Input, side_of
from prefpairs.files.output import (
    Output,
    is_special,
    open_output,
    refuse_same_file,
)
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger
from prefpairs.plan import ExportPlan, Plan, refuse_without_train

if TYPE_CHECKING:
    from prefpairs.engine.outputs.dataset_folder import Folder


class Destination:
    """Where the results of one plan go: a file, or the files of a folder."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._write = plan.write
        self._folder = self._folder_of(plan)

    @property
    def force(self) -> bool:
        """Whether files that no run wrote may be replaced."""
        return self._write.force

    @property
    def paths(self) -> list[str]:
        """The files that hold the results."""
        if self._folder is not None:
            return [*self._folder.paths.values()]
        return [] if self._write.output == STDOUT else [self._write.output]

    @property
    def lasting(self) -> dict[str, str]:
        """Those that can be read again, by the names under which their rows are counted."""
        if self._folder is not None:
            return self._folder.paths
        path = self._write.output
        return {} if path == STDOUT or is_special(path) else {WHOLE: path}

    @property
    def label(self) -> str:
        """How a summary names the results."""
        manifest = self.plan.manifest
        extra = [manifest.path] if manifest is not None and manifest.path else []
        return ", ".join([*self.paths, *extra]) or STDOUT

    @property
    def references(self) -> list[Input]:
        """Further files that are read, and that must not change."""
        replaceable = self.plan.replaceable
        kept = replaceable if self._folder is None else self._folder.spared(replaceable)
        export = self.plan.export
        return [*self.plan.references, *(export.references if export else ()), *kept]

    @property
    def inputs(self) -> list[Input]:
        """All files that are read: the inputs and the references."""
        return [*self.plan.read.inputs, *self.references]

    def check(self) -> None:
        """Raise if a file could not be written, or one would be lost that no run wrote."""
        plan, folder, manifest = self.plan, self._folder, self.plan.manifest
        swept = self.paths if folder is None else folder.swept
        written = [*swept, self._write.summary, plan.read.quarantine]
        read = self.inputs
        if folder is None and self._write.output == STDOUT:
            written.append(STDOUT)
        if manifest is not None:
            written += [manifest.path, manifest.depfile]
            read.append(Input(manifest.recipe, manifest.recipe))
        check_written(written, read, new=None if folder is None else folder.path)
        if folder is not None:
            check_quarantine(plan.read.quarantine, folder.path)
            folder.refuse_strangers()

    @contextmanager
    def opened(self, transaction: FileTransaction) -> Iterator[Mapping[str, Output]]:
        """An output for each file of the folder, or the only one."""
        if self._folder is not None:
            with self._folder.opened(
                self.inputs, transaction, keep_if_same=self._write.keep_if_same
            ) as outputs:
                yield outputs
            return
        path = self._write.output
        with self._opener(path)(
            path, self.inputs, keep_if_same=self._write.keep_if_same, transaction=transaction
        ) as output:
            yield {WHOLE: output}

    def _opener(self, path: str) -> Callable[..., AbstractContextManager[Output]]:
        """What writes a file, by its name: text, or a binary format that the target can be in."""
        target = None if self.plan.export is None else self.plan.export.target
        stem, suffix = os.path.splitext(path)
        if target is None:
            return open_output
        if os.path.splitext(stem)[1] in target.containers:
            raise UsageError(f"-o {path}: only files of lines are compressed", f"-o {stem}")
        if target.typed and suffix == ".parquet":
            from prefpairs.files.parquet_writer import open_table

            return open_table
        if suffix in target.containers:
            from prefpairs.files.sqlite_writer import open_database
            from prefpairs.files.trxp_writer import open_frames

            return {".trxp": open_frames, ".db": open_database}[suffix]
        return open_output

    def _folder_of(self, plan: Plan) -> "Folder | None":
        split, export, out_dir = plan.split, plan.export, plan.write.out_dir
        if out_dir is None:
            if split is not None:
                raise UsageError("split writes several files", "--out-dir DIR says where")
            return None
        if plan.write.output != STDOUT:
            raise OptionsConflict("-o", "--out-dir", hint="leave one of them out")
        from prefpairs.engine.outputs.dataset_folder import folder_of_dataset, folder_of_sides

        if split is not None:
            sides = split.sides
        elif export is None:
            problem = "--out-dir is for the dataset of a target and the parts of a --runner"
            raise UsageError(problem, "-o FILE writes one file")
        elif export.target.containers:
            names = " or ".join(f"-o NAME{suffix}" for suffix in export.target.containers)
            raise UsageError(f"--to {export.target.name} writes one file", names)
        else:
            if not plan.sides:
                _refuse_held_out(plan.read.inputs, out_dir, export)
            used = {*plan.sides.values()} or {WHOLE}
            sides = [side for side in (WHOLE, *export.target.files) if side in used] or [WHOLE]
        force = plan.write.force
        if export is not None:
            return folder_of_dataset(out_dir, export, sides, force=force)
        return folder_of_sides(out_dir, sides, force=force)


def note_mixed_sides(plan: Plan, ledger: Ledger) -> None:
    """Note that data of several sides is written to one file for a trainer."""
    if plan.export is None or plan.write.out_dir is not None or plan.split is not None:
        return
    sides = dict.fromkeys(side_of(given.path) for given in plan.read.inputs)
    if len(sides) > 1:
        made = "to keep them apart, make the file of each side in a run of its own"
        way_out = "--out-dir keeps them apart" if plan.pair is None and not plan.stages else made
        ledger.note(f"{', '.join(sides)} go into one file; {way_out}")


def _refuse_held_out(inputs: Sequence[Input], out_dir: str, export: ExportPlan) -> None:
    """Raise if data of val or test would be written as data to train on."""
    sides = {given: side_of(given.path) for given in inputs}
    refuse_without_train(sides)
    held_out = next((given for given, side in sides.items() if side != "train"), None)
    if held_out is None:
        return
    files = [f"{side}_pairs.jsonl" for side in ("train", "val", "test") if side in sides.values()]
    form = ["--to", export.target.name, *export.typed]
    command = join(["prefpairs", "export", *form, *files, "--out-dir", out_dir])
    raise UsageError(
        f"{held_out.path} is {sides[held_out]} data by its name, and would be written as train",
        f"write the pairs of each side to a file of its own ({', '.join(files)}), without a "
        f"target; then `{command}` keeps the sides apart",
    )


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


def check_written(
    written: Sequence[str | None], inputs: Sequence[Input], *, new: str | None = None
) -> None:
    """Raise if a file could not be written, or would take the place of another one.

    What can be known before a run is reported before it. `new` is a folder that the run may make.
    """
    keep_files(0 if given.is_stdin else given.path for given in inputs)
    if STDOUT in written:
        refuse_same_file(STDOUT, inputs)
    files = [path for path in written if path is not None and path != STDOUT]
    for path in files:
        if not path:
            raise EmptyName("the name of an output")
        folder = os.path.dirname(target_of(path))
        made = is_folder(folder, path) or (new is not None and _is_within(folder, new))
        if not made and not exists(path):
            raise missing_folder(path)
        refuse_same_file(path, inputs)
    for path, count in Counter(map(os.path.realpath, files)).items():
        if count > 1:
            problem = f"{os.path.relpath(path)} would be written twice"
            raise UsageError(problem, "give each output a file of its own")
