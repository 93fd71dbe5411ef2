"""Where the files of a run appear if there are several."""

import json
from pathlib import Path

import pytest

from prefpairs.cli.main import main
from prefpairs.engine.outputs.destination import Destination
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.plan import ExportPlan, InputPlan, Plan, WritePlan
from prefpairs.stages.split import Split
from prefpairs.targets import target_named
from prefpairs.targets.export_options import ExportOptions

OURS = (
    b'{"id": "70bbf81c1f01a23af69e2c2b1346a9b7", "group": "g", '
    b'"prompt": "Q", "chosen": "A", "rejected": "B"}\n'
)
"""A row as prefpairs writes it."""


def _swept(destination: Destination, *names: str) -> dict[str, str]:
    """The files in the folder after a run with these existing files, by output names."""
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(OURS)
    with FileTransaction() as transaction, destination.opened(transaction) as outputs:
        for name, output in outputs.items():
            output.write(f"{name}\n".encode())
    left = (path for path in Path("d").rglob("*") if path.is_file())
    return {str(path): path.read_text().strip() for path in sorted(left)}


def test_folder_of_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file per split; files of an earlier run are removed."""
    monkeypatch.chdir(tmp_path)
    split = Split(val_fraction=0.0, test_fraction=0.1)
    destination = Destination(Plan(read=InputPlan(), split=split, write=WritePlan(out_dir="d")))
    assert destination.paths == ["d/train.jsonl", "d/test.jsonl"]
    assert destination.lasting == {"train": "d/train.jsonl", "test": "d/test.jsonl"}
    names = "d/train.jsonl", "d/val.jsonl", "d/test.jsonl", "d/other.jsonl"
    assert _swept(destination, *names) == {
        "d/other.jsonl": OURS.decode().strip(),
        "d/test.jsonl": "test",
        "d/train.jsonl": "train",
    }


def test_folder_of_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file names that the trainer expects, and the files next to the data."""
    monkeypatch.chdir(tmp_path)
    train, val = Input("train.jsonl", "train.jsonl"), Input("val.jsonl", "val.jsonl")
    destination = Destination(
        Plan(
            read=InputPlan(inputs=[train, val]),
            sides={train: "train", val: "val"},
            export=ExportPlan(target=target_named("customizer"), options=ExportOptions()),
            write=WritePlan(out_dir="d"),
        )
    )
    files = {
        "train": "d/training/training_file.jsonl",
        "val": "d/validation/validation_file.jsonl",
        "job.json": "d/job.json",
    }
    assert (destination.paths, destination.lasting) == ([*files.values()], files)
    left = _swept(destination, "d/training/training_file.jsonl", "d/test/test_file.jsonl")
    assert left == {path: name for name, path in sorted(files.items(), key=lambda one: one[1])}


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
def test_several_splits_in_one_file_are_reported(
    command: str,
    other: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Every command warns about several splits in one file; shards of one split are fine."""
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
