"""Runs that may open hardly any files."""

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROW = (
    '{"prompt": "Q%d", "chosen": "yes", "rejected": "no", "chosen_score": 1, "rejected_score": 0}\n'
)
RUNS = [
    "split --exact {} --out-dir d",
    "export --to trl {} --out-dir d",
    "export --to customizer {} --out-dir d",
    "dedupe {} -o o.jsonl",
]


@pytest.mark.parametrize("words", RUNS)
@pytest.mark.parametrize("through", ["p.jsonl", "-"])
@pytest.mark.parametrize(
    "there",
    [
        pytest.param(True, id="an old folder"),
        pytest.param(False, id="a new folder", marks=pytest.mark.stress),
    ],
)
def test_few_descriptors(words: str, through: str, there: bool, tmp_path: Path) -> None:
    """The run succeeds or reports too few descriptors; either way, nothing is left behind."""
    rows = "".join(ROW % number for number in range(4))
    (tmp_path / "p.jsonl").write_text(rows)
    if there:
        (tmp_path / "d").mkdir()
    before = sorted(map(str, tmp_path.rglob("*")))
    codes = set()
    for most in range(5, 20):
        done = subprocess.run(
            [sys.executable, "-m", "prefpairs", *words.format(through).split(), "--quiet"],
            input=rows.encode(),
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most)),
            check=False,
            timeout=60,
        )
        codes.add(done.returncode)
        if done.returncode == 0:
            break
        assert b"Too many open files" in done.stderr
        assert sorted(map(str, tmp_path.rglob("*"))) == before, done.stderr
    assert codes == {0, 5}
