"""In which order single answers are written, and which of them are not."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from xxhash import xxh3_128_digest

from prefpairs.records.identity import draw
from prefpairs.records.wire import encode_sorted
from prefpairs.targets.protocol import Row


class Single(NamedTuple):
    """One answer by itself: the digests of its prompt and of both, its label and its score."""

    prompt: bytes
    answer: bytes
    label: bool
    score: float | None = None


def single_of(row: Row) -> Single:
    """What is known of a row with a prompt, a completion and a label."""
    prompt = encode_sorted([row["prompt"], row.get("tools")])
    answer = xxh3_128_digest(prompt + encode_sorted(row["completion"]))
    return Single(xxh3_128_digest(prompt), answer, row["label"], row.get("score"))


class Ordered(NamedTuple):
    """The positions of answers that are written, in order, and how many are not, by reason."""

    positions: list[int]
    left_out: Counter[str]


def in_turn(singles: Sequence[Single]) -> Ordered:
    """Each answer once, none with two labels, and a prompt again only after all the others.

    >>> a, b = (Single(b"p", letter, True) for letter in (b"a", b"b"))
    >>> in_turn([a, b, Single(b"q", b"d", False), b._replace(label=False), a]).left_out
    Counter({'label_contradicted': 2, 'answer_repeated': 1})
    """
    labels: defaultdict[bytes, set[bool]] = defaultdict(set)
    for single in singles:
        labels[single.answer].add(single.label)
    left_out: Counter[str] = Counter()
    seen: set[bytes] = set()
    rounds: Counter[bytes] = Counter()
    places: list[tuple[int, int, bytes, int]] = []
    by_identity = sorted(range(len(singles)), key=lambda at: _rank(singles[at]))
    for position in by_identity:
        single = singles[position]
        if len(labels[single.answer]) > 1:
            left_out["label_contradicted"] += 1
        elif single.answer in seen:
            left_out["answer_repeated"] += 1
        else:
            seen.add(single.answer)
            turn = rounds[single.prompt]
            rounds[single.prompt] += 1
            places.append((turn, draw(0, "unpaired", single.prompt), single.prompt, position))
    return Ordered([place[-1] for place in sorted(places)], left_out)


def _rank(single: Single) -> tuple[bytes, bool, float]:
    """Of the same answer with several scores the highest one comes first."""
    known = single.score is not None
    return single.answer, not known, -(single.score or 0.0)
