"""What is remembered of each candidate: some 60 bytes, and never its text.

Candidates stand in arrays by number, in order of arrival. A group is a folded key, its prompt
and its tools.
"""

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import sub
from typing import Any, NamedTuple

from prefpairs.errors import InputChanged
from prefpairs.fields.answer import TASK
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import (
    NO_TOOLS,
    digest,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
)
from prefpairs.sources.base import Scanned

_NO_INDEX = -(2**63)
_DIGEST = 16
_MOST_CONFIRMED = 256
_PIECE = 1 << 14
"""So much is passed on at once. Whole columns stood there several times for a moment: at a million
candidates with two workers that took 13 MB of 131."""

_NO_DIGEST = bytes(_DIGEST)


class Place(NamedTuple):
    """Where a candidate can be fetched again, and what it is called."""

    shelf: int
    offset: int
    length: int
    slot: int
    number: int


def _asked_alike(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates with one prompt have one group, too."""
    return one.group == other.group and one.tools is other.tools


class Index:
    """All candidates of a run, in compact arrays."""

    def __init__(self) -> None:
        self.scores = array("d")
        self._digests = bytearray()
        self._indexes = array("q")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._slots = array("I")
        self._numbers = array("I")
        self._group_of = array("I")
        self._task_of: dict[int, int] = {}
        self._groups: dict[bytes, int] = {}
        self._asked: dict[bytes, int] = {}
        self._questions = bytearray()
        self._asked_last = -1, (b"", b"", b"")
        self._last: tuple[Candidate | None, int] = (None, 0)
        self.confirmed: set[int] = set()
        """Candidates that were fetched of late, and are asked what they were."""
        self._shelves: list[int] = []
        self._shelf_starts: list[int] = []

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.scores)

    def begin_shelf(self, shelf: int) -> None:
        """From now on candidates come from this shelf."""
        if not self._shelves or self._shelves[-1] != shelf:
            self._shelves.append(shelf)
            self._shelf_starts.append(len(self))

    def add(self, candidate: Candidate, place: Place) -> None:
        """Remember a candidate and where to fetch it."""
        self.begin_shelf(place.shelf)
        if place.slot:
            self._pad_slots(len(self))
            self._slots.append(place.slot)
        self._add([candidate], place.offset, place.length, place.number)

    def add_row(
        self, candidates: Sequence[Candidate], shelf: int, offset: int, length: int, number: int
    ) -> None:
        """Remember all candidates of a row, and where to fetch the row."""
        self.begin_shelf(shelf)
        if len(candidates) > 1:
            self._pad_slots(len(self))
            self._slots.extend(range(len(candidates)))
        self._add(candidates, offset, length, number)

    def _add(self, candidates: Sequence[Candidate], offset: int, length: int, number: int) -> None:
        for place, candidate in enumerate(candidates, len(self)):
            task = candidate.meta and candidate.meta.get(TASK)
            if task:  # of a candidate whose group does not name it
                self._task_of[place] = int.from_bytes(digest("task", str(task).encode()))
        self._group_of.extend(map(self._group, candidates))
        self.scores.extend([candidate.score for candidate in candidates])
        self._digests += b"".join([digest_response(one.response) for one in candidates])
        self._indexes.extend([_NO_INDEX if one.index is None else one.index for one in candidates])
        self._offsets.extend(repeat(offset, len(candidates)))
        self._lengths.extend(repeat(length, len(candidates)))
        self._numbers.extend(repeat(number, len(candidates)))

    def constant_groups(self) -> int:
        """How many groups hold one answer several times, with different scores."""
        first: dict[int, int] = {}
        apart, varied = set(), set()
        for number, group in enumerate(self._group_of):
            other = first.setdefault(group, number)
            if other == number or group in varied:
                continue
            if self.digest(number) != self.digest(other):
                varied.add(group)
            elif self.scores[number] != self.scores[other]:
                apart.add(group)
        return len(apart - varied)

    def _pad_slots(self, number: int) -> None:
        """Say that the candidates before this one stand first in their rows, as most do."""
        self._slots.extend(repeat(0, number - len(self._slots)))

    @property
    def questions(self) -> Collection[bytes]:
        """The questions of which it is known to which group their answers belong."""
        return self._asked.keys()

    def learn(self, question: bytes, candidate: Candidate) -> None:
        """Remember that the answers to a question belong to the group of this one."""
        self._asked[question] = self._group(candidate)

    def add_scanned(
        self, scanned: Sequence[Scanned], offsets: Sequence[int], numbers: Sequence[int]
    ) -> None:
        """Remember the candidates of rows with one each, whose questions are known.

        There is one offset more than there are rows: that of what comes after them.
        """
        questions, scores, indexes, responses = zip(*scanned, strict=True)
        self._group_of.extend(map(self._asked.__getitem__, questions))
        self.scores.extend(scores)
        self._indexes.extend([_NO_INDEX if index is None else index for index in indexes])
        self._digests += b"".join(responses)
        self._offsets.extend(offsets[:-1])
        self._lengths.extend(map(sub, offsets[1:], offsets))
        self._numbers.extend(numbers)

    def columns(self) -> Iterator[bytes | bytearray]:
        """All that is remembered, piece by piece, for another index to join.

        First groups, then candidates; a piece with nothing in it ends either.
        """
        keys = self.group_keys()
        for start in range(0, len(keys), _PIECE):
            end = start + _PIECE
            yield b"".join(keys[start:end])
            yield self._questions[3 * _DIGEST * start : 3 * _DIGEST * end]
        yield b""
        for start in range(0, len(self), _PIECE):
            end = start + _PIECE
            yield self._digests[_DIGEST * start : _DIGEST * end]
            for column in self._arrays:
                yield column[start:end].tobytes()
        yield b""

    def join(self, columns: Iterator[bytes], rows: int) -> None:
        """Remember what another index does, of the shelf begun last and behind so many rows.

        All of it, or nothing: where the columns end with an error, this index is as it was.
        """
        groups, candidates, slots = self.groups, len(self), len(self._slots)
        try:
            self._join(columns, rows)
        except Exception:
            self._cut_back(groups, candidates, slots)
            raise

    def _cut_back(self, groups: int, candidates: int, slots: int) -> None:
        """Forget what came behind so many groups and candidates."""
        while len(self._groups) > groups:
            self._groups.popitem()
        del self._questions[3 * _DIGEST * groups :]
        del self._digests[_DIGEST * candidates :]
        for column in self._arrays:
            del column[slots if column is self._slots else candidates :]

    def _join(self, columns: Iterator[bytes], rows: int) -> None:
        groups = self._join_groups(columns)
        while digests := next(columns):
            before = len(self)
            self._digests += digests
            for column in self._arrays:
                theirs = array(column.typecode, next(columns))
                if column is self._group_of:
                    column.extend(map(groups.__getitem__, theirs))
                elif column is self._numbers:
                    column.extend(map(rows.__add__, theirs))
                else:
                    if column is self._slots and theirs:
                        self._pad_slots(before)
                    column.extend(theirs)

    def _join_groups(self, columns: Iterator[bytes]) -> "array[int]":
        """The numbers that the groups of another index have here."""
        numbers = array("I")
        while keys := next(columns):
            questions = next(columns)
            for place in range(len(keys) // _DIGEST):
                key = keys[_DIGEST * place : _DIGEST * (place + 1)]
                group = self._groups.setdefault(key, len(self._groups))
                if 3 * _DIGEST * group == len(self._questions):
                    self._questions += questions[3 * _DIGEST * place : 3 * _DIGEST * (place + 1)]
                numbers.append(group)
        return numbers

    @property
    def _arrays(self) -> "tuple[array[Any], ...]":
        numbers = self._numbers, self._group_of
        return self.scores, self._indexes, self._offsets, self._lengths, self._slots, *numbers

    @staticmethod
    def group_key(candidate: Candidate) -> bytes:
        """What candidates must share to compete."""
        prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
        return digest_group(candidate.group, prompt, tools)

    def _group(self, candidate: Candidate) -> int:
        """The group of a candidate; what it is called and asked is remembered once.

        Those of one row often share all that, and then it is not digested again.
        """
        last, group = self._last
        if last is not None and candidate.prompt is last.prompt and _asked_alike(candidate, last):
            return group
        group = self._group_of_digests(candidate)
        self._last = candidate, group
        return group

    def _group_of_digests(self, candidate: Candidate) -> int:
        prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
        key = digest_group(candidate.group, prompt, tools)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = len(self._groups)
            name = digest("name", candidate.group.encode())
            self._questions += name + prompt + (tools or _NO_DIGEST)
        return group

    def question(self, number: int) -> tuple[bytes, bytes, bytes]:
        """The digests of a candidate's group, prompt and tools."""
        own = self._group_of[number]
        if own != self._asked_last[0]:  # pairs of a group come one after the other
            start = 3 * _DIGEST * own
            question = bytes(self._questions[start : start + 3 * _DIGEST])
            group, prompt, tools = question[:16], question[16:32], question[32:]
            told = group, prompt, NO_TOOLS if tools == _NO_DIGEST else tools
            self._asked_last = own, told
        return self._asked_last[1]

    def same_question(self, one: int, other: int) -> bool:
        """Whether two candidates were asked the same, with the same tools."""
        if self._group_of[one] == self._group_of[other]:
            return True
        return self.question(one)[1:] == self.question(other)[1:]

    def confirm(self, number: int, candidate: Candidate, alike: int) -> None:
        """Raise InputChanged if a candidate, fetched again, is not asked what it was asked.

        Another one that is asked alike answers for both.
        """
        if number not in self.confirmed and alike not in self.confirmed:
            _, prompt, tools = self.question(number)
            if digest_prompt(candidate.prompt) != prompt or digest_tools(candidate.tools) != tools:
                raise InputChanged(candidate.origin.rpartition(":")[0])
        if len(self.confirmed) >= _MOST_CONFIRMED:
            self.confirmed.clear()
        self.confirmed.update((number, alike))

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self._groups)

    def group_keys(self) -> Sequence[bytes]:
        """The folded key of every group, in order of first arrival."""
        return list(self._groups)

    def members(self, group: int) -> Sequence[int]:
        """The candidates of a group, in order of arrival. None may be added any more."""
        numbers, starts = self._by_group
        return numbers[starts[group] : starts[group + 1]]

    @cached_property
    def _by_group(self) -> "tuple[array[int], array[int]]":
        """All candidates, group by group, and where each group begins."""
        self._asked.clear()
        sizes = array("I", bytes(4 * (len(self._groups) + 1)))
        for group in self._group_of:
            sizes[group] += 1
        places = array("I", accumulate(sizes))
        numbers = array("I", bytes(4 * len(self)))
        for number in range(len(self) - 1, -1, -1):
            group = self._group_of[number]
            places[group] -= 1
            numbers[places[group]] = number
        return numbers, places

    def ranked(self, group: int) -> tuple[list[int], bool]:
        """The candidates of a group, best first, and whether something tells each from all others.

        Such groups are the rule: each has an index of its own, or an answer of its own and none
        an index. Nothing more in them has to be compared.
        """
        members = list(self.members(group))
        marks: Sequence[Any] = list(map(self._indexes.__getitem__, members))
        without = marks.count(_NO_INDEX)
        if without == len(members):
            marks = list(map(self.digest, members))
        if 0 < without < len(members) or len(set(marks)) < len(members):
            return sorted(members, key=self.rank), False
        members.sort(key=self.digest if without else self._indexes.__getitem__)
        members.sort(key=self.scores.__getitem__, reverse=True)  # equals stay
        return members, True

    def most_pairs(self) -> int:
        """An upper bound of the pairs that all groups together can give."""
        _, starts = self._by_group
        sizes = map(sub, starts[1:], starts)
        return sum(size * (size - 1) // 2 for size in sizes)

    def digest(self, number: int) -> bytes:
        """The digest of a candidate's response."""
        return bytes(self._digests[_DIGEST * number : _DIGEST * (number + 1)])

    def rollout(self, number: int) -> tuple[int, int, bytes] | None:
        """What makes two candidates of a group one rollout: task, index and content.

        Without an index of the source's own nobody can tell.
        """
        index = self._indexes[number]
        if index == _NO_INDEX:
            return None
        return self._task_of.get(number, 0), index, self.digest(number)

    def rank(self, number: int) -> tuple[float, bool, int, bytes]:
        """What candidates are ordered by, best first: score, index, content; never arrival."""
        index = self._indexes[number]
        return -self.scores[number], index == _NO_INDEX, index, self.digest(number)

    def group_number(self, number: int) -> int:
        """The group of a candidate."""
        return self._group_of[number]

    def place(self, number: int) -> tuple[int, int, int, int, int]:
        """The fields of a candidate's place: a named tuple would take as long as fetching."""
        shelf = self._shelves[bisect_right(self._shelf_starts, number) - 1]
        offset, length = self._offsets[number], self._lengths[number]
        slot = self._slots[number] if number < len(self._slots) else 0
        return shelf, offset, length, slot, self._numbers[number]
