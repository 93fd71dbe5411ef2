"""ms-swift: two whole conversations."""

from typing import Any

import pytest
from target_rows import DEEP, PLAIN, calling, extras_of, model, pair, rows_of, system, told, user

from prefpairs.errors import BadField
from prefpairs.targets.ms_swift import read

TOOLS_TEXT = '[{"type":"function","function":{"name":"add","parameters":{}}}]'


def test_row() -> None:
    """A row has both answers after the same prompt."""
    assert rows_of("ms-swift", PLAIN) == [
        {
            "messages": [user("Q"), model("Aye")],
            "rejected_messages": [user("Q"), model("Nay")],
            "pair_id": PLAIN.id,
            "score_chosen": 1.0,
            "score_rejected": 0.25,
            "score_gap": 0.75,
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Both conversations are complete, with the tools on both sides."""
    (row,) = rows_of("ms-swift", DEEP)
    shared = [system("S"), user("Q"), calling(), told("1")]
    assert row["rejected_messages"] == [*shared, model("Nay")]
    assert (row["tools"], row["rejected_tools"]) == (TOOLS_TEXT, TOOLS_TEXT)
    (row,) = rows_of("ms-swift", pair("Q", [calling(), told("1"), model("A")], "B"), turns="all")
    assert row["messages"] == [user("Q"), calling(), told("1"), model("A")]


def test_reading() -> None:
    """The prompt is the common beginning; tools are read once."""
    (row,) = rows_of("ms-swift", DEEP)
    pair = read(row)
    assert pair["prompt"] == [system("S"), user("Q"), calling(), told("1")]
    assert (pair["rejected"], pair["tools"]) == ([model("Nay")], TOOLS_TEXT)
    assert "rejected_tools" not in pair


@pytest.mark.parametrize("answer", ["B", [model("B")]])
def test_reading_the_shorter_form(answer: Any) -> None:
    """The rejected text replaces everything after the last user turn."""
    messages = [user("Q"), model("A"), user("R"), calling(), told("1"), model("A")]
    assert read({"messages": messages, "rejected_response": answer}) == {
        "prompt": messages[:3],
        "chosen": messages[3:],
        "rejected": [model("B")],
    }


def test_row_without_messages() -> None:
    """A row without messages is an error."""
    with pytest.raises(BadField) as caught:
        read({"messages": "Q", "rejected_response": "B"})
    assert caught.value.field == "messages"


def test_command() -> None:
    """The command names the existing files."""
    assert '--dataset "$here/train.jsonl" --output_dir' in extras_of("ms-swift", "train")["dpo.sh"]
    assert (
        '--dataset "$here/train.jsonl" \\\n  --val_dataset "$here/val.jsonl" --output_dir'
        in extras_of("ms-swift", "train", "val")["dpo.sh"]
    )
