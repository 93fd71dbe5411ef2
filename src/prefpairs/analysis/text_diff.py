"""The differences between two texts: lines or words that both have in common, in order."""

import re
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

_LONGEST = 20_000
"""Of longer sequences only the beginning and the end are held against each other."""


class Match(NamedTuple):
    """A stretch that stands in both sequences."""

    left: int
    right: int
    length: int


class Effort:
    """How many steps may still be taken; a million take about a second."""

    def __init__(self, steps: int) -> None:
        self.steps = steps


def matches(left: Sequence[Hashable], right: Sequence[Hashable], effort: Effort) -> list[Match]:
    """The stretches that a shortest edit leaves as they are, in order.

    Where that would take too long they are the common beginning and end alone.

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
    """The matches of sequences that neither begin nor end alike."""
    if max(len(left), len(right)) > _LONGEST or set(left).isdisjoint(right):
        return []
    names: dict[Hashable, int] = {}
    ours, theirs = (
        [names.setdefault(item, len(names)) for item in items] for items in (left, right)
    )
    trace = _edits(ours, theirs, effort)
    return [] if trace is None else _backwards(trace, len(ours), len(theirs))


def _edits(left: list[int], right: list[int], effort: Effort) -> "list[array[int]] | None":
    """How far so many edits come on each diagonal (Myers 1986); None if it takes too long.

    A diagonal is how much further left is than right. With n edits there are n + 1 of them, from
    -n to n, two apart. The edits that reach the end are not written down.
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
    """How far both sequences are the same from here on."""
    while one < len(left) and one - diagonal < len(right):
        if left[one] != right[one - diagonal]:
            break
        one += 1
    return one


def _stepped(before: "array[int]", at: int) -> tuple[int, bool]:
    """How far one edit more comes on a diagonal, and whether it is one on the left side."""
    if at == 0 or (at < len(before) and before[at - 1] < before[at]):
        return before[at], False
    return before[at - 1] + 1, True


def _backwards(trace: "Sequence[array[int]]", one: int, other: int) -> list[tuple[int, int, int]]:
    """The matches on the way to the end, in order."""
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
"""A word, or a sign that is none; each ideograph is a word."""

_ALIKE = 0.3
"""Texts that share less than this part of their letters are not held against each other."""

_CRUMB = 12
"""So many letters in common are never a coincidence."""

Words = list[str]


def words_of(text: str) -> Words:
    """A text in words, blanks and single signs; put together they are the text.

    >>> words_of("f(x) = 日本")
    ['f', '(', 'x', ')', ' ', '=', ' ', '日', '本']
    """
    return _WORD.findall(text)


def shared_words(left: Words, right: Words, effort: Effort) -> list[Match] | None:
    """The words that both texts have in common, in order; None where they have too little.

    >>> shared_words(words_of("not 41"), words_of("not 42"), Effort(99))
    [Match(left=0, right=0, length=2)]
    """
    least = _ALIKE * max(_letters(left), _letters(right))
    overlap = (Counter(left) & Counter(right)).elements()
    if _letters(overlap) < least:
        return None
    found = _without_crumbs(matches(left, right, effort), left, right)
    common = sum(_letters(left[match.left :][: match.length]) for match in found)
    return found if common and common >= least else None


def _letters(words: Iterable[str]) -> int:
    """How many letters words have; blanks have none."""
    return sum(len(word) for word in words if not word.isspace())


def _without_crumbs(found: list[Match], left: Words, right: Words) -> list[Match]:
    """The matches but the short ones amid longer changes: texts have small words in common."""
    edges = _Edges(left, right)
    kept = [Match(0, 0, 0)]
    for match in [*found, Match(len(left), len(right), 0)]:
        while len(kept) > 1 and edges.is_crumb(kept[-2], kept[-1], match):
            kept.pop()
        kept.append(match)
    return kept[1:-1]


class _Edges:
    """Where words end, in letters."""

    def __init__(self, left: Words, right: Words) -> None:
        self._left = list(accumulate(map(len, left), initial=0))
        self._right = list(accumulate(map(len, right), initial=0))

    def is_crumb(self, before: Match, match: Match, after: Match) -> bool:
        """Whether a match is short, and shorter than the changes on both of its sides."""
        end = match.left + match.length
        size = self._left[end] - self._left[match.left]
        return size < min(_CRUMB, self._change(before, match), self._change(match, after))

    def _change(self, one: Match, other: Match) -> int:
        """How many letters lie between two matches, on the side that has more of them."""
        ours = self._left[other.left] - self._left[one.left + one.length]
        theirs = self._right[other.right] - self._right[one.right + one.length]
        return max(ours, theirs)
