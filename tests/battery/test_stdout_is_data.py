"""Only data is written to standard output, under whatever name it is given."""

import os
from pathlib import Path

import pytest
from test_battery import data_for

from forked_prefpairs import run

BESIDE = {
    "summary": ["pair", "rows.jsonl", "--summary"],
    "summary of a file": ["pair", "rows.jsonl", "-o", "o.jsonl", "--summary"],
    "summary of pairs": ["dedupe", "pairs.jsonl", "--summary"],
    "summary of a folder": ["split", "pairs.jsonl", "--out-dir", "d", "--summary"],
    "summary of findings": ["validate", "pairs.jsonl", "--to", "nemo-rl", "--summary"],
    "summary of a recipe": ["run", "--summary"],
    "bad rows": ["pair", "rows.jsonl", "--on-error", "quarantine", "--quarantine"],
    "depfile": ["run", "--depfile"],
    "manifest": ["run", "--set", "write.output=o.jsonl", "--set", "write.manifest={}"],
}
"""Arguments before the name of a file that is not data."""

NAMES = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stdout", "link", "out"]


@pytest.mark.parametrize("words", BESIDE.values(), ids=BESIDE.keys())
@pytest.mark.parametrize("into", ["a file", "a pipe"])
@pytest.mark.parametrize("name", NAMES)
def test_only_data_comes_to_standard_output(
    words: list[str], into: str, name: str, tmp_path: Path
) -> None:
    """Exits 2 with an error that has the name, before anything is written."""
    if name == "out" and into == "a pipe":
        os.mkfifo(tmp_path / "out")
    (tmp_path / "rows.jsonl").write_bytes(data_for(["pair"]))
    (tmp_path / "pairs.jsonl").write_bytes(data_for(["dedupe"]))
    (tmp_path / "recipe.toml").write_text('[read]\ninputs = ["rows.jsonl"]\n[pair]\n')
    (tmp_path / "link").symlink_to("/dev/stdout")
    if not words[-1].endswith("{}"):
        words = [*words, "{}"]
    if words[:2] == ["run", "--depfile"]:
        words = [*words, "--set", "write.output=o.jsonl"]
    flags = os.O_RDWR | (0 if (tmp_path / "out").exists() else os.O_CREAT)
    stdout = os.open(tmp_path / "out", flags) if name == "out" or into == "a file" else None
    before = sorted(os.listdir(tmp_path))
    done = run(*(word.replace("{}", name) for word in words), stdout=stdout, cwd=tmp_path)
    if stdout is not None:
        os.set_blocking(stdout, False)
        assert into == "a pipe" or os.fstat(stdout).st_size == 0
        os.close(stdout)
    assert (done.returncode, done.stdout or b"") == (2, b""), done.stderr
    assert f"{name}: standard output is for " in done.stderr.decode()
    assert sorted(os.listdir(tmp_path)) == before
