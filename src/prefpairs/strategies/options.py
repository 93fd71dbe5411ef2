"""The options of `pair`: which pairs are made, and in which order they are written."""

from prefpairs.errors import UsageError
from prefpairs.option import flag, option, options
from prefpairs.strategies import strategy_named

MOST_PAIRS = 10_000_000
"""More than this many pairs are hardly ever wanted."""

_PAIR = "How pairs are made"
_RUN = "How it runs"


@options
class PairOptions:
    """What is asked of pairs."""

    strategy: str = option(
        "same_prompt",
        metavar="STRATEGY",
        panel=_PAIR,
        help="same_prompt (best-vs-worst), exhaustive, stratified, adjacent, best-vs-rest, "
        "random or sweet-spot; `prefpairs formats` says what each does.",
    )
    min_gap: float = option(
        0.0, metavar="GAP", least=0, panel=_PAIR, help="Minimum score difference."
    )
    max_gap: float | None = option(
        None, metavar="GAP", panel=_PAIR, help="Maximum score difference."
    )
    min_chosen_score: float | None = option(
        None, metavar="SCORE", panel=_PAIR, help="Minimum score of a chosen answer."
    )
    max_pairs_per_group: int | None = option(
        None, metavar="N", least=1, panel=_PAIR, help="N of a group: the widest."
    )
    high_threshold: float = option(
        0.7, metavar="SCORE", panel=_PAIR, help="stratified: chosen answers score this or more."
    )
    low_threshold: float = option(
        0.4, metavar="SCORE", panel=_PAIR, help="stratified: rejected ones this or less."
    )
    across_prompts: bool = flag(
        panel=_PAIR, help="stratified: let answers to different prompts meet."
    )
    rejected_per_chosen: int = option(
        1, metavar="N", least=1, panel=_PAIR, help="With --across-prompts: N each."
    )
    seed: int = option(0, metavar="N", panel=_PAIR, help="Seed of random draws.")
    yes_all: bool = flag(panel=_PAIR, help="Allow more than 10 million pairs.")
    order: str = option(
        "input",
        choices=("input", "key"),
        panel=_RUN,
        help="Groups as they first come, or in an order that no shuffling changes.",
    )
    assume_grouped: bool = flag(
        panel=_RUN,
        help="Groups stand together in the input: pair them as they come, in constant memory.",
    )
    workers: int | None = option(
        None,
        metavar="N",
        least=1,
        most=1024,
        panel=_RUN,
        help="Processes that read a file (default: one a core, for files that are worth it).",
    )

    @property
    def strategy_name(self) -> str:
        """The full name of the strategy."""
        return strategy_named(self.strategy)[0]

    def check(self) -> None:
        """Raise for options that do not go together."""
        strategy = self.strategy_name
        if self.max_gap is not None and not self.max_gap >= self.min_gap:
            raise UsageError(f"--max-gap {self.max_gap:g} is below --min-gap {self.min_gap:g}")
        for name in ("high_threshold", "low_threshold"):
            if strategy != "stratified" and getattr(self, name) != getattr(PairOptions, name):
                raise UsageError(f"--{name.replace('_', '-')} goes with --strategy stratified")
        if strategy == "stratified" and self.low_threshold > self.high_threshold:
            problem = f"--low-threshold {self.low_threshold:g} is above --high-threshold"
            raise UsageError(f"{problem} {self.high_threshold:g}", "name them both")
        if self.across_prompts and strategy != "stratified":
            raise UsageError(
                "--across-prompts goes with --strategy stratified only",
                "answers to different prompts are no preference in any other strategy",
            )
        if self.across_prompts and self.max_pairs_per_group is not None:
            raise UsageError(
                "--max-pairs-per-group does not go with --across-prompts",
                "there --rejected-per-chosen says how many pairs a chosen answer gets",
            )
        if self.rejected_per_chosen > 1 and not self.across_prompts:
            raise UsageError("--rejected-per-chosen goes with --across-prompts")
        if self.assume_grouped and (self.across_prompts or self.order == "key"):
            raise UsageError("--assume-grouped goes neither with --across-prompts nor --order key")
