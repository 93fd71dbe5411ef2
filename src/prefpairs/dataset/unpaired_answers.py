"""The order in which unpaired answers are written, and which of them are omitted."""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from struct import Struct
from typing import NamedTuple

from prefpairs.model.canonical_json import canonical_json
from prefpairs.model.identity import digest, draw
from prefpairs.targets.base import Row

_DIGEST = 16
_NUMBER = 8
_RECORD = Struct(f">{_DIGEST}s?Q?{_DIGEST}s")
"""The digest of prompt and answer, whether the score is unknown, the score, the label, and the
digest of the prompt."""

_RANK = _DIGEST + 1 + _NUMBER
"""So much of a record says which of several comes first."""

_DOUBLE, _BITS = Struct(">d"), Struct(">Q")
_SIGN = 1 << 63
_ALL_BITS = (1 << 64) - 1


class Ordered(NamedTuple):
    """The positions of answers that are written, in order, and how many are not, by reason."""

    positions: Sequence[int]
    left_out: Counter[str]


class UnpairedAnswers:
    """Answers by themselves."""

    def __init__(self) -> None:
        self._records = bytearray()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._records) // _RECORD.size

    def add(self, rows: Sequence[Row]) -> None:
        """Take in answers to one prompt: rows with a prompt, a completion and a label."""
        asked = canonical_json([rows[0]["prompt"], rows[0].get("tools")])
        prompt = digest("question", asked)
        for row in rows:
            answer = digest("answer", prompt + canonical_json(row["completion"]))
            score = row.get("score")
            known = score is not None
            drop = _descending(score or 0.0)
            self._records += _RECORD.pack(answer, not known, drop, row["label"], prompt)

    def in_turn(self) -> Ordered:
        """Each answer once, none with two labels, and a prompt again only after all the others.

        >>> rows = [{"prompt": "Q", "completion": "A", "label": label} for label in (True, False)]
        >>> singles = UnpairedAnswers()
        >>> singles.add([*rows, {**rows[0], "completion": "B"}])
        >>> singles.in_turn()
        Ordered(positions=array('Q', [2]), left_out=Counter({'label_contradicted': 2}))
        """
        kept, left_out = self._told_apart()
        return Ordered(self._by_turns(kept), left_out)

    def _told_apart(self) -> tuple["array[int]", Counter[str]]:
        """The positions of different answers, by digest; of the same ones, the highest score's."""
        ranks = [self._record(at)[:_RANK] + _packed(at) for at in range(len(self))]
        ranks.sort()
        kept = array("Q")
        left_out: Counter[str] = Counter()
        for _, same in groupby(ranks, key=_head):
            positions = list(map(_number, same))
            if len({self._record(at)[_RANK] for at in positions}) > 1:
                left_out["label_contradicted"] += len(positions)
                continue
            kept.append(positions[0])
            if len(positions) > 1:
                left_out["answer_repeated"] += len(positions) - 1
        return kept, left_out

    def _by_turns(self, kept: Sequence[int]) -> "array[int]":
        """The first answers to all prompts, then the second ones, and so on."""
        turns = self._turns(kept)
        places = [
            b"".join((_packed(turn), _packed(_drawn(prompt)), prompt, _packed(at)))
            for turn, at, prompt in zip(turns, kept, map(self._prompt, kept), strict=True)
        ]
        places.sort()
        return array("Q", map(_number, places))

    def _turns(self, kept: Sequence[int]) -> "array[int]":
        """How many of these answers come before each of them for the same prompt."""
        turns = array("Q", bytes(_NUMBER * len(kept)))
        ranks = [self._prompt(at) + _packed(rank) for rank, at in enumerate(kept)]
        ranks.sort()
        for _, same in groupby(ranks, key=_head):
            for turn, rank in enumerate(map(_number, same)):
                turns[rank] = turn
        return turns

    def _record(self, position: int) -> bytes:
        return bytes(self._records[position * _RECORD.size : (position + 1) * _RECORD.size])

    def _prompt(self, position: int) -> bytes:
        return self._record(position)[-_DIGEST:]


def _descending(score: float) -> int:
    """A number that is the smaller, the higher a score is.

    >>> scores = [-1.5, 0.25, 0.0, 3.0]
    >>> sorted(scores, key=_descending)
    [3.0, 0.25, 0.0, -1.5]
    """
    (bits,) = _BITS.unpack(_DOUBLE.pack(-score))
    return int(bits ^ _ALL_BITS if bits & _SIGN else bits | _SIGN)


def _head(record: bytes) -> bytes:
    """The digest that a record begins with."""
    return record[:_DIGEST]


def _drawn(prompt: bytes) -> int:
    return draw(0, "unpaired", prompt)


def _packed(number: int) -> bytes:
    return number.to_bytes(_NUMBER)


def _number(record: bytes) -> int:
    """The number that a record ends with."""
    return int.from_bytes(record[-_NUMBER:])
