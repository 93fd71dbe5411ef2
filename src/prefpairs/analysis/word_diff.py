"""Which words differ between two stretches of lines."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from prefpairs.analysis.sequence_matching import Effort, Match, matches

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
