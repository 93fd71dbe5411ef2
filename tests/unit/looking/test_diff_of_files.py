"""Reads two sets of pairs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import data_of

from prefpairs.analysis.pair_set_diff import diff_pair_sets
from prefpairs.engine.diff import DiffPlan, read_both
from prefpairs.errors import BadRecords
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.pair import pair_line, pair_of
from prefpairs.plan import InputPlan

ROWS = [{"prompt": f"Q{number}", "chosen": "aye", "rejected": "nay"} for number in range(4)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(data_of(ROWS[:3]))
    Path("b.jsonl").write_bytes(data_of(ROWS[1:]))


def _counts(**words: Any) -> tuple[dict[str, int], tuple[Ledger, Ledger]]:
    ledgers = Ledger(), Ledger()
    plans = (InputPlan(inputs=find_inputs([name]), **words) for name in ("a.jsonl", "b.jsonl"))
    found = diff_pair_sets(*read_both(DiffPlan(next(plans), next(plans)), ledgers))
    return {name: count for name, count in found.pairs.items() if count}, ledgers


def test_both_sides() -> None:
    """Each side has its own ledger."""
    counts, ledgers = _counts()
    assert counts == {"kept": 2, "lost": 1, "added": 1}
    assert [ledger.rows_used for ledger in ledgers] == [3, 3]


def test_other_forms_of_the_same_pairs() -> None:
    """Other formats of the same pairs, compressed or not, are equal."""
    lines = b"".join(pair_line(pair_of(row)[0]) for row in ROWS[:3])
    Path("b.jsonl").write_bytes(gzip.compress(lines))
    assert _counts()[0] == {"kept": 3}


def test_limit() -> None:
    """A limit applies to each side."""
    assert _counts(limit=2)[0] == {"kept": 1, "lost": 1, "added": 1}


@pytest.mark.parametrize("name", ["a.jsonl", "b.jsonl"])
def test_bad_rows(name: str) -> None:
    """Bad rows are found on either side."""
    with open(name, "ab") as file:
        file.write(b"{oops\n")
    with pytest.raises(BadRecords) as caught:
        _counts()
    assert caught.value.first[0][0] == f"{name}:4"
    assert _counts(on_error="skip")[0] == {"kept": 2, "lost": 1, "added": 1}


def test_one_file_for_bad_rows_of_both() -> None:
    """The bad rows of both sides go to one quarantine file; none is overwritten."""
    for name in ("a.jsonl", "b.jsonl"):
        with open(name, "ab") as file:
            file.write(b"{oops\n")
    _counts(on_error="quarantine", quarantine="bad.jsonl")
    rows = [json.loads(line) for line in Path("bad.jsonl").read_bytes().splitlines()]
    assert [(row["file"], row["line"]) for row in rows] == [("a.jsonl", 4), ("b.jsonl", 4)]
