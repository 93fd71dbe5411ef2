"""The progress line."""

import pytest

from prefpairs.cli.terminal.progress_bar import bar_line
from prefpairs.ledger import Step

READING = Step("reading", 1_500_000_000, 2_400_000_000, "bytes")
WRITING = Step("writing", 35_087, 125_000, "groups")
PIPE = Step("reading", 58_000_000, None, "bytes")


def _line(step: Step, rate: float | None, room: int) -> str:
    return bar_line(step, rate, room, ascii_only=False, colours=False)


@pytest.mark.parametrize(
    ("room", "line"),
    [
        (200, f"reading  {'━' * 18}{'─' * 12}   62%  1.5 of 2.4 GB  370 MB/s  0:02 left"),
        (79, f"reading  {'━' * 17}{'─' * 11}   62%  1.5 of 2.4 GB  370 MB/s  0:02 left"),
        (59, f"reading  {'━' * 5}{'─' * 3}   62%  1.5 of 2.4 GB  370 MB/s  0:02 left"),
        (50, "reading   62%  1.5 of 2.4 GB  370 MB/s  0:02 left"),
        (48, f"reading  {'━' * 7}{'─' * 5}   62%  370 MB/s  0:02 left"),
        (30, "reading   62%  0:02 left"),
        (22, "reading   62%"),
        (10, "reading"),
        (3, "rea"),
    ],
)
def test_room(room: int, line: str) -> None:
    """The least important parts are omitted first, and nothing is wrapped."""
    assert _line(READING, 370e6, room) == line


@pytest.mark.parametrize(
    ("step", "rate", "line"),
    [
        (PIPE, 3.3e6, "reading  58 MB  3.3 MB/s"),
        (PIPE, None, "reading  58 MB"),
        (PIPE._replace(done=0), None, "reading  0 bytes"),
        (PIPE._replace(done=999), 0.0, "reading  999 bytes  0 bytes/s"),
        (Step("writing", 12_345, None, "pairs"), 8000.4, "writing  12,345 pairs  8,000/s"),
        (
            WRITING,
            5233,
            f"writing  {'━' * 4}{'─' * 13}   28%   35,087 of 125,000 groups  5,233/s  0:17 left",
        ),
        (
            WRITING._replace(done=0),
            None,
            f"writing  {'─' * 30}    0%        0 of 125,000 groups",
        ),
        (
            WRITING._replace(done=125_000),
            0.0,
            f"writing  {'━' * 30}  100%  125,000 of 125,000 groups  0/s",
        ),
    ],
)
def test_what_is_told(step: Step, rate: float | None, line: str) -> None:
    """Percentage and time left if the end is known, rate if there is one."""
    assert _line(step, rate, 79) == line


def test_nothing_to_do() -> None:
    """An empty step has no percentage."""
    assert _line(Step("writing", 0, 0, "rows"), None, 79) == "writing  0 of 0 rows"


@pytest.mark.parametrize(
    ("done", "total", "told"),
    [
        (0, 999, "  0 of 999 bytes"),
        (500, 20_000, " 0 of 20 kB"),
        (500_000, 2_000_000, "0.5 of 2.0 MB"),
        (270_000_000, 600_000_000, "270 of 600 MB"),
        (999_949_999, 1_000_000_000, "1.0 of 1.0 GB"),
        (1_000_000_000_000, 3_000_000_000_000, "1000 of 3000 GB"),
    ],
)
def test_sizes(done: int, total: int, told: str) -> None:
    """Both sizes use the unit of the total."""
    assert told in _line(Step("reading", done, total, "bytes"), None, 79)


def test_plain_characters() -> None:
    """ASCII characters for terminals that may know no others."""
    line = bar_line(READING, None, 50, ascii_only=True, colours=False)
    assert line == "reading  ############--------   62%  1.5 of 2.4 GB"


def test_colours_take_no_room() -> None:
    """Colors do not change the layout."""
    coloured = bar_line(READING, 370e6, 79, ascii_only=False, colours=True)
    for escape in ("\x1b[36m", "\x1b[2m", "\x1b[0m"):
        assert coloured.count(escape) == 1
        coloured = coloured.replace(escape, "")
    assert coloured == _line(READING, 370e6, 79)
