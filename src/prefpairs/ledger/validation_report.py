"""What `validate` found in a dataset."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prefpairs.ledger.progress import Course
from prefpairs.ledger.summaries import ordered


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
    course: Course = field(default_factory=Course, compare=False)

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
        "warnings": ordered(judgement.warnings),
    }
