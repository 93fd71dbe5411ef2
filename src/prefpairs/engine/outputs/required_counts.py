"""--require: what a count of the summary must be for the result to count as good."""

import operator
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from prefpairs.errors import GateNotMet, UnknownWord, UsageError
from prefpairs.model.path import MISSING, look_up, paths_of
from prefpairs.reasons import GROUPS, LOSSES, NOTICES, PAIR_NOTICES, PAIRS

_COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_COUNTED = {
    "rows.dropped": LOSSES,
    "candidates.dropped": LOSSES,
    "noticed": NOTICES,
    "groups_without_pair": GROUPS,
    "stages.dropped": PAIRS,
    "stages.noticed": PAIR_NOTICES,
}
"""Which reasons are counted where; one that never came up is not in the summary."""

_GATE = re.compile(r"\s*([\w.-]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")


class Gate(NamedTuple):
    """One condition, such as `pairs>=5000`."""

    words: str
    name: str
    comparison: str
    number: float

    def check(self, summary: dict[str, Any]) -> None:
        """Raise if the summary does not meet it. A reason that never came up counts 0."""
        actual = look_up(summary, self.name)
        if actual is MISSING:
            actual = self._of_nothing(summary)
        numeric = isinstance(actual, (int, float)) and not isinstance(actual, bool)
        if actual is not None and not numeric:
            known = [path for path in paths_of(summary) if _is_count(look_up(summary, path))]
            raise UnknownWord("count for --require", self.name, known)
        if actual is None or not _COMPARISONS[self.comparison](actual, self.number):
            raise GateNotMet(self.words, actual)

    def _of_nothing(self, summary: dict[str, Any]) -> Any:
        """What a name means that is not there: a reason that never came up, or a mean of none."""
        parent, _, last = self.name.rpartition(".")
        around = look_up(summary, parent)
        place = ".".join(parent.split(".")[::2]) if parent.startswith("stages.") else parent
        if isinstance(around, dict) and last in _COUNTED.get(place, ()):
            return 0
        return None if around is None else MISSING


def read_gates(words: Sequence[str], summary: dict[str, Any]) -> list[Gate]:
    """The conditions as they were typed; `summary` is that of a run that has not begun."""
    gates = [_gate(word) for word in words]
    known = [*summary, "stages", "sides"]
    for gate in gates:
        if gate.name.partition(".")[0] not in known:
            raise UnknownWord("count for --require", gate.name, known)
    return gates


def _gate(words: str) -> Gate:
    found = _GATE.fullmatch(words)
    try:
        number = float(found[3]) if found else float("nan")
    except ValueError:
        number = float("nan")
    if found is None or number != number:  # noqa: PLR0124 - NaN is not itself
        raise UsageError(f"--require {words}: expected NAME>=NUMBER", "--require 'pairs>=5000'")
    return Gate(words, found[1], found[2], number)


def _is_count(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))
