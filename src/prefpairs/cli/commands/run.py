"""prefpairs run: a whole pipeline out of a recipe."""

from dataclasses import replace
from typing import TYPE_CHECKING

from prefpairs.cli.run_with_summary import run_with_summary
from prefpairs.driver import prepare
from prefpairs.errors import UsageError
from prefpairs.files.file_stamps import recorded_inputs
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT
from prefpairs.option import argument, flag, option, options
from prefpairs.plan import Plan, WritePlan
from prefpairs.plan.runner_plan import LOCAL, RunnerPlan
from prefpairs.plan.write_plan import WriteRecipe, keep_if_same_option

if TYPE_CHECKING:
    from prefpairs.cli.recipe import Recipe
    from prefpairs.submit.submit_options import SubmitOptions

_RECIPE = "The recipe"
_WRITE = "Output"


@options
class RunOptions(WritePlan):
    """Which recipe is run, and how."""

    recipe: str = argument("recipe.toml", metavar="RECIPE.toml", help="The recipe.")
    settings: list[str] | None = option(
        None,
        "--set",
        metavar="TABLE.WORD=VALUE",
        panel=_RECIPE,
        help="Override a value of the recipe for this run: pair.min_gap=0.3. Repeatable.",
    )
    dry_run: bool = flag(
        panel=_RECIPE, help="Show what would be read, done and written, without doing it."
    )
    depfile: str | None = option(
        None,
        metavar="FILE",
        panel=_WRITE,
        help="Write a make rule: the manifest depends on the recipe and on all inputs.",
    )
    keep_if_same: bool = keep_if_same_option()
    force: bool = flag(
        panel=_WRITE,
        help="Replace and delete files in out_dir, and a manifest, even if they are not from "
        "this recipe.",
    )

    def with_recipe(self, write: WriteRecipe) -> WriteRecipe:
        """What a recipe says of its results, and what the command line does."""
        return replace(
            write,
            summary=self.summary or write.summary,
            require=[*(write.require or []), *(self.require or [])],
            quiet=self.quiet or write.quiet,
            allow_empty=self.allow_empty or write.allow_empty,
            force=self.force or write.force,
            keep_if_same=self.keep_if_same or write.keep_if_same,
        )


def run(*, asked: RunOptions, runner: RunnerPlan) -> None:
    """Run a whole pipeline from a recipe, in one process or in steps.

    A recipe is a TOML file (default: recipe.toml). Its tables are commands, in the order in which
    they run, and the keys are options of those commands; `read` names the inputs, `write` the
    output. The result has the same bytes as the same commands in a pipe.

    A last table `submit` submits the dataset to a training service. A recipe named .yml or .yaml is
    a configuration of the NeMo Agent Toolkit: it is run from its rollouts to its trained model.

    manifest.json, next to the output, lists what was read and written; `prefpairs verify` checks
    the files against it.

    Memory: that of the stages; texts are read again where a stage needs them (filter, --near,
    --by PATH) and when the result is written. Exit codes are those of the stages.

        prefpairs run recipe.toml

        # what it would do
        prefpairs run --dry-run

        # another gap, only for this run
        prefpairs run recipe.toml --set pair.min_gap=0.3

        # in steps that several machines run
        prefpairs run recipe.toml --runner shards

        # in a Makefile; the depfile lists all inputs
        data/manifest.json: recipe.toml ; prefpairs run $< --depfile data/inputs.mk
    """
    from prefpairs.cli.recipe import read_recipe
    from prefpairs.cli.recipe_plan import outline_of, plan_of

    with recorded_inputs() as noted:
        recipe = read_recipe(asked.recipe, asked.settings or [])
        write = asked.with_recipe(recipe.group("write", WriteRecipe))
        plan = plan_of(recipe, write, runner)
        submission = _submission(recipe, plan)
        if runner.kind != LOCAL and (asked.dry_run or asked.depfile or submission is not None):
            given = "[submit]" if submission else "--dry-run" if asked.dry_run else "--depfile"
            problem = f"--runner {runner.runner}: {given} is for a run in one process"
            raise UsageError(problem, "leave one of them out")
        if plan.manifest is not None:
            manifest = replace(plan.manifest, depfile=asked.depfile, noted=noted)
            plan = replace(plan, manifest=manifest)
        if asked.dry_run:
            destination, *_ = prepare(plan)
            outline = outline_of(recipe, plan, destination)
            with open_output(STDOUT) as output:
                output.write(outline.encode())
            return
        run_with_summary(plan)
    if submission is not None:
        from prefpairs.cli.commands.submit import submit_folder
        from prefpairs.cli.submit_config import IN_RECIPES, is_nat_config

        folder, to, options = submission
        done = IN_RECIPES if is_nat_config(recipe.path) else ()
        submit_folder(folder, to, replace(options, quiet=write.quiet), done)


def _submission(recipe: "Recipe", plan: Plan) -> "tuple[str, str, SubmitOptions] | None":
    """Which directory goes to which service, and how; checked before anything is done."""
    from prefpairs.cli.recipe import SUBMIT

    if SUBMIT not in recipe.tables:
        return None
    from prefpairs.cli.commands.submit import SERVICES, check_options
    from prefpairs.cli.submit_config import configured
    from prefpairs.submit.submit_options import SubmitOptions

    options = recipe.group(SUBMIT, SubmitOptions)
    with recipe.telling_place(SUBMIT):
        to = "" if plan.export is None else plan.export.target.name
        if to not in SERVICES or plan.write.out_dir is None:
            problem = f"[{SUBMIT}] needs [export] to a training service, and out_dir in [write]"
            raise UsageError(problem, f"to is one of {', '.join(SERVICES)}")
        check_options(configured(options).options, to)
    return plan.write.out_dir, to, options
