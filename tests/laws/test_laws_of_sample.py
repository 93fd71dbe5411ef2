"""sample: a draw depends on the seed and the pair, and all pairs are drawn equally often."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_rows import different_rows, numbered_rows, pair_lines_mixed, samples
from rollouts_of_any_format import shards_of
from run_in_process import Row, lines_of
from stages_in_process import Staged, staged_lines, staged_shards

from hypothesis_examples import examples
from prefpairs.stages.sample import Sample

pytestmark = pytest.mark.full

CHANCE = st.randoms(use_true_random=False)
ORDERED: list[Literal["shuffle", "easy-first", "hard-first"]] = [
    "shuffle",
    "easy-first",
    "hard-first",
]


def counted(outcome: Staged) -> Counter[str]:
    """The pairs of an outcome without origins, with the number of copies."""
    return Counter(outcome.without_origins())


def by_group(outcome: Staged) -> dict[str, Counter[str]]:
    """The same, by group."""
    groups = defaultdict(list)
    for pair, line in zip(outcome.rows, outcome.without_origins(), strict=True):
        groups[pair["group"]].append(line)
    return {group: Counter(lines) for group, lines in groups.items()}


def at_gap(pair: Row) -> float:
    """The gap of a pair; unknown ones come last."""
    return float("inf") if pair["gap"] is None else pair["gap"]


# How many ---------------------------------------------------------------------------------


@examples(80)
@given(lines=pair_lines_mixed(), count=st.integers(1, 15), seed=st.integers(0, 99))
def test_exactly_so_many_are_drawn(lines: list[bytes], count: int, seed: int) -> None:
    """--max-pairs N gives N pairs, or all if there are fewer."""
    everything = staged_lines(lines)
    drawn = staged_lines(lines, Sample(max_pairs=count, seed=seed))
    assert len(drawn.rows) == min(count, len(everything.rows))
    assert counted(drawn) <= counted(everything)


@pytest.mark.parametrize("count", [1, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 3000, 3001])
def test_exactly_so_many_are_drawn_of_thousands(count: int) -> None:
    """The same with thousands, of which most are discarded early; smaller samples are nested."""
    lines = lines_of(*numbered_rows(3000))
    drawn = staged_lines(lines, Sample(max_pairs=count))
    assert len(drawn.lines) == min(count, 3000)
    order = staged_lines(lines, Sample(max_pairs=3000)).lines
    smaller = staged_lines(order[::-1], Sample(max_pairs=max(1, count // 2)))
    assert counted(smaller) <= counted(drawn)


@examples(80)
@given(lines=pair_lines_mixed(), count=st.integers(1, 5), seed=st.integers(0, 99))
def test_each_group_gives_so_many(lines: list[bytes], count: int, seed: int) -> None:
    """--per-group N gives N pairs of each group, or all if it has fewer."""
    everything = by_group(staged_lines(lines))
    drawn = by_group(staged_lines(lines, Sample(per_group=count, seed=seed)))
    assert drawn.keys() == everything.keys()
    for group, pairs in drawn.items():
        assert pairs.total() == min(count, everything[group].total())
        assert pairs <= everything[group]


@examples(60)
@given(lines=pair_lines_mixed(), fraction=st.floats(0, 1), seed=st.integers(0, 99))
def test_a_fraction_is_decided_pair_by_pair(lines: list[bytes], fraction: float, seed: int) -> None:
    """--fraction takes a pair or not, whatever other pairs there are."""
    asked = Sample(fraction=fraction, seed=seed)
    alone = [line for one in lines for line in staged_lines([one], asked).without_origins()]
    assert staged_lines(lines, asked).without_origins() == alone


@examples(80)
@given(lines=pair_lines_mixed(), seed=st.integers(0, 99))
def test_nothing_and_everything_are_fractions(lines: list[bytes], seed: int) -> None:
    """--fraction 0 takes none, --fraction 1 takes all."""
    assert staged_lines(lines, Sample(fraction=0.0, seed=seed)).lines == []
    assert staged_lines(lines, Sample(fraction=1.0, seed=seed)).lines == staged_lines(lines).lines


@examples(80)
@given(lines=pair_lines_mixed(), count=st.integers(1, 9), fraction=st.floats(0, 1))
def test_a_number_and_a_share_draw_the_same(
    lines: list[bytes], count: int, fraction: float
) -> None:
    """Of a sample by number and one by fraction, the smaller is part of the larger."""
    by_number = counted(staged_lines(lines, Sample(max_pairs=count)))
    by_share = counted(staged_lines(lines, Sample(fraction=fraction)))
    both = counted(staged_lines(lines, Sample(max_pairs=count, fraction=fraction)))
    assert both == min(by_number, by_share, key=Counter.total)
    assert by_number <= by_share or by_share <= by_number


# Nested, mergeable, and the same in any order ---------------------------------------------


@examples(60)
@given(lines=pair_lines_mixed(), asked=samples())
def test_a_larger_sample_holds_the_smaller(lines: list[bytes], asked: Sample) -> None:
    """A larger sample contains the smaller, by number, fraction and group."""
    alone = replace(asked, max_pairs=None, per_group=None)
    for chain in (
        [replace(asked, max_pairs=count) for count in (1, 2, 3, 5, 8, None)],
        [replace(alone, fraction=share) for share in (0.0, 0.1, 0.5, 0.51, 1.0, None)],
        [replace(alone, per_group=count) for count in (1, 2, 3, 5, None)],
    ):
        drawn = [counted(staged_lines(lines, one)) for one in chain]
        assert all(smaller <= larger for smaller, larger in pairwise(drawn))


@examples(110)
@given(lines=pair_lines_mixed(), asked=samples(), chance=CHANCE, data=st.data())
def test_a_sample_does_not_depend_on_order(
    lines: list[bytes], asked: Sample, chance: Random, data: st.DataObject
) -> None:
    """Shuffled lines in several files give the same sample, except origins, and equal counts."""
    shuffled = list(lines)
    chance.shuffle(shuffled)
    whole = staged_lines(lines, asked)
    again = staged_shards(data.draw(shards_of(shuffled)), asked)
    assert counted(again) == counted(whole)
    assert again.counts() == whole.counts()


@examples(110)
@given(lines=pair_lines_mixed(), asked=samples(), data=st.data())
def test_samples_of_shards_sampled_again_are_a_sample_of_the_whole(
    lines: list[bytes], asked: Sample, data: st.DataObject
) -> None:
    """Sampling each shard and then the merged samples equals sampling the whole."""
    shards = [staged_lines(shard, asked).lines for shard in data.draw(shards_of(lines))]
    assert counted(staged_shards(shards, asked)) == counted(staged_lines(lines, asked))


@pytest.mark.parametrize("asked", [Sample(max_pairs=3), Sample(per_group=3)])
@pytest.mark.parametrize("copies", [5, 3000])
def test_copies_of_a_pair_are_told_apart_by_what_they_say(asked: Sample, copies: int) -> None:
    """If only some copies of a pair are drawn, they are the same in any order, and by shards."""
    text = {"prompt": "Q", "chosen": "A", "rejected": "B"}
    lines = lines_of(*({**text, "group": "g", "meta": {"k": number}} for number in range(copies)))
    whole = staged_lines(lines, asked)
    assert len(whole.lines) == 3
    assert staged_lines(lines[::-1], asked).contents() == whole.contents()
    shards = [staged_lines(lines[part::2], asked).lines for part in range(2)]
    assert staged_shards(shards, asked).contents() == whole.contents()


def test_large_samples_of_shards_are_a_sample_of_the_whole() -> None:
    """The same with thousands, most of which are discarded early, in any order."""
    lines = lines_of(*numbered_rows(6000, groups=7))
    for asked in (Sample(max_pairs=600), Sample(per_group=90), Sample(max_pairs=600, per_group=90)):
        shards = [staged_lines(lines[part::3], asked).lines for part in range(3)]
        whole = staged_lines(lines, asked)
        assert len(whole.lines) == 600 if asked.max_pairs else 630
        assert staged_shards(shards, asked).contents() == whole.contents()
        assert staged_lines(lines[::-1], asked).contents() == whole.contents()


@examples(60)
@given(lines=pair_lines_mixed(), more=pair_lines_mixed(), asked=samples())
def test_added_pairs_only_take_the_place_of_others(
    lines: list[bytes], more: list[bytes], asked: Sample
) -> None:
    """Adding pairs can only displace others from a sample."""
    drawn = counted(staged_lines(lines, replace(asked, max_pairs=2, per_group=None)))
    again = counted(staged_lines([*lines, *more], replace(asked, max_pairs=2, per_group=None)))
    assert again - drawn <= counted(staged_lines(more))


# The order of the output ------------------------------------------------------------------


@examples(80)
@given(lines=pair_lines_mixed(), asked=samples())
def test_an_order_changes_nothing_but_the_order(lines: list[bytes], asked: Sample) -> None:
    """Every order has the same pairs: as they came, or by gap with unknown ones last."""
    inputs = staged_lines(lines, replace(asked, order="input"))
    remaining = iter(staged_lines(lines).lines)
    assert all(line in remaining for line in inputs.lines)
    for order in ORDERED:
        ordered = staged_lines(lines, replace(asked, order=order))
        assert sorted(ordered.lines) == sorted(inputs.lines)
        gaps = [pair["gap"] for pair in ordered.rows]
        known = [gap for gap in gaps if gap is not None]
        if order != "shuffle":
            assert gaps[: len(known)] == sorted(known, reverse=order == "easy-first")


@examples(60)
@given(rows=different_rows(), asked=samples(), chance=CHANCE)
def test_a_requested_order_does_not_depend_on_the_input(
    rows: list[Row], asked: Sample, chance: Random
) -> None:
    """If all pairs differ, an --order other than the input's does not depend on the input."""
    shuffled = list(rows)
    chance.shuffle(shuffled)
    for order in ORDERED:
        one, other = (
            staged_lines(lines_of(*given_rows), replace(asked, order=order))
            for given_rows in (rows, shuffled)
        )
        assert one.without_origins() == other.without_origins()


