"""NeMo RL: a context and two ranked completions."""

from typing import Any

import pytest
from target_rows import DEEP, PLAIN, TOLD, calling, model, rows_of, system, told, user

from prefpairs.errors import BadField
from prefpairs.targets.nemo_rl_ranked import read


def test_row() -> None:
    """The lower rank is the better one; scores are next to their answers."""
    assert rows_of("nemo-rl-ranked", PLAIN) == [
        {
            "context": [user("Q")],
            "completions": [
                {"rank": 0, "completion": [model("Aye")], "reward": 1.0},
                {"rank": 1, "completion": [model("Nay")], "reward": 0.25},
            ],
            "pair_id": PLAIN.id,
            "reward_gap": 0.75,
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Calls stay calls, but their schemas become text; unknown scores are omitted."""
    given = DEEP._replace(chosen_score=None, rejected_score=None, gap=None)
    assert rows_of("nemo-rl-ranked", given) == [
        {
            "context": [system(f"S\n\n{TOLD}"), user("Q"), calling(), told("1")],
            "completions": [
                {"rank": 0, "completion": [model("<think>\nhm\n</think>\n\nAye")]},
                {"rank": 1, "completion": [model("Nay")]},
            ],
            "pair_id": DEEP.id,
        }
    ]


def test_reading() -> None:
    """Completions are read by rank, in any order."""
    (row,) = rows_of("nemo-rl-ranked", PLAIN)
    pair = {
        "prompt": [user("Q")],
        "chosen": [model("Aye")],
        "rejected": [model("Nay")],
        "chosen_score": 1.0,
        "rejected_score": 0.25,
        "pair_id": PLAIN.id,
        "reward_gap": 0.75,
    }
    assert read(row) == pair
    assert read({**row, "completions": row["completions"][::-1]}) == pair


A = {"rank": 0, "completion": [model("A")]}
B = {"rank": 1.5, "completion": [model("B")], "reward": None}


def test_reading_without_rewards() -> None:
    """A null reward counts as missing, and any numbers are ranks."""
    row = read({"context": [user("Q")], "completions": [B, A]})
    assert row == {"prompt": [user("Q")], "chosen": [model("A")], "rejected": [model("B")]}


@pytest.mark.parametrize(
    ("completions", "field"),
    [
        (None, "completions"),
        ([A], "completions"),
        ([A, B, B], "completions"),
        ([A, "B"], "completions.1.rank"),
        ([{**A, "rank": True}, B], "completions.0.rank"),
        ([{**A, "rank": "0"}, B], "completions.0.rank"),
        ([A, {**B, "rank": 0.0}], "completions.1.rank"),
    ],
)
def test_rows_that_rank_nothing(completions: Any, field: str) -> None:
    """The error has the position."""
    with pytest.raises(BadField) as caught:
        read({"context": [user("Q")], "completions": completions})
    assert caught.value.field == field
