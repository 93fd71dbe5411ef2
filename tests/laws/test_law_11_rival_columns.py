"""Law 11: with any competing columns, the pairs written are the true ones.

The truth is which columns are meant. No run knows it: it finds it, or stops with an error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from rows_with_rival_columns import JUDGED, LEAVES, LISTS, SAID, VERDICTS, Pairs, World, worlds
from run_in_process import Asked, Row, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.errors import OtherRows, PrefpairsError, TwoReadings
from prefpairs.fields.field_names import REFERENCES
from prefpairs.fields.read_options import ReadOptions
from prefpairs.option import split_words

NOTHING_SAID = ReadOptions()


def written(rows: list[Row], read: ReadOptions = NOTHING_SAID) -> Pairs | PrefpairsError | None:
    """The pairs of a run with exit 0, or the error that ended it; None for bad rows."""
    try:
        outcome = pair_lines(lines_of(*rows), Asked(strategy="exhaustive", read=read))
    except PrefpairsError as error:
        return error
    if outcome.counts()["rows"]["bad"]:
        return None
    return sorted(
        (
            _text(row["prompt"]),
            _text(row["chosen"]),
            _text(row["rejected"]),
            row["chosen_score"],
            row["rejected_score"],
        )
        for row in outcome.rows
    )


def _text(said: Any) -> str:
    return said if isinstance(said, str) else said[-1]["content"]


@examples(1500)
@given(world=worlds())
def test_what_is_written_is_the_truth(world: World) -> None:
    """A run writes exactly the true pairs, or stops with an error."""
    found = written(world.rows)
    assert not isinstance(found, list) or found == world.pairs


@examples(400)
@given(world=worlds())
def test_the_truth_is_among_the_commands(world: World) -> None:
    """If a run stops at two readings, one of the printed commands leads to the truth."""
    found = written(world.rows)
    if isinstance(found, TwoReadings) and world.whole:
        assert any(one is None or one == world.pairs for one in _reached(world.rows, found))


def _reached(
    rows: list[Row],
    error: TwoReadings | OtherRows,
    read: ReadOptions = NOTHING_SAID,
    steps: int = 4,
) -> Iterator[Pairs | None]:
    """The result of each printed command, and of those printed in turn."""
    assert steps, "no command may lead to another one for ever"
    for words in error.choices:
        chosen = _with_words(read, words)
        found = written(rows, chosen)
        if isinstance(found, (TwoReadings, OtherRows)):
            yield from _reached(rows, found, chosen, steps - 1)
        elif not isinstance(found, PrefpairsError):
            yield found


def _with_words(read: ReadOptions, words: Sequence[str]) -> ReadOptions:
    for option, value in zip(words[::2], words[1::2], strict=True):
        name = option.removeprefix("--")
        match name:
            case "score":
                read = replace(read, scores=((value, 1.0),))
            case "ignore":
                read = replace(read, ignore=tuple(value.split(",")))
            case "context":
                read = replace(read, context=tuple(value.split(",")))
            case "prompt":
                read = replace(read, prompt=value)
            case "group-by":
                read = replace(
                    read, group_by="prompt" if value == "prompt" else split_words([value])
                )
            case _:
                read = replace(read, response=value)
    return read


TWO = [("A", 1), ("B", 0)]
PAIR = [("Q", "A", "B", 1.0, 0.0)]


@pytest.mark.parametrize("judged", [*JUDGED, *VERDICTS])
def test_without_company_nothing_is_refused(judged: str) -> None:
    """Without competing columns, nothing is rejected; rejecting everything would be too easy."""
    for said, kind in product([*SAID, "answer"], (int, bool)):
        rows = [
            {"id": "x", said: text, judged: kind(score), "question": "Q"} for text, score in TWO
        ]
        assert written(rows) == PAIR


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_objects_are_known(name: str) -> None:
    """Reads answers to one prompt as a list of objects with scores."""
    for leaf, judged in product(LEAVES, [*JUDGED, *VERDICTS]):
        items = [{leaf: text, judged: score, "model": f"m{score}"} for text, score in TWO]
        assert written([{"prompt": "Q", name: items}]) == PAIR


@pytest.mark.parametrize(
    "reference", ["answer", "solution", "target", "gold", "reference", "ground_truth", "label"]
)
def test_references_never_win(reference: str) -> None:
    """References are never read as answers; different ones may be of different tasks."""
    for said, differing in product(SAID, (True, False)):
        rows = [
            {"question": "Q", reference: f"G{score * differing}", said: text, "score": score}
            for text, score in TWO
        ]
        found = written(rows)
        if differing and reference in REFERENCES:
            assert isinstance(found, TwoReadings)
            assert [*_reached(rows, found)] == [[], PAIR]
        else:
            assert found == PAIR
