"""OpenRLHF: only roles and texts."""

from target_rows import (
    CALLED,
    DEEP,
    PLAIN,
    TOLD,
    calling,
    extras_of,
    model,
    pair,
    rows_of,
    system,
    told,
    user,
)

from prefpairs.targets.openrlhf import read


def test_row() -> None:
    """A row has three chats: the prompt and both answers."""
    assert rows_of("openrlhf", PLAIN) == [
        {
            "prompt": [user("Q")],
            "chosen": [model("Aye")],
            "rejected": [model("Nay")],
            "pair_id": PLAIN.id,
            "score_chosen": 1.0,
            "score_rejected": 0.25,
            "score_gap": 0.75,
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Calls, results and schemas become text."""
    (row,) = rows_of("openrlhf", DEEP)
    assert row["prompt"] == [
        system(f"S\n\n{TOLD}"),
        user("Q"),
        model(CALLED),
        user("<tool_response>\n1\n</tool_response>"),
    ]
    assert "tools" not in row


def test_all_turns() -> None:
    """With --turns all, all turns are written as text."""
    given = pair("Q", [calling(), told("1"), model("A")], "B")
    (row,) = rows_of("openrlhf", given, turns="all")
    result = user("<tool_response>\n1\n</tool_response>")
    assert row["chosen"] == [model(CALLED), result, model("A")]
    assert rows_of("openrlhf", given)[0]["chosen"] == [model(CALLED)]


def test_reading() -> None:
    """Rows are read, also if both answers include the prompt."""
    one, other = [user("Q"), model("A")], [user("Q"), model("B")]
    assert read({"chosen": one, "rejected": other})["prompt"] == [user("Q")]


def test_command() -> None:
    """The command names the existing files."""
    script = extras_of("openrlhf", "train", "val")["dpo.sh"]
    assert '--data.dataset "$here/train.jsonl" --data.apply_chat_template' in script
    assert '--eval.dataset "$here/val.jsonl" --eval.split train \\\n' in script
