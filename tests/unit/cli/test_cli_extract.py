"""prefpairs extract, from its words to its lines."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prefpairs.cli.commands.extract import extract
from prefpairs.cli.commands.pair import pair

ROWS = [
    {"prompt": "Q", "response": answer, "score": score} for answer, score in (("A", 1), ("B", 0))
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")


def _words(command: Callable[..., None], **words: object) -> dict[str, object]:
    parameters = inspect.signature(command).parameters
    defaults = {name: given.default for name, given in parameters.items()}
    return {**defaults, "quiet": True, **words}


def test_candidates_and_their_pairs() -> None:
    """Pairs of candidates are the pairs of the rollouts."""
    extract(**_words(extract, inputs=["r.jsonl"], output="c.jsonl"))
    pair(**_words(pair, inputs=["c.jsonl"], output="two.jsonl"))
    pair(**_words(pair, inputs=["r.jsonl"], output="one.jsonl"))
    assert len(Path("c.jsonl").read_bytes().splitlines()) == 2
    assert Path("two.jsonl").read_bytes() == Path("one.jsonl").read_bytes()
