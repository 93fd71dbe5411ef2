"""The properties of a target."""

from prefpairs.targets import target_named


def test_files_of_sides() -> None:
    """The data files by split, in order, and the other files by name."""
    assert target_named("customizer").files_of(["val", "train"]) == {
        "val": "validation/validation_file.jsonl",
        "train": "training/training_file.jsonl",
        "job.json": "job.json",
    }
    assert target_named("trl").files_of([]) == {"README.md": "README.md", "dpo.sh": "dpo.sh"}
