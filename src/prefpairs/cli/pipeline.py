"""Recipes to plans: what is read, what is done, and where the result goes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from prefpairs.cli.pair import PairWords
from prefpairs.cli.recipe import SIEVES, InputTable, ReadTable, Recipe, WriteTable
from prefpairs.cli.split import SplitWords
from prefpairs.cli.writing import open_sides, side_files
from prefpairs.engines.plan import PairPlan, SievePlan
from prefpairs.engines.writing import WHOLE
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.output import STDOUT, Output, is_special, open_output
from prefpairs.records.wire import encode
from prefpairs.report import Report
from prefpairs.sieves.protocol import Sieve
from prefpairs.sieves.shares import SIDES
from prefpairs.sieves.split import Split

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The plan of a recipe, and the files that it reads and writes."""

    plan: SievePlan
    references: Sequence[Input]
    output: str
    out_dir: str | None
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
        return self.outputs if self.out_dir is None else side_files(self.out_dir, SIDES)

    @property
    def outputs(self) -> list[str]:
        """The files that hold the result."""
        if self.out_dir is not None and self.plan.parting is not None:
            return side_files(self.out_dir, self.plan.parting.sides)
        return [] if self.output == STDOUT else [self.output]

    @contextmanager
    def opened(self, *, keep_if_same: bool) -> Iterator[Mapping[str, Output]]:
        """An output for each side, or the only one."""
        if self.out_dir is not None and self.plan.parting is not None:
            sides = self.plan.parting.sides
            with open_sides(self.out_dir, sides, self.inputs, keep_if_same=keep_if_same) as outputs:
                yield outputs
        else:
            with open_output(self.output, self.inputs, keep_if_same=keep_if_same) as output:
                yield {WHOLE: output}


def pipeline_of(recipe: Recipe, writing: WriteTable, report: Report) -> Pipeline:
    """The plan that a recipe stands for."""
    pairs = _pairs(recipe, report)
    sieves, references = _sieves(recipe)
    parting = _parting(recipe)
    plan = SievePlan(
        read=pairs.read,
        pair=pairs.pair,
        sieves=sieves,
        parting=parting,
        temp_dir=pairs.temp_dir,
    )
    output, out_dir = _destination(recipe, writing, parting)
    return Pipeline(
        plan=plan,
        references=references,
        output=output,
        out_dir=out_dir,
        manifest=writing.manifest or _beside(output, out_dir),
    )


def _pairs(recipe: Recipe, report: Report) -> SievePlan:
    """Where pairs come from: they are made, or read."""
    with recipe.telling_place("read"):
        if recipe.tables.get("read", {}).get("inputs") == []:
            raise UsageError("inputs is empty", "leave it away to read standard input")
        if "pair" not in recipe.tables:
            given = recipe.words("read", InputTable)
            return SievePlan(read=given.input_plan(), temp_dir=given.temp_dir)
        reading = recipe.words("read", ReadTable)
        read = reading.plan(report)
    with recipe.telling_place("pair"):
        words = recipe.words("pair", PairWords)
        if words.assume_grouped:
            raise UsageError("assume_grouped does not go with a recipe", "leave it away")
        pair: PairPlan = words.plan(read, reading.temp_dir)
    return SievePlan(read=read, pair=pair, temp_dir=reading.temp_dir)


def _sieves(recipe: Recipe) -> tuple[list[Sieve], list[Input]]:
    sieves: list[Sieve] = []
    references: list[Input] = []
    for name in recipe.stages:
        if name in SIEVES:
            with recipe.telling_place(name):
                words = recipe.words(name, SIEVES[name])
                references += words.references()
                sieves.append(words.sieve())
    return sieves, references


def _parting(recipe: Recipe) -> Split | None:
    if "split" not in recipe.tables:
        return None
    with recipe.telling_place("split"):
        return recipe.words("split", SplitWords).parting()


def _destination(
    recipe: Recipe, writing: WriteTable, parting: Split | None
) -> tuple[str, str | None]:
    with recipe.telling_place("write"):
        if parting is None and writing.out_dir is not None:
            raise UsageError("out_dir goes with [split]", 'write.output = "pairs.jsonl"')
        if parting is not None and (not writing.out_dir or writing.output is not None):
            raise UsageError("[split] writes several files", 'write.out_dir = "data" says where')
        return STDOUT if writing.output is None else writing.output, writing.out_dir


def _beside(output: str, out_dir: str | None) -> str | None:
    if out_dir is not None:
        return os.path.join(out_dir, _MANIFEST)
    if output == STDOUT or is_special(output):
        return None
    return os.path.join(os.path.dirname(output), _MANIFEST)


def outline_of(recipe: Recipe, pipeline: Pipeline) -> str:
    """What a recipe would do, for people."""
    lines = [f"{'recipe':10}  {recipe.path}\n"]
    for given in pipeline.inputs:
        size = "" if given.is_stdin else f" ({os.path.getsize(given.path):,} bytes)"
        lines.append(f"{'read':10}  {given.path}{size}\n")
    for name in recipe.stages:
        words = recipe.tables[name].items()
        told = ", ".join(f"{word} = {encode(value).decode()}" for word, value in words)
        lines.append(f"{name:10}  {told}\n")
    written = [*(pipeline.outputs or ["standard output"]), pipeline.manifest]
    lines += [f"{'write':10}  {path}\n" for path in written if path is not None]
    return "".join(lines)
