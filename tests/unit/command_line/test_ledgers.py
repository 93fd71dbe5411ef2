"""The ledgers that account for everything that was read."""

from itertools import permutations

import pytest

from prefpairs.errors import BadField, NotJson
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.running_stats import RunningStats
from prefpairs.ledger.summaries import extract_summary, pair_input_summary, pair_summary


def _tally(*numbers: float) -> RunningStats:
    tally = RunningStats()
    for number in numbers:
        tally.add(number)
    return tally


@pytest.mark.parametrize(
    ("numbers", "summary"),
    [
        ((), None),
        ((0.5,), {"mean": 0.5, "min": 0.5, "max": 0.5}),
        ((0.1, 0.2, 0.3), {"mean": 0.2, "min": 0.1, "max": 0.3}),
        ((-1.0, -3.0), {"mean": -2.0, "min": -3.0, "max": -1.0}),
        ((1.0, 0.0, 0.0), {"mean": 0.333333333333333, "min": 0.0, "max": 1.0}),
        ((2.0, 1.0, 3.0), {"mean": 2.0, "min": 1.0, "max": 3.0}),
    ],
)
def test_tally(numbers: tuple[float, ...], summary: dict[str, float] | None) -> None:
    """Mean, minimum and maximum; none without numbers."""
    assert _tally(*numbers).summary() == summary


def test_order_of_a_tally_does_not_count() -> None:
    """Sums are exact, so the order of numbers does not change the mean."""
    numbers = (1e16, 1.0, -1e16, 0.1, 1e-9)
    means = {str(_tally(*order).summary()) for order in permutations(numbers)}
    assert means == {"{'mean': 0.2200000002, 'min': -1e+16, 'max': 1e+16}"}


def test_order_of_a_tally_of_extremes_does_not_count() -> None:
    """The same with numbers of very different sizes."""
    means = {str(_tally(*order).summary()) for order in permutations((1e60, -1e60, 1.0))}
    assert means == {"{'mean': 0.333333333333333, 'min': -1e+60, 'max': 1e+60}"}


def test_equal_notes_are_kept_once() -> None:
    """Equal notes are kept once."""
    ledger = Ledger()
    for sentence in ("a", "b", "a"):
        ledger.note(sentence)
    assert ledger.notes == ["a", "b"]


def test_first_few_bad_rows_are_remembered() -> None:
    """All bad rows are counted, five are kept."""
    ledger = Ledger()
    for number in range(8):
        ledger.add_bad(f"f:{number}", NotJson("not JSON"))
    assert ledger.rows_bad == 8
    assert [place for place, _ in ledger.first_bad] == ["f:0", "f:1", "f:2", "f:3", "f:4"]


def test_first_few_of_each_kind_of_bad_rows() -> None:
    """A few of each kind are kept, so many of one kind hide no other; kinds are limited, too."""
    ledger = Ledger()
    for number in range(20):
        ledger.add_bad(f"f:{number}", BadField(f"messages[{number}].role", 1, "text"))
    ledger.add_bad("f:20", NotJson("not JSON"))
    assert [place for place, _ in ledger.first_bad] == ["f:0", "f:1", "f:2", "f:3", "f:4", "f:20"]
    assert ledger.bad_by_kind == {"messages[].role: text": 20, "not_json": 1}
    for name in "abcdefghijk":
        ledger.add_bad(name, BadField(name, 1, "text"))
    assert (ledger.rows_bad, len(ledger.bad_by_kind), len(ledger.first_bad)) == (32, 10, 14)


def test_kept_is_found_less_dropped() -> None:
    """Kept candidates are those found minus those dropped."""
    ledger = Ledger(candidates_found=10)
    ledger.candidates_dropped.update({"no_score": 2, "duplicate_rollout": 1})
    assert ledger.candidates_kept == 7


def test_pairs_are_counted_by_gap() -> None:
    """Counts the pairs that other minimum gaps would leave, inclusive."""
    ledger = Ledger()
    for gap in (0.05, 0.1, 0.15, 0.2, 0.7):
        ledger.add_pair(gap, 0.9, 0.9 - gap)
    assert (ledger.pairs, dict(ledger.pairs_at_gap)) == (5, {0.1: 4, 0.2: 2})


def test_summary_of_extract() -> None:
    """Keys are in order; losses are sorted by count, then by name."""
    ledger = Ledger(
        sources=[("a.jsonl", "generic")],
        skipped_files=[("a_failures.jsonl", "NeMo Gym")],
        notes=["a.jsonl is odd"],
        rows_read=10,
        rows_used=5,
        rows_bad=1,
        candidates_found=9,
    )
    ledger.rows_dropped.update({"no_score": 1, "masked": 1, "placeholder": 2})
    ledger.candidates_dropped.update({"no_score": 2, "no_prompt": 2, "masked": 1})
    ledger.noticed["trailing_turn_cut"] += 3
    assert list(extract_summary(ledger).items()) == [
        ("inputs", [{"name": "a.jsonl", "source": "generic"}]),
        ("passed_over", ["a_failures.jsonl"]),
        (
            "rows",
            {
                "read": 10,
                "used": 5,
                "dropped": {"placeholder": 2, "masked": 1, "no_score": 1},
                "bad": 1,
            },
        ),
        (
            "candidates",
            {"found": 9, "kept": 4, "dropped": {"no_prompt": 2, "no_score": 2, "masked": 1}},
        ),
        ("noticed", {"trailing_turn_cut": 3}),
        ("notes", ["a.jsonl is odd"]),
    ]
    assert list(extract_summary(ledger)["rows"]["dropped"]) == ["placeholder", "masked", "no_score"]


