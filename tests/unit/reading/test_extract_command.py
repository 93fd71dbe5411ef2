"""prefpairs extract, from its options to its output."""

import json
from pathlib import Path

import pytest
from command_call import called

from prefpairs.cli.commands.extract import extract
from prefpairs.cli.commands.pair import pair

ROWS = [
    {"prompt": "Q", "response": answer, "score": score} for answer, score in (("A", 1), ("B", 0))
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")


def test_candidates_and_their_pairs() -> None:
    """Pairs of candidates equal the pairs of the rollouts."""
    called(extract, quiet=True, paths=["r.jsonl"], output="c.jsonl")
    called(pair, quiet=True, paths=["c.jsonl"], output="two.jsonl")
    called(pair, quiet=True, paths=["r.jsonl"], output="one.jsonl")
    assert len(Path("c.jsonl").read_bytes().splitlines()) == 2
    assert Path("two.jsonl").read_bytes() == Path("one.jsonl").read_bytes()
