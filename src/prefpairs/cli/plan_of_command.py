"""The plan that a command line makes, without running it."""

from contextvars import ContextVar

from prefpairs.cli.command_as_typed import remember_command
from prefpairs.plan import Plan

_wanted: ContextVar[list[Plan] | None] = ContextVar("wanted", default=None)
"""Where the plan goes, if it alone is wanted."""


def taken(plan: Plan) -> bool:
    """Whether the plan of a command was all that is wanted, so that it is not to be run."""
    plans = _wanted.get()
    if plans is not None:
        plans.append(plan)
    return plans is not None


def plan_of_command(words: list[str]) -> Plan:
    """The plan that a command line makes; hints repeat it from now on."""
    from prefpairs.cli.main import call

    plans: list[Plan] = []
    remember_command(words)
    token = _wanted.set(plans)
    try:
        call(words, ours=False)
    finally:
        _wanted.reset(token)
    return plans[0]
