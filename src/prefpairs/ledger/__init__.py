"""What became of everything that was read: the ledgers, and what came out of them.

Rows: read = used + dropped + bad. Candidates: found = kept + dropped. Pairs, in each stage that
they pass: found = kept + dropped. Each loss has a reason.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefpairs.errors import BadRecord
from prefpairs.ledger.progress import Course
from prefpairs.ledger.running_stats import WHAT_IF_GAPS, Counted, Tally

FIRST_FEW = 5
_MOST_KINDS = 10


class RowCounts(NamedTuple):
    """What became of rows that somebody else read, none of them bad."""

    read: int
    used: int
    dropped: dict[str, int]
    found: int
    candidates_dropped: dict[str, int]
    mended: dict[str, int]


class PairCounts(NamedTuple):
    """What became of groups that somebody else made pairs of."""

    dropped: dict[str, int]
    groups: int
    without_pair: dict[str, int]
    pairs: int
    written: dict[str, int]
    gaps: Counted
    chosen_scores: Counted
    rejected_scores: Counted
    marked: dict[str, int]
    example: tuple[Any, Any, Any] | None


@dataclass(slots=True)
class Stage:
    """What one stage of a pipeline made of the pairs that came to it."""

    name: str
    found: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    weighed: int = 0
    """Of the pairs that it held back and looks at once more: how many it has looked at,"""
    to_weigh: int = 0
    """and how many there are."""

    @property
    def kept(self) -> int:
        """How many pairs went on."""
        return self.found - self.dropped.total()


@dataclass(slots=True)
class Report:
    """The counts of one run. Engines fill it in; the command line words it."""

    sources: list[tuple[str, str]] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows_of: dict[str, int] = field(default_factory=dict)
    rows_read: int = 0
    rows_used: int = 0
    rows_dropped: Counter[str] = field(default_factory=Counter)
    rows_bad: int = 0
    first_bad: list[tuple[str, BadRecord]] = field(default_factory=list)
    bad_of_kind: Counter[str] = field(default_factory=Counter)
    found: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    groups: int = 0
    groups_without_pair: Counter[str] = field(default_factory=Counter)
    stages: list[Stage] = field(default_factory=list)
    pairs: int = 0
    traces: int = 0
    """Traces that were written, where no pairs are made of them."""
    sides: dict[str, int] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    """The number of lines of each output."""
    gaps: Tally = field(default_factory=Tally)
    chosen_scores: Tally = field(default_factory=Tally)
    rejected_scores: Tally = field(default_factory=Tally)
    across_prompts: int = 0
    joined_tasks: int = 0
    marked: Counter[str] = field(default_factory=Counter)
    """How many chosen and rejected answers are marked, as `chosen_failed`."""
    kept_rows: frozenset[str] = frozenset()
    dropped_rows: frozenset[str] = frozenset()
    """The reasons that --keep-rows and --drop-rows name."""
    example: tuple[Any, Any, Any] | None = None
    course: Course = field(default_factory=Course)

    @property
    def kept(self) -> int:
        """How many candidates could compete."""
        return self.found - self.dropped.total()

    @property
    def pairs_at_gap(self) -> dict[float, int]:
        """How many pairs a `--min-gap` would leave."""
        unknown = self.pairs - self.gaps.count
        return {least: self.gaps.at_least(least) + unknown for least in WHAT_IF_GAPS}

    def row_counts(self) -> RowCounts:
        """What became of the rows so far."""
        candidates = self.found, self.dropped, self.mended
        return RowCounts(self.rows_read, self.rows_used, self.rows_dropped, *candidates)

    def join(self, label: str, counts: RowCounts) -> None:
        """Count rows of an input that somebody else read."""
        self.add_rows_of(label, counts.read)
        self.rows_read += counts.read
        self.rows_used += counts.used
        self.rows_dropped.update(counts.dropped)
        self.found += counts.found
        self.dropped.update(counts.candidates_dropped)
        self.mended.update(counts.mended)

    def pair_counts(self) -> PairCounts:
        """What became of the groups so far."""
        return PairCounts(
            self.dropped,
            self.groups,
            self.groups_without_pair,
            self.pairs,
            self.written,
            self.gaps.counted(),
            self.chosen_scores.counted(),
            self.rejected_scores.counted(),
            self.marked,
            self.example,
        )

    def join_pairs(self, other: PairCounts) -> None:
        """Count the pairs of groups that somebody else wrote."""
        self.dropped.update(other.dropped)
        self.groups += other.groups
        self.groups_without_pair.update(other.without_pair)
        self.pairs += other.pairs
        self.written.update(other.written)
        self.gaps.join(other.gaps)
        self.chosen_scores.join(other.chosen_scores)
        self.rejected_scores.join(other.rejected_scores)
        self.marked.update(other.marked)
        self.example = self.example or other.example

    def add_rows_of(self, label: str, rows: int) -> None:
        """Count rows of an input."""
        self.rows_of[label] = self.rows_of.get(label, 0) + rows

    def note(self, sentence: str) -> None:
        """Something the user should know, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def add_bad(self, place: str, error: BadRecord) -> None:
        """Count a bad row, and remember the first few of each kind."""
        self.rows_bad += 1
        kind = error.kind
        if kind not in self.bad_of_kind and len(self.bad_of_kind) == _MOST_KINDS:
            return
        self.bad_of_kind[kind] += 1
        if self.bad_of_kind[kind] <= FIRST_FEW:
            error.__traceback__ = error.__context__ = None  # they hold on to the row
            self.first_bad.append((place, error))

    def add_pair(self, gap: float | None, chosen: float | None, rejected: float | None) -> None:
        """Count a pair that was written; scores that nobody knows count for nothing."""
        self.pairs += 1
        if gap is not None:
            self.gaps.add(gap)
        if chosen is not None:
            self.chosen_scores.add(chosen)
        if rejected is not None:
            self.rejected_scores.add(rejected)
