"""Runs that are divided into steps: planned from a command line, done one by one, finished."""

import os
import platform
from collections.abc import Callable, Iterable
from shlex import quote

from prefpairs.cli.plan_of_command import plan_of_command
from prefpairs.cli.run_with_summary import tell_outcome
from prefpairs.cli.terminal.progress_bar import show_progress
from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.cli.terminal.summary_text import typed_command
from prefpairs.driver import summary_of
from prefpairs.engine.runners.distributable import DISTRIBUTABLE, check_distributable
from prefpairs.engine.runners.finish import finish, refuse_strangers
from prefpairs.engine.runners.map_step import run_map
from prefpairs.engine.runners.piece_steps import run_count, run_write
from prefpairs.engine.runners.reduce_step import run_reduce
from prefpairs.engine.runners.step_plan import (
    Work,
    check_files,
    map_name,
    read_step_plan,
    reduce_name,
    step_plan,
    write_step_plan,
)
from prefpairs.errors import BadInput, PrefpairsError, StepFailed, UsageError
from prefpairs.files.file_system import errors_named
from prefpairs.ledger import Activity, Ledger, Progress, Step
from prefpairs.plan import Plan
from prefpairs.plan.runner_plan import RAY

_NAMES: dict[str, Callable[[int], str]] = {"map": map_name, "reduce": reduce_name}
_STEPS_OF_PAIR = {"map": run_map, "reduce": run_reduce}
_STEPS_OF_OTHERS = {"map": run_count, "reduce": run_write}


def run_in_steps(plan: Plan) -> None:
    """Plan the steps of a run. They are done by Ray, or else we say how they are."""
    work = planned(plan)
    if plan.runner.kind == RAY:
        _run_on_ray(work)
        return
    if not plan.write.quiet:
        maps, parts = number_of_steps(work, "map"), number_of_steps(work, "reduce")
        folder = printable(quote(plan.write.out_dir or ""))
        write_stderr(
            f"planned {plural(maps, 'step')} that read and {plural(parts, 'step')} that write\n"
            f"next: prefpairs shards map {folder}     # or a share: 0/8 does each eighth step\n"
            f"      prefpairs shards reduce {folder}  # likewise\n"
            f"      prefpairs shards finish {folder}\n"
        )


def planned(plan: Plan) -> Work:
    """Plan the steps of a run, or go on with those of the same run."""
    check_distributable(plan)
    refuse_strangers(plan)
    results = os.path.realpath(plan.write.out_dir or "")
    steps = step_plan(plan, typed_command(), os.getcwd())
    if read_step_plan(results) != steps:
        write_step_plan(results, steps)
    return Work(results, steps, plan)


def work_in(results: str) -> Work:
    """The run whose steps are in a folder. From now on, we are where its command was typed."""
    results = os.path.realpath(results)
    steps = read_step_plan(results)
    if steps is None:
        problem = f"{results}: there is no plan of steps in it"
        raise UsageError(
            problem, "`prefpairs pair --runner shards --order key --out-dir DIR INPUT` makes one"
        )
    if steps.command[:1] not in DISTRIBUTABLE:
        raise BadInput(results, f"its steps are of no command that has steps: {steps.command[:1]}")
    with errors_named(steps.directory):
        os.chdir(steps.directory)
    plan = plan_of_command(steps.command)
    planned_for = os.path.realpath(plan.write.out_dir or "")
    if planned_for != results:
        problem = f"{results}: its steps were planned for {planned_for}"
        raise UsageError(problem, "give the folder its name back, or plan the steps again")
    check_files(steps, plan)
    return Work(results, steps, plan)


def number_of_steps(work: Work, kind: str) -> int:
    """How many steps of a kind there are."""
    return len(work.steps.pieces) if kind == "map" else work.steps.parts


def is_done(work: Work, kind: str, number: int) -> bool:
    """Whether a step is done."""
    return work.is_done(_NAMES[kind](number))


def do_steps(work: Work, kind: str, numbers: Iterable[int]) -> tuple[int, int]:
    """Do steps that are not done yet: how many of them were, and how many had been."""
    done = before = 0
    do = (_STEPS_OF_OTHERS if work.plan.pair is None else _STEPS_OF_PAIR)[kind]
    for number in numbers:
        if is_done(work, kind, number):
            before += 1
        else:
            do(work, number)
            done += 1
    return done, before


def _run_on_ray(work: Work) -> None:
    """Do all steps on a Ray cluster, and finish."""
    from prefpairs.engine.runners.ray import connected

    progress, quiet = Progress(), work.plan.write.quiet
    activities: dict[str, Activity] = {"map": "reading", "reduce": "writing"}
    with (
        connected(work.plan.runner.address) as cluster,
        show_progress(progress, quiet=quiet),
    ):
        for kind, activity in activities.items():
            steps = range(number_of_steps(work, kind))
            todo = [number for number in steps if not is_done(work, kind, number)]

            def now(
                activity: Activity = activity, total: int = len(steps), todo: list[int] = todo
            ) -> Step:
                return Step(activity, total - len(todo), total, "steps")

            progress.begin_step(now)
            jobs = [(work.results, kind, number) for number in todo]
            for failure in cluster.results(f"prefpairs {kind}", step_elsewhere, jobs):
                if failure is not None:
                    raise StepFailed(*failure)
                todo.pop()
    finish_steps(work, quiet=quiet)


def step_elsewhere(results: str, kind: str, number: int) -> tuple[str, int] | None:
    """Do a step in a process of another node; if it fails, the words and the code of its error."""
    from prefpairs.cli.terminal.error_text import error_text

    try:
        if read_step_plan(results) is None:
            problem = f"{results} is not there on the node {platform.node()}"
            hint = "inputs and --out-dir must be on a file system that all nodes share"
            raise UsageError(problem, hint)
        do_steps(work_in(results), kind, [number])
    except PrefpairsError as error:
        return error_text(error, typed_command()), error.exit_code
    return None


def finish_steps(work: Work, *, quiet: bool) -> None:
    """Account for all steps, put the results into place, and print the summary of the run."""
    ledger = Ledger()

    def run() -> str:
        finish(work, ledger, lambda: summary_of(work.plan, ledger))
        return work.plan.write.out_dir or ""

    tell_outcome(work.plan, ledger, run, quiet=quiet or work.plan.write.quiet)
