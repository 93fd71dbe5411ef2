"""prefpairs dedupe: one pair of each kind."""

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.read_options import AsideWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.benchmark_prompts import FIELDS, read_reference
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input, find_inputs
from prefpairs.ledger import Report
from prefpairs.option import one_of, option, options, split_words
from prefpairs.stages.dedupe import SAME_IN, Dedupe
from prefpairs.stages.near_duplicates import LEAST

_SAME = "What counts as the same"


@options
class DedupeWords:
    """The words about duplicates, as they were typed."""

    by: str = option(
        "content",
        metavar="content|prompt|chosen|rejected",
        panel=_SAME,
        help="Pairs that agree in these are the same; several, with commas, count together. "
        "content is prompt, tools, chosen and rejected.",
    )
    conflicts: str = option(
        "keep",
        metavar="keep|drop|strongest",
        panel=_SAME,
        help="A over B here and B over A there, for the same prompt: keep both (and say how "
        "many), drop both, or keep the one with the wider gap.",
    )

    near: float | None = option(
        None,
        metavar="SHARE",
        least=LEAST,
        most=1,
        panel=_SAME,
        help="Drop pairs that have this share of their runs of five words in common with a "
        "stronger one; 0.9 forgives one changed word in 100, 0.8 one in 45, 0.5 one in 15.",
    )
    near_on: str | None = option(
        None,
        metavar="prompt|chosen|both",
        panel=_SAME,
        help="What must be near: the prompt, the chosen answer, or each of them (default).",
    )
    against: list[str] | None = option(
        None,
        metavar="FILE",
        panel="What must not be trained on",
        help="Drop pairs whose prompt, or a question asked in it, stands in this file of a "
        "benchmark or of validation data; with --near, also nearly. Repeatable.",
    )
    against_field: str | None = option(
        None,
        metavar="PATH",
        panel="What must not be trained on",
        help=f"Where prompts stand in it (default: the first of {', '.join(FIELDS)}).",
    )

    def references(self) -> list[Input]:
        """The files that pairs are held against."""
        found = find_inputs(self.against) if self.against else []
        if any(given.is_stdin for given in found):
            raise UsageError("--against -: standard input is for pairs", "name a file")
        return found

    def sieve(self) -> Dedupe:
        """The sieve that these words ask for."""
        if self.against_field is not None and not self.against:
            raise UsageError("--against-field goes with --against")
        if self.near_on is not None and self.near is None:
            raise UsageError("--near-on goes with --near")
        near_on = one_of("--near-on", self.near_on or "both", "prompt", "chosen", "both")
        reference = None
        if references := self.references():
            reference = read_reference(references, self.against_field, near=self.near)
        return Dedupe(
            by=self._fields(),
            conflicts=one_of("--conflicts", self.conflicts, "keep", "drop", "strongest"),
            near=self.near,
            near_on=near_on,
            reference=reference,
        )

    def _fields(self) -> tuple[str, ...]:
        fields = tuple(one_of("--by", word, *SAME_IN) for word in split_words([self.by]))
        if not fields:
            raise UsageError("--by names nothing", f"one of {', '.join(SAME_IN)}")
        return fields


def dedupe(
    *, reading: PairInputWords, same: DedupeWords, aside: AsideWords, writing: WriteWords
) -> None:
    """Pairs without their duplicates.

    Of pairs that are the same the one with the widest gap stays, then the one with the higher
    chosen score; the order of the input has no say in it.

    Memory: 90 to 110 bytes a distinct pair, however long the texts are; with --near up to 1,800
    more at 0.9, and 5,000 at 0.5.

        prefpairs dedupe run1.jsonl run2.jsonl -o pairs.jsonl

        # of A over B and B over A the one with the wider gap
        prefpairs dedupe --conflicts strongest pairs.jsonl -o settled.jsonl

        # without what is nearly the same, and without test questions
        prefpairs dedupe --near 0.8 --against test.jsonl pairs.jsonl -o clean.jsonl
    """
    report = Report()
    plan = SievePlan(read=reading.input_plan(), sieves=[same.sieve()], temp_dir=aside.temp_dir)
    with writing.opened("dedupe", plan.read, report, also_read=same.references()) as output:
        sieve(plan, {WHOLE: output}, report, allow_empty=writing.allow_empty)
