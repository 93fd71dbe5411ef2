"""prefpairs dedupe: one pair of each kind."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from prefpairs.cli.reading import AsideWords, InputWords
from prefpairs.cli.words import command_of, one_of, split_words
from prefpairs.cli.writing import WriteWords
from prefpairs.engines.plan import SievePlan
from prefpairs.engines.sieve import sieve
from prefpairs.errors import UsageError
from prefpairs.report import Report
from prefpairs.sieves.dedupe import FIELDS, Dedupe

_SAME = "What counts as the same"


@dataclass(frozen=True, kw_only=True)
class DedupeWords:
    """The words about duplicates, as they were typed."""

    by: Annotated[
        str,
        Option(
            metavar="content|prompt|chosen|rejected",
            rich_help_panel=_SAME,
            help="Pairs that agree in these are the same; several, with commas, count together. "
            "content is prompt, tools, chosen and rejected.",
        ),
    ] = "content"
    conflicts: Annotated[
        str,
        Option(
            metavar="keep|drop|strongest",
            rich_help_panel=_SAME,
            help="A over B here and B over A there, for the same prompt: keep both (and say how "
            "many), drop both, or keep the one with the wider gap.",
        ),
    ] = "keep"

    def sieve(self) -> Dedupe:
        """The sieve that these words ask for."""
        fields = tuple(one_of("--by", word, *FIELDS) for word in split_words([self.by]))
        if not fields:
            raise UsageError("--by names nothing", f"one of {', '.join(FIELDS)}")
        return Dedupe(
            by=fields,
            conflicts=one_of("--conflicts", self.conflicts, "keep", "drop", "strongest"),
        )


@command_of
def dedupe(
    *, reading: InputWords, same: DedupeWords, aside: AsideWords, writing: WriteWords
) -> None:
    """Pairs without their duplicates.

    Of pairs that are the same the one with the widest gap stays, then the one with the higher
    chosen score; the order of the input has no say in it.

        prefpairs dedupe --conflicts strongest run1.jsonl run2.jsonl -o pairs.jsonl

    Memory: about 100 bytes a distinct pair, however long the texts are.
    """
    report = Report()
    plan = SievePlan(read=reading.input_plan(), sieves=[same.sieve()], temp_dir=aside.temp_dir)
    with writing.opened("dedupe", plan.read, report) as output:
        sieve(plan, output, report, allow_empty=writing.allow_empty)
