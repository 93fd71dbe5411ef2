"""Where the files of a run appear, if there are several."""

import json
from pathlib import Path

import pytest
from prefpairs.cli.output_places import folder_of_dataset, folder_of_sides

from prefpairs.cli.main import main
from prefpairs.plan import ExportPlan
from prefpairs.targets import target_named
from prefpairs.targets.base import ExportOptions


def test_folder_of_sides() -> None:
    """A file each; a side of an earlier run is swept."""
    folder = folder_of_sides("d", ["train", "test"])
    assert folder.paths == {"train": "d/train.jsonl", "test": "d/test.jsonl"}
    assert folder.swept == ["d/train.jsonl", "d/val.jsonl", "d/test.jsonl"]


def test_folder_of_dataset() -> None:
    """The names that the trainer wants, and what stands around the data."""
    folder = folder_of_dataset(
        "d", ExportPlan(target=target_named("customizer"), options=ExportOptions()), ["", "val"]
    )
    assert folder.paths == {
        "": "d/training/training_file.jsonl",
        "val": "d/validation/validation_file.jsonl",
        "job.json": "d/job.json",
    }
    assert folder.swept == [
        "d/training/training_file.jsonl",
        "d/validation/validation_file.jsonl",
        "d/test/test_file.jsonl",
        "d/job.json",
    ]


RECIPE = """
[read]
inputs = ["train.jsonl", "{other}.jsonl"]
[pair]
[export]
to = "trl"
[write]
output = "out.jsonl"
"""


@pytest.mark.parametrize("command", ["export --to trl", "pair --to trl", "run"])
@pytest.mark.parametrize("other", ["val", "train_2"])
def test_sides_in_one_file_are_told(
    command: str,
    other: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Whichever command writes data of several sides for a trainer; shards of one side are none."""
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(RECIPE.format(other=other))
    names = ["train.jsonl", f"{other}.jsonl"]
    for prompt, name in enumerate(names):
        rows = [{"prompt": f"Q{prompt}", "response": f"A{n}", "score": n} for n in range(2)]
        if command.startswith("export"):
            rows = [{"prompt": f"Q{prompt}", "chosen": "A", "rejected": "B"}]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["r.toml"] if command == "run" else [*names, "-o", "out.jsonl"]
    assert main([*command.split(), *given]) == 0
    assert ("note: train, val go into one file; " in capfd.readouterr().err) == (other == "val")
