"""The pairs on the page: some drawn by seed, and the most extreme ones, cut to excerpts.

Which pairs are kept depends on the seed and on their content, never on their place in the input.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefpairs.analysis.win_matrix import rivals
from prefpairs.model.identity import digest, draw
from prefpairs.model.json_codec import encode
from prefpairs.model.message import Message, Text, flat_text
from prefpairs.model.pair import Pair, without_origins
from prefpairs.stages.base import IndexedPair

_MOST_PIECES = 200
"""The number of pieces of a text that are shown: its first and last ones."""

_MOST_META = 20
_MOST_TOOLS = 50
_LONGEST_META = 400
_LONGEST_NAME = 200
_HEAD = 0.75
"""The share of a cut text that is taken from its beginning; the rest is from its end."""


class Piece(NamedTuple):
    """A part of a text: the text or reasoning of a message, a tool call, or its result."""

    role: str
    kind: str
    text: str
    name: str = ""
    cut: tuple[int, int] | None = None
    """Where characters were omitted, and how many."""


class PairExcerpt(NamedTuple):
    """A pair as the page shows it."""

    facts: dict[str, Any]
    texts: tuple[list[Piece], list[Piece], list[Piece]]
    """The pieces of the prompt, the chosen and the rejected answer."""


def excerpt_of(pair: Pair, longest: int) -> PairExcerpt:
    """A pair as the page shows it, with each text cut to a number of characters."""
    texts = [pair.prompt, pair.chosen, pair.rejected]
    facts = {
        "id": pair.id,
        "group": _clipped(pair.group, _LONGEST_NAME),
        "scores": [pair.chosen_score, pair.rejected_score],
        "gap": pair.gap,
        "chars": [len(flat_text(text)) for text in texts],
        "origins": [
            _clipped(origin, _LONGEST_NAME) for origin in (pair.chosen_origin, pair.rejected_origin)
        ],
        "indexes": [pair.chosen_index, pair.rejected_index],
        "who": {
            _clipped(of, _LONGEST_NAME): [_clipped(name, _LONGEST_NAME) for name in names]
            for of, *names in rivals(pair)
        },
        "tools": [
            _clipped(_name_of(tool), _LONGEST_NAME) for tool in (pair.tools or [])[:_MOST_TOOLS]
        ],
        "meta": list(_meta(pair)),
    }
    prompt, chosen, rejected = (_cut_together(list(pieces_of(text)), longest) for text in texts)
    return PairExcerpt(facts, (prompt, chosen, rejected))


def pieces_of(text: Text) -> Iterator[Piece]:
    """The pieces of a text, in reading order.

    >>> [piece.kind for piece in pieces_of([{"role": "user", "content": "Hi"}])]
    ['text']
    """
    if isinstance(text, str):
        yield Piece("", "text", text)
        return
    for message in text:
        yield from _pieces_of_message(message)


def _pieces_of_message(message: Message) -> Iterator[Piece]:
    role, name = message["role"], message.get("name") or ""
    if thoughts := message.get("reasoning_content"):
        yield Piece(role, "thinking", thoughts)
    content, calls = message["content"], message.get("tool_calls") or []
    kind = "result" if role == "tool" else "text"
    if isinstance(content, str):
        if content or not (calls or thoughts):
            yield Piece(role, kind, content, name)
    else:
        for part in content:
            yield _piece_of_part(part, role, kind, name)
    for call in calls:
        function = call["function"]
        yield Piece(role, "call", function["arguments"], function["name"])


def _piece_of_part(part: dict[str, Any], role: str, kind: str, name: str) -> Piece:
    """A part that is not text, such as an image, is shown as JSON."""
    if part["type"] == "text":
        return Piece(role, kind, part["text"], name)
    return Piece(role, "part", encode(part).decode(), str(part["type"]))


def _cut_together(pieces: list[Piece], longest: int) -> list[Piece]:
    """The pieces of a text, reduced in number and length."""
    if len(pieces) > _MOST_PIECES:
        half = _MOST_PIECES // 2
        between = pieces[half : len(pieces) - half]
        number, size = len(between), sum(len(piece.text) for piece in between)
        gap = Piece("", "gap", "", f"{number:,} parts", (0, size))
        pieces = [*pieces[:half], gap, *pieces[-half:]]
    most = fair_limit([len(piece.text) for piece in pieces], longest)
    return [cut(piece, most) for piece in pieces]


def fair_limit(lengths: Iterable[int], room: int) -> int:
    """The length to which texts must be cut to fit together; shorter ones stay whole.

    >>> fair_limit([10, 100, 1000], 210)
    100
    """
    ordered = sorted(lengths)
    for place, length in enumerate(ordered):
        left = len(ordered) - place
        if length * left > room:
            return room // left
        room -= length
    return ordered[-1] if ordered else 0


def cut(piece: Piece, most: int) -> Piece:
    """A piece cut to at most this many characters, keeping its beginning and its end.

    >>> cut(Piece("", "text", "abcdefghij"), 4)
    Piece(role='', kind='text', text='abcj', name='', cut=(3, 6))
    """
    if len(piece.text) <= most:
        return piece
    head = most - int(most * (1 - _HEAD))
    tail = most - head
    size = len(piece.text)
    before = piece.cut[1] if piece.cut is not None else 0
    text = piece.text[:head] + piece.text[size - tail :]
    return piece._replace(text=text, cut=(head, size - most + before))


def row_of(given: PairExcerpt, most: int) -> dict[str, Any]:
    """The pair as data for the page's script; pieces are cut to a number of characters."""
    prompt, chosen, rejected = (
        [_as_data(cut(piece, most)) for piece in pieces] for pieces in given.texts
    )
    return {**given.facts, "prompt": prompt, "chosen": chosen, "rejected": rejected}


