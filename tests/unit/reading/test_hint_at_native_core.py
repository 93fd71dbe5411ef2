"""A long run without the native core hints at it once, at the end, on standard error."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from native_and_python import needs_core
from prefpairs.cli import run_with_summary
from prefpairs.cli.main import main
from prefpairs.engine import native
from prefpairs.engine.native import VARIABLE

HINT = (
    "hint: the native core reads rollouts several times faster; "
    "in a checkout: pip install ./native/python\n"
)
Run = Callable[..., str]


@pytest.fixture(autouse=True)
def _long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each run take long, without the core."""
    monkeypatch.setattr(run_with_summary, "LONG", -1.0)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(native, "_found", {"1": None, "0": None})


@pytest.fixture(name="pair")
def _pair(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Pair two rollouts and return standard error."""
    rows = [{"prompt": "Q", "response": f"{score}", "score": score} for score in (0, 1)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")

    def run(*words: str, command: str = "pair", name: str = "rows.jsonl") -> str:
        """Run the command on a file in the folder."""
        assert main([command, str(tmp_path / name), "-o", str(tmp_path / command), *words]) == 0
        out, told = capfd.readouterr()
        assert out == ""
        return told

    return run


def test_hint_at_the_end(pair: Run) -> None:
    """The hint is after the summary, only if rollouts were read."""
    for command in ("extract", "pair"):
        told = pair(command=command)
        assert told.endswith(f"\n{HINT}")
        assert told.count("hint: ") == 1
    assert "hint: " not in pair(command="dedupe", name="pair")


def test_short_run(pair: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs give no hint."""
    monkeypatch.setattr(run_with_summary, "LONG", 10.0)
    assert "hint: " not in pair()


def test_no_hint_if_not_wanted(pair: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no hint with --quiet or if the core is disabled."""
    assert pair("--quiet") == ""
    monkeypatch.setenv(VARIABLE, "0")
    assert "hint: " not in pair()


@needs_core
def test_with_the_core(pair: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the core, there is no hint."""
    monkeypatch.setattr(native, "_found", {})
    assert "hint: " not in pair()
