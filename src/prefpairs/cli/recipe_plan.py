"""The plan of a recipe."""

import os
from collections.abc import Sequence
from dataclasses import replace

from prefpairs.cli.recipe import STAGES, SUBMIT, Recipe
from prefpairs.cli.terminal.safe_text import printable
from prefpairs.engine.outputs.destination import Destination
from prefpairs.engine.pairs.reference_files import (
    earlier_files,
    files_named_by,
    with_earlier_sides,
    with_files,
)
from prefpairs.errors import OptionNeeds, OptionsConflict, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_file import Input
from prefpairs.files.output import is_special
from prefpairs.files.standard_output import STDOUT
from prefpairs.model.json_codec import encode
from prefpairs.plan import (
    ExportPlan,
    InputPlan,
    ManifestPlan,
    PairPlan,
    Plan,
    ReadPlan,
    plan_of_traces,
    sides_by_name,
)
from prefpairs.plan.export_plan import ForTarget, ToTargetOrPairs, refuse_trace_options
from prefpairs.plan.input_plan import PairInputPlan, TempDir
from prefpairs.plan.runner_plan import LOCAL, RunnerPlan
from prefpairs.plan.write_plan import WriteRecipe
from prefpairs.stages.base import Stage
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import DEFAULT, OF_TRACES
from prefpairs.targets.export_options import ExportOptions, TraceOptions

_MANIFEST = "manifest.json"


def plan_of(recipe: Recipe, write: WriteRecipe, runner: RunnerPlan) -> Plan:
    """What a recipe says is to be done, step by step, and where."""
    if recipe.tables.get("read", {}).get("inputs") == []:
        with recipe.telling_place("read"):
            raise UsageError("inputs is empty", "omit it to read standard input")
    if recipe.steps == ["export"] and recipe.tables["export"].get("to") in OF_TRACES:
        return replace(_plan_of_traces(recipe, write), runner=runner)
    read, temp_dir = _read(recipe)
    pair = _pair(recipe, read, temp_dir)
    stages, references = _stages(recipe)
    export = _export(recipe, temp_dir)
    # What a trainer sees of the second prompt of a pair across prompts is not known. Such pairs
    # are split by their own prompts, and export drops what would leak.
    across = pair is not None and pair.options.across_prompts
    split, split_files = _split(recipe, None if across else export)
    if runner.kind == LOCAL:
        _check_destination(recipe, write)
    return Plan(
        read=read,
        pair=pair,
        stages=stages,
        split=split,
        sides=sides_by_name(read.inputs, write) if recipe.steps == ["export"] else {},
        export=export,
        write=write,
        runner=runner,
        manifest=_manifest(recipe, write),
        references=[
            *(read.references if isinstance(read, ReadPlan) else ()),
            *references,
            *split_files,
        ],
        replaceable=[] if split is None else earlier_files(split),
        temp_dir=temp_dir,
    )


def _read(recipe: Recipe) -> tuple[InputPlan, str | None]:
    """The inputs: rollouts if candidates or pairs are made of them, else pairs."""
    with recipe.telling_place("read"):
        if "extract" in recipe.tables:
            recipe.groups("extract")  # it has no options of its own
        if "pair" in recipe.tables or "extract" in recipe.tables:
            inputs, rows, temp = recipe.groups("read", ReadPlan, ReadOptions, TempDir)
            return inputs.reading(rows), temp.temp_dir
        inputs, temp = recipe.groups("read", PairInputPlan, TempDir)
        return inputs.found(), temp.temp_dir


def _pair(recipe: Recipe, read: InputPlan, temp_dir: str | None) -> PairPlan | None:
    if "pair" not in recipe.tables or not isinstance(read, ReadPlan):
        return None
    options = recipe.group("pair", PairOptions)
    if options.assume_grouped and {*recipe.steps} - {"pair", "export"}:
        with recipe.telling_place("pair"):
            raise OptionsConflict("assume_grouped", "other stages", hint="leave it out")
    return PairPlan(read=read, options=options, temp_dir=temp_dir)


