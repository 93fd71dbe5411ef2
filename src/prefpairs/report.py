"""What became of everything that was read: the ledgers, and what came out of them.

Rows: read = used + dropped + bad. Candidates: found = kept + dropped. Pairs, in each stage that
they pass: found = kept + dropped. Each loss has a reason.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, NamedTuple

from prefpairs.errors import BadRecord

FIRST_FEW = 5
_MOST_WAITING = 4096
WHAT_IF_GAPS = (0.1, 0.2)
_EXACT = Context(prec=700)  # any two floats, however far apart, have an exact sum


class Tally:
    """Count, extremes and mean of numbers; sums are exact, so their order does not matter.

    Numbers wait to be counted together: scores repeat, and each exact sum takes as long as ten
    of them.
    """

    def __init__(self) -> None:
        self._waiting: list[float] = []
        self._count = 0
        self._sum = Decimal(0)
        self._low, self._high = math.inf, -math.inf
        self._reached = Counter[float]()

    def add(self, number: float) -> None:
        """Count one number."""
        self._waiting.append(number)
        if len(self._waiting) == _MOST_WAITING:
            self._settle()

    @property
    def count(self) -> int:
        """How many numbers were counted."""
        return self._count + len(self._waiting)

    def join(self, other: "Tally") -> None:
        """Count what somebody else counted."""
        count, whole, low, high, reached = other.settled()
        self._count += count
        self._sum = _EXACT.add(self._sum, whole)
        self._low, self._high = min(self._low, low), max(self._high, high)
        self._reached.update(reached)

    def settled(self) -> tuple[int, Decimal, float, float, Counter[float]]:
        """All that was counted: how many, their sum, the extremes, and the gaps reached."""
        self._settle()
        return self._count, self._sum, self._low, self._high, self._reached

    def at_least(self, bound: float) -> int:
        """How many numbers reach one of the gaps that are asked about."""
        self._settle()
        return self._reached[bound]

    def _settle(self) -> None:
        for number, times in Counter(self._waiting).items():
            self._low, self._high = min(self._low, number), max(self._high, number)
            whole = _EXACT.multiply(Decimal(repr(number)), times)
            self._sum = _EXACT.add(self._sum, whole)
            for bound in WHAT_IF_GAPS:
                self._reached[bound] += times * (number >= bound)
        self._count += len(self._waiting)
        self._waiting.clear()

    def summary(self) -> dict[str, float] | None:
        """Mean, smallest and largest; nothing where nothing was counted.

        >>> tally = Tally()
        >>> for number in (0.1, 0.2, 0.3):
        ...     tally.add(number)
        >>> tally.summary()
        {'mean': 0.2, 'min': 0.1, 'max': 0.3}
        """
        if not self.count:
            return None
        self._settle()
        mean = float(f"{_EXACT.divide(self._sum, Decimal(self.count)):.15g}")
        return {"mean": mean, "min": self._low, "max": self._high}


class RowCounts(NamedTuple):
    """What became of rows that somebody else read, none of them bad."""

    read: int
    used: int
    dropped: Counter[str]
    found: int
    candidates_dropped: Counter[str]
    mended: Counter[str]


@dataclass(slots=True)
class Stage:
    """What one stage of a pipeline made of the pairs that came to it."""

    name: str
    found: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

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
    found: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    groups: int = 0
    groups_without_pair: Counter[str] = field(default_factory=Counter)
    stages: list[Stage] = field(default_factory=list)
    pairs: int = 0
    sides: dict[str, int] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    """The number of lines of each output."""
    gaps: Tally = field(default_factory=Tally)
    chosen_scores: Tally = field(default_factory=Tally)
    rejected_scores: Tally = field(default_factory=Tally)
    across_prompts: int = 0
    joined_tasks: int = 0
    example: tuple[Any, Any, Any] | None = None

    @property
    def kept(self) -> int:
        """How many candidates could compete."""
        return self.found - self.dropped.total()

    @property
    def pairs_at_gap(self) -> dict[float, int]:
        """How many pairs a `--min-gap` would leave."""
        return {least: self.gaps.at_least(least) for least in WHAT_IF_GAPS}

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

    def join_pairs(self, other: "Report") -> None:
        """Count the pairs of groups that somebody else wrote."""
        self.dropped.update(other.dropped)
        self.groups += other.groups
        self.groups_without_pair.update(other.groups_without_pair)
        self.pairs += other.pairs
        self.written.update(other.written)
        self.gaps.join(other.gaps)
        self.chosen_scores.join(other.chosen_scores)
        self.rejected_scores.join(other.rejected_scores)
        self.example = self.example or other.example

    def add_rows_of(self, label: str, rows: int) -> None:
        """Count rows of an input."""
        self.rows_of[label] = self.rows_of.get(label, 0) + rows

    def note(self, sentence: str) -> None:
        """Something the user should know, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def add_bad(self, place: str, error: BadRecord) -> None:
        """Count a bad row, and remember the first few."""
        self.rows_bad += 1
        if len(self.first_bad) < FIRST_FEW:
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


