"""OpenAI's preference format, which Azure, Together and Fireworks read as well.

`input` is an object, an answer is one message, and no other column is allowed. Together and
Fireworks know neither tools nor their results.
"""

import json
from collections.abc import Mapping

from prefpairs.errors import BadField
from prefpairs.records.message import as_chat
from prefpairs.targets.protocol import Dataset, Example, ExportOptions, Row, Speech, Target

_JOB = {
    "training_file": "id of the uploaded train.jsonl",
    "model": "gpt-4.1-mini-2025-04-14",
    "method": {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.1}}},
}


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    given: Row = {"messages": as_chat(example.prompt, "user")}
    if example.tools:
        given |= {"tools": example.tools, "parallel_tool_calls": True}
    return [
        {
            "input": given,
            "preferred_output": as_chat(example.chosen, "assistant"),
            "non_preferred_output": as_chat(example.rejected, "assistant"),
        }
    ]


def read(row: Row) -> Row:
    """The pair of a row."""
    given = row.get("input")
    if not isinstance(given, dict):
        raise BadField("input", given, "an object with messages")
    others = {key: value for key, value in row.items() if key not in _COLUMNS}
    pair = {
        "prompt": given.get("messages"),
        "chosen": row.get("preferred_output"),
        "rejected": row.get("non_preferred_output"),
    }
    return {**pair, **({"tools": given["tools"]} if given.get("tools") else {}), **others}


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The body of a job, for POST /v1/fine_tuning/jobs."""
    job = dict(_JOB)
    if "val" in dataset.files:
        job["validation_file"] = "id of the uploaded val.jsonl"
    return {"job.json": json.dumps(job, indent=2) + "\n"}


_COLUMNS = ("input", "preferred_output", "non_preferred_output")

TARGET = Target(
    name="openai",
    rows=rows,
    files={"train": "train.jsonl", "val": "val.jsonl", "test": "test.jsonl"},
    columns=dict.fromkeys(_COLUMNS),
    extras=extras,
    extra_names=("job.json",),
    speech=Speech(calls=True, tools=True),
    single=True,
    hosts={
        "openai": Speech(calls=True, tools=True),
        "azure": Speech(calls=True, tools=True),
        "together": Speech(),
        "fireworks": Speech(),
    },
    typed=False,
)
