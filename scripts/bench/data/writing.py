"""Writes plans to files."""

from collections.abc import Iterator
from pathlib import Path

from bench.data.agentic import agentic
from bench.data.generic import generic
from bench.data.nat import nat
from bench.data.nemo_gym import nemo_gym
from bench.data.order import shuffled
from bench.data.plan import Plan
from bench.data.several import listed, objects
from bench.data.words import WordPool

ROWS = {"nemo-gym": nemo_gym, "agentic": agentic, "generic": generic}
ROWS_OF_TASKS = {"lists": listed, "objects": objects}


def write(plan: Plan, path: Path) -> None:
    """Stream a plan to a file, which appears when it is complete."""
    beside = path.with_suffix(".part")
    with beside.open("wb", buffering=1 << 20) as file:
        file.writelines(chunks(plan))
    beside.replace(path)


def chunks(plan: Plan) -> Iterator[bytes]:
    """The file, piece by piece.

    >>> [row[41:49] for row in chunks(Plan(format="generic", rollouts=4, per_task=2))]
    [b'"task":1', b'"task":1', b'"task":0', b'"task":0']
    """
    pool = WordPool(
        seed=plan.seed, escapes=plan.escapes, non_ascii=plan.non_ascii, script=plan.script
    )
    if plan.format == "nat":
        yield from nat(plan, pool)
        return
    several = plan.format in ROWS_OF_TASKS
    count = plan.rollouts // plan.per_task if several else plan.rollouts
    for place in range(count):
        number = shuffled(place, count, plan.seed) if plan.order == "shuffled" else place
        if several:
            yield ROWS_OF_TASKS[plan.format](plan, pool, number)
        else:
            yield ROWS[plan.format](plan, pool, *divmod(number, plan.per_task))
