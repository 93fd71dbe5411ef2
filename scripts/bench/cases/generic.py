"""Best against worst from rows of prompt, response and score: short lines, so more of them."""

from dataclasses import replace

from bench.cases.pair import ALONE, BASE, JOB, LOOP, PYTHON
from bench.data.plan import Plan
from bench.race import Contender
from bench.results import Claim, Finding
from bench.setting import Setting, warm

LISTS, OBJECTS = "prefpairs, lists of answers", "prefpairs, objects with answers"


def generic(setting: Setting) -> Finding:
    """Race against the loop, without a bound; and one answer in a row against several."""
    plan = Plan(format="generic", rollouts=setting.scale)
    source = setting.file(plan)
    lists, objects = (setting.file(replace(plan, format=name)) for name in ("lists", "objects"))
    for file in (source, lists, objects):
        warm(file)
    loop = setting.peer(LOOP, "orjson_loop", source)
    job = (*JOB, *setting.one_worker)
    costs = setting.race(
        [
            Contender(name=LOOP, command=loop.command),
            setting.program(ALONE, (*job, source), setting.output("generic.jsonl")),
            setting.program(LISTS, (*job, lists), setting.output("lists.jsonl")),
            setting.program(OBJECTS, (*job, objects), setting.output("objects.jsonl")),
            setting.python_alone(PYTHON, (*job, source), setting.output("python.jsonl")),
        ]
    )
    claims = [
        Claim(
            what=f"CPU for {what}, against one answer in each row",
            value=costs[name].cpu / costs[ALONE].cpu,
            bound=1.5,
            unit="x",
        )
        for what, name in (("lists of answers", LISTS), ("objects with answers", OBJECTS))
    ]
    return Finding(
        case="generic",
        title="Rows of prompt, response and score",
        rollouts=setting.scale,
        input_bytes=source.stat().st_size,
        rounds=setting.rounds,
        baseline=LOOP,
        costs=costs,
        claims=claims if setting.scale >= BASE else [],  # below, start-up dominates
    )
