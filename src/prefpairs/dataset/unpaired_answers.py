"""The order in which unpaired answers are written, and which of them are omitted.

There may be millions of them, so each is a record of 42 bytes, laid out so that records sort by
their meaning. An answer takes 160 bytes, including its position in the file; with objects, sets and
counters it took 800.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from struct import Struct
from typing import NamedTuple

from prefpairs.dataset.row_rules import Row
from prefpairs.model.identity import canonical_json, digest, draw

_DIGEST = 16
_NUMBER = 8
_RECORD = Struct(f">{_DIGEST}s?Q?{_DIGEST}s")
"""The digest of prompt and answer, whether the score is unknown, the score, the label, and the
digest of the prompt."""

_RANK = _DIGEST + 1 + _NUMBER
"""The length of the part of a record by which equal answers are ranked."""

_DOUBLE, _BITS = Struct(">d"), Struct(">Q")
_SIGN = 1 << 63
_ALL_BITS = (1 << 64) - 1


class Ordered(NamedTuple):
    """The positions of the answers to write, in order, and the number omitted, by reason."""

    positions: Sequence[int]
    omitted: Counter[str]


class UnpairedAnswers:
    """Single answers with a label each, as KTO takes them."""

    def __init__(self) -> None:
        self._records = bytearray()

    def __len__(self) -> int:
        """The number of answers."""
        return len(self._records) // _RECORD.size

    def add(self, rows: Sequence[Row]) -> None:
        """Add the answers to one prompt: rows with a prompt, a completion and a label."""
        asked = canonical_json([rows[0]["prompt"], rows[0].get("tools")])
        prompt = digest("question", asked)
        for row in rows:
            answer = digest("answer", prompt + canonical_json(row["completion"]))
            score = row.get("score")
            known = score is not None
            rank = _descending(score or 0.0)
            self._records += _RECORD.pack(answer, not known, rank, row["label"], prompt)

    def ordered(self) -> Ordered:
        """Each answer once, none with both labels, and no prompt again before all the others.

        >>> rows = [{"prompt": "Q", "completion": "A", "label": label} for label in (True, False)]
        >>> answers = UnpairedAnswers()
        >>> answers.add([*rows, {**rows[0], "completion": "B"}])
        >>> answers.ordered()
        Ordered(positions=array('Q', [2]), omitted=Counter({'label_contradicted': 2}))
        """
        kept, omitted = self._distinct()
        return Ordered(self._interleaved(kept), omitted)

    def _distinct(self) -> tuple["array[int]", Counter[str]]:
        """The positions of distinct answers; of equal answers, the one with the highest score."""
        ranks = [self._record(at)[:_RANK] + _packed(at) for at in range(len(self))]
        ranks.sort()
        kept = array("Q")
        omitted: Counter[str] = Counter()
        for _, same in groupby(ranks, key=_head):
            positions = list(map(_number, same))
            if len({self._record(at)[_RANK] for at in positions}) > 1:
                omitted["label_contradicted"] += len(positions)
                continue
            kept.append(positions[0])
            if len(positions) > 1:
                omitted["answer_repeated"] += len(positions) - 1
        return kept, omitted

    def _interleaved(self, kept: Sequence[int]) -> "array[int]":
        """The first answer to each prompt, then the second one, and so on."""
        rounds = self._rounds(kept)
        places = [
            b"".join((_packed(number), _packed(_drawn(prompt)), prompt, _packed(at)))
            for number, at, prompt in zip(rounds, kept, map(self._prompt, kept), strict=True)
        ]
        places.sort()
        return array("Q", map(_number, places))

    def _rounds(self, kept: Sequence[int]) -> "array[int]":
        """For each answer, how many answers to the same prompt come before it."""
        rounds = array("Q", bytes(_NUMBER * len(kept)))
        ranks = [self._prompt(at) + _packed(rank) for rank, at in enumerate(kept)]
        ranks.sort()
        for _, same in groupby(ranks, key=_head):
            for number, rank in enumerate(map(_number, same)):
                rounds[rank] = number
        return rounds

    def _record(self, position: int) -> bytes:
        return bytes(self._records[position * _RECORD.size : (position + 1) * _RECORD.size])

    def _prompt(self, position: int) -> bytes:
        return self._record(position)[-_DIGEST:]


def _descending(score: float) -> int:
    """A number that sorts scores in descending order.

    >>> scores = [-1.5, 0.25, 0.0, 3.0]
    >>> sorted(scores, key=_descending)
    [3.0, 0.25, 0.0, -1.5]
    """
    (bits,) = _BITS.unpack(_DOUBLE.pack(-score))
    return int(bits ^ _ALL_BITS if bits & _SIGN else bits | _SIGN)


def _head(record: bytes) -> bytes:
    """The digest at the start of a record."""
    return record[:_DIGEST]


def _drawn(prompt: bytes) -> int:
    return draw(0, "unpaired", prompt)


def _packed(number: int) -> bytes:
    return number.to_bytes(_NUMBER)


def _number(record: bytes) -> int:
    """The number at the end of a record."""
    return int.from_bytes(record[-_NUMBER:])
