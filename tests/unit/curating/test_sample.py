"""sample: the pairs with the smallest draws stay."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from run_stage import Held, Row, row_of, staged

from prefpairs.ledger import StageCounts
from prefpairs.model.identity import draw
from prefpairs.model.pair import pair_of
from prefpairs.stages.sample import Sample, bound_of

ROWS = [row_of(f"Q{number}", gap=number / 20, group=f"g{number % 3}") for number in range(20)]


def _drawn(row: Row, seed: int = 0, purpose: str = "sample") -> int:
    return draw(seed, purpose, bytes.fromhex(pair_of(row)[0].id))


def _places(stage: Sample, rows: list[Row] | None = None) -> list[int]:
    return staged(stage, ROWS if rows is None else rows)[0]


def test_draws_keep_their_form() -> None:
    """Draws have fixed values; changing them needs a new identity version."""
    assert _places(Sample(max_pairs=5)) == [0, 6, 12, 14, 17]
    assert _places(Sample(max_pairs=5, seed=1)) == [6, 10, 12, 13, 15]
    assert _places(Sample(fraction=0.25)) == [0, 6, 7, 11, 12, 14, 17]
    assert _places(Sample(max_pairs=5, order="shuffle")) == [6, 17, 0, 12, 14]


@pytest.mark.parametrize("seed", [0, 1, -7])
@pytest.mark.parametrize("size", [1, 7, 20, 21])
def test_smallest_draws_stay(size: int, seed: int) -> None:
    """The smallest draws stay, in input order; all if there are fewer."""
    by_draw = sorted(range(20), key=lambda place: _drawn(ROWS[place], seed))
    found, stage = staged(Sample(max_pairs=size, seed=seed), ROWS)
    assert found == sorted(by_draw[:size])
    assert +stage.dropped == Counter({"not_drawn": 20 - len(found)} if size < 20 else {})


def test_samples_nest() -> None:
    """A smaller sample is part of a larger one, by number or by fraction."""
    by_number = [set(_places(Sample(max_pairs=size))) for size in range(1, 21)]
    by_share = [set(_places(Sample(fraction=share / 20))) for share in range(21)]
    samples = [*pairwise(by_number), *pairwise(by_share)]
    assert [pair for pair in samples if not pair[0] <= pair[1]] == []


def test_sample_does_not_depend_on_order() -> None:
    """Shuffled rows give the same sample, and samples of shards can be sampled again."""
    shuffled = ROWS[:]
    random.Random(7).shuffle(shuffled)  # noqa: S311 - a fixed shuffle
    for stage in (Sample(max_pairs=6), Sample(fraction=0.4), Sample(per_group=2)):
        expected = [ROWS[place] for place in _places(stage)]
        found = [shuffled[place] for place in _places(stage, shuffled)]
        assert sorted(map(str, found)) == sorted(map(str, expected))
    six = Sample(max_pairs=6)
    halves = [half[place] for half in (ROWS[:11], ROWS[11:]) for place in _places(six, half)]
    again = [halves[place] for place in _places(six, halves)]
    assert again == [ROWS[place] for place in _places(six)]


@pytest.mark.parametrize(("fraction", "pairs"), [(0.0, 0), (1.0, 20)])
def test_all_or_none(fraction: float, pairs: int) -> None:
    """A fraction of 0 takes none, 1 takes all."""
    found, stage = staged(Sample(fraction=fraction), ROWS)
    assert (len(found), stage.dropped.total()) == (pairs, 20 - pairs)


def test_share_is_met_on_average() -> None:
    """A tenth of many pairs is about a tenth."""
    assert 350 < sum(_drawn(row_of(str(n))) < bound_of(0.1) for n in range(4000)) < 450


@pytest.mark.parametrize(
    ("share", "bound"),
    [
        (0.0, 0),
        (0.1, 2**64 // 10),
        (1e-05, 2**64 // 100_000),
        (0.25, 2**62),
        (1 / 3, 3333333333333333 * 2**64 // 10**16),
        (1.0, 2**64),
    ],
)
def test_bound(share: float, bound: int) -> None:
    """A fraction is the decimal number as typed."""
    assert bound_of(share) == bound


def test_per_group() -> None:
    """The smallest draws of each group, in input order."""
    groups = [sorted(range(first, 20, 3), key=lambda n: _drawn(ROWS[n])) for first in range(3)]
    found, stage = staged(Sample(per_group=2), ROWS)
    assert found == sorted(place for group in groups for place in group[:2])
    assert +stage.dropped == {"over_per_group": 14}


def test_per_group_and_more() -> None:
    """First the fraction, then the groups, then the number; each loss has its reason."""
    stage = Sample(fraction=0.8, per_group=3, max_pairs=4)
    shared = set(_places(Sample(fraction=0.8)))
    groups = [
        sorted((n for n in range(first, 20, 3) if n in shared), key=lambda n: _drawn(ROWS[n]))
        for first in range(3)
    ]
    capped = [place for group in groups for place in group[:3]]
    found, counts = staged(stage, ROWS)
    assert found == sorted(sorted(capped, key=lambda n: _drawn(ROWS[n]))[:4])
    assert counts.dropped == {
        "not_drawn": 20 - len(shared) + len(capped) - 4,
        "over_per_group": len(shared) - len(capped),
    }


GAPS: list[Row] = [
    row_of("a", gap=0.1),
    row_of("b"),
    row_of("c", gap=0.9),
    row_of("d", gap=-0.5),
    row_of("e", gap=0.0),
]


@pytest.mark.parametrize(
    ("order", "places"),
    [
        ("input", [0, 1, 2, 3, 4]),
        ("easy-first", [2, 0, 4, 3, 1]),
        ("hard-first", [3, 4, 0, 2, 1]),
    ],
)
def test_order(order: Any, places: list[int]) -> None:
    """Sorts by gap; pairs without a gap come last."""
    assert _places(Sample(max_pairs=9, order=order), GAPS) == places


@pytest.mark.parametrize("order", ["easy-first", "hard-first"])
def test_ties_of_an_order(order: Any) -> None:
    """Equal gaps are sorted by ID."""
    rows = [row_of(f"Q{number}", gap=0.5) for number in range(9)]
    by_id = sorted(rows, key=lambda row: pair_of(row)[0].id)
    assert [rows[place] for place in _places(Sample(order=order), rows)] == by_id
    rows.reverse()
    assert [rows[place] for place in _places(Sample(order=order), rows)] == by_id


def test_shuffle() -> None:
    """Shuffling uses its own draw, so a sample's order does not follow from what was drawn."""
    expected = sorted(range(20), key=lambda place: _drawn(ROWS[place], purpose="shuffle"))
    assert _places(Sample(order="shuffle")) == expected
    seeded = sorted(range(20), key=lambda place: _drawn(ROWS[place], 3, "shuffle"))
    assert _places(Sample(order="shuffle", seed=3)) == seeded


