"""How many pairs the bounds of `pair` keep from being made, by the first bound that each fails.

The count is a function of the scores and answers of a group.
"""

from collections import Counter
from collections.abc import Iterable, Sized
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from prefpairs.strategies import strategy_named
from prefpairs.strategies.options import PairOptions

if TYPE_CHECKING:
    from prefpairs.strategies.allowed_pairs import Group, Positions

_UNBOUNDED: dict[str, Any] = {
    "min_chosen_score": None,
    "high_threshold": -inf,
    "low_threshold": inf,
    "min_gap": 0.0,
    "max_gap": None,
}
_IN_ORDER = (
    ("score_too_low", ("min_chosen_score", "high_threshold")),
    ("score_too_high", ("low_threshold",)),
    ("gap_too_small", ("min_gap",)),
    ("gap_too_large", ("max_gap",)),
)
"""The bounds by reason. A pair that fails several of them counts for the first."""

_OF_STRATIFIED = frozenset({"high_threshold", "low_threshold"})
_ONE_PAIR = frozenset({"best-vs-worst", "sweet-spot"})
_DRAWS = "random"
"""It draws --max-pairs-per-group pairs; that number is no bound on what it finds."""


class Bounds:
    """The bounds on scores, gaps and pairs per group of a run; false if there are none.

    Pairs across prompts are drawn from the whole input, not found in groups: they have no count.

    >>> from prefpairs.strategies.allowed_pairs import Group
    >>> group = Group([1.0, 0.9, 0.5, 0.0], [b"a", b"b", b"c", b"d"])
    >>> bounds = Bounds(PairOptions(strategy="exhaustive", min_gap=0.3, max_pairs_per_group=2))
    >>> bounds.left_out(group, 5) == {"gap_too_small": 1, "over_per_group": 3}
    True
    """

    def __init__(self, options: PairOptions) -> None:
        name, self._strategy = strategy_named(options.strategy)
        self._unbounded = tightened = replace(options, **_UNBOUNDED)
        self._steps: list[tuple[str, PairOptions]] = []
        for reason, names in _IN_ORDER:
            known = [one for one in names if name == "stratified" or one not in _OF_STRATIFIED]
            given = {one: getattr(options, one) for one in known}
            if not options.across_prompts and any(given[one] != _UNBOUNDED[one] for one in known):
                tightened = replace(tightened, **given)
                self._steps.append((reason, tightened))
        cap = None if options.across_prompts else options.max_pairs_per_group
        self._cap = None if name == _DRAWS else cap
        self.most: float = 1 if name in _ONE_PAIR else (cap or 1) if name == _DRAWS else inf
        """The most pairs that the strategy makes of a group, however large that is."""

    def __bool__(self) -> bool:
        """Whether there are bounds."""
        return bool(self._steps) or self._cap is not None

    def left_out(self, group: "Group", found: int) -> Counter[str]:
        """How many pairs each bound leaves out; `found` pairs are within all but the last one."""
        lost = Counter[str]()
        if self._steps and found < self.most:
            group = group._replace(digests=list(group.digests))
            before = how_many(self._strategy(group, self._unbounded))
            for step, (reason, tightened) in enumerate(self._steps, 1):
                if before <= found:
                    break
                last = step == len(self._steps)
                within = found if last else how_many(self._strategy(group, tightened))
                lost[reason] = max(0, before - within)
                before = min(before, within)
        if self._cap is not None:
            lost["over_per_group"] = max(0, found - self._cap)
        return +lost


def how_many(pairs: "Iterable[Positions]") -> int:
    """The number of pairs, without making them where they can be counted."""
    return len(pairs) if isinstance(pairs, Sized) else sum(1 for _ in pairs)
