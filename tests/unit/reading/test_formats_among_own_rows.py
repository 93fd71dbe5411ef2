"""Rows of known formats in a file of one's own rows: both engines find the same, in any order."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import run

CHAT = {
    "object": "chat.completion",
    "choices": [{"message": {"role": "assistant", "content": "A"}}],
}
OTHERS: list[dict[str, Any]] = [
    {"context": "Q1", "response1": "A", "response2": "B", "overall_preference": 1},
    {"history": "Q2", "human_ref_A": "A", "human_ref_B": "B", "labels": 1},
    {"id": "r", "prompt": "Q3", "chosen": ["A"], "rejected": ["B"], "num_correct": 1},
    {
        "instruction": "Q4",
        "completions": [
            {"response": said, "annotations": {}, "fine-grained_score": score}
            for said, score in (("A", 1), ("B", 2))
        ],
    },
    *(
        {
            "doc_id": 1,
            "doc": {},
            "arguments": {"gen_args_0": {"arg_0": "Q5"}},
            "resps": [[said]],
            "filtered_resps": [said],
            "filter": "none",
            "metrics": ["acc"],
            "acc": score,
        }
        for said, score in (("A", 1), ("B", 0))
    ),
    {"prompt": "Q6", "completion": CHAT, "score": 1},
    {"prompt": "Q6", "response": "B", "score": 0},
    {"custom_id": "q", "response": None, "error": {"code": "expired"}},
]
OWN = [
    {"prompt": f"P{number % 40}", "response": f"R{number}", "score": number % 7}
    for number in range(400)
]


@pytest.mark.parametrize("first", [0, 3, 200, 404])
def test_engines_and_orders_agree(tmp_path: Path, first: int) -> None:
    """The pairs have the same bytes wherever rows of other formats are in the file."""
    rows = [*OTHERS, *OWN]
    rows = [*rows[first:], *rows[:first]]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    found = [
        run("pair", "--order", "key", "--quiet", str(path), env={"PREFPAIRS_NATIVE": engine})
        for engine in ("0", "1")
    ]
    assert found[0].stdout == found[1].stdout
    pairs = [json.loads(line) for line in found[0].stdout.splitlines()]
    asked = {str(pair["prompt"]) for pair in pairs if str(pair["prompt"]).startswith("Q")}
    chats = [pair["prompt"] for pair in pairs if isinstance(pair["prompt"], list)]
    assert asked == {"Q1", "Q2", "Q3", "Q4", "Q5"}
    assert chats == [[{"role": "user", "content": "Q6"}]]
    assert len(pairs) == 40 + 6
