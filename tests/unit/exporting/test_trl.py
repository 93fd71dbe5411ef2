"""TRL: prompt, chosen and rejected in chat form."""

from typing import Any

import pytest
from target_rows import (
    DEEP,
    PLAIN,
    TOOLS,
    call,
    calling,
    extras_of,
    model,
    pair,
    rows_of,
    system,
    told,
    user,
)

from prefpairs.dataset.convert_pair import convert_pair
from prefpairs.engine.pairs.pairs_from_trainer_rows import reader_named
from prefpairs.targets import target_named
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trl import provenance


def test_row() -> None:
    """A row has three chats: the prompt and both answers, with their scores."""
    assert rows_of("trl", PLAIN) == [
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
    """Calls have objects, reasoning is in the text, schemas are a list as text."""
    (row,) = rows_of("trl", DEEP)
    called = model("", tool_calls=[call({"a": 1})])
    assert row["prompt"] == [system("S"), user("Q"), called, told("1")]
    assert row["chosen"] == [model("<think>\nhm\n</think>\n\nAye")]
    assert row["tools"] == '[{"type":"function","function":{"name":"add","parameters":{}}}]'


def test_row_in_other_forms() -> None:
    """Arguments as text, reasoning in its field, and plain texts stay so."""
    (row,) = rows_of("trl", DEEP, tool_args="string", reasoning_as="field")
    assert row["prompt"][2] == calling()
    assert row["chosen"] == [model("Aye", reasoning_content="hm")]
    (row,) = rows_of("trl", PLAIN, text=True)
    assert (row["prompt"], row["chosen"], row["rejected"]) == ("Q", "Aye", "Nay")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"rejected_score": None}, {"score_chosen": 1.0}),
        ({"chosen_score": None, "rejected_score": None}, {}),
        ({"chosen_score": None, "rejected_score": None, "gap": 2}, {"score_gap": 2.0}),
    ],
)
def test_scores_that_are_known(scores: Any, expected: Any) -> None:
    """Unknown scores have no column."""
    given = pair("Q", "A", "B", **scores)
    example, _ = convert_pair(given, target_named("trl"), ExportOptions())
    row = provenance(example)
    assert row == {"pair_id": given.id, **expected}


def test_reading() -> None:
    """Exported rows are read, and conversations without a separate prompt."""
    read = reader_named("trl")
    (row,) = rows_of("trl", DEEP)
    assert read(row) == row
    one, other = [user("Q"), model("A")], [user("Q"), model("B")]
    assert read({"chosen": one, "rejected": other, "tools": TOOLS}) == {
        "prompt": [user("Q")],
        "chosen": [model("A")],
        "rejected": [model("B")],
        "tools": TOOLS,
    }


def test_command() -> None:
    """The command uses its own folder and names the existing splits."""
    assert extras_of("trl", "train")["dpo.sh"] == (
        "#!/bin/sh\n"
        "# DPO with TRL on the files of this folder: MODEL=... OUTPUT=... sh dpo.sh [OPTION]...\n"
        "# Without a GPU add: --use_cpu true --bf16 false --gradient_checkpointing false\n"
        'here=$(cd "$(dirname "$0")" && pwd)\n'
        'exec trl dpo --model_name_or_path "${MODEL:-Qwen/Qwen3-0.6B}" \\\n'
        '  --dataset_name "$here" --output_dir "${OUTPUT:-dpo-output}" "$@"\n'
    )
    assert extras_of("trl", "train", "val")["dpo.sh"].endswith(
        ' --output_dir "${OUTPUT:-dpo-output}" \\\n'
        '  --dataset_test_split validation --eval_strategy epoch "$@"\n'
    )


def test_card() -> None:
    """The splits have the names that `load_dataset` uses."""
    card = extras_of("trl", "train", "val", "test")["README.md"]
    assert "  - split: validation\n    path: val.jsonl\n" in card
    assert "- train: 2 rows\n- validation: 2 rows\n- test: 2 rows\n" in card
