"""Best against worst from rollouts of agents: tools, reasoning, calls and results."""

from bench.cases.pair import best_against_worst
from bench.data.plan import Plan
from bench.results import Finding
from bench.setting import Setting

SHARE = 0.24
"""Such a rollout is seven times as long as one with one turn: 100,000 make a file of 400 MB."""


def agentic(setting: Setting) -> Finding:
    """Measure the usual case."""
    return best_against_worst(
        setting,
        Plan(format="agentic", rollouts=rollouts_of_agents(setting)),
        case="agentic",
        title="Best against worst by prompt, shuffled NeMo Gym rollouts of agents",
        most_of_loop=1.0,
    )


def chinese(setting: Setting) -> Finding:
    """Measure the same in Chinese, where hardly any text is ASCII."""
    return best_against_worst(
        setting,
        Plan(format="agentic", rollouts=rollouts_of_agents(setting), script="chinese"),
        case="chinese",
        title="The same in Chinese",
        most_of_loop=0.9,
    )


def rollouts_of_agents(setting: Setting) -> int:
    """How many rollouts of agents are measured."""
    return max(8, round(setting.scale * SHARE))
