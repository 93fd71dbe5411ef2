"""Where the results of a run go, and what must hold for them to appear: the options."""

from typing import Any

from prefpairs.errors import EmptyName
from prefpairs.files.standard_output import STDOUT, refuse_stdout
from prefpairs.option import flag, option, options

_WRITE = "What is written"


def _force_option() -> Any:
    """--force, of every command that writes into a directory."""
    return flag(
        panel=_WRITE,
        help="Also replace and delete files of these names in --out-dir that prefpairs did not "
        "write.",
    )


def keep_if_same_option() -> Any:
    """--keep-if-same, of recipes."""
    return flag(
        panel=_WRITE,
        help="Leave an output as it is, time and all, if its bytes would not change; the "
        "manifest is written anew, as a stamp for make.",
    )


def _output_option(more: str = "") -> Any:
    """-o, of every command that writes one file."""
    return option(
        STDOUT,
        "-o",
        "--output",
        metavar="FILE",
        panel=_WRITE,
        help="Where results go (default: standard output). The file appears when all of it "
        f"is there; .gz and .zst compress it{more}.",
        show_default=False,
    )


@options
class WritePlan:
    """What is written, and on which condition."""

    summary: str | None = option(
        None,
        metavar="FILE",
        panel=_WRITE,
        help="Write the counts as JSON, too, also those of a run that fails.",
    )
    require: list[str] | None = option(
        None,
        metavar="NAME>=N",
        panel=_WRITE,
        help="Exit with 4 unless a count of the summary is so: 'pairs>=5000'. Outputs stay as "
        "they were then, but for --summary. Repeatable.",
    )
    quiet: bool = flag("-q", "--quiet", panel=_WRITE, help="Say nothing but errors.")
    allow_empty: bool = flag(panel=_WRITE, help="An empty result is no error.")

    # Commands and recipes that offer these declare them as options.
    output: str = STDOUT
    out_dir: str | None = None
    force: bool = False
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
class WriteDataset(WritePlan):
    """The one file, or the files of a dataset."""

    output: str = _output_option("; with --to, .parquet types its columns")
    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Where the dataset appears, as --to TARGET wants it: its files, and a "
        "configuration that runs.",
    )
    force: bool = _force_option()


@options
class WriteSides(WritePlan):
    """The files of a split."""

    out_dir: str | None = option(
        None,
        metavar="DIR",
        panel=_WRITE,
        help="Where train.jsonl, val.jsonl and test.jsonl appear, all together.",
    )
    force: bool = _force_option()


@options
class WriteRecipe(WriteDataset):
    """What a recipe writes, in its table [write]."""

    manifest: str | None = option(
        None, metavar="FILE", panel=_WRITE, help="Where the manifest goes."
    )
    keep_if_same: bool = keep_if_same_option()
