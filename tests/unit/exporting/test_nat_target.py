"""Trajectories of the NeMo Agent Toolkit."""

import pytest
from target_rows import PLAIN, pair, rows_of, system, user

from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row
from prefpairs.errors import BadField
from prefpairs.targets import target_named
from prefpairs.targets.base import CannotExport

TARGET = target_named("nat")


def test_row() -> None:
    """One DPO item, and what the toolkit's builder says of a pair."""
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
    """The group stands for the example."""
    (row,) = rows_of("nat", PLAIN)
    assert row["metadata"]["example_id"] == PLAIN.group


def test_a_trajectory_needs_a_reward() -> None:
    """No number is made up."""
    with pytest.raises(CannotExport) as caught:
        rows_of("nat", PLAIN._replace(gap=None))
    assert caught.value.reason == "score_unknown"


def test_reading() -> None:
    """As validate sees it."""
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
    """Rows that pydantic does not load."""
    (row,) = rows_of("nat", PLAIN)
    found = [
        (each.effect, each.code, each.field) for each in check_row({**row, **columns}, TARGET.rules)
    ]
    assert ("fails to load", "wrong_type", field) in found
