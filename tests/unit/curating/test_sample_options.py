"""The options of sample, and runs of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.sample import sample
from prefpairs.engine.pairs.reference_files import with_files
from prefpairs.errors import OptionNeeds, UnknownWord, UsageError
from prefpairs.option import filled
from prefpairs.stages.sample import Sample


@pytest.mark.parametrize("words", [{}, {"seed": 7}, {"order": "input"}])
def test_sample_of_no_size(words: dict[str, Any]) -> None:
    """Rejects a sample without a size or an order."""
    with pytest.raises(UsageError, match="sample needs a size or an order"):
        with_files(filled(Sample, words))


@pytest.mark.parametrize("words", [{"max_pairs": 5}, {"order": "shuffle"}])
def test_average_of_a_group_needs_an_order_by_gap(words: dict[str, Any]) -> None:
    """--per group requires an order by gap."""
    with pytest.raises(OptionNeeds):
        filled(Sample, {**words, "per": "group"})


def test_unknown_order() -> None:
    """An unknown order is rejected."""
    with pytest.raises(UnknownWord):
        filled(Sample, {"order": "random"})


def test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requested number of pairs, narrowest first."""
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": "Q", "chosen": f"A{n}", "rejected": "B", "gap": n} for n in (3, 1, 2)]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    words = {"paths": ["p.jsonl"], "output": "o.jsonl", "quiet": True}
    called(sample, **words, order="hard-first", max_pairs=3)
    assert [json.loads(line)["gap"] for line in Path("o.jsonl").read_bytes().splitlines()] == [
        1.0,
        2.0,
        3.0,
    ]