@examples(80)
@given(rows=different_rows(least=1), more=different_rows(), seed=st.integers(0, 99))
def test_added_pairs_are_shuffled_in(rows: list[Row], more: list[Row], seed: int) -> None:
    """Added pairs are inserted; the others keep their order."""
    shuffle = Sample(order="shuffle", seed=seed)
    added = [{**row, "prompt": f"new {row['prompt']}"} for row in more]
    before = staged_lines(lines_of(*rows), shuffle).without_origins()
    after = staged_lines(lines_of(*added, *rows), shuffle).without_origins()
    assert [line for line in after if line in before] == before


# Equally often ----------------------------------------------------------------------------

SEEDS = 400


def unevenness(counts: Iterable[int], expected: float) -> float:
    """Chi-square of these counts, not yet corrected for draws without replacement."""
    return sum((count - expected) ** 2 / expected for count in counts)


@cache
def drawn_places(count: int, groups: int, **asked: Any) -> list[list[int]]:
    """For each seed, the numbers of the drawn pairs in output order."""
    lines = lines_of(*numbered_rows(count, groups))
    runs = [staged_lines(lines, Sample(**asked, seed=seed)).rows for seed in range(SEEDS)]
    return [[int(pair["prompt"].split()[1]) for pair in rows] for rows in runs]


