"""Best against worst from rows of prompt, response and score: short lines, so more of them."""

from bench.cases.pair import ALONE, JOB, LOOP, PYTHON
from bench.data.plan import Plan
from bench.race import Contender
from bench.results import Finding
from bench.setting import Setting, warm


def generic(setting: Setting) -> Finding:
    """Race against the loop, without a bound."""
    source = setting.file(Plan(format="generic", rollouts=setting.scale))
    warm(source)
    loop = setting.peer(LOOP, "orjson_loop", source)
    words = (*JOB, *setting.one_worker, source)
    costs = setting.race(
        [
            Contender(name=LOOP, command=loop.command),
            setting.program(ALONE, words, setting.output("generic.jsonl")),
            setting.python_alone(PYTHON, words, setting.output("python.jsonl")),
        ]
    )
    return Finding(
        case="generic",
        title="Rows of prompt, response and score",
        rollouts=setting.scale,
        input_bytes=source.stat().st_size,
        rounds=setting.rounds,
        baseline=LOOP,
        costs=costs,
        claims=[],
    )
