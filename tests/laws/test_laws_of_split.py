"""split: no key is in two splits, and its split depends on the seed and the key alone."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pair_oracle import sha
from pair_rows import (
    named_by,
    numbered_rows,
    pair_lines_mixed,
    pair_rows,
    prompts_of,
    rows_across,
    rows_with_tasks,
    splits,
)
from rollouts_of_any_format import asked_across, contest_rows, shards_of
from run_in_process import Asked, Row, lines_of, pair_lines
from stages_in_process import Staged, staged_lines, staged_shards

from hypothesis_examples import examples
from prefpairs.ledger import StageCounts
from prefpairs.model.pair import Pair
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns, blocks_of
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split

CHANCE = st.randoms(use_true_random=False)
EARLIER = "one side of an earlier split"
BOTH = ("chosen", "rejected")


def keys_of(pair: Row, by: str) -> set[str]:
    """The keys that must not be in two splits, as text: one, one per answer, or none."""
    meta = pair.get("meta") or {}
    if by == "prompt":
        return prompts_of(pair)
    if by == "group":
        return {pair["group"], meta.get("group_of_rejected", pair["group"])}
    name = by.removeprefix("meta.")
    values = [meta[name]] if name in meta else [meta.get(f"{side}_{name}") for side in BOTH]
    return set() if None in values else {repr(value) for value in values}


def sides_of_keys(parted: Staged, by: str) -> dict[str, set[str]]:
    """The splits that contain each key."""
    sides = defaultdict(set)
    for side, outcome in parted.sides.items():
        for pair in outcome.rows:
            for key in keys_of(pair, by):
                sides[key].add(side)
    return sides


def contents_of_sides(parted: Staged) -> dict[str, list[str]]:
    """The pairs of each split, without origins and order."""
    return {side: outcome.contents() for side, outcome in parted.sides.items()}


# No leak ----------------------------------------------------------------------------------


def expect_no_leak(parted: Staged, by: str) -> None:
    """No key is in two splits."""
    sides = sides_of_keys(parted, by)
    assert {key: found for key, found in sides.items() if len(found) > 1} == {}


@examples(110)
@given(rows=st.one_of(pair_rows(), rows_across()), asked=splits(by=["prompt", "prompt", "group"]))
def test_no_prompt_is_in_two_splits(rows: list[Row], asked: Split) -> None:
    """Each prompt is in one split, as text or chat, including both prompts of a pair."""
    expect_no_leak(staged_lines(lines_of(*rows), split=asked), asked.by)


@examples(110)
@given(rows=rows_with_tasks(), asked=splits(by=["meta.task"]))
def test_no_task_is_in_two_splits(rows: list[Row], asked: Split) -> None:
    """The same for values in meta, one for both answers or one for each."""
    expect_no_leak(staged_lines(lines_of(*rows), split=asked), asked.by)


def test_tasks_of_both_answers_are_kept_together() -> None:
    """A pair whose answers belong to two tasks stays only if both are in the same split."""
    alone: list[Row] = [{"prompt": f"Q{task}", "meta": {"task": task}} for task in range(20)]
    both: list[Row] = [
        {"prompt": f"Q{task}", "meta": {"chosen_task": task, "rejected_task": task + 1}}
        for task in range(19)
    ]
    rows = [{**row, "chosen": "A", "rejected": "B"} for row in (*alone, *both)]
    for exact in (False, True):
        asked = Split(val_fraction=0.5, by="meta.task", exact=exact)
        parted = staged_lines(lines_of(*rows), split=asked)
        expect_no_leak(parted, asked.by)
        assert exact or 0 < parted.stage.dropped["prompts_apart"] < 19
        assert len(parted.lines) == len(rows) - parted.stage.dropped["prompts_apart"]


@examples(80)
@given(lines=pair_lines_mixed(), asked=splits())
def test_each_pair_goes_to_one_side_or_is_counted(lines: list[bytes], asked: Split) -> None:
    """Each input pair is in one split, once and in order, or dropped."""
    parted, everything = staged_lines(lines, split=asked), staged_lines(lines)
    assert list(parted.sides) == asked.sides
    for outcome in parted.sides.values():
        remaining = iter(everything.lines)
        assert all(line in remaining for line in outcome.lines)
    lost = Counter(everything.lines) - Counter(parted.lines)
    assert Counter(parted.lines) <= Counter(everything.lines)
    assert parted.ledger.sides == {name: len(side.lines) for name, side in parted.sides.items()}
    assert lost.total() == parted.stage.dropped.total()


@examples(80)
@given(rows=rows_with_tasks(), asked=splits(by=["meta.task", "meta.at.turn"]))
def test_pairs_without_the_key_are_lost_and_no_others(rows: list[Row], asked: Split) -> None:
    """A pair is dropped as no_key exactly if its path has no value."""
    pairs = staged_lines(lines_of(*rows)).rows
    parted = staged_lines(lines_of(*rows), split=asked)
    if asked.by == "meta.task":
        without = sum(not keys_of(pair, asked.by) for pair in pairs)
    else:
        without = sum("at" not in (pair.get("meta") or {}) for pair in pairs)
    assert parted.stage.dropped["no_key"] == without


@examples(80)
@given(rows=rows_across(), asked=splits(by=["prompt"]))
def test_pairs_across_prompts_are_lost_where_their_prompts_part(
    rows: list[Row], asked: Split
) -> None:
    """A pair across prompts stays exactly if each prompt alone goes to the same split."""
    asked = replace(asked, exact=False)
    names = {named_by(prompt): prompt for prompt in ("Q", "R", "S", "T")}
    across = [
        row
        for row in staged_lines(lines_of(*rows)).rows
        if len(prompts_of(row)) == 2 and prompts_of(row) <= names.keys()
    ]
    for row in across:
        there = {_side_of(names[name], asked) for name in prompts_of(row)}
        parted = staged_lines(lines_of(row), split=asked)
        assert len(parted.lines) == (len(there) == 1)
        assert parted.stage.dropped["prompts_apart"] == len(there) - 1


def _side_of(prompt: Any, asked: Split) -> str:
    row = {"prompt": prompt, "chosen": "A", "rejected": "B"}
    sides = staged_lines(lines_of(row), split=asked).sides
    return next(side for side, outcome in sides.items() if outcome.lines)


@examples(60)
@given(
    rows=contest_rows(st.sampled_from([0.0, 0.3, 0.9, 1.0]), least=2, most=30),
    pairing=asked_across(),
    asked=splits(by=["prompt", "group"]),
)
def test_pairs_made_across_prompts_leak_none(rows: list[Row], pairing: Asked, asked: Split) -> None:
    """Pairs of `pair --across-prompts` are split so that no prompt is in two splits."""
    rows = [{**row, "prompt": f"{row['prompt']} {place % 9}"} for place, row in enumerate(rows)]
    pairs = pair_lines(lines_of(*rows), pairing)
    parted = staged_lines(pairs.lines, split=asked)
    expect_no_leak(parted, asked.by)


def test_a_prompt_is_one_key_as_text_and_as_chat() -> None:
    """A text, and a chat with that one message, go to the same split under every seed."""
    rows: list[Row] = []
    for number in range(200):
        chat = [{"role": "user", "content": f"Q{number}"}]
        rows += [
            {"prompt": f"Q{number}", "chosen": "A", "rejected": "B"},
            {"prompt": chat, "chosen": [{"role": "assistant", "content": "A"}], "rejected": "B"},
        ]
    parted = staged_lines(lines_of(*rows), split=Split(val_fraction=0.5))
    expect_no_leak(parted, "prompt")
    assert {len(outcome.lines) % 2 for outcome in parted.sides.values()} == {0}
    assert parted.sides["val"].lines


@examples(80)
@given(rows=rows_across(), asked=splits(by=["prompt", "group"]))
def test_exact_loses_no_pair_across_prompts(rows: list[Row], asked: Split) -> None:
    """With --exact, keys that share a pair stay together: no leak, and no pair is dropped."""
    parted = staged_lines(lines_of(*rows), split=replace(asked, exact=True))
    expect_no_leak(parted, asked.by)
    assert len(parted.lines) == parted.ledger.rows_used
    assert parted.stage.dropped == {}


# Stable -----------------------------------------------------------------------------------


@examples(80)
@given(lines=pair_lines_mixed(), asked=splits(), chance=CHANCE, data=st.data())
def test_splits_do_not_depend_on_order(
    lines: list[bytes], asked: Split, chance: Random, data: st.DataObject
) -> None:
    """Shuffled lines in several files go to the same splits, also with --exact."""
    shuffled = list(lines)
    chance.shuffle(shuffled)
    whole = staged_lines(lines, split=asked)
    again = staged_shards(data.draw(shards_of(shuffled)), split=asked)
    assert contents_of_sides(again) == contents_of_sides(whole)
    assert again.counts() == whole.counts()


@examples(80)
@given(lines=pair_lines_mixed(), more=pair_lines_mixed(), asked=splits())
def test_added_data_moves_no_pair(lines: list[bytes], more: list[bytes], asked: Split) -> None:
    """Each pair stays in its split when others are added before or after it."""
    asked = replace(asked, exact=False)
    alone, added = (staged_lines(given_lines, split=asked) for given_lines in (lines, more))
    for together in ([*lines, *more], [*more, *lines]):
        parted = staged_lines(together, split=asked)
        for side, outcome in parted.sides.items():
            apart = Counter(alone.sides[side].lines) + Counter(added.sides[side].lines)
            assert Counter(outcome.lines) == apart


@examples(80)
@given(rows=st.one_of(pair_rows(), rows_with_tasks()), asked=splits())
def test_a_test_side_moves_nothing_out_of_val(rows: list[Row], asked: Split) -> None:
    """--test-fraction takes from train only, and a larger one contains the smaller."""
    lines = lines_of(*rows)
    asked = replace(asked, exact=False, val_fraction=0.5)
    without, some, more = (
        staged_lines(lines, split=replace(asked, test_fraction=share)) for share in (0.0, 0.2, 0.4)
    )
    assert without.sides["val"].lines == some.sides["val"].lines == more.sides["val"].lines
    for fewer, larger in ((without, some), (some, more)):
        kept = Counter(larger.sides["train"].lines)
        assert kept <= Counter(fewer.sides["train"].lines)
    assert Counter(some.sides["test"].lines) <= Counter(more.sides["test"].lines)


@examples(60)
@given(rows=pair_rows(), asked=splits())
def test_a_larger_val_holds_the_smaller(rows: list[Row], asked: Split) -> None:
    """Pairs in val stay there when its fraction grows."""
    asked = replace(asked, exact=False, test_fraction=0.0)
    parted = [
        staged_lines(lines_of(*rows), split=replace(asked, val_fraction=share)).sides["val"]
        for share in (0.1, 0.3, 0.30001, 0.9)
    ]
    vals = [Counter(val.lines) for val in parted]
    assert all(smaller <= larger for smaller, larger in pairwise(vals))


@examples(60)
@given(lines=pair_lines_mixed(), asked=splits())
def test_a_larger_val_moves_nothing_out_of_test(lines: list[bytes], asked: Split) -> None:
    """Val and test take from train only: neither changes when the other grows."""
    asked = replace(asked, exact=False, test_fraction=0.4)
    tests = [
        staged_lines(lines, split=replace(asked, val_fraction=share)).sides.get("test")
        for share in (0.0, 0.2, 0.6)
    ]
    assert len({tuple(test.lines) for test in tests if test is not None}) == 1


# Fractions --------------------------------------------------------------------------------

PROMPTS = 5_000


def within(count: int, share: float, total: int) -> bool:
    """Whether a count is within 4.5 standard deviations of its expectation."""
    return abs(count - share * total) <= 4.5 * sqrt(total * share * (1 - share))


@pytest.mark.full
@pytest.mark.parametrize(("val", "test"), [(0.2, 0.0), (0.1, 0.1), (0.01, 0.5), (0.7, 0.3)])
@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_shares_are_met_on_average(val: float, test: float, seed: int) -> None:
    """Of 5,000 prompts, each split gets its fraction, within a binomial bound."""
    asked = Split(val_fraction=val, test_fraction=test, seed=seed)
    parted = staged_lines(lines_of(*numbered_rows(PROMPTS)), split=asked)
    found = {side: len(outcome.lines) for side, outcome in parted.sides.items()}
    assert within(found["val"], val, PROMPTS)
    assert within(found.get("test", 0), test, PROMPTS)
    assert sum(found.values()) == PROMPTS
    assert EARLIER not in "".join(parted.stage.notes)


@pytest.mark.full
@pytest.mark.parametrize("asked", [Sample(max_pairs=1000), Sample(fraction=0.2)])
def test_a_sample_is_split_in_proportion(asked: Sample) -> None:
    """A sample is split in the usual proportion with the same seed, and a split can be sampled."""
    lines = lines_of(*numbered_rows(PROMPTS))
    drawn = staged_lines(lines, asked)
    parted = staged_lines(drawn.lines, split=Split())
    assert within(len(parted.sides["val"].lines), 0.2, len(drawn.lines))
    assert parted.stage.notes == []
    for outcome in staged_lines(lines, split=Split(val_fraction=0.5)).sides.values():
        again = staged_lines(outcome.lines, replace(asked, max_pairs=None, fraction=0.2))
        assert within(len(again.lines), 0.2, len(outcome.lines))


@pytest.mark.full
def test_shuffled_pairs_are_split_in_proportion() -> None:
    """The first half of a shuffle is split in the usual proportion with the same seed."""
    lines = lines_of(*numbered_rows(PROMPTS))
    half = staged_lines(lines, Sample(order="shuffle")).lines[: PROMPTS // 2]
    parted = staged_lines(half, split=Split())
    assert within(len(parted.sides["val"].lines), 0.2, PROMPTS // 2)


@pytest.mark.full
def test_sides_of_two_seeds_are_independent() -> None:
    """Val under one seed has its usual fraction in val under the next."""
    lines = lines_of(*numbered_rows(PROMPTS))
    first, second = (
        {*staged_lines(lines, split=Split(val_fraction=0.5, seed=seed)).sides["val"].lines}
        for seed in (0, 1)
    )
    assert within(len(first & second), 0.25, PROMPTS)


# A split of a split -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked", [Split(), pytest.param(Split(test_fraction=0.2, seed=3), marks=pytest.mark.full)]
)
def test_a_side_that_is_split_again_is_noticed(asked: Split) -> None:
    """Any part of a split that is split again with the same seed gives a note."""
    parted = staged_lines(lines_of(*numbered_rows(PROMPTS)), split=asked)
    for outcome in parted.sides.values():
        again = staged_lines(outcome.lines, split=asked)
        assert EARLIER in again.stage.notes[0]
        other = staged_lines(outcome.lines, split=replace(asked, seed=asked.seed + 1))
        assert other.stage.notes == []


class _NoTexts:
    """Texts where none are needed."""

    def pair(self, entry: IndexedPair, /) -> Pair:
        """Never called."""
        raise AssertionError(entry)

    def pair_in(self, pairs: PairColumns, slot: int, /) -> Pair:
        """Never called."""
        raise AssertionError(pairs, slot)


def _notes(prompts: Iterable[bytes], asked: Split) -> list[str]:
    """The notes of a split of pairs with these prompts."""
    entries = (
        IndexedPair(number, 0, 0, None, None, None, prompt, prompt, b"", prompt, prompt, prompt)
        for number, prompt in enumerate(prompts)
    )
    stage = StageCounts("split")
    for _ in asked.sides_of(blocks_of(entries), _NoTexts(), stage):
        pass
    return stage.notes


@pytest.mark.full
def test_fresh_data_raises_no_alarm() -> None:
    """Data that was never split, of any size, gives no note under 500 seeds."""
    prompts = [sha(str(number).encode()) for number in range(300)]
    for seed in range(500):
        for asked in (Split(seed=seed), Split(seed=seed, val_fraction=0.05, test_fraction=0.05)):
            count = (7, 30, 100, 300)[seed % 4]
            assert _notes(prompts[:count], asked) == []


# --exact ----------------------------------------------------------------------------------


@st.composite
def sized_rows(draw: st.DrawFn) -> list[Row]:
    """Pairs of a few prompts, some of which have many."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=9))
    return [
        {"prompt": f"Q{number}", "chosen": f"A{place}", "rejected": "B"}
        for number, size in enumerate(sizes)
        for place in range(size)
    ]


