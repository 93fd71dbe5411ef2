"""Did you mean: the known words nearest to an unknown one."""

import difflib
from collections.abc import Sequence

_MOST_NEAR, MOST_TOLD = 3, 12
_FEWEST_LETTERS = 2
_LIKE, _PATH_LIKE, _SURELY = 0.6, 0.5, 0.85
"""How similar a word must be: less for paths, parts of which may be right."""


def nearest(
    word: str, known: Sequence[str], otherwise: str | None = None, most: int | None = None
) -> str | None:
    """A hint at what may have been meant, or `otherwise`, or a list of all words.

    At most `most` words are listed.

    >>> nearest("exaustive", ["exhaustive", "random"])
    'did you mean exhaustive?'
    >>> nearest("--min", ["--max-gap", "--min-gap", "--min-chosen-score"])
    'did you mean --min-gap or --min-chosen-score?'
    >>> nearest("x", ["a", "b"])
    'one of a, b'
    """
    if near := near_of(word, known):
        return f"did you mean {listed(near, 'or')}?"
    if otherwise or not known:
        return otherwise
    shown = sorted(known, key=lambda name: name.count("."))[:most]
    return f"one of {', '.join(shown)}" + (", ..." if len(shown) < len(known) else "")


def near_of(word: str, known: Sequence[str], like: float | None = None) -> list[str]:
    """The most similar word, or those that begin like it. Case and `-` or `_` do not matter."""
    typed = _plain(word)
    if len(typed.strip("-")) < _FEWEST_LETTERS:
        return []
    spelled = {_plain(name): name for name in reversed(known)}
    begun = [name for name in known if _plain(name).startswith(typed)]
    if len(begun) > _MOST_NEAR:
        begun = []
    least = like or (_PATH_LIKE if "." in word else _LIKE)
    near = difflib.get_close_matches(typed, spelled, 1, _SURELY if begun else least)
    return [spelled[name] for name in near] or begun


def listed(words: Sequence[str], joint: str) -> str:
    """A list of words for a sentence.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f" {joint} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _plain(word: str) -> str:
    return word.casefold().replace("_", "-")
