"""Trajectories of the NeMo Agent Toolkit."""

import pytest
from target_rows import PLAIN, pair, rows_of, system, user

from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row
from prefpairs.errors import BadField
from prefpairs.targets import target_named
from prefpairs.targets.base import CannotExport
from prefpairs.targets.nat import Runs

TARGET = target_named("nat")


def test_row() -> None:
    """One DPO item, with the metadata of the toolkit's own builder."""
    given = pair([system("S"), user("Q")], "A", "B")._replace(
        chosen_score=0.9,
        rejected_score=0.25,
        gap=0.65,
        chosen_index=2,
        meta={"example_id": 7, "turn_id": "t", "num_candidates": 3},
    )
    assert rows_of("nat", given) == [
        {
            "episode": [
                {
                    "prompt": [system("S"), user("Q")],
                    "chosen_response": "A",
                    "rejected_response": "B",
                }
            ],
            "reward": 0.65,
            "metadata": {
                "dpo_type": "preference_pair",
                "score_diff": 0.65,
                "example_id": "7",
                "turn_id": "t",
                "chosen_score": 0.9,
                "rejected_score": 0.25,
                "chosen_index": 2,
                "rejected_index": given.rejected_index,
                "pair_id": given.id,
                "num_candidates": 3,
            },
        }
    ]
    (row,) = rows_of("nat", given, reward="chosen-score")
    assert row["reward"] == 0.9


def test_examples_without_an_id() -> None:
    """The group is used as the example's ID."""
    (row,) = rows_of("nat", PLAIN)
    assert row["metadata"]["example_id"] == PLAIN.group


def test_a_trajectory_needs_a_reward() -> None:
    """A pair without scores is dropped, since a trajectory needs a reward."""
    with pytest.raises(CannotExport) as caught:
        rows_of("nat", PLAIN._replace(gap=None))
    assert caught.value.reason == "score_unknown"


def test_reading() -> None:
    """Rows are read as `validate` reads them."""
    (row,) = rows_of("nat", PLAIN)
    read = TARGET.rules.read(row)
    assert (read["prompt"], read["chosen"], read["rejected"]) == ([user("Q")], "Aye", "Nay")
    with pytest.raises(BadField):
        TARGET.rules.read({"episode": []})


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"reward": None}, "reward"),
        ({"reward": True}, "reward"),
        ({"episode": [{"prompt": "Q", "chosen_response": "A"}]}, "episode.0.rejected_response"),
    ],
)
def test_what_its_models_refuse(columns: Row, field: str) -> None:
    """Rows that pydantic rejects are reported."""
    (row,) = rows_of("nat", PLAIN)
    found = [
        (each.effect, each.code, each.field) for each in check_row({**row, **columns}, TARGET.rules)
    ]
    assert ("fails to load", "wrong_type", field) in found


def test_figures_for_each_run() -> None:
    """A run is a file; a pair of two files has its own entry, and counts once in the total."""
    runs = Runs()
    for example, gap, files in [(7, 0.1, "aa"), (7, 0.2, "aa"), (8, 0.3, "bb"), (7, 0.9, "ba")]:
        given = PLAIN._replace(
            group=f"g{example}{files[0]}",
            gap=gap,
            chosen_origin=f"{files[0]}:1.jsonl:3",
            rejected_origin=f"{files[1]}:1.jsonl:4#2",
            meta={"example_id": example},
        )
        runs.add(given, rows_of("nat", given))
    history = [
        [entry[name] for name in ("run_number", "files", "num_examples", "num_turns")]
        for entry in runs.history()
    ]
    assert history == [
        [0, ("a:1.jsonl",), 1, 1],
        [1, ("a:1.jsonl", "b:1.jsonl"), 1, 1],
        [2, ("b:1.jsonl",), 1, 1],
    ]
    assert [runs.history()[0][f"{name}_reward"] for name in ("avg", "min", "max")] == [
        *(0.15, 0.1, 0.2),
    ]
    final = runs.final()
    assert (final["num_collection_runs"], final["total_trajectory_groups"]) == (3, 3)
    assert final["collection_summary"] == {
        "total_examples": 2,
        "total_turns": 3,
        "total_trajectories": 4,
        "total_dpo_pairs": 4,
        "avg_reward": 0.375,
        "min_reward": 0.1,
        "max_reward": 0.9,
    }


def test_figures_of_nothing() -> None:
    """Without pairs there is no mean, except for the zero that the toolkit writes."""
    assert Runs().history() == []
    assert Runs().final()["collection_summary"]["avg_reward"] == 0
