"""What cannot be done in steps that do not know of each other, with the reason."""

import os
from collections.abc import Iterator

from prefpairs.engine.runners.step_plan import MANIFEST
from prefpairs.errors import UsageError
from prefpairs.files.standard_output import STDOUT
from prefpairs.plan import PairPlan, Plan
from prefpairs.plan.export_plan import ExportPlan
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.split import Split

_OF_PAIRS = (["filter"], ["sample"], ["split"], ["dedupe"], ["export"])
DISTRIBUTABLE = (["pair"], ["extract"], *_OF_PAIRS, ["run"])
"""The commands that can be done in steps."""

_LOCAL = "use --runner local"

Obstacle = tuple[str, str]
"""A reason, and what to do about it."""


def check_distributable(plan: Plan) -> None:
    """Raise for a plan whose result is not made of parts, each of them from a part of the input."""
    for problem, hint in _obstacles(plan):
        raise UsageError(f"--runner {plan.runner.runner}: {problem}", hint)


def _obstacles(plan: Plan) -> Iterator[Obstacle]:
    recipe = plan.manifest
    yield from _obstacles_of_results(plan)
    if plan.read.limit is not None:
        yield "--limit counts rows from the first to the last", "leave it out"
    yield from _obstacles_of_export(plan, plan.export)
    if plan.pair is not None:
        by_key = "--order key" if recipe is None else "--set pair.order=key"
        yield from _obstacles_of_pairing(plan.pair, by_key)
    elif plan.runner.parts is not None:
        yield "each step writes a part of what it reads", "--range-size SIZE, without --parts"
    for stage in plan.stages:
        if isinstance(stage, Dedupe):
            yield from _obstacles_of_dedupe(stage)
        elif stage.holds_back:
            problem = f"{stage.name} compares the pairs of the whole input"
            is_sample = stage.name == "sample"
            yield problem, "use --runner local, or --fraction" if is_sample else _LOCAL
    if plan.split is not None:
        yield from _obstacles_of_split(plan, plan.split)


def _obstacles_of_results(plan: Plan) -> Iterator[Obstacle]:
    recipe = plan.manifest
    if plan.write.out_dir is None or plan.write.output != STDOUT:
        where = "--out-dir DIR says where, without -o"
        where = where if recipe is None else 'out_dir = "DIR" in [write] says where, without output'
        yield "the result is a directory of files", where
    elif recipe is not None and recipe.path != os.path.join(plan.write.out_dir, MANIFEST):
        yield "the manifest is written next to the results", "omit manifest in [write]"
    if plan.write.keep_if_same:
        yield "keep_if_same compares the files of a run in one process", "leave it out"


def _obstacles_of_dedupe(dedupe: Dedupe) -> Iterator[Obstacle]:
    if dedupe.near is not None:
        yield "--near compares every pair with those of all other prompts", _LOCAL
    if not {"content", "prompt"} & {*dedupe.by}:
        problem = f"--by {','.join(dedupe.by)} compares every pair with those of all other prompts"
        yield problem, "use --runner local, or add prompt to --by"


def _obstacles_of_export(plan: Plan, export: ExportPlan | None) -> Iterator[Obstacle]:
    if plan.traces is not None:
        yield f"--to {plan.traces.target.name} reads traces", _LOCAL
    if export is None:
        return
    target = export.target
    if target.containers:
        names = " or ".join(f"-o NAME{suffix}" for suffix in target.containers)
        yield f"--to {target.name} writes one file that is not made of lines", f"{_LOCAL}, {names}"
    if target.unpaired:
        yield f"--to {target.name} orders single answers by all of them", _LOCAL
    if target.tally is not None:
        yield f"--to {target.name} adds up figures of all pairs", _LOCAL
    if plan.may_leak:
        yield "pairs are split by something else than the prompt that the trainer sees", _LOCAL
    if plan.stages and len({*plan.sides.values()}) > 1:
        yield "stages before the export of several sides need the pairs of all of them", _LOCAL


def _obstacles_of_split(plan: Plan, split: Split) -> Iterator[Obstacle]:
    if split.exact:
        yield "--exact needs the number of pairs of each key", "leave it out, or use --runner local"
    results = os.path.realpath(plan.write.out_dir or "")
    if split.like is not None and os.path.realpath(split.like) == results:
        problem = "steps read the earlier split until the new one is complete"
        yield problem, "--out-dir NEW_DIR, not the one of --like"


def _obstacles_of_pairing(plan: PairPlan, by_key: str) -> Iterator[Obstacle]:
    asked = plan.options
    if plan.read.options.prefer:
        yield "--prefer makes pairs without scores", _LOCAL
    if asked.across_prompts:
        problem = "--across-prompts compares every answer with those of all other prompts"
        yield problem, _LOCAL
    elif asked.assume_grouped:
        yield "--assume-grouped reads the input in its order", "leave it out"
    elif asked.order != "key":
        problem = "the order in which groups first occur is known only to one who reads all rows"
        yield problem, f"{by_key} writes them in an order that does not depend on the input's"