def _times(draws: Sequence[Sequence[int]]) -> Counter[int]:
    return Counter(place for places in draws for place in places)


def test_each_pair_is_drawn_as_often() -> None:
    """Over 400 seeds, 20 of 60: each is drawn about equally often, alone and with its neighbor."""
    draws = drawn_places(60, 1, max_pairs=20)
    assert {len(set(places)) for places in draws} == {20}
    times = _times(draws)
    # chi-square with 59 degrees of freedom: 1 in 1,000 is below 31, 1 in 1,000 above 98.3
    even = unevenness((times[place] for place in range(60)), 400 / 3) / (2 / 3) * 59 / 60
    assert 31 < even < 98.3
    # a pair and the next one are drawn together in 19/177 of the seeds, 2,533 times of 23,600
    beside = sum(place + 1 in places for places in draws for place in places)
    assert 2_300 < beside < 2_770


def test_each_pair_of_a_group_is_drawn_as_often() -> None:
    """Over 400 seeds, 3 of each of six groups of ten: each is drawn about equally often."""
    draws = drawn_places(60, 6, per_group=3)
    assert {len(places) for places in draws} == {18}
    times = _times(draws)
    for group in range(6):
        members = [times[place] for place in range(group, 60, 6)]
        assert sum(members) == 3 * SEEDS
        # chi-square with 9 degrees of freedom: 1 in 1,000 is below 1.15, 1 in 1,000 above 27.9
        assert 1.15 < unevenness(members, 120) / 0.7 * 9 / 10 < 27.9


