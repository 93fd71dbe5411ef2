"""The page of traps, compared with the code."""

import re
from pathlib import Path

from prefpairs.reasons import TRAPS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "traps.md").read_text("utf-8")


def test_every_trap_is_on_the_page() -> None:
    """Every trap is on the page once, numbered in order, and no others."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(TRAPS) + 1))
    assert sorted(code for _, code in rows) == sorted(TRAPS)
    assert f"**{len(TRAPS)} of {len(TRAPS)} are covered" in PAGE


def test_every_trap_has_a_golden_case() -> None:
    """`validate` reports every trap in some golden case."""
    cases = (ROOT / "tests" / "cases" / "validate").glob("*/*")
    told = "".join(path.read_text("utf-8") for path in cases if path.name in ("out", "err"))
    assert [code for code in TRAPS if f"({code})" not in told and f"{code}:" not in told] == []


def test_traps_in_rollouts_have_golden_cases() -> None:
    """Every golden case that the page names for a trap in rollouts exists."""
    rows = [line for line in PAGE.partition("## In rollouts")[2].splitlines() if "`, `" in line]
    cases = [re.findall(r"`(\w+)`", line.split("|")[-2]) for line in rows]
    assert len(cases) == 3
    assert all(cases)
    folder = ROOT / "tests" / "cases" / "pair"
    assert [
        case for names in cases for case in names if not (folder / case / "cmd").is_file()
    ] == []
