"""The ledgers of a run: what was read, what was kept, and why the rest was dropped; its progress.

Rows: read = used + dropped + bad. Candidates: found = kept + dropped. Pairs, in each stage:
found = kept + dropped. Every loss has a reason. The engine counts; the progress bar looks at it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from prefpairs.errors import BadRecord
from prefpairs.ledger.running_stats import WHAT_IF_GAPS, RunningStats, StatsTotals

FIRST_FEW = 5
_MOST_KINDS = 10
READY = "ready-made"
PAIRING = "pairing"
"""The stage that counts the pairs of groups, if `pair` has bounds."""

Activity = Literal["reading", "pairing", "comparing", "writing", "hashing"]
"""What a run may be doing."""


class Step(NamedTuple):
    """What a run is doing, and how much of it is done. The total may be unknown."""

    activity: Activity
    done: int
    total: int | None
    unit: str


class Progress:
    """The steps of a run. The first one is always to read its inputs."""

    def __init__(self) -> None:
        self.own_bytes = 0
        """The bytes this process has read in this step; of compressed files, compressed bytes."""
        self._current_step: Callable[[], Step] | None = None
        self._worker_bytes: Sequence[int] = ()

    def add_bytes(self, count: int) -> None:
        """Count bytes that were read. Files call it once for each large block."""
        self.own_bytes += count

    def watch_workers(self, worker_bytes: Sequence[int]) -> None:
        """Count what worker processes read, too; they write it into shared memory."""
        self._worker_bytes = worker_bytes

    def workers_ended(self) -> None:
        """Add the bytes of the workers to our own, since their memory goes away."""
        counted, self._worker_bytes = sum(self._worker_bytes), ()
        self.own_bytes += counted

    @property
    def bytes_read(self) -> int:
        """The bytes that all processes have read in this step."""
        return self.own_bytes + sum(self._worker_bytes)

    def begin_step(self, current_step: Callable[[], Step]) -> None:
        """Begin another step. `current_step` may be called at any time."""
        self.own_bytes = 0
        self._current_step = current_step

    def begin_hashing(self, total: int) -> None:
        """Begin to hash files of `total` bytes."""
        self.begin_step(lambda: Step("hashing", self.bytes_read, total, "bytes"))

    @property
    def step(self) -> Step:
        """What the run is doing now. The length of the inputs is not known here."""
        if self._current_step is None:
            return Step("reading", self.bytes_read, None, "bytes")
        return self._current_step()


class RowCounts(NamedTuple):
    """Counts of rows that another process read. None of them is bad."""

    read: int
    used: int
    dropped: dict[str, int]
    candidates_found: int
    candidates_dropped: dict[str, int]
    noticed: dict[str, int]


class PairCounts(NamedTuple):
    """Counts of groups that another process paired."""

    candidates_dropped: dict[str, int]
    groups: int
    groups_without_pair: dict[str, int]
    pairs: int
    lines_written: dict[str, int]
    gaps: StatsTotals
    chosen_scores: StatsTotals
    rejected_scores: StatsTotals
    marked: dict[str, int]
    example: tuple[Any, Any, Any] | None
    pairing: tuple[int, dict[str, int]] | None


@dataclass(slots=True)
class StageCounts:
    """How many pairs reached a stage, and what it did with them."""

    name: str
    found: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    compared: int = 0
    """How many of the pairs held back for a second look have been compared."""
    to_compare: int = 0
    """How many pairs are held back for a second look."""

    @property
    def kept(self) -> int:
        """How many pairs were passed on."""
        return self.found - self.dropped.total()


@dataclass(slots=True)
class Ledger:
    """The counts of one run. The engine fills it in; the command line puts it into words."""

    sources: list[tuple[str, str]] = field(default_factory=list)
    skipped_files: list[tuple[str, str]] = field(default_factory=list)
    """Files that contain no rollouts, each with the tool that wrote it next to its rollouts."""
    notes: list[str] = field(default_factory=list)
    rows_by_input: dict[str, int] = field(default_factory=dict)
    rows_read: int = 0
    rows_used: int = 0
    rows_dropped: Counter[str] = field(default_factory=Counter)
    rows_bad: int = 0
    first_bad: list[tuple[str, BadRecord]] = field(default_factory=list)
    """The first few bad rows of each kind, with their places."""
    bad_by_kind: Counter[str] = field(default_factory=Counter)
    candidates_found: int = 0
    candidates_dropped: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    """What was repaired or is worth knowing, although nothing was lost."""
    groups: int = 0
    groups_without_pair: Counter[str] = field(default_factory=Counter)
    groups_of_several_tasks: int = 0
    stages: list[StageCounts] = field(default_factory=list)
    pairs: int = 0
    traces: int = 0
    """Traces written, by the export that makes no pairs of them."""
    sides: dict[str, int] = field(default_factory=dict)
    """The number of pairs in each side of a split."""
    lines_written: Counter[str] = field(default_factory=Counter)
    """The number of lines in each output."""
    gaps: RunningStats = field(default_factory=RunningStats)
    chosen_scores: RunningStats = field(default_factory=RunningStats)
    rejected_scores: RunningStats = field(default_factory=RunningStats)
    across_prompts: int = 0
    """Pairs whose two answers belong to different prompts."""
    marked: Counter[str] = field(default_factory=Counter)
    """How many chosen and rejected answers carry a mark, such as `chosen_failed`."""
    reasons_to_keep: frozenset[str] = frozenset()
    reasons_to_drop: frozenset[str] = frozenset()
    """The reasons given with --keep-rows and --drop-rows."""
    example: tuple[Any, Any, Any] | None = None
    """Prompt, chosen and rejected of the first pair."""
    progress: Progress = field(default_factory=Progress)

    @property
    def candidates_kept(self) -> int:
        """How many candidates could be paired."""
        return self.candidates_found - self.candidates_dropped.total()

    @property
    def pairs_at_gap(self) -> dict[float, int]:
        """How many pairs would remain at a `--min-gap`."""
        unknown = self.pairs - self.gaps.count
        return {least: self.gaps.at_least(least) + unknown for least in WHAT_IF_GAPS}

    def row_counts(self) -> RowCounts:
        """The counts of rows and candidates so far."""
        candidates = self.candidates_found, self.candidates_dropped, self.noticed
        return RowCounts(self.rows_read, self.rows_used, self.rows_dropped, *candidates)

    def add_row_counts(self, label: str, counts: RowCounts) -> None:
        """Add the rows of an input that another process read."""
        self.add_rows(label, counts.read)
        self.rows_read += counts.read
        self.rows_used += counts.used
        self.rows_dropped.update(counts.dropped)
        self.candidates_found += counts.candidates_found
        self.candidates_dropped.update(counts.candidates_dropped)
        self.noticed.update(counts.noticed)

    def pair_counts(self) -> PairCounts:
        """The counts of groups and pairs so far."""
        return PairCounts(
            self.candidates_dropped,
            self.groups,
            self.groups_without_pair,
            self.pairs,
            self.lines_written,
            self.gaps.totals(),
            self.chosen_scores.totals(),
            self.rejected_scores.totals(),
            self.marked,
            self.example,
            next(((it.found, it.dropped) for it in self.stages if it.name == PAIRING), None),
        )

    def add_pair_counts(self, other: PairCounts) -> None:
        """Add the pairs of groups that another process wrote."""
        self.candidates_dropped.update(other.candidates_dropped)
        self.groups += other.groups
        self.groups_without_pair.update(other.groups_without_pair)
        self.pairs += other.pairs
        self.lines_written.update(other.lines_written)
        self.gaps.merge(other.gaps)
        self.chosen_scores.merge(other.chosen_scores)
        self.rejected_scores.merge(other.rejected_scores)
        self.marked.update(other.marked)
        self.example = self.example or other.example
        if other.pairing is not None:
            pairing = self.stage_of_pairing()
            pairing.found += other.pairing[0]
            pairing.dropped.update(other.pairing[1])

    def stage_of_ready_pairs(self) -> StageCounts:
        """The counts of pairs that rollouts already contain; the first of all stages."""
        return self._stage_at(0, READY)

    @property
    def ready_pairs(self) -> StageCounts | None:
        """The same, if rollouts contain any."""
        return self.stages[0] if self.stages and self.stages[0].name == READY else None

    def stage_of_pairing(self) -> StageCounts:
        """The counts of pairs that groups would give, and of those left out by a bound."""
        return self._stage_at(int(self.ready_pairs is not None), PAIRING)

    def _stage_at(self, place: int, name: str) -> StageCounts:
        """The counts of a stage, which are inserted here unless they are known."""
        if not (place < len(self.stages) and self.stages[place].name == name):
            self.stages.insert(place, StageCounts(name))
        return self.stages[place]

    def add_rows(self, label: str, rows: int) -> None:
        """Count rows of an input."""
        self.rows_by_input[label] = self.rows_by_input.get(label, 0) + rows

    def note(self, sentence: str) -> None:
        """Add a note for the user, unless it is already there."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def add_bad(self, place: str, error: BadRecord) -> None:
        """Count a bad row, and keep the first few of each kind."""
        self.rows_bad += 1
        kind = error.kind
        if kind not in self.bad_by_kind and len(self.bad_by_kind) == _MOST_KINDS:
            return
        self.bad_by_kind[kind] += 1
        if self.bad_by_kind[kind] <= FIRST_FEW:
            error.__traceback__ = error.__context__ = None  # they would keep the row in memory
            self.first_bad.append((place, error))

    def add_pair(self, gap: float | None, chosen: float | None, rejected: float | None) -> None:
        """Count a pair that was written. Unknown scores are left out of the statistics."""
        self.pairs += 1
        if gap is not None:
            self.gaps.add(gap)
        if chosen is not None:
            self.chosen_scores.add(chosen)
        if rejected is not None:
            self.rejected_scores.add(rejected)

    def add_pairs(
        self,
        pairs: int,
        gaps: Sequence[float],
        chosen: Sequence[float],
        rejected: Sequence[float],
    ) -> None:
        """Count pairs that were written, and the gaps and scores of them that are known."""
        self.pairs += pairs
        self.gaps.add_all(gaps)
        self.chosen_scores.add_all(chosen)
        self.rejected_scores.add_all(rejected)


@dataclass(slots=True)
class ValidationLedger:
    """What a trainer would do with a dataset. Rows: read = fine + lost."""

    files: list[str] = field(default_factory=list)
    rows_read: int = 0
    rows_lost: int = 0
    files_lost: list[str] = field(default_factory=list)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each cause had each effect, as (effect, cause)."""
    warnings: Counter[str] = field(default_factory=Counter)
    progress: Progress = field(default_factory=Progress, compare=False)

    def add_row(self, found: Sequence[tuple[str, str]], *, lost: bool) -> None:
        """Count a row, and each distinct finding in it once."""
        self.rows_read += 1
        self.rows_lost += lost
        for effect, code in dict.fromkeys(found):
            self._count(effect, code)

    def add_file(self, found: Sequence[tuple[str, str]]) -> None:
        """Count the findings about a file as a whole."""
        for effect, code in found:
            self._count(effect, code)

    def add_lost_file(self, label: str, more_rows: int) -> None:
        """Count a file as lost, with the rows of it that had seemed fine."""
        self.files_lost.append(label)
        self.rows_lost += more_rows

    def _count(self, effect: str, code: str) -> None:
        if effect == "warning":
            self.warnings[code] += 1
        else:
            self.lost[effect, code] += 1
