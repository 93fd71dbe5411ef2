"""Settings and checks for all tests."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_native import digest_of_sources
from hypothesis import settings

# Background jobs of a shell ignore SIGINT, and nohup ignores SIGHUP; programs that we run would
# inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The percentage of examples that `make quick`, `make test` and `make stress` try. There is no
# deadline per example, since its time depends more on the machine than on the code.
for profile, share in (("quick", 3), ("usual", 20), ("thorough", 100)):
    settings.register_profile(profile, max_examples=share, deadline=None)
settings.load_profile("usual")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a native core that was built from other sources: its version would not show it."""
    stamp = Path(sys.prefix, ".native")
    if hasattr(config, "workerinput") or os.environ.get("PREFPAIRS_NATIVE") == "0":
        return
    if stamp.exists() and stamp.read_text("ascii") != digest_of_sources():
        pytest.exit("the native core is older or newer than native/: run `make native`", 4)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: a fifth of the time, a test waits for a program it runs."""
    try:
        return len(os.sched_getaffinity(0)) + 1
    except AttributeError:  # macOS
        return (os.cpu_count() or 1) + 1


@pytest.fixture(name="nothing_held")
def _nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small files be read a second time, like large ones."""
    monkeypatch.setattr("prefpairs.files.fetch_records._MOST_HELD", 0)


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    """Check that a test leaves no signal ignored or held, which would affect later tests."""
    yield
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    assert not held.intersection(endings)
    assert all(signal.getsignal(ending) is not signal.SIG_IGN for ending in endings)


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Say why tests were skipped, and how many for each reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
    )
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
