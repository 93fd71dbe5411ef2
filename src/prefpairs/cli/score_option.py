"""The words of --score: paths, weights, and which way they point."""

from collections.abc import Iterator, Sequence
from math import isfinite

from prefpairs.errors import UsageError
from prefpairs.fields.answer import ReadOptions
from prefpairs.fields.names import is_less_better


def scores_of(words: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Paths and their weights; a path that came twice would count twice."""
    scores = [*map(_score, words)]
    weights: dict[str, float] = {}
    for path, weight in scores:
        if path in weights:
            problem = f"--score {path} is given twice: with weights {weights[path]:g} and"
            raise UsageError(f"{problem} {weight:g}", "give it once, with one weight")
        weights[path] = weight
    return tuple(scores)


def _score(word: str) -> tuple[str, float]:
    """A path and its weight; a colon that no number follows belongs to the path."""
    path, colon, weight = word.rpartition(":")
    try:
        factor = float(weight) if colon else 1.0
    except ValueError:
        return word, 1.0
    if not isfinite(factor):
        raise UsageError(f"--score {word}: the weight is no number")
    return (path if colon else word), factor


def notes_on_direction(options: ReadOptions) -> Iterator[str]:
    """A note for each score of whose name less would be better, and of which more is taken to be.

    The wrong way round, every pair would prefer the worse answer.
    """
    for path, weight in options.scores:
        if weight > 0 and not options.lower_is_better and is_less_better(path.rpartition(".")[2]):
            alone = len(options.scores) == 1
            turned = "--lower-is-better" if alone else f"--score {path}:{-weight:g}"
            yield f'the more "{path}", the better the answer; if less of it is better: {turned}'