@examples(110)
@given(rows=sized_rows(), asked=splits(by=["prompt"]))
def test_exact_fills_every_side(rows: list[Row], asked: Split) -> None:
    """With at least as many prompts as splits, --exact leaves no split empty."""
    asked = replace(asked, exact=True)
    parted = staged_lines(lines_of(*rows), split=asked)
    if len({row["prompt"] for row in rows}) >= len(asked.sides):
        assert [side for side, outcome in parted.sides.items() if not outcome.lines] == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("val", "test"),
    [
        (0.2, 0.2),
        (0.1, 0.6),
        (0.6, 0.2),
    ],
)
def test_exact_fills_three_sides_of_three_prompts(val: float, test: float, seed: int) -> None:
    """--exact leaves none of three splits of three prompts empty, however large a prompt is."""
    asked = Split(val_fraction=val, test_fraction=test, exact=True, seed=seed)
    parted = staged_lines(lines_of(*numbered_rows(3)), split=asked)
    assert [len(outcome.lines) for outcome in parted.sides.values()] == [1, 1, 1]


@examples(160)
@given(rows=sized_rows(), asked=splits(by=["prompt"]))
def test_no_other_prompt_would_bring_exact_nearer(rows: list[Row], asked: Split) -> None:
    """Moving one prompt between train and val or test gets no closer to the fractions."""
    assume(asked.val_fraction + asked.test_fraction < 1)
    asked = replace(asked, exact=True)
    parted = staged_lines(lines_of(*rows), split=asked)
    sizes = {
        side: Counter(row["prompt"] for row in outcome.rows).values()
        for side, outcome in parted.sides.items()
    }
    for side, share in (("val", asked.val_fraction), ("test", asked.test_fraction)):
        if share:
            missing = share * len(rows) - sum(sizes[side])
            assert len(sizes[side]) <= 1 or -missing < max(sizes[side]) / 2
            if len(sizes["train"]) > 1:  # the last one stays, since train must not be empty
                assert [size for size in sizes["train"] if size < 2 * missing - 1e-9] == []


