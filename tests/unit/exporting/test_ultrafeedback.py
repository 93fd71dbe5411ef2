"""The columns of ultrafeedback_binarized."""

from hashlib import sha256

from target_rows import DEEP, PLAIN, extras_of, model, pair, rows_of, system, user

from prefpairs.targets.ultrafeedback import read


def test_row() -> None:
    """The question as text, and whole conversations."""
    assert rows_of("ultrafeedback", PLAIN) == [
        {
            "prompt": "Q",
            "prompt_id": sha256(b"Q").hexdigest(),
            "chosen": [user("Q"), model("Aye")],
            "rejected": [user("Q"), model("Nay")],
            "messages": [user("Q"), model("Aye")],
            "score_chosen": 1.0,
            "score_rejected": 0.25,
        }
    ]


def test_question_of_a_conversation() -> None:
    """The last user message; empty if there is none."""
    talk = [system("S"), user("Q"), model("A"), user("R")]
    (row,) = rows_of("ultrafeedback", pair(talk, "A", "B"))
    assert (row["prompt"], row["rejected"]) == ("R", [*talk, model("B")])
    (row,) = rows_of("ultrafeedback", pair([system("S")], "A", "B"))
    assert row["prompt"] == ""
    (row,) = rows_of("ultrafeedback", DEEP._replace(chosen_score=None, rejected_score=None))
    assert row["prompt"] == "<tool_response>\n1\n</tool_response>"
    assert "score_chosen" not in row


def test_reading() -> None:
    """Copied columns are dropped; the common beginning is the prompt."""
    (row,) = rows_of("ultrafeedback", PLAIN)
    scores = {"score_chosen": 1.0, "score_rejected": 0.25}
    pair = {"prompt": [user("Q")], "chosen": [model("Aye")], "rejected": [model("Nay")]}
    assert read(row) == {**pair, **scores}
    other = [user("x")]
    assert read({**row, "messages": other}) == {**pair, **scores, "messages": other}
    assert read({**row, "prompt": "another"}) == {**pair, **scores, "source_prompt": "another"}


def test_card() -> None:
    """The splits have the names of the original."""
    card = extras_of("ultrafeedback", "train", "val")["README.md"]
    assert "  - split: train_prefs\n    path: train_prefs.jsonl\n" in card
    assert "  - split: val_prefs\n    path: val_prefs.jsonl\n" in card
