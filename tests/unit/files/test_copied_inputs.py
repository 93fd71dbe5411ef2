"""Inputs that look like copies of others are noted."""

import json
import os
from pathlib import Path

import pytest

from forked_prefpairs import run_text

ROWS = [
    {"prompt": f"Q{number // 3}", "response": f"A{number} {'x' * 900}", "score": number % 3}
    for number in range(300)
]
CONTENT = "".join(f"{json.dumps(row)}\n" for row in ROWS)


def _notes(folder: Path, *words: str) -> list[str]:
    done = run_text("pair", *words, "-o", "out.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "copy of another input" in line]


@pytest.mark.parametrize("size", [1, len(CONTENT)])
def test_a_copy_is_noted(size: int, tmp_path: Path) -> None:
    """With the number, the names, and the command that removes what is repeated."""
    content = CONTENT if size > 1 else "".join(f"{json.dumps(row)}\n" for row in ROWS[:3])
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (tmp_path / name).write_text(content)
    (note,) = _notes(tmp_path, "--strategy", "exhaustive", "a.jsonl", "b.jsonl", "c.jsonl")
    assert "2 files seem to be a copy" in note
    assert "(b.jsonl of a.jsonl)" in note
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    run_text("dedupe", "--quiet", "out.jsonl", "-o", "once.jsonl", cwd=tmp_path)
    assert len(lines) == 9 * len((tmp_path / "once.jsonl").read_text().splitlines())


def test_what_is_no_copy(tmp_path: Path) -> None:
    """Other sizes, other ends, empty files; a pipe cannot be compared."""
    (tmp_path / "a.jsonl").write_text(CONTENT)
    (tmp_path / "b.jsonl").write_text(CONTENT.replace("A0 ", "B0 "))
    (tmp_path / "c.jsonl").write_text(CONTENT.replace("A299 ", "B299 "))
    (tmp_path / "d.jsonl").write_text(CONTENT[: CONTENT.rindex("\n", 0, -1) + 1])
    (tmp_path / "e.jsonl").write_text("")
    (tmp_path / "f.jsonl").write_text("")
    names = [f"{letter}.jsonl" for letter in "abcdef"]
    assert _notes(tmp_path, *names) == []
    os.remove(tmp_path / "b.jsonl")
    assert _notes(tmp_path, "a.jsonl") == []
