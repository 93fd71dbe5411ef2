"""stats: figures are exact, and depend only on the content of the rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pair_rows import answers_of, identity_of, pair_lines_mixed, question_of, tools_of
from rollouts_of_any_format import asked, lines, shards_of
from run_in_process import Asked, Row, lines_of, pair_lines
from stages_in_process import staged_lines
from survey_plans import looked_at

from hypothesis_examples import examples
from prefpairs.analysis.survey import figures
from prefpairs.analysis.survey_tables import sections, warnings
from prefpairs.engine.survey_inputs import survey
from prefpairs.ledger import Ledger

CHANCE = st.randoms(use_true_random=False)
OF_NAMES = ("inputs", "notes", "wins")


def stats_of(shards: Sequence[Sequence[bytes]], asked: Asked | None = None) -> Row:
    """All figures of the pairs in these files, or of those that `pair` would make."""
    with looked_at(shards, asked) as plan:
        ledger = Ledger()
        found = survey(plan, ledger)
        assert sections(found, ledger)
        assert isinstance(warnings(found), list)
        return figures(found, ledger)


def told(counts: Row) -> Row:
    """The figures without file names."""
    return {key: value for key, value in counts.items() if key not in OF_NAMES}


@examples(150)
@given(given_lines=pair_lines_mixed(), chance=CHANCE, data=st.data())
def test_any_order_of_pairs_gives_the_same_figures(
    given_lines: list[bytes], chance: Random, data: st.DataObject
) -> None:
    """Shuffling lines and resharding files changes no figure."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    shards = data.draw(shards_of(shuffled))
    assert told(stats_of([given_lines])) == told(stats_of(shards))


@examples(150)
@given(given_lines=lines(), asked=asked(), chance=CHANCE, data=st.data())
def test_any_order_of_rollouts_gives_the_same_figures(
    given_lines: list[bytes], asked: Asked, chance: Random, data: st.DataObject
) -> None:
    """The same for rollouts of every source, with every strategy."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    shards = data.draw(shards_of(shuffled))
    assert told(stats_of([given_lines], asked)) == told(stats_of(shards, asked))


@examples(150)
@given(given_lines=lines(), asked=asked())
def test_figures_of_rollouts_equal_those_of_their_pairs(
    given_lines: list[bytes], asked: Asked
) -> None:
    """Figures about the pairs that rollouts would give equal those of the pairs."""
    made = pair_lines(given_lines, asked)
    of_rollouts, of_pairs = stats_of([given_lines], asked), stats_of([made.lines])
    of_groups = {"rows", "candidates", "noticed", "passed_over", "what_if", *OF_NAMES}
    for key in of_pairs.keys() - of_groups:
        assert of_rollouts[key] == of_pairs[key], key
    assert of_rollouts["groups_without_pair"] == made.counts()["groups_without_pair"]
    assert of_rollouts["candidates"] == made.counts()["candidates"]


@examples(100)
@given(given_lines=lines(), asked=asked())
def test_what_if_is_what_pair_would_write(given_lines: list[bytes], asked: Asked) -> None:
    """Each line of the what-if table equals a run of `pair` with that bound."""
    for what_if in stats_of([given_lines], asked)["what_if"]:
        least = max(what_if["min_gap"], asked.options.min_gap)
        if asked.options.max_gap is not None and least > asked.options.max_gap:
            continue
        again = replace(asked, options=replace(asked.options, min_gap=least))
        rows = pair_lines(given_lines, again).rows
        prompts = {(question_of(row), tools_of(row)) for row in rows}
        assert (what_if["pairs"], what_if["prompts"]) == (len(rows), len(prompts))


@examples(150)
@given(given_lines=pair_lines_mixed())
def test_repetitions_are_counted_as_a_naive_eye_does(given_lines: list[bytes]) -> None:
    """Counts of prompts, duplicates, contradictions and answers on both sides equal naive ones."""
    rows = staged_lines(given_lines).rows
    found = stats_of([given_lines])
    identities = Counter(identity_of(row) for row in rows)
    turned = {(prompt, tools, worse, better) for prompt, tools, better, worse in identities}
    assert found["pairs"] == len(rows)
    assert found["prompts"] == len({(question_of(row), tools_of(row)) for row in rows})
    assert found["duplicates"] == len(rows) - len(identities)
    assert found["contradictions"] == len(turned & identities.keys()) // 2
    gaps = Counter(row["gap"] for row in rows if row["gap"] is not None)
    values: list[dict[str, Any]] = (found["gap"] or {}).get("values", [])
    assert {value["value"]: value["count"] for value in values} == gaps
    sides = [
        {(question_of(row), tools_of(row), answers_of(row)[side]) for row in rows}
        for side in (0, 1)
    ]
    if not any("prompt_of_rejected" in (row.get("meta") or {}) for row in rows):
        assert found["both_sides"] == len(sides[0] & sides[1])


def test_figures_of_two_pairs() -> None:
    """The figures of two given pairs have these values."""
    row = {"prompt": "Q", "chosen": "longer", "rejected": "short", "chosen_score": 1}
    found = stats_of([lines_of({**row, "rejected_score": 0}, {**row, "rejected_score": 0.5})])
    assert (found["pairs"], found["prompts"], found["duplicates"]) == (2, 1, 1)
    assert (found["longer_wins"], found["gap"]["mean"]) == (1.0, 0.75)
