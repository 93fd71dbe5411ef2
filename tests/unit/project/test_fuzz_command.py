"""What `make fuzz` says if it cannot run, and about its results."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from fuzz import command


def test_without_atheris(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without atheris, it says so and names what fuzzes everywhere."""
    monkeypatch.setattr(command, "find_spec", lambda _name: None)
    assert command.main([]) == 2
    said = capsys.readouterr().out
    assert "atheris is not installed" in said
    assert "pytest tests/fuzz" in said


def test_a_find_becomes_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest finding is kept where pytest replays it; the others are deleted."""
    finds = tmp_path / "finds"
    finds.mkdir()
    small = finds / "small"
    monkeypatch.setattr(command, "TESTS", tmp_path / "tests")
    monkeypatch.setattr(command, "_run", lambda *_words, **_core: small.write_bytes(b"short"))
    (finds / "crash-1").write_bytes(b"long")
    kept = command._keep("nat", finds / "crash-1", finds, {})  # noqa: SLF001 - made by a fuzzer that is not here
    assert kept.read_bytes() == b"short"
    assert [*command.kept("nat")] == [kept]
    assert [*finds.iterdir()] == []
