"""filter: keeps pairs that meet every condition; others are dropped for the first one they fail."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from prefpairs.errors import OptionsBothNeeded, UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.message import flat_text
from prefpairs.model.pair import Pair
from prefpairs.option import flag, option, options, options_in
from prefpairs.stages.answer_defects import is_refusal, is_truncated
from prefpairs.stages.base import PairReader, StageFiles
from prefpairs.stages.pair_columns import PairColumns

_SCORES = "Scores and gaps"
_LENGTHS = "Lengths, in characters"
_CONTENT = "Content"


@options
class Filter:
    """The conditions that a pair must meet. Lengths are in characters of all its text."""

    min_gap: float | None = option(None, metavar="GAP", panel=_SCORES, help="Minimum gap.")
    max_gap: float | None = option(None, metavar="GAP", panel=_SCORES, help="Maximum gap.")
    min_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Minimum score of the chosen answer."
    )
    max_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Maximum score of the chosen answer."
    )
    min_rejected_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Minimum score of the rejected answer."
    )
    max_rejected_score: float | None = option(
        None, metavar="SCORE", panel=_SCORES, help="Maximum score of the rejected answer."
    )
    min_prompt_chars: int | None = option(
        None,
        metavar="N",
        least=0,
        panel=_LENGTHS,
        help="Minimum length of the prompt, in characters.",
    )
    max_prompt_chars: int | None = option(
        None,
        metavar="N",
        least=0,
        panel=_LENGTHS,
        help="Maximum length of the prompt, in characters.",
    )
    min_answer_chars: int | None = option(
        None,
        metavar="N",
        least=0,
        panel=_LENGTHS,
        help="Minimum length of both answers, in characters.",
    )
    max_answer_chars: int | None = option(
        None,
        metavar="N",
        least=0,
        panel=_LENGTHS,
        help="Maximum length of both answers, in characters.",
    )
    max_length_ratio: float | None = option(
        None,
        metavar="R",
        least=1,
        panel=_LENGTHS,
        help="Maximum ratio of the longer answer to the shorter one.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_LENGTHS,
        help="Maximum number of tokens of the prompt and the longer answer together.",
    )
    tokenizer: str | None = option(
        None,
        metavar="FILE",
        panel=_LENGTHS,
        help="A tokenizer.json. Tokens that a chat template adds are not counted.",
    )
    drop_truncated: bool = flag(
        panel=_CONTENT,
        help="Drop pairs with a truncated answer: meta says so (finish_reason and the like), or "
        "a reasoning block, a code block or a tool call is not closed.",
    )
    drop_refusals: bool = flag(
        panel=_CONTENT, help="Drop pairs whose chosen answer starts like a refusal."
    )
    count_tokens: Callable[[str], int] | None = None
    """Counts the tokens of a text with `tokenizer`, once that has been read."""

    name = "filter"
    holds_back = False
    picks = False
    needs = frozenset[str]()
    benchmarks = ()

    def check(self) -> None:
        """Raise if there is no condition, or if no pair can meet the bounds."""
        if not self._given({_SCORES, _LENGTHS, _CONTENT}):
            raise UsageError("filter has no condition", "--help lists them")
        for name in ("gap", "chosen_score", "rejected_score", "prompt_chars", "answer_chars"):
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if least is not None and most is not None and not least <= most:
                spelled = name.replace("_", "-")
                raise UsageError(f"--min-{spelled} {least:g} is above --max-{spelled} {most:g}")
        if (self.max_tokens is None) != (self.tokenizer is None):
            raise OptionsBothNeeded("--max-tokens N", "--tokenizer FILE")

    def _given(self, panels: Collection[str]) -> bool:
        """Whether there is a condition of one of these kinds."""
        known = (option for option in options_in(self) if option.panel in panels)
        return any(getattr(self, option.field) != option.default for option in known)

    @property
    def tokenizers(self) -> Sequence[str]:
        """The tokenizer that it reads, if any."""
        return () if self.tokenizer is None else (self.tokenizer,)

    def with_files(self, files: StageFiles) -> Self:
        """The same filter with its tokenizer read."""
        if self.tokenizer is None:
            return self
        return replace(self, count_tokens=files.token_counter(self.tokenizer))

    def select(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[PairColumns]:
        """The pairs that meet all conditions."""
        by_text = self._given({_LENGTHS, _CONTENT})
        for block in blocks:
            kept = array("I")
            for slot, numbers in enumerate(block.scores()):
                reason = self._by_scores(*numbers)
                if reason is None and by_text:
                    reason = self._by_text(reader.pair_in(block, slot))
                if reason is None:
                    kept.append(slot)
                else:
                    counts.dropped[reason] += 1
            yield block if len(kept) == len(block) else block.of(kept, wanted)

    def _by_text(self, pair: Pair) -> str | None:
        """The reason code of the first condition on texts that a pair fails, if any."""
        return (
            self._by_lengths(pair)
            or ("truncated" if self.drop_truncated and is_truncated(pair) else None)
            or ("refusal" if self.drop_refusals and is_refusal(pair.chosen) else None)
            or self._by_tokens(pair)
        )

    def _by_scores(
        self, gap: float | None, chosen: float | None, rejected: float | None
    ) -> str | None:
        """The reason code of the first condition on scores that a pair fails, if any."""
        wide = _outside(gap, self.min_gap, self.max_gap)
        better = _outside(chosen, self.min_chosen_score, self.max_chosen_score)
        worse = _outside(rejected, self.min_rejected_score, self.max_rejected_score)
        if None in (wide, better, worse):
            return "score_unknown"
        if wide:
            return "gap_too_small" if wide < 0 else "gap_too_large"
        if outside := better or worse:
            return "score_too_low" if outside < 0 else "score_too_high"
        return None

    def _by_lengths(self, pair: Pair) -> str | None:
        bounds = (self.min_prompt_chars, self.max_prompt_chars, self.min_answer_chars)
        if (*bounds, self.max_answer_chars, self.max_length_ratio) == (None,) * 5:
            return None  # without flattening any chat
        prompt = len(flat_text(pair.prompt))
        shorter, longer = sorted((len(flat_text(pair.chosen)), len(flat_text(pair.rejected))))
        if _outside(shorter, self.min_answer_chars, None) or _outside(
            prompt, self.min_prompt_chars, None
        ):
            return "too_short"
        if _outside(longer, None, self.max_answer_chars) or _outside(
            prompt, None, self.max_prompt_chars
        ):
            return "too_long"
        if self.max_length_ratio is not None and longer > self.max_length_ratio * shorter:
            return "length_ratio"
        return None

    def _by_tokens(self, pair: Pair) -> str | None:
        if self.max_tokens is None or self.count_tokens is None:
            return None
        count = self.count_tokens
        answer = max(count(flat_text(pair.chosen)), count(flat_text(pair.rejected)))
        too_many = count(flat_text(pair.prompt)) + answer > self.max_tokens
        return "too_many_tokens" if too_many else None


def _outside(number: float | None, least: float | None, most: float | None) -> int | None:
    """-1 below the bounds, 1 above them, 0 within; None if the number is not known.

    >>> _outside(3, 1, 2), _outside(None, None, 2), _outside(None, None, None)
    (1, None, 0)
    """
    if least is None and most is None:
        return 0
    if number is None:
        return None
    if least is not None and number < least:
        return -1
    return int(most is not None and number > most)
