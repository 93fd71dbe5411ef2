"""Where the results of a run go, and what must hold for them to appear: the options."""

from typing import Any

from prefpairs.errors import EmptyName
from prefpairs.files.standard_output import STDOUT, refuse_stdout
from prefpairs.option import flag, option, options

_WRITE = "Output"


def _force_option() -> Any:
    """--force, of every command that writes into a directory."""
    return flag(
        panel=_WRITE,
        help="Replace and delete files in --out-dir even if prefpairs did not write them.",
    )


def keep_if_same_option() -> Any:
    """--keep-if-same, of recipes."""
    return flag(
        panel=_WRITE,
        help="Leave an output untouched, including its modification time, if its bytes would not "
        "change. The manifest is always written, as a stamp for make.",
    )


def _output_option(more: str = "") -> Any:
    """-o, of every command that writes one file."""
    return option(
        STDOUT,
        "-o",
        "--output",
        metavar="FILE",
        panel=_WRITE,
        help="Output file (default: standard output). It appears once it is complete; "
        f".gz and .zst compress it{more}.",
        show_default=False,
    )


@options
class WritePlan:
    """What is written, and on which condition."""

    summary: str | None = option(
        None,
        metavar="FILE",
        panel=_WRITE,
        help="Also write the counts as JSON, even if the run fails.",
    )
    require: list[str] | None = option(
        None,
        metavar="NAME>=N",
        panel=_WRITE,
        help="Exit with 4 unless a count of the summary meets this condition: 'pairs>=5000'. "
        "Existing outputs are then left unchanged, except --summary. Repeatable.",
    )
    quiet: bool = flag("-q", "--quiet", panel=_WRITE, help="Print only errors.")
    allow_empty: bool = flag(panel=_WRITE, help="Do not fail if the result is empty.")

    # Commands and recipes that offer these declare them as options.
    output: str = STDOUT
    out_dir: str | None = None
    force: bool = False
    example: bool = False
    keep_if_same: bool = False

    def check(self) -> None:
        """Raise for options that do not go together."""
        refuse_stdout("--summary", self.summary)
        if self.out_dir is not None and not self.out_dir:
            raise EmptyName("--out-dir")


@options
class WriteFile(WritePlan):
    """The one file that is written."""

    output: str = _output_option()


@options
class WriteParts(WriteFile):
    """The one file, or the parts that several machines write."""

    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Directory for the parts that --runner shards and ray write.",
    )
    force: bool = _force_option()


@options
class WriteDataset(WritePlan):
    """The one file, or the files of a dataset."""

    output: str = _output_option("; with --to, .parquet gives typed columns")
    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Directory for the dataset of --to TARGET, with a configuration that runs; or for the "
        "parts that --runner shards and ray write.",
    )
    force: bool = _force_option()
    example: bool = flag(panel=_WRITE, help="Print the first pair at the end, as JSON.")


@options
class WriteSides(WritePlan):
    """The files of a split."""

    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Directory for train.jsonl, val.jsonl and test.jsonl, or for the parts of each that "
        "--runner shards and ray write.",
    )
    force: bool = _force_option()


@options
class WriteRecipe(WriteDataset):
    """What a recipe writes, in its table [write]."""

    manifest: str | None = option(
        None, metavar="FILE", panel=_WRITE, help="Where the manifest goes."
    )
    keep_if_same: bool = keep_if_same_option()
