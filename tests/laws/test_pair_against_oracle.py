"""The engine against a naive implementation of the design."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import (
    STRATEGIES,
    Bounds,
    Contents,
    allowed,
    expected_of,
    may_meet_across,
    pairs,
    read_candidate,
    read_generic,
    read_gym,
)
from rollouts_of_any_format import (
    candidate_rows,
    contest_rows,
    generic_rows,
    gym_rows,
    pair_options,
)
from run_in_process import Asked, Row, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.strategies.options import PairOptions

SOURCES = [
    pytest.param(gym_rows(odd=False), read_gym, id="nemo-gym"),
    pytest.param(generic_rows(), read_generic, id="generic"),
    pytest.param(candidate_rows(), read_candidate, id="candidates"),
]


def bounds_of(options: PairOptions) -> Bounds:
    """The options that the oracle knows, except the maximum number of pairs."""
    return Bounds(
        min_gap=options.min_gap,
        max_gap=options.max_gap,
        min_chosen_score=options.min_chosen_score,
        high_threshold=options.high_threshold,
        low_threshold=options.low_threshold,
    )


@pytest.mark.parametrize(("source", "read"), SOURCES)
@examples(250)
@given(data=st.data(), strategy=st.sampled_from(sorted(STRATEGIES)), options=pair_options())
def test_the_engine_makes_the_pairs_of_the_oracle(
    source: st.SearchStrategy[list[Row]],
    read: Callable[[Row], list[Row]],
    data: st.DataObject,
    strategy: str,
    options: PairOptions,
) -> None:
    """The pairs are those of the oracle, equally often."""
    rows = data.draw(source)
    uncapped = replace(options, max_pairs_per_group=None)
    outcome = pair_lines(lines_of(*rows), Asked(strategy=strategy, options=uncapped))
    expected = pairs(Contents(rows, read), strategy, bounds_of(options))
    assert Counter(map(expected_of, outcome.rows)) == expected


@examples(80)
@given(
    rows=contest_rows(least=15, most=40),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    options=pair_options(),
)
def test_large_groups_give_the_pairs_of_the_oracle(
    rows: list[Row], strategy: str, options: PairOptions
) -> None:
    """The same with many ties and equal answers."""
    uncapped = replace(options, max_pairs_per_group=None)
    outcome = pair_lines(lines_of(*rows), Asked(strategy=strategy, options=uncapped))
    expected = pairs(Contents(rows, read_generic), strategy, bounds_of(options))
    assert Counter(map(expected_of, outcome.rows)) == expected


@examples(150)
@given(rows=contest_rows(), times=st.sampled_from([1, 1, 2, 10]), options=pair_options())
def test_every_high_meets_as_many_lows_as_it_may(
    rows: list[Row], times: int, options: PairOptions
) -> None:
    """Across prompts, each high pairs with N lows at an allowed gap, or with all there are."""
    apart = [{**row, "prompt": f"{place}"} for place, row in enumerate(rows * times)]
    asked = Asked(strategy="stratified", options=options, across_prompts=True)
    pairs = pair_lines(lines_of(*apart), asked).rows
    bounds = bounds_of(options)
    expected = {
        high["prompt"]: min(options.rejected_per_chosen, count)
        for high in apart
        if (count := sum(may_meet_across(high, low, bounds) for low in apart))
    }
    assert Counter(pair["chosen_origin"] for pair in pairs) == {
        f"rows.jsonl:{int(place) + 1}": count for place, count in expected.items()
    }
    assert len({(pair["chosen_origin"], pair["rejected_origin"]) for pair in pairs}) == len(pairs)


@examples(80)
@given(rows=contest_rows(least=5), options=pair_options())
def test_exhaustive_pairs_come_widest_first(rows: list[Row], options: PairOptions) -> None:
    """In each group, pairs are sorted by gap, widest first."""
    outcome = pair_lines(lines_of(*rows), Asked(strategy="exhaustive", options=options))
    for prompt in {pair["prompt"] for pair in outcome.rows}:
        gaps = [pair["gap"] for pair in outcome.rows if pair["prompt"] == prompt]
        assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@examples(80)
@given(rows=contest_rows(), most=st.integers(1, 4), options=pair_options())
def test_a_cap_keeps_the_widest_pairs_of_each_group(
    strategy: str, rows: list[Row], most: int, options: PairOptions
) -> None:
    """--max-pairs-per-group N keeps the N widest pairs, as its help says."""
    capped = Asked(strategy=strategy, options=replace(options, max_pairs_per_group=most))
    outcome = pair_lines(lines_of(*rows), capped)
    bounds = replace(bounds_of(options), max_pairs=most)
    expected = pairs(Contents(rows, read_generic), strategy, bounds)
    assert Counter(map(expected_of, outcome.rows)) == expected


@pytest.mark.parametrize(("source", "read"), SOURCES)
@examples(150)
@given(data=st.data())
def test_the_ledgers_are_those_of_the_oracle(
    source: st.SearchStrategy[list[Row]], read: Callable[[Row], list[Row]], data: st.DataObject
) -> None:
    """Rows and candidates are lost for the oracle's reasons, equally often."""
    rows = data.draw(source)
    ledger = pair_lines(lines_of(*rows), Asked()).ledger
    contents = Contents(rows, read)
    competing = sum(map(len, contents.groups.values()))
    assert (ledger.rows_read, ledger.rows_bad) == (len(rows), 0)
    assert (ledger.rows_dropped, ledger.candidates_dropped) == (contents.rows_lost, contents.lost)
    assert (ledger.candidates_found, ledger.candidates_kept) == (contents.found, competing)
    assert ledger.groups == len(contents.groups)


@pytest.mark.parametrize(("source", "read"), SOURCES)
@examples(100)
@given(data=st.data(), options=pair_options(), strategy=st.sampled_from(["random", "sweet-spot"]))
def test_other_strategies_choose_among_the_allowed_pairs(
    source: st.SearchStrategy[list[Row]],
    read: Callable[[Row], list[Row]],
    data: st.DataObject,
    options: PairOptions,
    strategy: str,
) -> None:
    """A group gives as many allowed pairs as were asked for, or all it has."""
    rows = data.draw(source)
    outcome = pair_lines(lines_of(*rows), Asked(strategy=strategy, options=options))
    contents = Contents(rows, read)
    most = options.max_pairs_per_group or 1 if strategy == "random" else 1
    possible = pairs(contents, "exhaustive", bounds_of(options))
    counts = [len(allowed(group, bounds_of(options))) for group in contents.groups.values()]
    assert Counter(map(expected_of, outcome.rows)) <= possible
    assert len(outcome.rows) == sum(min(most, count) for count in counts)
