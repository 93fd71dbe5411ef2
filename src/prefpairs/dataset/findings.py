"""What a trainer does with a row: the effects, and the codes of the causes."""

from enum import StrEnum
from typing import NamedTuple

from prefpairs.reasons import TRAPS


class Effect(StrEnum):
    """What becomes of a row, or of the file it stands in. All but a warning lose something."""

    NO_LOAD = "fails to load"
    CRASH = "crashes"
    DROP = "is dropped"
    NOTHING = "trains on nothing"
    WRONG = "trains on the wrong thing"
    LEAK = "leaks"
    WARNING = "warning"


class Finding(NamedTuple):
    """One thing that is wrong with a row: what happens, why, and where in the row."""

    effect: Effect
    code: str
    field: str = ""

    @property
    def sentence(self) -> str:
        """What the code means."""
        return TRAPS[self.code]
