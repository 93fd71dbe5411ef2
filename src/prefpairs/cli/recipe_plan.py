"""Recipes to plans: what is read, what is done, and where the result goes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from prefpairs.cli.commands.split import SideWords, SplitWords
from prefpairs.cli.export_options import TargetWords
from prefpairs.cli.output_places import (
    APART,
    Folder,
    folder_of_dataset,
    folder_of_sides,
    note_sides_mixed,
    refuse_held_out,
)
from prefpairs.cli.recipe import (
    SIEVES,
    InputTable,
    ReadTable,
    Recipe,
    WriteTable,
)
from prefpairs.cli.terminal.error_text import visible
from prefpairs.cli.write_options import opener_of
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import ExportPlan, PairPlan, SievePlan
from prefpairs.engine.stage_files import files_named_by, with_files
from prefpairs.errors import UsageError
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.inputs import Input
from prefpairs.files.output import Output, is_special
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import encode
from prefpairs.stages.base import Stage
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import DEFAULT

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The plan of a recipe, and the files that it reads and writes."""

    plan: SievePlan
    references: Sequence[Input]
    output: str
    folder: Folder | None
    manifest: str | None

    @property
    def inputs(self) -> list[Input]:
        """All that is read: the rows, and what they are held against."""
        return [*self.plan.read.inputs, *self.references]

    @property
    def kind(self) -> str:
        """The command whose summary tells of it."""
        return "dedupe" if self.plan.pair is None else "pair"

    @property
    def swept(self) -> list[str]:
        """The files that go where the result comes, whether it has them or not."""
        return self.outputs if self.folder is None else self.folder.swept

    @property
    def outputs(self) -> list[str]:
        """The files that hold the result."""
        if self.folder is not None:
            return [*self.folder.paths.values()]
        return [] if self.output == STDOUT else [self.output]

    @property
    def lasting(self) -> dict[str, str]:
        """The files that can be looked at again, by the names under which rows are counted."""
        if self.folder is not None:
            return self.folder.paths
        return {} if self.output == STDOUT or is_special(self.output) else {WHOLE: self.output}

    @contextmanager
    def opened(
        self, transaction: FileTransaction, *, keep_if_same: bool
    ) -> Iterator[Mapping[str, Output]]:
        """An output for each file of the folder, or the only one."""
        if self.folder is not None:
            with self.folder.opened(self.inputs, transaction, keep_if_same=keep_if_same) as outputs:
                yield outputs
        else:
            opening = opener_of(self.output, self.plan.export)
            with opening(
                self.output, self.inputs, keep_if_same=keep_if_same, transaction=transaction
            ) as output:
                yield {WHOLE: output}


def pipeline_of(recipe: Recipe, writing: WriteTable, ledger: Ledger) -> Pipeline:
    """The plan that a recipe stands for."""
    pairs, references = _pairs(recipe, ledger)
    sieves, more = _sieves(recipe)
    export = _export(recipe, pairs.temp_dir)
    across = pairs.pair is not None and pairs.pair.options.across_prompts
    parting, split_by = _parting(recipe, export, across=across)
    plan = SievePlan(
        read=pairs.read,
        pair=pairs.pair,
        sieves=sieves,
        parting=parting,
        export=export,
        temp_dir=pairs.temp_dir,
    )
    output, folder = _destination(recipe, writing, plan)
    if folder is None and export is not None:
        note_sides_mixed(plan.read.inputs, APART, ledger)
    return Pipeline(
        plan=plan,
        references=[
            *references,
            *more,
            *(export.references if export is not None else ()),
            # nothing can be compared later with what the run replaces
            *(split_by if folder is None else folder.spared(split_by)),
        ],
        output=output,
        folder=folder,
        manifest=writing.manifest or _beside(output, writing.out_dir),
    )