def test_groups_are_drawn_from_independently() -> None:
    """Which pairs one group gives is independent of the next group."""
    draws = drawn_places(60, 6, per_group=5)
    both = sum(place + 1 in places for places in draws for place in places if place % 6 != 5)
    # 50 neighbors in different groups, each drawn together in a quarter of 400 seeds: 5,000 times
    assert 4_700 < both < 5_300


def test_each_pair_is_as_often_in_a_fraction() -> None:
    """Over 400 seeds, with --fraction 0.3, each of 60 is drawn about 120 times."""
    draws = drawn_places(60, 1, fraction=0.3)
    times = _times(draws)
    assert 31 < unevenness((times[place] for place in range(60)), 120) / 0.7 < 98.3
    sizes = [len(places) for places in draws]
    # a size varies around 18 by 3.55, their mean by 0.18
    assert 17.1 < sum(sizes) / SEEDS < 18.9
    assert 9.5 < sum((size - 18) ** 2 for size in sizes) / SEEDS < 16


def test_each_position_in_a_shuffle_is_equally_likely() -> None:
    """Over 400 seeds, each of twelve pairs is at each of twelve positions about 33 times."""
    orders = drawn_places(12, 1, order="shuffle")
    times = Counter((place, number) for order in orders for place, number in enumerate(order))
    counts = [times[place, number] for place in range(12) for number in range(12)]
    # chi-square with 121 degrees of freedom: 1 in 1,000 is below 78.5, 1 in 1,000 above 174.8
    assert 78.5 < unevenness(counts, SEEDS / 12) * 11 / 12 < 174.8
    rising = sum(number < later for order in orders for number, later in pairwise(order))
    # half of 4,400 neighbors rise, give or take 21
    assert 2_100 < rising < 2_300


def test_another_seed_draws_others() -> None:
    """Samples of 20 of 60 with consecutive seeds have a third in common on average."""
    draws = drawn_places(60, 1, max_pairs=20)
    common = sum(len({*one} & {*other}) for one, other in pairwise(draws))
    # 399 times 6.67, give or take 35
    assert 2_487 < common < 2_833


def test_a_sample_is_independent_of_a_shuffle() -> None:
    """A sample is independent of a shuffle with the same seed: half of it is in each half."""
    drawn = drawn_places(60, 1, max_pairs=20)
    orders = drawn_places(60, 1, order="shuffle")
    first = sum(len({*places} & {*order[:30]}) for places, order in zip(drawn, orders, strict=True))
    # half of 8,000, give or take 37
    assert 3_815 < first < 4_185