@dataclass(slots=True)
class Judgement:
    """What a trainer would make of its dataset: rows read = fine + lost."""

    files: list[str] = field(default_factory=list)
    rows_read: int = 0
    rows_lost: int = 0
    files_lost: list[str] = field(default_factory=list)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each effect had each cause."""
    warnings: Counter[str] = field(default_factory=Counter)

    def add_row(self, found: Sequence[tuple[str, str]], *, lost: bool) -> None:
        """Count a row, and each different thing that was found in it."""
        self.rows_read += 1
        self.rows_lost += lost
        for effect, code in dict.fromkeys(found):
            self._count(effect, code)

    def add_file(self, found: Sequence[tuple[str, str]]) -> None:
        """Count what was found in a file as a whole."""
        for effect, code in found:
            self._count(effect, code)

    def lose_file(self, label: str, more_rows: int) -> None:
        """A file is lost with all of its rows, of which so many had seemed fine."""
        self.files_lost.append(label)
        self.rows_lost += more_rows

    def _count(self, effect: str, code: str) -> None:
        if effect == "warning":
            self.warnings[code] += 1
        else:
            self.lost[effect, code] += 1


def validate_summary(judgement: Judgement) -> dict[str, Any]:
    """The summary of `validate`."""
    lost: dict[str, dict[str, int]] = {}
    for (effect, code), count in sorted(judgement.lost.items()):
        lost.setdefault(effect, {})[code] = count
    return {
        "files": judgement.files,
        "rows": {
            "read": judgement.rows_read,
            "fine": judgement.rows_read - judgement.rows_lost,
            "lost": judgement.rows_lost,
        },
        "files_lost": judgement.files_lost,
        "lost": lost,
        "warnings": _ordered(judgement.warnings),
    }


def extract_summary(report: Report) -> dict[str, Any]:
    """The summary of `extract`, as `--summary` writes it."""
    return {**_rows(report), "candidates": _candidates(report), **_noticed(report)}


def pair_summary(report: Report) -> dict[str, Any]:
    """The summary of `pair`, and of recipes that begin with it."""
    return {
        **extract_summary(report),
        "groups": report.groups,
        "groups_without_pair": _ordered(report.groups_without_pair),
        **_stages(report),
        **_pairs(report),
        "pairs_at_min_gap": {str(gap): report.pairs_at_gap[gap] for gap in WHAT_IF_GAPS},
        "pairs_across_prompts": report.across_prompts,
        **_sides(report),
    }


def sieve_summary(report: Report) -> dict[str, Any]:
    """The summary of the commands that read pairs and write some of them."""
    return {
        **_rows(report),
        **_noticed(report),
        **_stages(report),
        **_pairs(report),
        **_sides(report),
    }


def _rows(report: Report) -> dict[str, Any]:
    return {
        "inputs": [{"name": name, "source": source} for name, source in report.sources],
        "passed_over": report.passed_over,
        "rows": {
            "read": report.rows_read,
            "used": report.rows_used,
            "dropped": _ordered(report.rows_dropped),
            "bad": report.rows_bad,
        },
    }


def _candidates(report: Report) -> dict[str, Any]:
    return {"found": report.found, "kept": report.kept, "dropped": _ordered(report.dropped)}


def _noticed(report: Report) -> dict[str, Any]:
    return {"noticed": _ordered(report.mended), "notes": report.notes}


def _stages(report: Report) -> dict[str, Any]:
    if not report.stages:
        return {}
    stages = {
        stage.name: {
            "found": stage.found,
            "kept": stage.kept,
            "dropped": _ordered(stage.dropped),
            "noticed": _ordered(stage.noticed),
            "notes": stage.notes,
        }
        for stage in report.stages
    }
    return {"stages": stages}


def _pairs(report: Report) -> dict[str, Any]:
    chosen, rejected = report.chosen_scores.summary(), report.rejected_scores.summary()
    return {
        "pairs": report.pairs,
        "gap": report.gaps.summary(),
        "mean_chosen_score": chosen["mean"] if chosen else None,
        "mean_rejected_score": rejected["mean"] if rejected else None,
    }


def _sides(report: Report) -> dict[str, Any]:
    return {"sides": report.sides} if report.sides else {}


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts, most first, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
