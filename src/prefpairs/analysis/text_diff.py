"""The differences between two texts: the lines or words that they have in common, in order."""

import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

_LONGEST = 20_000
"""Of longer sequences, only the beginning and the end are compared."""


class Match(NamedTuple):
    """A run of items that is in both sequences."""

    left: int
    right: int
    length: int


class Effort:
    """The number of steps that are left; a million take about a second."""

    def __init__(self, steps: int) -> None:
        self.steps = steps


def matches(left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort) -> list[Match]:
    """The runs that a shortest edit script leaves unchanged, in order.

    If that would take too long, they are the common beginning and end only.

    >>> matches("abcxd", "abyxd", Effort(100))
    [Match(left=0, right=0, length=2), Match(left=3, right=3, length=2)]
    >>> matches("abcxe", "abyxd", Effort(0))
    [Match(left=0, right=0, length=2)]
    """
    head = _in_common(left, right)
    most = min(len(left), len(right)) - head
    tail = _in_common(left[::-1], right[::-1], most)
    ends = len(left) - tail, len(right) - tail
    found = [Match(0, 0, head)]
    for one, other, length in _middle(left[head : ends[0]], right[head : ends[1]], effort):
        found.append(Match(head + one, head + other, length))
    found.append(Match(*ends, tail))
    return [match for match in found if match.length]


def _in_common(left: Sequence[Hashable], right: Sequence[Hashable], most: int | None = None) -> int:
    most = min(len(left), len(right)) if most is None else most
    for place in range(most):
        if left[place] != right[place]:
            return place
    return most


def _middle(
    left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort
) -> list[tuple[int, int, int]]:
    """The matches of sequences that differ at their beginning and end."""
    if max(len(left), len(right)) > _LONGEST or set(left).isdisjoint(right):
        return []
    names: dict[Hashable, int] = {}
    ours, theirs = (
        [names.setdefault(item, len(names)) for item in items] for items in (left, right)
    )
    trace = _edits(ours, theirs, effort)
    return [] if trace is None else _backwards(trace, len(ours), len(theirs))


def _edits(left: list[int], right: list[int], effort: Effort) -> "list[array[int]] | None":
    """How far each number of edits reaches on each diagonal (Myers 1986); None if too slow.

    A diagonal is how much further left is than right. With n edits there are n + 1 of them, from
    -n to n in steps of two. The edits that reach the end are not stored.
    """
    trace: list[array[int]] = []
    while True:
        reached = array("q")
        for at in range(len(trace) + 1):
            diagonal = 2 * at - len(trace)
            begun = _stepped(trace[-1], at)[0] if trace else 0
            one = _slid(left, right, begun, diagonal)
            effort.steps -= one - begun + 1
            if effort.steps < 0:
                return None
            if one >= len(left) and one - diagonal >= len(right):
                return trace
            reached.append(one)
        trace.append(reached)


def _slid(left: list[int], right: list[int], one: int, diagonal: int) -> int:
    """How far both sequences are equal from here."""
    while one < len(left) and one - diagonal < len(right):
        if left[one] != right[one - diagonal]:
            break
        one += 1
    return one


def _stepped(before: "array[int]", at: int) -> tuple[int, bool]:
    """How far one more edit reaches on a diagonal, and whether it is on the left side."""
    if at == 0 or (at < len(before) and before[at - 1] < before[at]):
        return before[at], False
    return before[at - 1] + 1, True


def _backwards(trace: "Sequence[array[int]]", one: int, other: int) -> list[tuple[int, int, int]]:
    """The matches on the path to the end, in order."""
    found = []
    for edits in range(len(trace), 0, -1):
        diagonal = one - other
        begun, on_the_left = _stepped(trace[edits - 1], (diagonal + edits) // 2)
        found.append((begun, begun - diagonal, one - begun))
        one = begun - on_the_left
        other = begun - diagonal - (not on_the_left)
    found.append((0, 0, one))
    return [match for match in reversed(found) if match[2]]


_IDEOGRAPHS = "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W{_IDEOGRAPHS}]+|\s+|[^\w\s]")
"""A word, whitespace, or another single character; each ideograph is a word."""

_MIN_SHARED = 0.3
"""Texts that share less than this part of their letters are not compared word by word."""

_LONG_MATCH = 12
"""A match of this many letters is never a coincidence."""

Words = list[str]


def words_of(text: str) -> Words:
    """The words, whitespace and single characters of a text; joined, they are the text.

    >>> words_of("f(x) = 日本")
    ['f', '(', 'x', ')', ' ', '=', ' ', '日', '本']
    """
    return _WORD.findall(text)


def shared_words(left: Words, right: Words, effort: Effort) -> list[Match] | None:
    """The words that two texts have in common, in order; None if they have too few.

    >>> shared_words(words_of("not 41"), words_of("not 42"), Effort(99))
    [Match(left=0, right=0, length=2)]
    """
    least = _MIN_SHARED * max(_letters(left), _letters(right))
    overlap = (Counter(left) & Counter(right)).elements()
    if _letters(overlap) < least:
        return None
    found = _without_coincidences(matches(left, right, effort), left, right)
    common = sum(_letters(left[match.left :][: match.length]) for match in found)
    return found if common and common >= least else None


def _letters(words: Iterable[str]) -> int:
    """The number of letters in words; whitespace has none."""
    return sum(len(word) for word in words if not word.isspace())


def _without_coincidences(found: list[Match], left: Words, right: Words) -> list[Match]:
    """The matches, except short ones between longer changes: all texts share small words."""
    ends = _WordEnds(left, right)
    kept = [Match(0, 0, 0)]
    for match in [*found, Match(len(left), len(right), 0)]:
        while len(kept) > 1 and ends.is_coincidence(kept[-2], kept[-1], match):
            kept.pop()
        kept.append(match)
    return kept[1:-1]


class _WordEnds:
    """The positions in the text at which words end."""

    def __init__(self, left: Words, right: Words) -> None:
        self._left = list(accumulate(map(len, left), initial=0))
        self._right = list(accumulate(map(len, right), initial=0))

    def is_coincidence(self, before: Match, match: Match, after: Match) -> bool:
        """Whether a match is short, and shorter than the changes on both sides of it."""
        end = match.left + match.length
        size = self._left[end] - self._left[match.left]
        return size < min(_LONG_MATCH, self._change(before, match), self._change(match, after))

    def _change(self, one: Match, other: Match) -> int:
        """The number of letters between two matches, in the text that has more of them."""
        ours = self._left[other.left] - self._left[one.left + one.length]
        theirs = self._right[other.right] - self._right[one.right + one.length]
        return max(ours, theirs)
