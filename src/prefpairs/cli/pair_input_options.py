"""The options that say what is read, of every command that takes pairs."""

from dataclasses import replace
from typing import Annotated

from typer import Option

from prefpairs.cli.option_groups import word_group
from prefpairs.cli.read_options import READ, InputWords
from prefpairs.engine.plan import InputPlan
from prefpairs.engine.trainer_rows import DIALECTS, reader_named

TRACES = "traces"
"""What only `export --to sdpo` reads: there are no pairs in its rows."""


@word_group
class PairInputWords(InputWords):
    """The words about inputs that hold pairs, as they were typed."""

    dialect: Annotated[
        str,
        Option(
            "--from",
            metavar="FORMAT",
            rich_help_panel=READ,
            help="auto (look at the columns of each row), or the format of a trainer: "
            f"{', '.join(DIALECTS)}; traces, with export --to sdpo.",
        ),
    ] = "auto"

    def input_plan(self) -> InputPlan:
        """The plan that these words ask for."""
        if self.dialect not in ("auto", TRACES):
            reader_named(self.dialect)
        return replace(InputWords.input_plan(self), dialect=self.dialect)
