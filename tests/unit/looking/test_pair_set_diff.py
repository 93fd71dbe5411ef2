"""Compares two sets of pairs."""

import tracemalloc
from typing import Any

import pytest

from prefpairs.analysis.pair_set_diff import (
    KINDS,
    Kind,
    MeanMedian,
    PairSet,
    diff_pair_sets,
    ids_of,
)
from prefpairs.model.pair import Pair, pair_of


def _set(*rows: dict[str, Any]) -> tuple[PairSet, list[Pair]]:
    found, pairs = PairSet(), []
    for row in rows:
        pair, digests = pair_of({"prompt": "Q", **row})
        found.add(pair, digests)
        pairs.append(pair)
    return found, pairs


def _row(chosen: str, rejected: str, better: float | None = 1.0, **more: Any) -> dict[str, Any]:
    scores = {} if better is None else {"chosen_score": better, "rejected_score": 0.0}
    return {"chosen": chosen, "rejected": rejected, **scores, **more}


KEPT, LOST, ADDED = _row("a", "b"), _row("c", "d"), _row("e", "f")
TURNED, TURNED_BACK = _row("g", "h"), _row("h", "g")
RESCORED = {**KEPT, "chosen_score": 0.5}


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ([], [], {}),
        ([KEPT], [KEPT], {"kept": 1}),
        ([KEPT], [RESCORED], {"kept": 1, "rescored": 1}),
        ([KEPT, LOST], [KEPT, ADDED], {"kept": 1, "lost": 1, "added": 1}),
        ([TURNED], [TURNED_BACK], {"flipped": 1}),
        ([KEPT, KEPT], [KEPT], {"kept": 1}),
        # If a set has a pair in both directions, losing one of them is no change.
        ([TURNED, TURNED_BACK], [TURNED_BACK], {"kept": 1, "lost": 1}),
        ([TURNED], [TURNED, TURNED_BACK], {"kept": 1, "added": 1}),
        ([TURNED], [_row("h", "g", prompt="R")], {"lost": 1, "added": 1}),
        ([TURNED], [_row("h", "g", tools=[{"name": "f"}])], {"lost": 1, "added": 1}),
        ([_row("a", "b", None)], [_row("a", "b", None)], {"kept": 1}),
        ([_row("a", "b", None)], [KEPT], {"kept": 1, "rescored": 1}),
        ([_row("a", "b", None, gap=1.0)], [KEPT], {"kept": 1, "rescored": 1}),
    ],
)
def test_counts(
    before: list[dict[str, Any]], after: list[dict[str, Any]], counts: dict[str, int]
) -> None:
    """Each distinct pair has one kind of change, except that a rescored one is also kept."""
    ours, theirs = _set(*before)[0], _set(*after)[0]
    found = diff_pair_sets(ours, theirs)
    assert found.pairs == {"kept": 0, "rescored": 0, "lost": 0, "added": 0, "flipped": 0, **counts}
    assert found.same is not any(counts.get(kind) for kind in KINDS)
    distinct = found.pairs["kept"] + found.pairs["flipped"]
    assert len(ours.ids) == distinct + found.pairs["lost"]
    assert len(theirs.ids) == distinct + found.pairs["added"]
    for kind in KINDS:
        assert len([*ids_of(kind, ours, theirs)]) == found.pairs[kind]


@pytest.mark.parametrize(
    ("kind", "side", "row"),
    [("lost", 0, LOST), ("added", 1, ADDED), ("flipped", 1, TURNED_BACK), ("rescored", 1, KEPT)],
)
def test_ids(kind: Kind, side: int, row: dict[str, Any]) -> None:
    """IDs are those of the set that has the pair."""
    before, after = _set(KEPT, LOST, TURNED), _set(ADDED, RESCORED, TURNED_BACK)
    wanted = pair_of({"prompt": "Q", **row})[0].id
    assert [*ids_of(kind, before[0], after[0])] == [wanted]
    assert wanted in {pair.id for pair in (before, after)[side][1]}


def test_ids_in_order() -> None:
    """IDs are in the order of the input."""
    rows = [_row(str(number), "x") for number in range(5)]
    lost, pairs = _set(*rows)
    assert [*ids_of("lost", lost, PairSet())] == [pair.id for pair in pairs]


def test_order_does_not_matter() -> None:
    """Of copies with different scores, the strongest counts, in any order."""
    copies = [{**KEPT, "chosen_score": score} for score in (0.2, 0.9, 0.4)]
    for rows in (copies, copies[::-1], copies[1:], copies[:2]):
        assert diff_pair_sets(_set(*rows)[0], _set(copies[1])[0]).same
    assert not diff_pair_sets(_set(copies[0])[0], _set(copies[1])[0]).same


def test_prompts() -> None:
    """Each prompt counts once."""
    ours = [{**KEPT, "prompt": prompt} for prompt in "aab"]
    theirs = [{**KEPT, "prompt": prompt} for prompt in "bcd"]
    found = diff_pair_sets(_set(*ours)[0], _set(*theirs)[0])
    assert found.prompts == {"kept": 1, "lost": 1, "added": 2}
    assert (found.before.prompts, found.after.prompts) == (2, 3)


def test_traits() -> None:
    """Figures include copies; gaps are those of pairs that have one."""
    rows = [_row("a" * 10, "b", 0.6), _row("a" * 10, "b", 0.6), _row("cc", "ddd", 0.3)]
    found = diff_pair_sets(_set(*rows, _row("e", "f", None))[0], PairSet())
    assert found.before[:3] == (4, 3, 1)
    assert found.before.gap == MeanMedian(0.5, 0.6)
    assert found.before.chosen_chars == MeanMedian(5.75, 6.0)
    assert found.before.rejected_chars == MeanMedian(1.5, 1.0)
    assert found.after[:4] == (0, 0, 0, MeanMedian(None, None))


@pytest.mark.full
def test_memory() -> None:
    """A pair takes about 120 bytes, whatever its length."""
    text = "x" * 1000
    tracemalloc.start()
    found = PairSet()
    number = 20_000
    for place in range(number):
        row = {"prompt": f"{place}{text}", **_row(f"{place}a{text}", text)}
        found.add(*pair_of(row))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / number < 140
