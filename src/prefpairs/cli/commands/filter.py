"""prefpairs filter: the pairs that pass simple conditions."""

from collections.abc import Callable
from dataclasses import fields

from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.write_options import WriteWords
from prefpairs.engine.pair_writer import WHOLE
from prefpairs.engine.plan import SievePlan
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.tokenizer import open_tokenizer
from prefpairs.ledger import Report
from prefpairs.option import flag, option, options
from prefpairs.stages.filter import Filter

_SCORES = "Scores and gaps"
_LENGTHS = "Lengths, in characters of all that a text says"
_CONTENT = "Content"


@options
class FilterWords:
    """The conditions, as they were typed."""

    min_gap: float | None = option(None, metavar="GAP", panel=_SCORES, help="Least gap.")
    max_gap: float | None = option(None, metavar="GAP", panel=_SCORES, help="Greatest gap.")
    min_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Least score of the chosen answer."
    )
    max_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Greatest score of the chosen answer."
    )
    min_rejected_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Least score of the rejected answer."
    )
    max_rejected_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Greatest score of the rejected answer."
    )
    min_prompt_chars: int | None = option(
        None, metavar="N", least=0, panel=_LENGTHS, help="Shortest prompt."
    )
    max_prompt_chars: int | None = option(
        None, metavar="N", least=0, panel=_LENGTHS, help="Longest prompt."
    )
    min_answer_chars: int | None = option(
        None, metavar="N", least=0, panel=_LENGTHS, help="Shortest answer, of both."
    )
    max_answer_chars: int | None = option(
        None, metavar="N", least=0, panel=_LENGTHS, help="Longest answer, of both."
    )
    max_length_ratio: float | None = option(
        None,
        metavar="R",
        least=1,
        panel=_LENGTHS,
        help="How many times as long one answer may be as the other.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_LENGTHS,
        help="Most tokens of the prompt and the longer answer together.",
    )
    tokenizer: str | None = option(
        None,
        metavar="FILE",
        panel=_LENGTHS,
        help="A tokenizer.json; what a chat template adds is not counted.",
    )
    drop_truncated: bool = flag(
        panel=_CONTENT,
        help="Drop pairs of which an answer was cut off: meta says so (finish_reason and the "
        "like), or a thought, a block of code or a tool call in it never ends.",
    )
    drop_refusals: bool = flag(
        panel=_CONTENT, help="Drop pairs whose chosen answer begins like a refusal."
    )

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
