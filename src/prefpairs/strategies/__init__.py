"""From a group of candidates to its pairs: one module per strategy, all pure.

The word that the user types, the module and its function have the same name. To add a strategy,
write its module and name it here.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from prefpairs.errors import UnknownWord

if TYPE_CHECKING:
    from prefpairs.strategies.allowed_pairs import Group, Positions
    from prefpairs.strategies.options import PairOptions

    Strategy = Callable[[Group, PairOptions], Iterable[Positions]]

STRATEGIES = {
    "best-vs-worst": "the widest allowed pair of each group",
    "exhaustive": "all allowed pairs, widest first",
    "stratified": "scores from --high-threshold up against those from --low-threshold down",
    "adjacent": "each score against the next lower one",
    "best-vs-rest": "the best candidate against each lower one",
    "random": "allowed pairs drawn at random, --max-pairs-per-group of them (default 1)",
    "sweet-spot": "the best against the one nearest the mean minus two standard deviations",
}

ALIASES = {"same-prompt": "best-vs-worst"}


def strategy_named(word: str) -> tuple[str, "Strategy"]:
    """The name and the function of a strategy; `-` and `_` are equivalent.

    >>> strategy_named("same_prompt")[0]
    'best-vs-worst'
    """
    name = word.replace("_", "-")
    name = ALIASES.get(name, name)
    if name not in STRATEGIES:
        raise UnknownWord("strategy", word, [*STRATEGIES, *ALIASES])
    module = name.replace("-", "_")
    function = getattr(import_module(f"prefpairs.strategies.{module}"), module)
    return name, cast("Strategy", function)
