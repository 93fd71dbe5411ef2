"""NeMo RL: a prompt in chat form, answers of plain text."""

import pytest
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

from prefpairs.targets.nemo_rl import read, text_of


def test_row() -> None:
    """Scores stand under the names that NeMo Gym's script has for them."""
    assert rows_of("nemo-rl", PLAIN) == [
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


def test_row_of_a_trajectory() -> None:
    """All of it in roles and texts."""
    (row,) = rows_of("nemo-rl", DEEP._replace(chosen_score=None, rejected_score=None, gap=None))
    assert row == {
        "prompt": [
            system(f"S\n\n{TOLD}"),
            user("Q"),
            model(CALLED),
            user("<tool_response>\n1\n</tool_response>"),
        ],
        "chosen": "<think>\nhm\n</think>\n\nAye",
        "rejected": "Nay",
        "pair_id": DEEP.id,
    }


def test_first_turn_alone() -> None:
    """An answer is one message: that in which both sides part."""
    (row,) = rows_of("nemo-rl", pair("Q", [calling(content="Hm"), told("1"), model("A")], "B"))
    assert row["chosen"] == f"Hm\n{CALLED}"


def test_thoughts_of_earlier_turns() -> None:
    """They are left out, for templates would write what is around them twice."""
    earlier = [user("Q"), model("<think>hm</think>\n\nA", reasoning_content="ho"), user("R")]
    (row,) = rows_of("nemo-rl", pair(earlier, "A", "B"))
    assert row["prompt"] == [user("Q"), model("A"), user("R")]


def test_row_of_an_old_release() -> None:
    """Other names, and no other columns."""
    assert rows_of("nemo-rl", PLAIN, release="0.1") == [
        {"prompt": [user("Q")], "chosen_response": "Aye", "rejected_response": "Nay"}
    ]
    assert rows_of("nemo-rl", PLAIN, release="0.4") == rows_of("nemo-rl", PLAIN)


def test_reading() -> None:
    """Both generations of names."""
    old = {"prompt": "Q", "chosen_response": "A", "rejected_response": "B", "k": 1}
    assert read(old) == {"prompt": "Q", "chosen": "A", "rejected": "B", "k": 1}
    assert read(rows_of("nemo-rl", PLAIN)[0]) == rows_of("nemo-rl", PLAIN)[0]


def test_text_of() -> None:
    """That of the one message, or the text itself."""
    assert (text_of("A"), text_of([model("B")])) == ("A", "B")


HEAD = (
    "#!/bin/sh\n"
    "# DPO with NeMo RL on the files of this folder. Run it in a checkout of NeMo RL:\n"
    "#   sh dpo.sh policy.model_name=MODEL [OVERRIDE]...\n"
    "# The tokenizer is the model's, unless policy.tokenizer.name names another one.\n"
    "# A training batch is policy.train_global_batch_size pairs (128): with fewer there is no "
    "step.\n"
)
STAND_IN = "# This release loads a validation file: it gets the training file, and never uses it.\n"
BODY = (
    'here=$(cd "$(dirname "$0")" && pwd)\n'
    "exec uv run examples/run_dpo.py \\\n"
    "  'policy.tokenizer.name=${policy.model_name}' \\\n"
)
NEVER_VALIDATE = ["dpo.val_period=0", "dpo.val_at_start=false", "checkpointing.metric_name=null"]


@pytest.mark.parametrize(
    ("release", "sides", "words"),
    [
        (
            "0.6",
            ["train", "val"],
            [
                "data.train.dataset_name=BinaryPreferenceDataset",
                "\"+data.train.data_path='$here/train.jsonl'\"",
                "data.validation.dataset_name=BinaryPreferenceDataset",
                "\"+data.validation.data_path='$here/val.jsonl'\"",
                "data.validation.split=train",
            ],
        ),
        (
            "0.6",
            ["train"],
            [
                "data.train.dataset_name=BinaryPreferenceDataset",
                "\"+data.train.data_path='$here/train.jsonl'\"",
                "data.validation=null",
                *NEVER_VALIDATE,
            ],
        ),
        (
            "0.4",
            ["train", "val"],
            [
                "++data.dataset_name=BinaryPreferenceDataset",
                "\"++data.train_data_path='$here/train.jsonl'\"",
                "\"++data.val_data_path='$here/val.jsonl'\"",
            ],
        ),
        (
            "0.1",
            ["train"],
            [
                "++data.dataset_name=prefpairs",
                "\"++data.train_data_path='$here/train.jsonl'\"",
                "\"++data.val_data_path='$here/train.jsonl'\"",
                *NEVER_VALIDATE,
            ],
        ),
        (
            "0.4",
            ["train"],
            [
                "++data.dataset_name=BinaryPreferenceDataset",
                "\"++data.train_data_path='$here/train.jsonl'\"",
                "++data.val_data_path=null",
                *NEVER_VALIDATE,
            ],
        ),
    ],
)
def test_command(release: str, sides: list[str], words: list[str]) -> None:
    """In the words of the release, for the files that are there."""
    script = extras_of("nemo-rl", *sides, release=release)["dpo.sh"]
    remark = STAND_IN if release == "0.1" and "val" not in sides else ""
    assert script == HEAD + remark + BODY + " \\\n".join(f"  {word}" for word in words) + ' "$@"\n'
