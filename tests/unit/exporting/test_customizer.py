"""NeMo Customizer of NeMo Microservices."""

import json

from target_rows import DEEP, PLAIN, TOLD, extras_of, pair, rows_of, system, user

from prefpairs.targets import target_named


def test_row() -> None:
    """Three columns, and no scores."""
    assert rows_of("customizer", PLAIN) == [
        {"prompt": [user("Q")], "chosen_response": "Aye", "rejected_response": "Nay"}
    ]
    (row,) = rows_of("customizer", DEEP)
    assert row["prompt"][0] == system(f"S\n\n{TOLD}")
    assert row["chosen_response"] == "<think>\nhm\n</think>\n\nAye"


def test_last_message() -> None:
    """With --last-message, the prompt is a text, as the NeMo Agent Toolkit writes it."""
    given = pair([system("S"), user("Q")], "A", "B")
    (row,) = rows_of("customizer", given, last_message=True)
    assert row == {"prompt": "Q", "chosen_response": "A", "rejected_response": "B"}


def test_reading() -> None:
    """The trainer's columns are read back as those of a pair."""
    row = {"prompt": "Q", "chosen_response": "A", "rejected_response": "B"}
    assert target_named("customizer").rules.read(row) == {
        "prompt": "Q",
        "chosen": "A",
        "rejected": "B",
    }


def test_job() -> None:
    """The body of a DPO job."""
    job = json.loads(extras_of("customizer", "train")["job.json"])
    assert job["dataset"] == {"name": "preferences", "namespace": "default"}
    assert job["hyperparameters"]["training_type"] == "dpo"
