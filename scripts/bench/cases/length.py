"""The same number of rollouts with answers 8 times as long, which must not take more memory."""

from bench.cases.pair import JOB
from bench.data.plan import Plan
from bench.results import Claim, Finding
from bench.setting import Setting

TIMES = 8
USUAL = Plan().answer_length
TOLERANCE_MB = 4
"""The lines being read are longer, too."""


def length(setting: Setting) -> Finding:
    """Compare peak memory."""
    rollouts = min(setting.scale, 100_000) // 2
    names = {"answers as they are": USUAL, f"answers {TIMES} times as long": TIMES * USUAL}
    sources = {
        name: setting.file(Plan(rollouts=rollouts, answer_length=bytes_each))
        for name, bytes_each in names.items()
    }
    costs = setting.race(
        [
            setting.program(name, (*JOB, source), setting.output("length.jsonl"))
            for name, source in sources.items()
        ]
    )
    short, long = (costs[name].peak for name in names)
    claim = Claim(
        what="more memory", value=max(0, long - short) / 1e6, bound=TOLERANCE_MB, unit="MB"
    )
    sizes = [f"{source.stat().st_size / 1e6:,.0f} MB" for source in sources.values()]
    return Finding(
        case="length",
        title=f"Answers {TIMES} times as long",
        rollouts=rollouts,
        input_bytes=max(source.stat().st_size for source in sources.values()),
        rounds=setting.rounds,
        baseline=next(iter(names)),
        costs=costs,
        claims=[claim],
        notes=[f"inputs of {' and '.join(sizes)}"],
    )
