"""Runs that are divided into steps: planned from a command line, done one by one, finished."""

import os
import platform
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from shlex import quote

from prefpairs.cli.command_as_typed import typed_command
from prefpairs.cli.run_with_summary import plan_of_command, tell_outcome
from prefpairs.cli.terminal.progress_bar import show_progress
from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.driver import summary_of
from prefpairs.engine.outputs.destination import check_quarantine, check_written
from prefpairs.engine.pairs.pair_io import in_reading_order
from prefpairs.engine.runners.distributable import DISTRIBUTABLE, check_distributable
from prefpairs.engine.runners.finish import check_folder, check_no_finish_is_open, finish
from prefpairs.engine.runners.rounds import Round, rounds_of
from prefpairs.engine.runners.step_plan import (
    Work,
    check_files,
    read_step_plan,
    step_plan,
    write_step_plan,
)
from prefpairs.errors import BadInput, PrefpairsError, StepFailed, UsageError
from prefpairs.files.file_system import errors_named, exists
from prefpairs.ledger import Activity, Ledger, Progress, Step
from prefpairs.plan import Plan
from prefpairs.plan.runner_plan import RAY


def run_in_steps(plan: Plan) -> None:
    """Plan the steps of a run. They are done by Ray, or else we say how they are."""
    work = planned(plan)
    if plan.runner.kind == RAY:
        _run_on_ray(work)
        return
    if not plan.write.quiet:
        write_stderr(_told(rounds_of(work), printable(quote(plan.write.out_dir or ""))))


def _told(rounds: Sequence[Round], folder: str) -> str:
    """How many steps were planned, and the commands that do them."""
    planned = ", ".join(f"{plural(it.steps, 'step')} to {it.word}" for it in rounds)
    commands = [f"prefpairs shards {it.number} {folder}" for it in rounds]
    commands.append(f"prefpairs shards finish {folder}")
    width = max(map(len, commands))
    notes = ["# or a share: 0/8 does each eighth step", "# once all steps of round 1 are done"]
    lines = zip_longest(commands, [*notes, *("# likewise" for _ in rounds[2:])], fillvalue="")
    told = [f"{command:{width}}  {note}".rstrip() for command, note in lines]
    return f"planned {planned}\nnext: " + "\n      ".join(told) + "\n"


def planned(plan: Plan) -> Work:
    """Plan the steps of a run, or go on with those of the same run."""
    check_distributable(plan)
    check_folder(plan)
    folder, quarantine = plan.write.out_dir or "", plan.read.quarantine
    read = [*plan.read.inputs, *plan.references]
    check_written([plan.write.summary, quarantine], read, new=folder)
    check_quarantine(quarantine, folder)
    plan = in_reading_order(plan)
    results = os.path.realpath(folder)
    steps = step_plan(plan, typed_command(), os.getcwd())
    if read_step_plan(results) != steps:
        check_no_finish_is_open(plan)
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
    plan = in_reading_order(plan_of_command(steps.command))
    planned_for = os.path.realpath(plan.write.out_dir or "")
    if planned_for != results:
        problem = f"{results}: its steps were planned for {planned_for}"
        raise UsageError(problem, "give the folder its name back, or plan the steps again")
    check_files(steps, plan)
    return Work(results, steps, plan)


def round_of(work: Work, number: int) -> Round:
    """The round of a number."""
    rounds = rounds_of(work)
    if not 1 <= number <= len(rounds):
        problem = f"there is no round {number}: it has {plural(len(rounds), 'round')}"
        raise UsageError(problem, f"one of {', '.join(str(it.number) for it in rounds)}, finish")
    return rounds[number - 1]


def do_steps(one: Round, steps: Iterable[int]) -> tuple[int, int]:
    """Do steps that are not done yet: how many of them were, and how many had been."""
    done = before = 0
    for step in steps:
        if one.is_done(step):
            before += 1
        else:
            one.do(step)
            done += 1
    return done, before


def _run_on_ray(work: Work) -> None:
    """Do all steps on a Ray cluster, and finish."""
    from prefpairs.engine.runners.ray import connected

    progress, quiet = Progress(), work.plan.write.quiet
    rounds = rounds_of(work)
    total, earlier = sum(one.steps for one in rounds), 0
    with (
        connected(work.plan.runner.address) as cluster,
        show_progress(progress, quiet=quiet),
    ):
        for one in rounds:
            todo = [step for step in range(one.steps) if not one.is_done(step)]
            earlier += one.steps

            def now(
                activity: Activity = one.activity, most: int = earlier, todo: list[int] = todo
            ) -> Step:
                return Step(activity, most - len(todo), total, "steps")

            progress.begin_step(now)
            jobs = [(work.results, one.number, step) for step in todo]
            for failure in cluster.results(f"prefpairs {one.word}", step_elsewhere, jobs):
                if failure is not None:
                    raise StepFailed(*failure)
                todo.pop()
    finish_steps(work, quiet=quiet)


def step_elsewhere(results: str, number: int, step: int) -> tuple[str, int] | None:
    """Do a step in a process of another node; if it fails, the words and the code of its error."""
    from prefpairs.cli.terminal.error_text import error_text

    try:
        _check_shared(results)
        do_steps(round_of(work_in(results), number), [step])
    except PrefpairsError as error:
        return error_text(error, typed_command()), error.exit_code
    return None


def _check_shared(results: str) -> None:
    """Raise if this node does not see what a step needs."""
    steps, missing = read_step_plan(results), [results]
    if steps is not None:
        paths = ["", *(stamped.path for stamped in (*steps.inputs, *steps.references))]
        needed = [os.path.join(steps.directory, path) for path in paths]
        missing = [path for path in needed if not exists(path)]
    if missing:
        problem = f"{missing[0]} is not there on the node {platform.node()}"
        hint = "inputs and --out-dir must be on a file system that all nodes share"
        raise UsageError(problem, hint)


def finish_steps(work: Work, *, quiet: bool) -> None:
    """Account for all steps, put the results into place, and print the summary of the run."""
    ledger = Ledger()

    def run() -> str:
        finish(work, ledger, lambda: summary_of(work.plan, ledger))
        return work.plan.write.out_dir or ""

    tell_outcome(work.plan, ledger, run, quiet=quiet or work.plan.write.quiet)
