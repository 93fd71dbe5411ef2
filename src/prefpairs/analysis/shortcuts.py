"""Shortcuts: traits of answers that can be measured without understanding them.

A model that learns to prefer such a trait has learned a shortcut instead of the task.
"""

import re
from math import sqrt
from typing import Any, NamedTuple

from prefpairs.model.message import Text, flat_text
from prefpairs.model.pair import Pair
from prefpairs.stages.answer_defects import is_refusal, truncated_sides

_ITEM = re.compile(r"^[ \t]{0,12}(?:[-*+\u2022]|[0-9]{1,3}[.)])[ \t]+\S", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]{0,12}(?:```|~~~)", re.MULTILINE)


class Traits(NamedTuple):
    """The traits of one answer, as numbers that can be compared with another answer's."""

    chars: int
    list_items: int
    code_blocks: int
    refuses: bool
    truncated: bool
    calls_tool: bool
    thinks: bool


SHORTCUTS = {
    "longer": ("chars", "the longer answer wins"),
    "more_lists": ("list_items", "the answer with more list items wins"),
    "more_code": ("code_blocks", "the answer with more code blocks wins"),
    "refusal": ("refuses", "the answer that refuses wins"),
    "truncated": ("truncated", "the answer that was cut off wins"),
    "tool_call": ("calls_tool", "the answer that calls a tool wins"),
    "thinking": ("thinks", "the answer that shows its thinking wins"),
}
"""Each shortcut with the trait it uses, and its statement in words."""

FAIR_SHARE = (0.40, 0.60)
"""A shortcut that is right more or less often than this influences what is learned."""

_CERTAIN = 1.5
"""Three standard deviations of a fair coin, times the square root of the number of tosses."""


class Shortcut(NamedTuple):
    """How often a trait alone predicts the chosen answer, among the pairs that differ in it."""

    name: str
    differ: int
    chosen_more: int

    @property
    def share(self) -> float | None:
        """How often the answer with more of the trait is the chosen one."""
        return self.chosen_more / self.differ if self.differ else None

    @property
    def warns(self) -> bool:
        """Whether the share is outside the fair range by more than chance explains."""
        if self.share is None or FAIR_SHARE[0] <= self.share <= FAIR_SHARE[1]:
            return False
        return abs(self.share - 0.5) >= _CERTAIN / sqrt(self.differ)

    def summary(self) -> dict[str, Any]:
        """The shortcut as data."""
        says = SHORTCUTS[self.name][1]
        counts = {"differ": self.differ, "chosen_more": self.chosen_more, "share": self.share}
        return {"name": self.name, "says": says, **counts, "warns": self.warns}


def traits_of_sides(pair: Pair) -> tuple[Traits, Traits]:
    """The traits of the chosen and of the rejected answer.

    >>> pair = Pair("", "", "Q", "- a\\n- b", "no", None, None, None, None, None, "", "")
    >>> chosen, rejected = traits_of_sides(pair)
    >>> chosen.chars, chosen.list_items, rejected.list_items
    (7, 2, 0)
    """
    chosen, rejected = truncated_sides(pair)
    return _traits(pair.chosen, truncated=chosen), _traits(pair.rejected, truncated=rejected)


def _traits(answer: Text, *, truncated: bool) -> Traits:
    text = flat_text(answer)
    turns = [] if isinstance(answer, str) else answer
    return Traits(
        chars=len(text),
        list_items=len(_ITEM.findall(text)),
        code_blocks=(len(_FENCE.findall(text)) + 1) // 2,
        refuses=is_refusal(answer),
        truncated=truncated,
        calls_tool=any(turn.get("tool_calls") for turn in turns),
        thinks="<think>" in text or any(turn.get("reasoning_content") for turn in turns),
    )
