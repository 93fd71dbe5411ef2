"""Where the files of a run appear, if there are several."""

from prefpairs.cli.places import folder_of_dataset, folder_of_sides
from prefpairs.engines.plan import ExportPlan
from prefpairs.targets import target_named
from prefpairs.targets.protocol import ExportOptions


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