@pytest.mark.parametrize("run", [50, pytest.param(1 << 15, marks=pytest.mark.full)])
@pytest.mark.parametrize("size", [3, 700])
def test_much_more_than_is_drawn(monkeypatch: pytest.MonkeyPatch, size: int, run: int) -> None:
    """Discarding pairs early changes neither the result nor its order."""
    monkeypatch.setattr("prefpairs.stages.pair_columns._RUN", run)
    rows = [row_of(f"Q{number % 2900}", gap=number / 1e4) for number in range(3000)]
    by_draw = sorted(range(3000), key=lambda place: _drawn(rows[place]))
    found, stage = staged(Sample(max_pairs=size), rows)
    assert found == sorted(found)
    assert [_drawn(rows[n]) for n in found] == [_drawn(rows[n]) for n in sorted(by_draw[:size])]
    assert stage.dropped == {"not_drawn": 3000 - size}


def test_copies_at_the_border() -> None:
    """If only some copies of a pair stay, their text decides, not their order."""
    copies = [row_of("Q", gap=0.5, group=group) for group in "cab"]
    for rows in (copies, copies[::-1]):
        found = [rows[place]["group"] for place in _places(Sample(max_pairs=2), rows)]
        assert sorted(found) == ["a", "b"]


def test_memory_is_bounded_by_the_sample() -> None:
    """Sampling by fraction needs no memory; other options hold pairs back."""
    waits = [
        Sample(fraction=0.5).holds_back,
        Sample(max_pairs=1).holds_back,
        Sample(per_group=1).holds_back,
        Sample(order="shuffle").holds_back,
    ]
    assert waits == [False, True, True, True]


def test_few_may_be_left_of_many() -> None:
    """A number of pairs selects few of many; a fraction or an order does not."""
    picks = [
        Sample(fraction=0.5).picks,
        Sample(max_pairs=1).picks,
        Sample(per_group=1).picks,
        Sample(order="shuffle").picks,
    ]
    assert picks == [False, True, True, False]


@pytest.mark.parametrize("stage", [Sample(fraction=1.0), Sample(max_pairs=9), Sample(per_group=9)])
def test_digests_are_handed_on(stage: Sample) -> None:
    """The digests that a later stage wants come with the entry."""
    held = Held(ROWS[:1])
    wanted = frozenset({"prompt", "rejected"})
    ((entry,),) = stage.select(held.blocks(), held, StageCounts("sample"), wanted)
    (expected,) = held.entries()
    assert (entry.id, entry.prompt, entry.rejected) == (
        expected.id,
        expected.prompt,
        expected.rejected,
    )


def test_order_by_the_average_of_a_group() -> None:
    """Groups stay together, the easiest first, each with its widest pair first."""
    gaps = [("x", 0.9), ("y", 0.6), ("x", 0.1), ("y", 0.8), ("z", None), ("w", 0.6), ("z", 0.65)]
    rows = [row_of(f"Q{place}", gap=gap, group=name) for place, (name, gap) in enumerate(gaps)]
    easy = [gaps[place] for place in _places(Sample(order="easy-first", per="group"), rows)]
    assert easy == [
        ("y", 0.8),
        ("y", 0.6),
        ("z", 0.65),
        ("z", None),
        ("w", 0.6),
        ("x", 0.9),
        ("x", 0.1),
    ]
    hard = [gaps[place] for place in _places(Sample(order="hard-first", per="group"), rows)]
    assert hard == [
        ("x", 0.1),
        ("x", 0.9),
        ("w", 0.6),
        ("z", 0.65),
        ("z", None),
        ("y", 0.6),
        ("y", 0.8),
    ]


def test_groups_without_gaps_come_last() -> None:
    """Groups without gaps come last."""
    rows = [row_of("P", group="x"), row_of("Q", gap=0.1, group="y"), row_of("R", group="x")]
    assert _places(Sample(order="easy-first", per="group"), rows)[0] == 1
    assert _places(Sample(order="hard-first", per="group"), rows)[0] == 1


def test_order_by_group_is_that_of_shuffled_rows() -> None:
    """The group averages do not depend on the order of rows."""
    shuffled = ROWS[:]
    random.Random(7).shuffle(shuffled)  # noqa: S311 - a fixed shuffle
    sieve = Sample(order="easy-first", per="group", max_pairs=9)
    expected = [ROWS[place] for place in _places(sieve)]
    assert [shuffled[place] for place in _places(sieve, shuffled)] == expected
