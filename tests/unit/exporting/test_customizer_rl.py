"""NeMo Customizer, its rl backend."""

import json

from target_rows import DEEP, PLAIN, extras_of, rows_of, user

from prefpairs.targets.customizer_rl import read


def test_row() -> None:
    """A row has the form of NeMo RL's."""
    assert rows_of("customizer-rl", PLAIN) == [
        {
            "prompt": [user("Q")],
            "chosen": "Aye",
            "rejected": "Nay",
            "pair_id": PLAIN.id,
            "chosen_reward": 1.0,
            "rejected_reward": 0.25,
            "reward_gap": 0.75,
        }
    ]
    assert rows_of("customizer-rl", DEEP) == rows_of("nemo-rl", DEEP)


def test_messages_of_roles_and_texts() -> None:
    """Only messages of roles and texts are written, since nothing else is accepted."""
    (row,) = rows_of("customizer-rl", DEEP)
    assert {tuple(turn) for turn in row["prompt"]} == {("role", "content")}


def test_reading() -> None:
    """Rows are read back as pairs."""
    (row,) = rows_of("customizer-rl", PLAIN)
    assert read(row) == row


def test_job() -> None:
    """The specification of a DPO job."""
    job = json.loads(extras_of("customizer-rl", "train")["job.json"])
    assert (job["dataset"], job["training"]["type"]) == ("default/preferences", "dpo")