@pytest.mark.parametrize("count", [3, 4, 5, 10, 99, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize(("val", "test"), [(0.2, 0.0), (0.5, 0.0), (0.3, 0.3), (0.1, 0.2)])
def test_exact_meets_shares_to_half_a_pair(count: int, val: float, test: float) -> None:
    """With one pair per prompt, a split is off by at most half a pair, or has its minimum."""
    asked = Split(val_fraction=val, test_fraction=test, exact=True)
    parted = staged_lines(lines_of(*numbered_rows(count)), split=asked)
    for side, share in (("val", val), ("test", test)):
        if share:
            found = len(parted.sides[side].lines)
            assert found >= 1
            assert abs(found - share * count) <= 0.5 or found == 1
    assert len(parted.lines) == count


def test_exact_draws_by_seed() -> None:
    """With another seed, --exact puts other pairs in val, and not the first ones."""
    lines = lines_of(*numbered_rows(50))
    vals = [
        frozenset(staged_lines(lines, split=Split(exact=True, seed=seed)).sides["val"].lines)
        for seed in range(20)
    ]
    assert {len(val) for val in vals} == {10}
    assert len(set(vals)) == 20
    times = Counter(line for val in vals for line in val)
    assert len(times) == 50
    assert max(times.values()) <= 11
