"""Reports at the end how many faults the program survived."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from stress_kit import Rig

_TOLD = ("faults", "signals", "kills")


@pytest.fixture
def rig(
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> Rig:
    """The rig of a test."""
    return Rig(tmp_path_factory.getbasetemp(), tmp_path / "here", record_property)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report how many faults, signals and kills the program met."""
    told: Counter[str] = Counter()
    for report in terminalreporter.stats.get("passed", ()):
        for name, number in report.user_properties:
            if name in _TOLD:
                told[name] += number
    if told:
        counts = ", ".join(f"{told[name]:,} {name}" for name in _TOLD)
        terminalreporter.write_line(f"met, with nothing lost: {counts}")
