"""Law 7: a draw depends on the seed, the purpose and the identity only."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import content_of
from rollouts_of_any_format import (
    asked_across,
    contest_rows,
    gym_rows,
    lines,
    pair_options,
    shards_of,
)
from run_in_process import (
    Asked,
    Outcome,
    Row,
    lines_of,
    pair_lines,
    pair_piped,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.model.identity import draw
from prefpairs.strategies.options import PairOptions

CHANCE = st.randoms(use_true_random=False)


def at_random(options: PairOptions) -> Asked:
    """Random pairs within prompts."""
    return Asked(strategy="random", options=options)


def across(options: PairOptions) -> Asked:
    """Random pairs across prompts."""
    return Asked(strategy="stratified", options=options, across_prompts=True)


def question_of(pair: Row) -> tuple[str, str, str]:
    """What identifies the group of a pair."""
    return pair["group"], content_of(pair["prompt"], "user"), repr(pair.get("tools"))


@examples(200)
@given(given_lines=lines(), options=pair_options(), chance=CHANCE, data=st.data())
def test_draws_do_not_depend_on_order(
    given_lines: list[bytes], options: PairOptions, chance: Random, data: st.DataObject
) -> None:
    """The same pairs are drawn from shuffled lines, several files, and a pipe."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    for asked in (at_random(options), across(options)):
        drawn = pair_lines(given_lines, asked).contents()
        assert pair_shards(data.draw(shards_of(shuffled)), asked).contents() == drawn
        assert pair_piped(b"".join(shuffled), asked).contents() == drawn


@examples(150)
@given(rows=st.one_of(contest_rows(), gym_rows()), options=pair_options())
def test_a_larger_draw_holds_the_smaller(rows: list[Row], options: PairOptions) -> None:
    """--max-pairs-per-group N + 1 draws the pairs of N, and more."""
    given_lines = lines_of(*rows)
    draws = [
        pair_lines(given_lines, at_random(replace(options, max_pairs_per_group=n)))
        for n in range(1, 6)
    ]
    for smaller, larger in pairwise(draws):
        for question in {question_of(pair) for pair in smaller.rows}:
            fewer, more = _of_group(smaller, question), _of_group(larger, question)
            assert more[: len(fewer)] == fewer
            assert len(more) <= len(fewer) + 1
    everything = pair_lines(given_lines, at_random(replace(options, max_pairs_per_group=10_000)))
    possible = Asked(strategy="exhaustive", options=replace(options, max_pairs_per_group=None))
    assert everything.contents() == pair_lines(given_lines, possible).contents()


def _of_group(outcome: Outcome, question: tuple[str, str, str]) -> list[str]:
    return [
        line
        for line, pair in zip(outcome.without_origins(), outcome.rows, strict=True)
        if question_of(pair) == question
    ]


@examples(150)
@given(rows=contest_rows(), options=pair_options())
def test_more_rejected_per_chosen_hold_the_fewer(rows: list[Row], options: PairOptions) -> None:
    """Across prompts, --rejected-per-chosen N + 1 draws the rejected answers of N, and one more."""
    fewer, more = (
        Counter(
            pair_lines(lines_of(*rows), across(replace(options, rejected_per_chosen=n))).contents()
        )
        for n in (1, 2)
    )
    assert fewer <= more
    assert more.total() <= 2 * fewer.total()


@examples(150)
@given(rows=contest_rows(), more=contest_rows(), options=pair_options())
def test_other_groups_do_not_steer_a_draw(
    rows: list[Row], more: list[Row], options: PairOptions
) -> None:
    """The draw in a group does not change if other groups are added before or after it."""
    others = [{**row, "prompt": f"another {row['prompt']}"} for row in more]
    alone = pair_lines(lines_of(*rows), at_random(options))
    for together in ([*rows, *others], [*others, *rows]):
        pairs = pair_lines(lines_of(*together), at_random(options))
        ours = [
            line
            for line, pair in zip(pairs.without_origins(), pairs.rows, strict=True)
            if not pair["prompt"].startswith("another")
        ]
        assert sorted(ours) == alone.contents()


