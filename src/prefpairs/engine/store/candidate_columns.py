"""The columns of candidates: about 50 bytes for each, and never its text.

Candidates are numbered in order of arrival, and groups in order of their first candidate. A group
is a key made of the group's name, its prompt and its tools.

There are three ways in: `add_row` takes the candidates of one row, `extend` takes rows of one
candidate each, and `join` takes blocks of columns that were filled elsewhere.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import sub
from typing import Any, NamedTuple

from prefpairs.engine.native import digest_table, native_core
from prefpairs.engine.store.group_marks import MARK, GroupMarks
from prefpairs.fields.make_candidate import TASK
from prefpairs.fields.reference import mark_of
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import (
    DIGEST,
    NO_TOOLS,
    digest,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
)
from prefpairs.sources.base import IndexedRow

NO_INDEX = -(2**63)
_BLOCK = 1 << 12
"""Candidates in a block. Sending whole columns took 13 MB more, of 131 MB for a million candidates
and two workers."""

QUESTION = 3 * DIGEST
"""The bytes of the digests of a group's name, its prompt and its tools."""

_NO_DIGEST = bytes(DIGEST)

Question = tuple[bytes, bytes, bytes]
"""The digests of a group's name, its prompt and its tools."""


class Block(NamedTuple):
    """Consecutive candidates of other columns, each column as the bytes of its array.

    `group_keys` and `questions` describe the groups that no earlier block of the same sender has.
    """

    groups: bytes
    group_keys: bytes
    questions: bytes
    scores: bytes
    digests: bytes
    indexes: bytes
    offsets: bytes
    lengths: bytes
    slots: bytes
    lines: bytes
    references: bytes = b""
    """The marks of the references in those groups; nothing if they have none."""
    task_marks: bytes = b""
    """The same for the tasks that the groups do not name."""
    tasks: bytes = b""
    """The digests of the tasks of the first candidates; nothing if none has one."""


