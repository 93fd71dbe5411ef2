"""The options of split, and runs of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.split import split
from prefpairs.errors import InputChanged, NothingCameOut, UsageError
from prefpairs.option import filled
from prefpairs.stages.split import Split
from prefpairs.stages.split_sides import fill_sides


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": f"Q{n}", "chosen": "A", "rejected": "B"} for n in range(10)]
    Path("p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _run(**words: Any) -> dict[str, int]:
    called(split, **{"paths": ["p.jsonl"], "out_dir": "d", "quiet": True, **words})
    return {
        name: len(Path("d", name).read_bytes().splitlines()) for name in sorted(os.listdir("d"))
    }


def test_shares_of_more_than_all() -> None:
    """Rejects fractions above 1 in total."""
    with pytest.raises(UsageError, match="more than 1 together"):
        filled(Split, {"val_fraction": 0.6, "test_fraction": 0.5})


@pytest.mark.parametrize(
    ("shares", "files"),
    [
        ({}, {"train.jsonl": 8, "val.jsonl": 2}),
        ({"test_fraction": 0.1}, {"test.jsonl": 1, "train.jsonl": 7, "val.jsonl": 2}),
        ({"val_fraction": 0.0, "test_fraction": 0.3}, {"test.jsonl": 3, "train.jsonl": 7}),
        ({"val_fraction": 0.0}, {"train.jsonl": 10}),
    ],
)
def test_run(shares: dict[str, Any], files: dict[str, int]) -> None:
    """A file for each split with a fraction; those of an earlier run are removed."""
    _run(val_fraction=0.4, test_fraction=0.4, exact=True)
    assert _run(**shares, exact=True) == files


def test_runs_are_the_same() -> None:
    """A second run gives the same bytes, also into an existing folder."""
    _run()
    first = {path.name: path.read_bytes() for path in Path("d").iterdir()}
    _run()
    assert {path.name: path.read_bytes() for path in Path("d").iterdir()} == first


def test_run_without_a_folder() -> None:
    """Rejects a run without a folder, since there are several files."""
    with pytest.raises(UsageError) as caught:
        _run(out_dir=None)
    assert caught.value.hint == "--out-dir DIR says where"


def test_run_that_gives_nothing() -> None:
    """An empty result keeps the old files, and can be allowed."""
    before = _run()
    with pytest.raises(NothingCameOut) as caught:
        _run(by="meta.nothing")
    assert caught.value.hint == "split dropped 10 pairs: it lacks the field that --by names"
    assert _run(limit=10) == before
    assert _run(by="meta.nothing", allow_empty=True) == {"train.jsonl": 0, "val.jsonl": 0}


def test_input_that_changes_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --exact, an input that changed before writing is an error."""
    before = _run()

    def meddle(*given: Any) -> bytearray:  # between reading and writing
        with Path("p.jsonl").open("ab") as file:
            file.write(b"\n")
        return fill_sides(*given)

    monkeypatch.setattr("prefpairs.stages.split.fill_sides", meddle)
    with pytest.raises(InputChanged):
        _run(exact=True, val_fraction=0.5)
    assert {name: len(Path("d", name).read_bytes().splitlines()) for name in before} == before
    assert sorted(os.listdir()) == ["d", "p.jsonl"]
