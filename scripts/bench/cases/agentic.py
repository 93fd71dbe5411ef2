"""Best against worst from rollouts of agents: tools, thinking, calls and their results."""

from bench.cases.pair import best_against_worst
from bench.data.plan import Plan
from bench.results import Finding
from bench.setting import Setting

SHARE = 0.24
"""Such a rollout is seven times as long as one of one turn: at 100,000 the file has 400 MB."""


def agentic(setting: Setting) -> Finding:
    """The usual case."""
    return best_against_worst(
        setting,
        Plan(format="agentic", rollouts=_rollouts(setting)),
        case="agentic",
        title="Best against worst by prompt, shuffled NeMo Gym rollouts of agents",
        most_of_loop=1.0,
    )


def chinese(setting: Setting) -> Finding:
    """The same in Chinese: hardly any text is ASCII."""
    return best_against_worst(
        setting,
        Plan(format="agentic", rollouts=_rollouts(setting), script="chinese"),
        case="chinese",
        title="The same in Chinese",
        most_of_loop=0.9,
    )


def _rollouts(setting: Setting) -> int:
    return max(8, round(setting.scale * SHARE))
