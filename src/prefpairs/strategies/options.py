"""The options of `pair`: which pairs are made, and the order in which they are written."""

from prefpairs.errors import OptionNeeds, OptionsConflict, UsageError
from prefpairs.option import flag, option, options
from prefpairs.strategies import strategy_named

MOST_PAIRS = 10_000_000
"""More than this many pairs are hardly ever wanted."""

_PAIR = "Pairing"
_RUN = "Execution"


@options
class PairOptions:
    """Which pairs are made of each group, and how the run works."""

    strategy: str = option(
        "same_prompt",
        metavar="STRATEGY",
        panel=_PAIR,
        help="same_prompt (best-vs-worst), exhaustive, stratified, adjacent, best-vs-rest, "
        "random or sweet-spot; `prefpairs formats` describes them.",
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
        None, metavar="N", least=1, panel=_PAIR, help="Keep the N widest pairs of each group."
    )
    high_threshold: float = option(
        0.7, metavar="SCORE", panel=_PAIR, help="stratified: minimum score of chosen answers."
    )
    low_threshold: float = option(
        0.4, metavar="SCORE", panel=_PAIR, help="stratified: maximum score of rejected answers."
    )
    across_prompts: bool = flag(panel=_PAIR, help="stratified: pair answers to different prompts.")
    rejected_per_chosen: int = option(
        1,
        metavar="N",
        least=1,
        panel=_PAIR,
        help="With --across-prompts: N rejected answers for each chosen one.",
    )
    num_candidates: bool = flag(
        panel=_PAIR, help="Write the number of candidates of each group to meta.num_candidates."
    )
    seed: int = option(0, metavar="N", panel=_PAIR, help="Seed of random draws.")
    yes_all: bool = flag(panel=_PAIR, help="Allow more than 10 million pairs.")
    order: str = option(
        "input",
        choices=("input", "key"),
        panel=_RUN,
        help="Order of groups: as they first occur, or by key, which does not depend on the "
        "order of rows.",
    )
    assume_grouped: bool = flag(
        panel=_RUN,
        help="Groups are consecutive in the input: pair them as they are read, in constant memory.",
    )
    workers: int | None = option(
        None,
        metavar="N",
        least=1,
        most=1024,
        panel=_RUN,
        help="Number of threads that read a file and make pairs; of processes, without the native "
        "core (default: one per core, for large files).",
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
                raise OptionNeeds(f"--{name.replace('_', '-')}", "--strategy stratified")
        if strategy == "stratified" and self.low_threshold > self.high_threshold:
            problem = f"--low-threshold {self.low_threshold:g} is above --high-threshold"
            raise UsageError(f"{problem} {self.high_threshold:g}", "give both")
        if self.across_prompts and strategy != "stratified":
            raise OptionNeeds(
                "--across-prompts",
                "--strategy stratified",
                "no other strategy compares answers to different prompts",
            )
        if self.across_prompts and self.max_pairs_per_group is not None:
            raise OptionsConflict(
                "--max-pairs-per-group",
                "--across-prompts",
                hint="use --rejected-per-chosen to set how many pairs a chosen answer gets",
            )
        if self.rejected_per_chosen > 1 and not self.across_prompts:
            raise OptionNeeds("--rejected-per-chosen", "--across-prompts")
        if self.assume_grouped and (self.across_prompts or self.order == "key"):
            other = "--across-prompts" if self.across_prompts else "--order key"
            raise OptionsConflict("--assume-grouped", other)
