"""A trace: the turns of one run of an agent, and the tool errors in it."""

from typing import Any, NamedTuple

from prefpairs.model.message import Message


class ToolError(NamedTuple):
    """An error of a tool call, and the turn in which the model recovers from it, if any."""

    error: Any
    details: Any
    recovery: int | None


class Trace(NamedTuple):
    """A trace as it was read. `replaced` counts broken characters that were replaced."""

    turns: list[Message]
    tools: list[Any] | None
    errors: list[ToolError]
    reward: float | None
    trace_id: Any
    replaced: int
