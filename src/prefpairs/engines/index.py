"""What is remembered of each candidate: some 60 bytes, and never its text.

Candidates of a group are chained through `_next`, so that nothing has to be sorted or copied
while reading; a group is a folded key, its prompt and its tools.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from prefpairs.records.candidate import Candidate
from prefpairs.records.identity import (
    NO_TOOLS,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
)
from prefpairs.sources.answer import TASK

_NO_INDEX = -(2**63)
_END = 2**32 - 1
_DIGEST = 16
_NO_DIGEST = bytes(_DIGEST)


def _task(candidate: Candidate) -> int:
    """The task of a candidate whose group does not name it, as a number."""
    task = candidate.meta and candidate.meta.get(TASK)
    return xxh3_64_intdigest(str(task).encode()) if task else 0


class Place(NamedTuple):
    """Where a candidate can be fetched again, and what it is called."""

    shelf: int
    offset: int
    length: int
    slot: int
    number: int


class Index:
    """All candidates of a run, in compact arrays, by number in order of arrival."""

    def __init__(self, *, with_questions: bool = False) -> None:
        self._with_questions = with_questions
        self._questions = bytearray()
        self.scores = array("d")
        self._digests = bytearray()
        self._indexes = array("q")
        self._tasks = array("Q")
        self._shelves = array("I")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._slots = array("I")
        self._numbers = array("Q")
        self._group_of = array("I")
        self._next = array("I")
        self._groups: dict[bytes, int] = {}
        self._heads = array("I")
        self._tails = array("I")

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.scores)

    def add(self, candidate: Candidate, place: Place) -> None:
        """Remember a candidate and where to fetch it."""
        number = len(self.scores)
        prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
        if self._chain(digest_group(candidate.group, prompt, tools), number):
            self._remember(candidate.group, prompt, tools)
        self.scores.append(candidate.score)
        self._digests += digest_response(candidate.response)
        self._indexes.append(_NO_INDEX if candidate.index is None else candidate.index)
        self._tasks.append(_task(candidate))
        self._shelves.append(place.shelf)
        self._offsets.append(place.offset)
        self._lengths.append(place.length)
        self._slots.append(place.slot)
        self._numbers.append(place.number)

    @staticmethod
    def group_key(candidate: Candidate) -> bytes:
        """What candidates must share to compete."""
        prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
        return digest_group(candidate.group, prompt, tools)

    def _remember(self, name: str, prompt: bytes, tools: bytes) -> None:
        """What a group is called and asked, where pairs have to be known without their texts."""
        if self._with_questions:
            self._questions += xxh3_128_digest(name.encode()) + prompt + (tools or _NO_DIGEST)

    def question(self, number: int) -> tuple[bytes, bytes, bytes]:
        """The digests of a candidate's group, prompt and tools."""
        start = 3 * _DIGEST * self._group_of[number]
        group, prompt, tools = (
            bytes(self._questions[at : at + _DIGEST])
            for at in range(start, start + 3 * _DIGEST, _DIGEST)
        )
        return group, prompt, NO_TOOLS if tools == _NO_DIGEST else tools

    def _chain(self, key: bytes, number: int) -> bool:
        """Add a candidate to its group; true for the first one."""
        group = self._groups.setdefault(key, len(self._groups))
        self._group_of.append(group)
        self._next.append(_END)
        if group == len(self._heads):
            self._heads.append(number)
            self._tails.append(number)
            return True
        self._next[self._tails[group]] = number
        self._tails[group] = number
        return False

    def group_keys(self) -> Sequence[bytes]:
        """The folded key of every group, in order of first arrival."""
        return list(self._groups)

    def members(self, group: int) -> Iterator[int]:
        """The candidates of a group, in order of arrival."""
        number = self._heads[group]
        while number != _END:
            yield number
            number = self._next[number]

    def most_pairs(self) -> int:
        """An upper bound of the pairs that all groups together can give."""
        sizes = array("Q", bytes(8 * len(self._heads)))
        for group in self._group_of:
            sizes[group] += 1
        return sum(size * (size - 1) // 2 for size in sizes)

    def digest(self, number: int) -> bytes:
        """The digest of a candidate's response."""
        return bytes(self._digests[_DIGEST * number : _DIGEST * (number + 1)])

    def rollout(self, number: int) -> tuple[int, int, bytes] | None:
        """What makes two candidates of a group one rollout: task, index and content.

        Without an index of the source's own nobody can tell.
        """
        index = self._indexes[number]
        return None if index == _NO_INDEX else (self._tasks[number], index, self.digest(number))

    def rank(self, number: int) -> tuple[float, bool, int, bytes]:
        """What candidates are ordered by, best first: score, index, content; never arrival."""
        index = self._indexes[number]
        return -self.scores[number], index == _NO_INDEX, index, self.digest(number)

    def group_number(self, number: int) -> int:
        """The group of a candidate."""
        return self._group_of[number]

    def place(self, number: int) -> Place:
        """Where a candidate can be fetched again."""
        return Place(
            self._shelves[number],
            self._offsets[number],
            self._lengths[number],
            self._slots[number],
            self._numbers[number],
        )
