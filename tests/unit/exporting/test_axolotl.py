"""Axolotl: chat_template.default."""

import pytest
from target_rows import DEEP, PLAIN, extras_of, model, pair, rows_of, system, user

from prefpairs.errors import BadField
from prefpairs.targets.axolotl import is_miscut, read
from prefpairs.targets.base import CannotExport


def test_row() -> None:
    """A conversation and two messages."""
    assert rows_of("axolotl", PLAIN) == [
        {
            "messages": [user("Q")],
            "chosen": model("Aye"),
            "rejected": model("Nay"),
            "pair_id": PLAIN.id,
            "score_chosen": 1.0,
            "score_rejected": 0.25,
            "score_gap": 0.75,
        }
    ]


def test_white_space_around_answers() -> None:
    """Templates trim it, so it is removed; answers that become equal are dropped."""
    (row,) = rows_of("axolotl", pair("Q", "\n Aye, aye \n", "Nay"))
    assert row["chosen"] == model("Aye, aye")
    with pytest.raises(CannotExport) as caught:
        rows_of("axolotl", pair("Q", "Aye ", "Aye"))
    assert caught.value.reason == "sides_equal"


@pytest.mark.parametrize("text", ["2", "a", "user", "26 Jul", "model", "[INST]"])
def test_answers_that_would_be_cut_wrongly(text: str) -> None:
    """Answers whose text occurs in the template's own text would be cut in the wrong place."""
    assert is_miscut(text)
    for answers in ((text, "Nay"), ("Nay", text)):
        with pytest.raises(CannotExport) as caught:
            rows_of("axolotl", pair("Q", *answers))
        assert caught.value.reason == "answer_miscut"


def test_answers_that_are_found() -> None:
    """All other answers are found."""
    assert not any(map(is_miscut, ["Aye", "42", "No.", "2031", "I am Qwen", "é"]))


def test_reading() -> None:
    """An answer is a message; other programs also write a list or a text."""
    (row,) = rows_of("axolotl", DEEP)
    assert read(row)["prompt"][0]["role"] == "system"
    others = read({"messages": [user("Q")], "chosen": [model("A")], "rejected": "B", "k": 1})
    assert others == {"prompt": [user("Q")], "chosen": [model("A")], "rejected": "B", "k": 1}
    with pytest.raises(BadField) as caught:
        read({"messages": [user("Q")], "chosen": model("A"), "rejected": []})
    assert caught.value.field == "rejected"


def test_configuration() -> None:
    """Lists the existing files, each with how to read it."""
    data = "    ds_type: json\n    split: train\n    type: chat_template.default\n"
    alone, both = (
        extras_of("axolotl", *sides)["dpo.yaml"] for sides in (("train",), ("train", "val"))
    )
    assert f"datasets:\n  - path: train.jsonl\n{data}" in alone
    assert f"test_datasets:\n  - path: val.jsonl\n{data}" in both
    assert "test_datasets" not in alone


def test_system_message() -> None:
    """The system message is the first message."""
    (row,) = rows_of("axolotl", pair([system("S"), user("Q")], "Aye", "Nay"))
    assert row["messages"] == [system("S"), user("Q")]
