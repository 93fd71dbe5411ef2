"""What a label says about two answers: which one is preferred, and how strongly, if it says so."""

import re
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

from prefpairs.errors import BadField, TwoReadings, UsageError
from prefpairs.model.number import round_score
from prefpairs.option import one_of, split_words

Meanings = tuple[tuple[str, str], ...]
"""What labels mean: A, B, tie or both-bad."""

_MAP = "--preference-map"
_A, _B, TIE, BOTH_BAD = _KNOWN = ("A", "B", "tie", "both-bad")
_NEGATIVE, _POSITIVE = "negative", "positive"
_OTHER_SIGN = {_NEGATIVE: _POSITIVE, _POSITIVE: _NEGATIVE}
_OTHER_SIDE = {_A: _B, _B: _A}

_NAMED = re.compile(r"(?:(?:model|response|answer|completion|conversation|assistant)[ _-]?)?([ab])")
_IN_WORDS = {
    **dict.fromkeys(("tie", "tied", "draw", "equal"), TIE),
    **dict.fromkeys(("both_bad", "both bad", "bothbad", "tie (bothbad)", "neither"), BOTH_BAD),
}


class Preference(NamedTuple):
    """What a label prefers, and its strength if it is a signed number."""

    side: str
    """A or B; or else tie or both-bad."""
    strength: float | None = None


def read_meanings(words: list[str] | None) -> Meanings:
    """The meanings in --preference-map; the other sign means the other answer.

    >>> read_meanings(["negative=A"])
    (('negative', 'A'), ('positive', 'B'))
    """
    found: dict[str, str] = {}
    for word in split_words(words):
        label, sign, meant = word.rpartition("=")
        if not sign or not label:
            raise UsageError(f"{_MAP} {word}: expected a label and what it means", "as in 1=A,0=B")
        side = meant.upper() if meant in ("a", "b") else one_of("preference", meant, *_KNOWN)
        if found.setdefault(label, side) != side:
            raise UsageError(f"{_MAP} gives {label} twice, as {found[label]} and {side}")
    for sign in _OTHER_SIGN.keys() & found.keys():
        if found[sign] not in _OTHER_SIDE:
            raise UsageError(f"{_MAP} {sign}={found[sign]}: expected A or B")
        other = _OTHER_SIDE[found[sign]]
        if found.setdefault(_OTHER_SIGN[sign], other) != other:
            raise UsageError(f"{_MAP}: both signs mean {found[sign]}")
    return tuple(found.items())


def read_label(
    label: Any, path: str, meanings: Meanings, names: Mapping[str, str] | None = None
) -> Preference:
    """What a label prefers; TwoReadings if nothing says what its numbers mean.

    `names` are more labels that mean A or B, such as those of the models that answered.

    >>> read_label("model_b", "winner", ())
    Preference(side='B', strength=None)
    >>> read_label(-2, "preference", read_meanings(["negative=A"]))
    Preference(side='A', strength=2)
    """
    number = _number(label)
    written = str(label).lower() if isinstance(label, bool) else str(label).strip()
    known = dict(meanings)
    side = known.get(written if number is None else f"{number:g}")
    strength = None
    if side is None and number is not None:
        side = _of_sign(number, label, path, known)
        strength = abs(number)
    elif side is None and isinstance(label, str):
        side = _of_name(written, path, names or {})
    elif side is None and isinstance(label, bool):
        raise _unclear(label, path, ["true=A,false=B", "false=A,true=B"])
    if side is None:
        raise BadField(path, label, f"A, B or a tie ({_MAP} says what other labels mean)")
    return Preference(side, strength)


def _number(label: Any) -> float | None:
    """The number that a label is, also where it is written as text."""
    if isinstance(label, bool) or not isinstance(label, (int, float, str)):
        return None
    with suppress(ValueError, OverflowError):
        number = float(label)
        if isfinite(number):
            return int(number) if number.is_integer() else round_score(number)
    return None


def _of_sign(number: float, label: Any, path: str, known: Mapping[str, str]) -> str:
    """The answer that a signed number prefers; TwoReadings if nothing says which it is."""
    if _NEGATIVE in known:
        if number == 0:
            return TIE
        return known[_NEGATIVE if number < 0 else _POSITIVE]
    if known:
        raise BadField(path, label, f"a label that {_MAP} names")
    ways = [f"{_NEGATIVE}=A", f"{_NEGATIVE}=B"]
    if number in (0, 1):
        ways = ["1=A,0=B", "0=A,1=B", *ways]
    if number in (1, 2):
        ways.insert(0, "1=A,2=B")
    raise _unclear(label, path, ways)


def _of_name(label: str, path: str, names: Mapping[str, str]) -> str | None:
    """What a name or word prefers; TwoReadings if the other answer has it as its name."""
    worded = _in_words(label)
    named = {side for name, side in names.items() if name.casefold() == label.casefold()}
    if worded in _OTHER_SIDE and named not in (set(), {worded}):
        raise _unclear(label, path, [f"{label}={side}" for side in _OTHER_SIDE])
    return names.get(label) or worded


def _unclear(label: Any, path: str, ways: list[str]) -> TwoReadings:
    shown = str(label).lower() if isinstance(label, bool) else label
    problem = f"{path} is {shown}: which of the two answers does it prefer?"
    return TwoReadings(problem, [(_MAP, way) for way in ways])


def _in_words(label: str) -> str | None:
    """What a label means by itself, such as A, model_b or tie.

    >>> _in_words("[[A]]"), _in_words("Response B"), _in_words("Tie"), _in_words("left")
    ('A', 'B', 'tie', None)
    """
    word = label.strip("[]").casefold()
    found = _NAMED.fullmatch(word)
    return found[1].upper() if found else _IN_WORDS.get(word)
