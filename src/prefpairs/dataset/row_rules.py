"""What a trainer does with the rows of its files, whichever program wrote them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from prefpairs.reasons import TRAPS

Row = dict[str, Any]


def role_of(message: Any) -> Any:
    """The role of a message, or None if it has none."""
    return message.get("role") if isinstance(message, dict) else None


class Effect(StrEnum):
    """What happens to a row, or to its file. All except a warning lose something."""

    NO_LOAD = "fails to load"
    CRASH = "crashes"
    DROP = "is dropped"
    NOTHING = "trains on nothing"
    WRONG = "trains on the wrong thing"
    LEAK = "leaks"
    WARNING = "warning"


class Finding(NamedTuple):
    """A problem of a row: what happens, the code of the cause, and where in the row it is."""

    effect: Effect
    code: str
    field: str = ""

    @property
    def sentence(self) -> str:
        """What the code means."""
        return TRAPS[self.code]


def _no_findings(_row: Row) -> Iterable[Finding]:
    return ()


def _always(_row: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a trainer does with the rows of its files, whichever program wrote them."""

    needs: Mapping[str, frozenset[str]]
    """The columns that every row has, and the kinds of value that each may hold."""
    optional: frozenset[str] = frozenset()
    """Those of them that may be missing."""
    read: Callable[[Row], Row]
    """Returns a row with the prompt and the answers under the names of a pair."""
    looks_like: Callable[[Row], bool] = _always
    """Whether a row with the key columns of this format is of this format."""
    check: Callable[[Row], Iterable[Finding]] = _no_findings
    """Finds problems that only this trainer has."""
    reserved: Mapping[str, Effect] = field(default_factory=dict)
    """Columns that change what the trainer does."""
    trains: Literal["all", "last", "turns"] = "all"
    """The part of an answer in the loss: all of it, its last message, or the model's turns."""
    on_missing: Effect = Effect.CRASH
    """What happens to a row without a column that it needs."""
    on_null: Effect = Effect.CRASH
    """What happens to a row with null in such a column."""
    on_empty_prompt: Effect = Effect.CRASH
    """What happens to a row whose prompt has no messages."""
    roles: tuple[str, ...] = ("system", "user", "assistant", "tool")
    """The roles that it knows."""
    on_role: Effect = Effect.WRONG
    """What happens to a row with any other role."""
    text_arguments: bool | Literal["only"] = False
    """Whether tool-call arguments may be text, or must be."""
    batch: int = 0
    """The default number of rows per step; with fewer rows there is no step."""
    steady: tuple[str, ...] = ()
    """Columns that every row must have if the first row has them."""
    suffixes: tuple[str, ...] = ()
    """The file name extensions that its loader accepts; empty if any is accepted."""
    least: int = 0
    """The minimum number of rows."""
    together: bool = False
    """Whether the files of a folder are loaded together, and must agree in their columns."""
    slices: bool = False
    """Whether it slices answers out of the rendered conversation, where the prompt should end."""