def _grouped_alike(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates with the same prompt are certainly of one group."""
    return one.group == other.group and one.tools is other.tools


def group_key(candidate: Candidate) -> bytes:
    """What candidates must share to compete."""
    prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
    return digest_group(candidate.group, prompt, tools)


class CandidateColumns:
    """All candidates of a run, in compact arrays."""

    def __init__(self) -> None:
        self.scores = array("d")
        self._digests = bytearray()
        self._indexes = array("q")
        self._offsets = array("Q")
        self._lengths = array("I")
        self._slots = array("I")
        """Ends with the last candidate that is not the first of its record; most are."""
        self._lines = array("I")
        self._group_of = array("I")
        self._tasks = bytearray()
        """The digests of tasks that groups do not name, up to the last candidate that has one."""
        self.keys = digest_table()
        """The key of each group."""
        self._questions = bytearray()
        self.references, self.task_marks = GroupMarks(), GroupMarks()
        self._last_question: tuple[int, Question] = -1, (b"", b"", b"")
        self._last_grouped: tuple[Candidate | None, int] = (None, 0)
        self._files: list[int] = []
        self._file_starts: list[int] = []

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.scores)

    # Ways in -----------------------------------------------------------------------------------

    def begin_file(self, file: int) -> None:
        """From now on candidates come from this record file."""
        if not self._files or self._files[-1] != file:
            self._files.append(file)
            self._file_starts.append(len(self))

    def add_row(self, candidates: Sequence[Candidate], offset: int, length: int, line: int) -> None:
        """Add all candidates of a row."""
        if len(candidates) > 1:
            self._pad_slots(len(self))
            self._slots.extend(range(len(candidates)))
        groups = list(map(self.group_of, candidates))
        for number, candidate in enumerate(candidates, len(self)):
            task = candidate.meta and candidate.meta.get(TASK)
            if task:  # only candidates whose group does not name their task have one
                own = digest("task", str(task).encode())
                self._add_task(number, groups[number - len(self)], own)
        self._group_of.extend(groups)
        self.scores.extend([candidate.score for candidate in candidates])
        self._digests += b"".join([digest_response(one.response) for one in candidates])
        self._indexes.extend([NO_INDEX if one.index is None else one.index for one in candidates])
        self._offsets.extend(repeat(offset, len(candidates)))
        self._lengths.extend(repeat(length, len(candidates)))
        self._lines.extend(repeat(line, len(candidates)))

    def _pad_slots(self, number: int) -> None:
        """Say that the candidates before this number are the first of their records."""
        self._slots.extend(repeat(0, number - len(self._slots)))

    def _add_task(self, number: int, group: int, task: bytes) -> None:
        self._pad_tasks(number)
        self._tasks += task
        self.task_marks.add(group, int.from_bytes(task[:MARK]))

    def _pad_tasks(self, number: int) -> None:
        """Say that the candidates before this number have no task but that of their group."""
        self._tasks += bytes(DIGEST * number - len(self._tasks))

    def group_of(self, candidate: Candidate) -> int:
        """The number of a candidate's group, which is added if it is new, with its reference.

        The candidates of a row often share prompt and tools; these are digested only once.
        """
        last, group = self._last_grouped
        if (
            last is None
            or candidate.prompt is not last.prompt
            or not _grouped_alike(candidate, last)
        ):
            prompt, tools = digest_prompt(candidate.prompt), digest_tools(candidate.tools)
            key = digest_group(candidate.group, prompt, tools)
            group = self.keys.number_of(key)
            if QUESTION * group == len(self._questions):  # the group is new
                name = digest("name", candidate.group.encode())
                self._questions += name + prompt + (tools or _NO_DIGEST)
            self._last_grouped = candidate, group
        if candidate.reference is not None:
            self.references.add(group, mark_of(candidate.reference))
        return group

    def extend(
        self,
        rows: Sequence[IndexedRow],
        groups: Mapping[bytes, int],
        offsets: Sequence[int],
        lines: Iterable[int],
    ) -> None:
        """Add rows with one candidate each; `groups` has the group of each of their questions.

        `offsets` has one element more than there are rows: the offset of what follows them.
        """
        questions, scores, indexes, digests, _ = zip(*rows, strict=True)
        self._group_of.extend(map(groups.__getitem__, questions))
        self.scores.extend(scores)
        self._indexes.extend([NO_INDEX if index is None else index for index in indexes])
        self._digests += b"".join(digests)
        self._offsets.extend(offsets[:-1])
        self._lengths.extend(map(sub, offsets[1:], offsets))
        self._lines.extend(lines)

    def join(self, blocks: Iterator[Block], lines_before: int) -> None:
        """Add candidates of the current file from blocks; their lines follow this many others.

        If the blocks end with an error, the columns are left as they were before.
        """
        groups, candidates, slots = self.groups, len(self), len(self._slots)
        own_groups = array("I")
        try:
            for block in blocks:
                self.add_block(block, own_groups, lines_before)
        except Exception:
            self._truncate(groups, candidates, slots)
            raise

    def add_block(self, block: Block, own_groups: "array[int]", lines_before: int) -> None:
        """Add candidates of the current file from a block.

        `own_groups` maps each group of the sender to its number here; new ones are added to it.
        """
        known, questions = self.groups, block.questions
        groups = self.keys.numbers_of(block.group_keys)
        if self.groups == known + len(groups):  # all are new
            self._questions += questions
        else:
            for place, group in enumerate(groups):
                if group == known:
                    known += 1
                    self._questions += questions[QUESTION * place : QUESTION * (place + 1)]
        self.references.join(groups, block.references)
        self.task_marks.join(groups, block.task_marks)
        own_groups.extend(groups)
        self._join_candidates(block, own_groups, lines_before)

    def _join_candidates(self, block: Block, groups: "array[int]", lines_before: int) -> None:
        if block.slots:
            self._pad_slots(len(self))
            self._slots.frombytes(block.slots)
        if block.tasks:
            self._pad_tasks(len(self))
            self._tasks += block.tasks
        core = native_core()
        if core is not None:
            own, lines = core.renumbered(block.groups, block.lines, groups, lines_before)
            self._group_of.frombytes(own)
            self._lines.frombytes(lines)
        else:
            self._group_of.extend(map(groups.__getitem__, array("I", block.groups)))
            self._lines.extend(map(lines_before.__add__, array("I", block.lines)))
        self.scores.frombytes(block.scores)
        self._digests += block.digests
        self._indexes.frombytes(block.indexes)
        self._offsets.frombytes(block.offsets)
        self._lengths.frombytes(block.lengths)

    def _truncate(self, groups: int, candidates: int, slots: int) -> None:
        """Remove everything after this many groups, candidates and slots."""
        self.keys.truncate(groups)
        del self._questions[QUESTION * groups :]
        self.references.truncate(groups)
        self.task_marks.truncate(groups)
        del self._tasks[DIGEST * candidates :]
        del self._digests[DIGEST * candidates :]
        del self._slots[slots:]
        for column in (self.scores, self._indexes, self._offsets):
            del column[candidates:]
        for column in (self._lengths, self._lines, self._group_of):
            del column[candidates:]

    @property
    def number_of_blocks(self) -> int:
        """How many blocks there are."""
        return -(-len(self) // _BLOCK)

    def blocks(self) -> Iterator[Block]:
        """All candidates in blocks, for other columns to join."""
        keys, sent = self.keys, 0
        for start in range(0, len(self), _BLOCK):
            end = start + _BLOCK
            groups = self._group_of[start:end]
            known = max(sent, max(groups) + 1)
            yield Block(
                groups.tobytes(),
                b"".join(map(keys.__getitem__, range(sent, known))),
                bytes(self._questions[QUESTION * sent : QUESTION * known]),
                self.scores[start:end].tobytes(),
                bytes(self._digests[DIGEST * start : DIGEST * end]),
                self._indexes[start:end].tobytes(),
                self._offsets[start:end].tobytes(),
                self._lengths[start:end].tobytes(),
                self._slots[start:end].tobytes(),
                self._lines[start:end].tobytes(),
                self.references.of(range(sent, known)),
                self.task_marks.of(range(sent, known)),
                bytes(self._tasks[DIGEST * start : DIGEST * end]),
            )
            sent = known

    def by_name(self) -> dict[str, Any]:
        """The columns themselves, for the native core."""
        return {
            "scores": self.scores,
            "digests": self._digests,
            "offsets": self._offsets,
            "lengths": self._lengths,
            "slots": self._slots or None,
            "lines": self._lines,
            "groups": self._group_of,
            "indexes": self._indexes,
            "by_group": self._by_group,
            "questions": self._questions,
            "tasks": self._tasks,
            "files": self._files,
            "file_starts": self._file_starts,
        }

    # Groups ------------------------------------------------------------------------------------

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.keys)

    def group_number(self, number: int) -> int:
        """The group of a candidate."""
        return self._group_of[number]

    def members(self, group: int) -> Sequence[int]:
        """The candidates of a group, in order of arrival. Nothing may be added after this."""
        numbers, starts = self._by_group
        return numbers[starts[group] : starts[group + 1]]

    @cached_property
    def _by_group(self) -> "tuple[array[int], array[int]]":
        """All candidates, group by group, and where each group starts."""
        starts = array("I", [0]) * (len(self.keys) + 1)
        numbers = array("I", [0]) * len(self)
        core = native_core()
        if core is not None and len(self):
            core.by_group(self._group_of, numbers, starts)
            return numbers, starts
        for group in self._group_of:
            starts[group] += 1
        for group, end in enumerate(accumulate(starts)):
            starts[group] = end
        for number in range(len(self) - 1, -1, -1):
            group = self._group_of[number]
            starts[group] -= 1
            numbers[starts[group]] = number
        return numbers, starts

    def ranked(self, group: int) -> tuple[list[int], bool]:
        """The candidates of a group in the order of `rank`, and whether no two are tied in it.

        None are tied if each has an index of its own, or none has an index and each has an
        answer of its own, as in nearly all groups. No two of these are copies of one rollout.
        """
        members = list(self.members(group))
        marks: Sequence[Any] = list(map(self._indexes.__getitem__, members))
        without = marks.count(NO_INDEX)
        if without == len(members):
            marks = list(map(self.digest, members))
        if 0 < without < len(members) or len(set(marks)) < len(members):
            return sorted(members, key=self.rank), False
        # The same order as by `rank`, faster: two stable sorts by one column each, the last first.
        members.sort(key=self.digest if without else self._indexes.__getitem__)
        members.sort(key=self.scores.__getitem__, reverse=True)
        return members, True

    def most_pairs(self) -> int:
        """An upper bound of the number of pairs in all groups together."""
        _, starts = self._by_group
        sizes = Counter(map(sub, starts[1:], starts))
        return sum(groups * (size * (size - 1) // 2) for size, groups in sizes.items())

    def constant_groups(self) -> int:
        """How many groups hold one answer several times, with different scores."""
        first: dict[int, int] = {}
        rescored, varied = set(), set()
        for number, group in enumerate(self._group_of):
            other = first.setdefault(group, number)
            if other == number or group in varied:
                continue
            if self.digest(number) != self.digest(other):
                varied.add(group)
            elif self.scores[number] != self.scores[other]:
                rescored.add(group)
        return len(rescored - varied)

    @property
    def groups_of_several_tasks(self) -> int:
        """How many groups have answers to several tasks."""
        return sum(1 for _ in self.task_marks.several())

    def may_have_pairs(self, group: int) -> bool:
        """Whether a group has different answers, and different scores."""
        members = self.members(group)
        scores, answers = set(map(self.scores.__getitem__, members)), set(map(self.digest, members))
        return min(len(scores), len(answers)) > 1

    # Candidates --------------------------------------------------------------------------------

    def rank(self, number: int) -> tuple[float, bool, int, bytes]:
        """How candidates are ranked and ties broken: by score, then index, then content.

        As a sort key, best first. The order of arrival is not in it. For candidates that are equal
        in all three, see RankedGroup.
        """
        index = self._indexes[number]
        return -self.scores[number], index == NO_INDEX, index, self.digest(number)

    def digest(self, number: int) -> bytes:
        """The digest of a candidate's response."""
        return bytes(self._digests[DIGEST * number : DIGEST * (number + 1)])

    def rollout(self, number: int) -> tuple[int, int, bytes] | None:
        """What two records of one rollout share: task, index and content.

        Without an index from the source two rollouts cannot be distinguished.
        """
        index = self._indexes[number]
        if index == NO_INDEX:
            return None
        return int.from_bytes(self.task(number)), index, self.digest(number)

    def task(self, number: int) -> bytes:
        """The digest of a candidate's task; zeros if its group names it."""
        return bytes(self._tasks[DIGEST * number : DIGEST * (number + 1)]) or _NO_DIGEST

    def question(self, number: int) -> Question:
        """The digests of the name of a candidate's group, its prompt and its tools."""
        group = self._group_of[number]
        if group != self._last_question[0]:  # the pairs of a group are made one after the other
            start = QUESTION * group
            question = bytes(self._questions[start : start + QUESTION])
            name, prompt, tools = question[:16], question[16:32], question[32:]
            found = name, prompt, NO_TOOLS if tools == _NO_DIGEST else tools
            self._last_question = group, found
        return self._last_question[1]

    def same_question(self, one: int, other: int) -> bool:
        """Whether two candidates answer the same prompt with the same tools."""
        if self._group_of[one] == self._group_of[other]:
            return True
        return self.question(one)[1:] == self.question(other)[1:]

    def line(self, number: int) -> int:
        """The line of a candidate."""
        return self._lines[number]

    def place(self, number: int) -> tuple[int, int, int, int, int]:
        """Where to fetch a candidate: record file, offset, length, slot in the record, and line.

        A plain tuple: building a named one would take as long as the fetch itself.
        """
        file = self._files[bisect_right(self._file_starts, number) - 1]
        offset, length = self._offsets[number], self._lengths[number]
        slot = self._slots[number] if number < len(self._slots) else 0
        return file, offset, length, slot, self._lines[number]
