"""How a job or a deployment is doing, whichever service says so."""

from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobState:
    """What a service says of a job. It leaves out what it does not know."""

    status: str
    """In the service's own word."""
    outcome: Outcome
    percentage_done: float | None = None
    epochs_completed: int | None = None
    steps_completed: int | None = None
    steps: int | None = None
    train_loss: float | None = None
    val_loss: float | None = None
    message: str = ""

    def facts(self) -> dict[str, Any]:
        """What is known, for JSON."""
        known = {name: getattr(self, name) for name in _FACTS}
        return {name: value for name, value in known.items() if value not in (None, "")}


_FACTS = (
    "status",
    "percentage_done",
    "epochs_completed",
    "steps_completed",
    "steps",
    "train_loss",
    "val_loss",
    "message",
)


@dataclass(frozen=True, slots=True)
class DeploymentState:
    """What a service says of a deployment."""

    status: str
    outcome: Literal["waiting", "ready", "failed"]
    message: str = ""
    url: str = ""


def number(value: Any) -> float | None:
    """A finite number, or None: services send null, text and NaN for what they do not know."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -_MOST < value < _MOST else None


def count(value: Any) -> int | None:
    """A whole number, or None."""
    known = number(value)
    return None if known is None else int(known)


_MOST = 1e15