@examples(150)
@given(
    rows=contest_rows(),
    times=st.sampled_from([1, 1, 2, 10]),
    more=contest_rows(),
    asked=asked_across(),
)
def test_a_pair_across_prompts_yields_to_new_rows_only(
    rows: list[Row], times: int, more: list[Row], asked: Asked
) -> None:
    """If rows are added, a pair across prompts changes only in favor of a new row."""
    single = across(replace(asked.options, rejected_per_chosen=1))
    ours = [{**row, "prompt": f"Q{place}"} for place, row in enumerate(rows * times)]
    added = [
        {**row, "prompt": f"new {place}", "response": f"new {row['response']}"}
        for place, row in enumerate(more)
    ]
    before = _rejected_by_prompt(pair_lines(lines_of(*ours), single))
    after = _rejected_by_prompt(pair_lines(lines_of(*ours, *added), single))
    changed = {
        prompt: answer
        for prompt, (group, answer) in after.items()
        if prompt.startswith("Q") and before.get(prompt) != (group, answer)
    }
    assert before.keys() <= after.keys()
    assert [answer for answer in changed.values() if not answer.startswith("new")] == []


def _rejected_by_prompt(outcome: Outcome) -> dict[str, tuple[str, str]]:
    """The rejected answer of each chosen one, where each prompt has a single answer."""
    return {
        pair["prompt"]: (pair["meta"]["group_of_rejected"], pair["rejected"])
        for pair in outcome.rows
    }


@pytest.mark.full
def test_every_allowed_pair_is_as_likely_as_another() -> None:
    """Over many groups of three pairs, and over many seeds, each is drawn about equally often."""
    answers = {"A": 1.0, "B": 0.5, "C": 0.0}
    rows = [
        {"prompt": f"Q{number}", "response": response, "score": score}
        for number in range(900)
        for response, score in answers.items()
    ]
    over_groups = _drawn(pair_lines(lines_of(*rows), at_random(PairOptions())))
    over_seeds = Counter[tuple[str, str]]()
    for seed in range(300):
        over_seeds += _drawn(pair_lines(lines_of(*rows[:9]), at_random(PairOptions(seed=seed))))
    for drawn in (over_groups, over_seeds):
        assert drawn.keys() == {("A", "B"), ("A", "C"), ("B", "C")}
        assert drawn.total() == 900
        assert all(240 < count < 360 for count in drawn.values())


def test_all_lows_are_as_likely_across_prompts() -> None:
    """Across prompts, all low answers are rejected about equally often."""
    highs = [{"prompt": f"H{number}", "response": "A", "score": 1.0} for number in range(2000)]
    lows = [{"prompt": f"L{number}", "response": "B", "score": 0.0} for number in range(20)]
    pairs = pair_lines(lines_of(*highs, *lows), across(PairOptions())).rows
    rejected = Counter(pair["meta"]["group_of_rejected"] for pair in pairs)
    assert rejected.total() == 2000
    assert len(rejected) == 20


def _drawn(outcome: Outcome) -> Counter[tuple[str, str]]:
    return Counter((pair["chosen"], pair["rejected"]) for pair in outcome.rows)


@examples(200)
@given(identity=st.binary(max_size=20), seed=st.integers(0, 2**64), other=st.integers(0, 2**64))
def test_seed_and_purpose_change_a_draw(identity: bytes, seed: int, other: int) -> None:
    """Draws for different purposes or seeds differ."""
    number = draw(seed, "sample", identity)
    assert 0 <= number < 2**64
    assert number == draw(seed, "sample", identity)
    assert number != draw(seed, "split", identity)
    assert (number == draw(other, "sample", identity)) == (seed == other)


def test_purposes_are_independent() -> None:
    """A split takes its usual share of the pairs that a sample drew."""
    half = 2**63
    names = [str(number).encode() for number in range(4000)]
    sampled = [name for name in names if draw(0, "sample", name) < half]
    both = [name for name in sampled if draw(0, "split", name) < half]
    assert 1850 < len(sampled) < 2150
    assert 850 < len(both) < 1150


def test_the_draw_is_public_interface() -> None:
    """These numbers never change without a new identity version."""
    assert draw(0, "sample", b"") == 1568838362209705173
    assert draw(7, "split", b"identity") == 1141431539791588841