def _pairs(recipe: Recipe, ledger: Ledger) -> tuple[SievePlan, list[Input]]:
    """Where pairs come from: they are made, or read; and what is read besides."""
    with recipe.telling_place("read"):
        if recipe.tables.get("read", {}).get("inputs") == []:
            raise UsageError("inputs is empty", "leave it away to read standard input")
        if "pair" not in recipe.tables:
            given = recipe.words("read", InputTable)
            return SievePlan(read=given.input_plan(), temp_dir=given.temp_dir), []
        reading = recipe.words("read", ReadTable)
        read = reading.plan(ledger)
    with recipe.telling_place("pair"):
        words = recipe.words("pair", PairOptions)
        if words.assume_grouped:
            raise UsageError("assume_grouped does not go with a recipe", "leave it away")
    pair = PairPlan(read=read, options=words, temp_dir=reading.temp_dir)
    plan = SievePlan(read=read, pair=pair, temp_dir=reading.temp_dir)
    return plan, reading.references()


def _sieves(recipe: Recipe) -> tuple[list[Stage], list[Input]]:
    sieves: list[Stage] = []
    references: list[Input] = []
    for name in recipe.stages:
        if name in SIEVES:
            with recipe.telling_place(name):
                stage = recipe.words(name, SIEVES[name])
                references += files_named_by(stage)
                sieves.append(with_files(stage))
    return sieves, references


def _parting(
    recipe: Recipe, export: ExportPlan | None, *, across: bool
) -> tuple[Split | None, list[Input]]:
    """How pairs are split, and the files that this rests on.

    What a trainer sees of the second prompt of a pair across prompts is not known: then they are
    split by their own prompts, and export drops what would leak.
    """
    if "split" not in recipe.tables:
        return None, []
    with recipe.telling_place("split"):
        words = recipe.words("split", SplitWords)
        parting = words.parting(None if across else export)
        if words.target is None:
            recipe.words("split", SideWords)  # no form was asked for: the manifest names none
        return parting, [*words.references_for(), *words.old_files()]


def _export(recipe: Recipe, temp_dir: str | None) -> ExportPlan | None:
    if "export" not in recipe.tables:
        return None
    with recipe.telling_place("export"):
        plan = recipe.words("export", TargetWords).plan_of(temp_dir)
        if plan is None:
            raise UsageError("[export] names no target", f'to = "{DEFAULT}"')
        return plan


def _destination(recipe: Recipe, writing: WriteTable, plan: SievePlan) -> tuple[str, Folder | None]:
    parting, out_dir = plan.parting, writing.out_dir
    with recipe.telling_place("write"):
        if parting is None and plan.export is None and out_dir is not None:
            raise UsageError("out_dir goes with [split]", 'write.output = "pairs.jsonl"')
        if parting is not None and (not out_dir or writing.output is not None):
            raise UsageError("[split] writes several files", 'write.out_dir = "data" says where')
        if out_dir is not None and writing.output is not None:
            raise UsageError("output and out_dir do not go together", "leave one away")
    if out_dir is None:
        return STDOUT if writing.output is None else writing.output, None
    if plan.export is not None and parting is None:
        refuse_held_out(plan.read.inputs, out_dir, plan.export)
    sides = [WHOLE] if parting is None else parting.sides
    if plan.export is not None:
        return STDOUT, folder_of_dataset(out_dir, plan.export, sides, force=writing.force)
    return STDOUT, folder_of_sides(out_dir, sides, force=writing.force)


def _beside(output: str, out_dir: str | None) -> str | None:
    if out_dir is not None:
        return os.path.join(out_dir, _MANIFEST)
    if output == STDOUT or is_special(output):
        return None
    return os.path.join(os.path.dirname(output), _MANIFEST)


def outline_of(recipe: Recipe, pipeline: Pipeline) -> str:
    """What a recipe would do, for people."""
    lines = [f"{'recipe':10}  {recipe.path}"]
    for given in pipeline.inputs:
        size = "" if given.is_stdin else f" ({os.path.getsize(given.path):,} bytes)"
        lines.append(f"{'read':10}  {given.path}{size}")
    for name in recipe.stages:
        words = recipe.tables[name].items()
        told = ", ".join(f"{word} = {encode(value).decode()}" for word, value in words)
        lines.append(f"{name:10}  {told}")
    written = [*(pipeline.outputs or ["standard output"]), pipeline.manifest]
    lines += [f"{'write':10}  {path}" for path in written if path is not None]
    return "".join(f"{visible(line)}\n" for line in lines)