def _as_data(piece: Piece) -> dict[str, Any]:
    facts = {"role": piece.role, "kind": piece.kind, "name": _clipped(piece.name, _LONGEST_NAME)}
    cut_at = {} if piece.cut is None else {"cut": piece.cut}
    return {**{key: value for key, value in facts.items() if value}, "text": piece.text, **cut_at}


def _meta(pair: Pair) -> Iterator[Sequence[str]]:
    for key, value in list((pair.meta or {}).items())[:_MOST_META]:
        text = value if isinstance(value, str) else encode(value).decode()
        yield _clipped(key, _LONGEST_NAME), _clipped(text, _LONGEST_META)


def _name_of(tool: dict[str, Any]) -> str:
    """The name of a tool, in either form of its schema."""
    inner = tool.get("function", tool)
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else "?"


def _clipped(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


_EXTREMES = 20
"""The number of pairs of each extreme, in addition to those that were drawn."""

_LARGEST = 16_000_000
"""The maximum size of the pairs of a page, in bytes."""

_ROOM = 14_000_000
"""The characters that their texts have at first; fewer if the characters take several bytes."""

_HELD = 48_000_000
"""The maximum number of characters held until it is known which pairs stay."""

_LONGEST = 20_000
_SIDES = 3


class _Place(NamedTuple):
    """A pair by its rank; copies of a pair, whose draws are equal, differ in the other fields."""

    rank: tuple[float, int]
    copy: bytes
    origins: tuple[str, str]
    number: int
    excerpt: PairExcerpt


@dataclass(slots=True)
class _LowestRanks:
    """The pairs with the lowest ranks, up to a number of them."""

    most: int
    places: list[_Place] = field(default_factory=list)

    def wants(self, rank: tuple[float, int]) -> bool:
        """Whether a pair of this rank is, or may be, among them."""
        return len(self.places) < self.most or bool(self.places and rank <= self.places[-1].rank)

    def add(self, place: _Place) -> None:
        """Add a pair; the one with the highest rank is dropped if there are too many."""
        insort(self.places, place, key=lambda held: held[:4])
        del self.places[self.most :]


class Gallery:
    """Holds the pairs that the page shows, of those that are added one by one."""

    def __init__(self, pairs: int, seed: int) -> None:
        self.seed = seed
        self._most = pairs
        extremes = min(_EXTREMES, pairs)
        self._drawn = _LowestRanks(pairs)
        self._narrow = _LowestRanks(extremes)
        self._uneven = _LowestRanks(extremes)
        self._longest = min(_LONGEST, _HELD // (_SIDES * (pairs + 2 * extremes) or 1))
        self.number = 0

    def add(self, indexed: IndexedPair, pair: Pair) -> None:
        """Hold a pair if it is one of those that are shown."""
        self.number += 1
        if not self._most:
            return
        chance = draw(self.seed, "report", indexed.id)
        ranks = [(self._drawn, (0.0, chance)), (self._uneven, (-unevenness(pair), chance))]
        if pair.gap is not None:
            ranks.append((self._narrow, (pair.gap, chance)))
        wanted = [(held, rank) for held, rank in ranks if held.wants(rank)]
        if wanted:
            copy = digest("copy", without_origins(pair))
            origins = pair.chosen_origin, pair.rejected_origin
            excerpt = excerpt_of(pair, self._longest)
            for held, rank in wanted:
                held.add(_Place(rank, copy, origins, indexed.number, excerpt))

    @property
    def drawn(self) -> int:
        """The number of pairs that were drawn."""
        return len(self._drawn.places)

    def data(self) -> bytes:
        """The pairs as JSON, in the order of the input; texts are cut until it is small enough."""
        room = _ROOM
        while len(data := encode(self._rows(room))) > _LARGEST and room > _SIDES * self._most:
            room = int(room * 0.9 * _LARGEST / len(data))
        return data

    def _rows(self, room: int) -> list[dict[str, Any]]:
        """The pairs, each with why it is held; their texts fit into `room` together."""
        held: dict[int, tuple[PairExcerpt, list[str]]] = {}
        for why, lowest in self._reasons():
            for place in lowest.places:
                held.setdefault(place.number, (place.excerpt, []))[1].append(why)
        texts = [text for excerpt, _ in held.values() for text in excerpt.texts]
        most = fair_limit((len(piece.text) for text in texts for piece in text), room)
        return [{**row_of(excerpt, most), "why": why} for _, (excerpt, why) in sorted(held.items())]

    def _reasons(self) -> list[tuple[str, _LowestRanks]]:
        """The reasons to hold pairs; extremes count only if not all pairs are held anyway."""
        drawn = [("drawn", self._drawn)]
        if self.number <= self._most:
            return drawn
        return [*drawn, ("uneven", self._uneven), ("narrow", self._narrow)]


def unevenness(pair: Pair) -> float:
    """The ratio of the longer answer's length to the shorter one's."""
    longer, shorter = len(flat_text(pair.chosen)), len(flat_text(pair.rejected))
    if longer < shorter:
        longer, shorter = shorter, longer
    return longer / max(1, shorter)
