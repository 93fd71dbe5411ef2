"""Hints for several answers with one score: each is a command that gives pairs."""

import json
import re
import shlex
from pathlib import Path

import pytest

from prefpairs.cli.main import main

_HINT = re.compile(r"^(?:hint|  or): prefpairs (.*)$", re.MULTILINE)
RECIPE = """[read]
inputs = "rows.jsonl"
response = "choices[].message"
score = "score"

[pair]

[write]
output = "pairs.jsonl"
"""
OUT = ["rows.jsonl", "-o", "pairs.jsonl"]


@pytest.fixture(name="folder", autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "prompt": "Q",
            "choices": [{"message": {"role": "assistant", "content": word}} for word in words],
            "responses": [{"role": "assistant", "content": word} for word in words],
            "score": score,
            "judged": [0.5, score / 4],
        }
        for words, score in (("AB", 1), ("CD", 0))
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path


@pytest.mark.parametrize(
    "typed",
    [
        ["pair", "--response", "choices[].message", "--score", "score", *OUT],
        ["pair", "--response=choices[].message", "--score=score", *OUT],
        ["pair", "--response", "choices[].message", *OUT],
        ["pair", *OUT],
        ["pair", "--score", "score", *OUT],
        ["pair", "--keep", "score", "--score", "score:0.5", *OUT],
        ["run"],
        ["run", "recipe.toml", "--set", "read.score='score'"],
    ],
)
def test_the_hints_give_pairs(
    typed: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command for a score per answer, and one for the first answer alone."""
    assert main(typed) == 1
    told = capsys.readouterr().err
    assert "score is 1, expected a list of 2 scores, one for each answer" in told
    found = []
    for command in _HINT.findall(told):
        assert main([*shlex.split(command), "-q"]) == 0
        (pair,) = map(json.loads, (folder / "pairs.jsonl").read_text().splitlines())
        sides = (pair["chosen"], pair["rejected"])
        found.append(
            "".join(side if isinstance(side, str) else side[0]["content"] for side in sides)
        )
    assert found == ["AD", "AC"]
