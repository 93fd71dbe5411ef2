"""prefpairs filter: the pairs that pass simple conditions."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated

from typer import Option

from prefpairs.cli.option_groups import FLAG, command_of, word_group
from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.tokenizer import open_tokenizer
from prefpairs.ledger import Report
from prefpairs.stages.filter import Filter

_SCORES = "Scores and gaps"
_LENGTHS = "Lengths, in characters of all that a text says"
_CONTENT = "Content"


@word_group
class FilterWords:
    """The conditions, as they were typed."""

    min_gap: Annotated[
        float | None,
        Option(metavar="GAP", rich_help_panel=_SCORES, help="Least gap."),
    ] = None
    max_gap: Annotated[
        float | None,
        Option(metavar="GAP", rich_help_panel=_SCORES, help="Greatest gap."),
    ] = None
    min_chosen_score: Annotated[
        float | None,
        Option(metavar="SCORE", rich_help_panel=_SCORES, help="Least score of the chosen answer."),
    ] = None
    max_chosen_score: Annotated[
        float | None,
        Option(
            metavar="SCORE", rich_help_panel=_SCORES, help="Greatest score of the chosen answer."
        ),
    ] = None
    min_rejected_score: Annotated[
        float | None,
        Option(
            metavar="SCORE", rich_help_panel=_SCORES, help="Least score of the rejected answer."
        ),
    ] = None
    max_rejected_score: Annotated[
        float | None,
        Option(
            metavar="SCORE", rich_help_panel=_SCORES, help="Greatest score of the rejected answer."
        ),
    ] = None
    min_prompt_chars: Annotated[
        int | None,
        Option(min=0, metavar="N", rich_help_panel=_LENGTHS, help="Shortest prompt."),
    ] = None
    max_prompt_chars: Annotated[
        int | None,
        Option(min=0, metavar="N", rich_help_panel=_LENGTHS, help="Longest prompt."),
    ] = None
    min_answer_chars: Annotated[
        int | None,
        Option(min=0, metavar="N", rich_help_panel=_LENGTHS, help="Shortest answer, of both."),
    ] = None
    max_answer_chars: Annotated[
        int | None,
        Option(min=0, metavar="N", rich_help_panel=_LENGTHS, help="Longest answer, of both."),
    ] = None
    max_length_ratio: Annotated[
        float | None,
        Option(
            min=1,
            metavar="R",
            rich_help_panel=_LENGTHS,
            help="How many times as long one answer may be as the other.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            rich_help_panel=_LENGTHS,
            help="Most tokens of the prompt and the longer answer together.",
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        Option(
            metavar="FILE",
            rich_help_panel=_LENGTHS,
            help="A tokenizer.json; what a chat template adds is not counted.",
        ),
    ] = None
    drop_truncated: Annotated[
        bool,
        Option(
            "--drop-truncated",
            metavar=FLAG,
            rich_help_panel=_CONTENT,
            help="Drop pairs of which an answer was cut off: meta says so (finish_reason and the "
            "like), or a thought, a block of code or a tool call in it never ends.",
        ),
    ] = False
    drop_refusals: Annotated[
        bool,
        Option(
            "--drop-refusals",
            metavar=FLAG,
            rich_help_panel=_CONTENT,
            help="Drop pairs whose chosen answer begins like a refusal.",
        ),
    ] = False

    def references(self) -> list[Input]:
        """The files that conditions rest on."""
        return [Input(self.tokenizer, self.tokenizer)] if self.tokenizer else []

    def sieve(self) -> Filter:
        """The sieve that these words ask for."""
        conditions = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "tokenizer"
        }
        if all(value is None or value is False for value in conditions.values()):
            raise UsageError("filter without a condition", "--help lists them")
        for name in ("gap", "chosen_score", "rejected_score", "prompt_chars", "answer_chars"):
            least, most = conditions[f"min_{name}"], conditions[f"max_{name}"]
            if least is not None and most is not None and not least <= most:
                option = name.replace("_", "-")
                raise UsageError(f"--min-{option} {least:g} is above --max-{option} {most:g}")
        return Filter(**conditions, count_tokens=self._count_tokens())

    def _count_tokens(self) -> Callable[[str], int] | None:
        if (self.max_tokens is None) != (self.tokenizer is None):
            raise UsageError("--max-tokens N and --tokenizer FILE go together", "give both")
        return None if self.tokenizer is None else open_tokenizer(self.tokenizer)


@command_of
def filter(  # noqa: A001 - the word that is typed
    *, reading: PairInputWords, conditions: FilterWords, writing: WriteWords
) -> None:
    """Pairs that pass every condition.

    Each of the others is counted under the first condition that it fails. A bound includes its
    number. A pair whose gap or score is not known passes no bound on it.

    Memory: constant; one pass over the input.

        prefpairs filter --min-gap 0.2 --max-length-ratio 3 pairs.jsonl -o good.jsonl

        # what fits into a model
        prefpairs filter --max-tokens 4096 --tokenizer tokenizer.json pairs.jsonl

        # fail, and leave good.jsonl as it was, if too little is left
        prefpairs filter --min-gap 0.2 --require 'pairs>=500' all.jsonl -o good.jsonl
    """
    report = Report()
    plan = SievePlan(read=reading.input_plan(), sieves=[conditions.sieve()])
    references = conditions.references()
    with writing.opened("filter", plan.read, report, also_read=references) as output:
        sieve(plan, {WHOLE: output}, report, allow_empty=writing.allow_empty)
