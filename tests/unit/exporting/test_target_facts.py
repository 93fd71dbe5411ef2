"""What a target says of itself."""

from prefpairs.targets import target_named
from prefpairs.targets.base import CannotExport, ExportOptions


def test_files_of_sides() -> None:
    """The data by side, in their order, and the files around them by name."""
    assert target_named("customizer").files_of(["val", "train"]) == {
        "val": "validation/validation_file.jsonl",
        "train": "training/training_file.jsonl",
        "job.json": "job.json",
    }
    assert target_named("trl").files_of([]) == {"README.md": "README.md", "dpo.sh": "dpo.sh"}


def test_reason_of_what_is_unfit() -> None:
    """It stands there for the ledger."""
    assert CannotExport("not_text").reason == "not_text"


def test_options_that_nobody_gave() -> None:
    """Nothing is lost that could be said, and arguments are text."""
    assert ExportOptions() == ExportOptions(
        turns="auto",
        lossy="flatten",
        tool_args="string",
        reasoning_as="text",
        system="keep",
        text=False,
        last_message=False,
        release="",
    )
