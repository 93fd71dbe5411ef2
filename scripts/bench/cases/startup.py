"""The start-up cost of a stage in a pipe."""

import sys

from bench.race import Contender
from bench.results import Claim, Finding
from bench.setting import Setting

TIMES = 4
"""Times the usual rounds, since a run is short, and differences are small."""
BARE, VERSION, EMPTY = "python -c pass", "prefpairs --version", "prefpairs dedupe of nothing"
PAIR, PYTHON = "prefpairs pair of nothing", "prefpairs pair of nothing, Python"

EMPTY_PAIR = ("pair", "--quiet", "--allow-empty")


def startup(setting: Setting) -> Finding:
    """Race against a bare interpreter."""
    contenders = [
        Contender(name=BARE, command=(sys.executable, "-c", "pass")),
        setting.program(VERSION, ("--version",)),
        setting.program(EMPTY, ("dedupe", "--quiet", "--allow-empty")),
        setting.program(PAIR, EMPTY_PAIR),
        setting.python_alone(PYTHON, EMPTY_PAIR),
    ]
    rounds = TIMES * setting.rounds
    costs = setting.race(contenders, rounds)
    claims = [
        Claim(
            what=f"{name}, above a bare interpreter",
            value=(costs[name].wall - costs[BARE].wall) * 1000,
            bound=bound,
            unit="ms",
        )
        for name, bound in ((VERSION, 40), (EMPTY, 110), (PAIR, 110), (PYTHON, 110))
    ]
    return Finding(
        case="startup",
        title="Start-up",
        rollouts=0,
        input_bytes=0,
        rounds=rounds,
        baseline=BARE,
        costs=costs,
        claims=claims,
    )