def _stages(recipe: Recipe) -> tuple[Sequence[Stage], list[Input]]:
    """The stages, and the files that they read."""
    stages: list[Stage] = []
    references: list[Input] = []
    for name in recipe.steps:
        if name in STAGES:
            stage = recipe.group(name, STAGES[name])
            with recipe.telling_place(name):
                references += files_named_by(stage)
                stages.append(with_files(stage))
    return stages, references


def _export(recipe: Recipe, temp_dir: str | None) -> ExportPlan | None:
    if "export" not in recipe.tables:
        return None
    target, form, traces = recipe.groups("export", ToTargetOrPairs, ExportOptions, TraceOptions)
    with recipe.telling_place("export"):
        plan: ExportPlan | None = target.plan(form, temp_dir)
        if plan is None:
            raise UsageError("[export] names no target", f'to = "{DEFAULT}"')
        refuse_trace_options(plan.target.name, traces)
        return plan


def _split(recipe: Recipe, export: ExportPlan | None) -> tuple[Split | None, list[Input]]:
    """How pairs are split, and the files that this depends on."""
    if "split" not in recipe.tables:
        return None, []
    sides, trainer, form = recipe.groups("split", Split, ForTarget, ExportOptions)
    if trainer.target is None:
        recipe.group("split", Split)  # no form was asked for: the manifest names none
    with recipe.telling_place("split"):
        return with_earlier_sides(trainer.split_by(sides, form, export)), trainer.references(form)


def _plan_of_traces(recipe: Recipe, write: WriteRecipe) -> Plan:
    inputs, _ = recipe.groups("read", PairInputPlan, TempDir)
    target, form, traces = recipe.groups("export", ToTargetOrPairs, ExportOptions, TraceOptions)
    _check_destination(recipe, write)
    with recipe.telling_place("export"):
        plan = plan_of_traces(str(target.to), inputs, form, traces, write)
    return replace(plan, manifest=_manifest(recipe, write))


def _check_destination(recipe: Recipe, write: WriteRecipe) -> None:
    split, export = "split" in recipe.tables, "export" in recipe.tables
    with recipe.telling_place("write"):
        if write.out_dir is not None and not (split or export):
            raise OptionNeeds("out_dir", "[split]", 'write.output = "pairs.jsonl"')
        if split and (not write.out_dir or write.output != STDOUT):
            raise UsageError("[split] writes several files", 'write.out_dir = "data" says where')
        if write.out_dir is not None and write.output != STDOUT:
            raise OptionsConflict("output", "out_dir", hint="leave one of them out")


def _manifest(recipe: Recipe, write: WriteRecipe) -> ManifestPlan:
    path = write.manifest
    if path is None and write.out_dir is not None:
        path = os.path.join(write.out_dir, _MANIFEST)
    elif path is None and write.output != STDOUT and not is_special(write.output):
        path = os.path.join(os.path.dirname(write.output), _MANIFEST)
    return ManifestPlan(path=path, recipe=recipe.path, tables=recipe.settled)


def outline_of(recipe: Recipe, plan: Plan, destination: Destination) -> str:
    """What a recipe would do, for people."""
    lines = [f"{'recipe':10}  {recipe.path}"]
    for given in destination.inputs:
        size = "" if given.is_stdin else f" ({os.path.getsize(given.path):,} bytes)"
        lines.append(f"{'read':10}  {given.path}{size}")
    for name in [*recipe.steps, *({SUBMIT} & recipe.tables.keys())]:
        words = recipe.tables[name].items()
        told = ", ".join(f"{word} = {encode(value).decode()}" for word, value in words)
        lines.append(f"{name:10}  {told}")
    manifest = [] if plan.manifest is None or plan.manifest.path is None else [plan.manifest.path]
    written = [*(destination.paths or ["standard output"]), *manifest]
    lines += [f"{'write':10}  {path}" for path in written]
    return "".join(f"{printable(line)}\n" for line in lines)
