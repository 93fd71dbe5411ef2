"""The options of dedupe, and runs of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.dedupe import dedupe
from prefpairs.engine.pairs.reference_files import with_files
from prefpairs.errors import BadInput, FileError, UnknownWord, UsageError
from prefpairs.option import filled
from prefpairs.stages.dedupe import Dedupe


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"prompt": prompt, "chosen": chosen, "rejected": "no", "chosen_score": 1, "gap": 1}
        for prompt in ("one two three four five six seven", "Q")
        for chosen in ("yes", "yes")
    ]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Path("bench.jsonl").write_bytes(b'{"text": "Q", "id": 1}\n')


def _run(**words: Any) -> list[str]:
    called(dedupe, **{"paths": ["p.jsonl"], "output": "o.jsonl", "quiet": True, **words})
    return [json.loads(line)["prompt"][:3] for line in Path("o.jsonl").read_bytes().splitlines()]


def test_all_options() -> None:
    """Each option sets its field."""
    words = {
        "by": "prompt, chosen",
        "conflicts": "strongest",
        "near": 0.8,
        "near_on": "prompt",
        "against": ["bench.jsonl"],
        "against_field": "text",
    }
    stage = with_files(filled(Dedupe, words))
    assert isinstance(stage, Dedupe)
    assert (stage.by, stage.conflicts) == (("prompt", "chosen"), "strongest")
    assert (stage.near, stage.near_on) == (0.8, "prompt")
    assert stage.reference is not None
    assert (len(stage.reference), stage.reference.holds("Q")) == (1, True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"by": "prompts"}, UnknownWord),
        ({"by": ""}, UsageError),
        ({"by": ","}, UsageError),
        ({"conflicts": "weakest"}, UnknownWord),
        ({"near_on": "chosen"}, UsageError),
        ({"near": 0.8, "near_on": "rejected"}, UnknownWord),
        ({"against_field": "text"}, UsageError),
        ({"against": ["nothing.jsonl"]}, FileError),
        ({"against": ["bench.jsonl", "./bench.jsonl"], "against_field": "text"}, UsageError),
        ({"against": ["bench.jsonl"]}, BadInput),
        ({"against": ["bench.jsonl"], "against_field": "txt"}, BadInput),
    ],
)
def test_contradictory_options(words: dict[str, Any], error: type[Exception]) -> None:
    """Contradictory options are rejected before any pair is read."""
    with pytest.raises(error):
        with_files(filled(Dedupe, words))


def test_run() -> None:
    """Removes duplicates."""
    assert _run() == ["one", "Q"]


def test_run_against_a_benchmark() -> None:
    """Prompts of the reference are dropped; it cannot be the output."""
    assert _run(against=["bench.jsonl"], against_field="text") == ["one"]
    with pytest.raises(UsageError, match="both input and output"):
        _run(against=["bench.jsonl"], against_field="text", output="bench.jsonl")
    assert Path("bench.jsonl").read_bytes() == b'{"text": "Q", "id": 1}\n'
