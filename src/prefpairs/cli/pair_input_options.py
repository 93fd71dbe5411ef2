"""The options that say what is read, of every command that takes pairs."""

from dataclasses import replace

from prefpairs.cli.read_options import READ, InputWords
from prefpairs.engine.plan import InputPlan
from prefpairs.engine.trainer_rows import reader_named
from prefpairs.option import option, options
from prefpairs.sources import TRACES
from prefpairs.targets import OF_TRACES, PAIR_FORMATS


@options
class PairInputWords(InputWords):
    """The words about inputs that hold pairs, as they were typed."""

    dialect: str = option(
        "auto",
        "--from",
        metavar="FORMAT",
        panel=READ,
        help="auto (look at the columns of each row), or the format of a trainer: "
        f"{', '.join(PAIR_FORMATS)}; {TRACES}, with export --to {' or '.join(OF_TRACES)}.",
    )

    def input_plan(self) -> InputPlan:
        """The plan that these words ask for."""
        if self.dialect not in ("auto", TRACES):
            reader_named(self.dialect)
        return replace(InputWords.input_plan(self), dialect=self.dialect)