def test_summary_of_pair() -> None:
    """The summary of extract, followed by the pairs."""
    ledger = Ledger(groups=3, across_prompts=1)
    ledger.groups_without_pair["all_tied"] += 1
    ledger.marked.update({"chosen_failed": 1, "rejected_failed": 2})
    ledger.add_pair(0.5, 1.0, 0.5)
    ledger.add_pair(0.1, 0.9, 0.8)
    summary = pair_summary(ledger)
    assert list(summary)[:6] == list(extract_summary(ledger))
    assert {key: summary[key] for key in list(summary)[6:]} == {
        "groups": 3,
        "groups_without_pair": {"all_tied": 1},
        "pairs": 2,
        "gap": {"mean": 0.3, "min": 0.1, "max": 0.5},
        "mean_chosen_score": 0.95,
        "mean_rejected_score": 0.65,
        "pairs_at_min_gap": {"0.1": 2, "0.2": 1},
        "pairs_across_prompts": 1,
        "marked": {"rejected_failed": 2, "chosen_failed": 1},
    }


def test_summary_of_nothing() -> None:
    """Every key is present even if nothing was read."""
    assert pair_summary(Ledger()) == {
        "inputs": [],
        "passed_over": [],
        "rows": {"read": 0, "used": 0, "dropped": {}, "bad": 0},
        "candidates": {"found": 0, "kept": 0, "dropped": {}},
        "noticed": {},
        "notes": [],
        "groups": 0,
        "groups_without_pair": {},
        "pairs": 0,
        "gap": None,
        "mean_chosen_score": None,
        "mean_rejected_score": None,
        "pairs_at_min_gap": {"0.1": 0, "0.2": 0},
        "pairs_across_prompts": 0,
        "marked": {},
    }
    assert Ledger().groups_of_several_tasks == 0


def test_stage_keeps_what_it_found_less_what_it_dropped() -> None:
    """A stage keeps what it found minus what it dropped, and its notes."""
    stage = StageCounts("dedupe", found=10)
    stage.dropped.update({"duplicate": 3, "contradiction": 1})
    stage.noticed["contradiction_kept"] += 5
    assert (stage.kept, StageCounts("dedupe").kept) == (6, 0)


@pytest.mark.parametrize(
    ("numbers", "counted"),
    [
        ((None, None, None), (0, 0, 0)),
        ((0.5, None, None), (1, 0, 0)),
        ((None, 1.0, None), (0, 1, 0)),
        ((None, None, 0.0), (0, 0, 1)),
        ((0.0, 0.0, 0.0), (1, 1, 1)),
    ],
)
def test_unknown_numbers(
    numbers: tuple[float | None, float | None, float | None], counted: tuple[int, int, int]
) -> None:
    """Pairs with unknown numbers are counted; the numbers are not."""
    ledger = Ledger()
    ledger.add_pair(*numbers)
    assert ledger.pairs == 1
    tallies = ledger.gaps, ledger.chosen_scores, ledger.rejected_scores
    assert tuple(tally.count for tally in tallies) == counted


def test_summary_of_stages() -> None:
    """Rows, the counts of each stage, pairs, and the splits."""
    stage = StageCounts("dedupe", found=5, notes=["odd"])
    stage.dropped.update({"contradiction": 1, "duplicate": 2})
    stage.noticed["contradiction_kept"] = 4
    ledger = Ledger(
        sources=[("p.jsonl", "pairs")],
        rows_read=7,
        rows_used=5,
        stages=[stage, StageCounts("split", found=2)],
        sides={"train": 1, "val": 1},
    )
    ledger.rows_dropped["sides_equal"] = 2
    ledger.noticed["id_renewed"] = 1
    ledger.add_pair(0.5, 1.0, 0.5)
    ledger.add_pair(None, None, None)
    assert list(pair_input_summary(ledger).items()) == [
        ("inputs", [{"name": "p.jsonl", "source": "pairs"}]),
        ("passed_over", []),
        ("rows", {"read": 7, "used": 5, "dropped": {"sides_equal": 2}, "bad": 0}),
        ("noticed", {"id_renewed": 1}),
        ("notes", []),
        (
            "stages",
            {
                "dedupe": {
                    "found": 5,
                    "kept": 2,
                    "dropped": {"duplicate": 2, "contradiction": 1},
                    "noticed": {"contradiction_kept": 4},
                    "notes": ["odd"],
                },
                "split": {"found": 2, "kept": 2, "dropped": {}, "noticed": {}, "notes": []},
            },
        ),
        ("pairs", 2),
        ("gap", {"mean": 0.5, "min": 0.5, "max": 0.5}),
        ("mean_chosen_score", 1.0),
        ("mean_rejected_score", 0.5),
        ("sides", {"train": 1, "val": 1}),
    ]


def test_stages_and_sides_of_a_recipe_that_pairs() -> None:
    """The summary of `pair` includes stages and splits, too, if there are any."""
    summary = pair_summary(Ledger(stages=[StageCounts("filter", found=1)], sides={"train": 1}))
    assert (list(summary["stages"]), summary["sides"]) == (["filter"], {"train": 1})
    assert pair_summary(Ledger()).keys().isdisjoint({"stages", "sides"})


def test_summary_of_no_stages() -> None:
    """Unknown numbers are null, and there are no stages."""
    summary = pair_input_summary(Ledger())
    assert summary.keys().isdisjoint({"stages", "sides", "candidates", "groups"})
    assert (summary["gap"], summary["mean_chosen_score"]) == (None, None)
