"""Near-duplicate texts: candidates are found by MinHash, then compared word by word."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from prefpairs.model.json_codec import encode
from prefpairs.model.message import Text, flat_text
from prefpairs.optional_libraries import missing_library

LEAST_SIMILARITY = 0.5
"""Below this, nearly all texts of one kind would be candidates for each other."""

_WORDS = 5
_SEED = 42
_MOST_HASHES = 128
_MOST_MISSED = 0.01
_MOST_CACHED = 1 << 18
"""The number of cached shingles, about 30 MB however long the texts are."""

Shingles = frozenset[bytes]
"""The runs of five consecutive words of a text."""


def shingles_of(text: Text) -> Shingles:
    """The runs of five words of a text, ignoring case; a shorter text is a single run.

    System messages are ignored, because different questions often share one. An image is a word.

    >>> sorted(shingles_of("one two three four five Six"))
    [b'one two three four five', b'two three four five six']
    """
    words = words_of(text)
    runs = max(1, len(words) - _WORDS + 1)
    return frozenset(" ".join(words[at : at + _WORDS]).encode() for at in range(runs))


def words_of(text: Text) -> list[str]:
    """The words of a text, as they are compared."""
    if isinstance(text, str):
        return text.casefold().split()
    turns = [message for message in text if message["role"] != "system"]
    images = [
        encode(part).decode()
        for message in turns
        if not isinstance(message["content"], str)
        for part in message["content"]
        if part["type"] != "text"
    ]
    return flat_text(turns).casefold().split() + images


def similarity(ours: Shingles, theirs: Shingles) -> float:
    """The Jaccard similarity of two texts: the share of their runs that they have in common.

    >>> similarity(frozenset({b"a", b"b"}), frozenset({b"b", b"c"}))
    0.3333333333333333
    """
    common = len(ours & theirs)
    return common / (len(ours) + len(theirs) - common)


def bands_and_rows(threshold: float) -> tuple[int, int]:
    """The bands and rows of the table: as many rows as miss at most 1 in 100 at the threshold.

    >>> bands_and_rows(0.9), bands_and_rows(0.8), bands_and_rows(0.5)
    ((11, 10), (16, 6), (35, 3))
    """
    best = (0, 0)
    for rows in range(1, _MOST_HASHES + 1):
        hit = 1.0
        for _ in range(rows):  # products, not powers: they are the same on every platform
            hit *= threshold
        bands, missed = 0, 1.0
        while missed > _MOST_MISSED and (bands + 1) * rows <= _MOST_HASHES:
            missed *= 1.0 - hit
            bands += 1
        if missed <= _MOST_MISSED:
            best = (bands, rows)
    return best


class NearTable:
    """Finds the numbered texts that are similar to a text.

    The table holds hashes only; `shingles` returns the shingles of a number.
    """

    def __init__(self, threshold: float, shingles: Callable[[int], Shingles]) -> None:
        rensa = _rensa()
        bands, rows = bands_and_rows(threshold)
        self._threshold = threshold
        self._hashes = bands * rows
        self._sketch = rensa.RMinHash
        self._table = rensa.RMinHashLSH(threshold, num_perm=self._hashes, num_bands=bands)
        self._shingles = ShingleCache(shingles)

    def near(self, shingles: Shingles) -> Iterator[int]:
        """The numbers of the texts whose similarity is at least the threshold."""
        for number in sorted(self._table.query(self._sketch_of(shingles))):
            if similarity(shingles, self._shingles(number)) >= self._threshold:
                yield number

    def add(self, number: int, shingles: Shingles) -> None:
        """Add a text."""
        self._table.insert(number, self._sketch_of(shingles))

    def _sketch_of(self, shingles: Shingles) -> Any:
        sketch = self._sketch(num_perm=self._hashes, seed=_SEED)
        sketch.update(shingles)
        return sketch


class ShingleCache:
    """A cache of the most recently used shingles."""

    def __init__(self, shingles: Callable[[int], Shingles]) -> None:
        self._of = shingles
        self._known: OrderedDict[int, Shingles] = OrderedDict()
        self._held = 0

    def __call__(self, number: int) -> Shingles:
        """The shingles of a number."""
        known = self._known.pop(number, None)
        found = self._of(number) if known is None else known
        self._held += len(found) if known is None else 0
        self._known[number] = found
        while self._held > _MOST_CACHED and len(self._known) > 1:
            self._held -= len(self._known.popitem(last=False)[1])
        return found


def _rensa() -> Any:
    try:
        import rensa
    except ImportError:
        raise missing_library("--near", "near") from None
    return rensa
