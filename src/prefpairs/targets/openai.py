"""OpenAI's preference format, which Azure, Together and Fireworks also read.

Azure is the default host: OpenAI is closing its own fine-tuning.
`input` is an object, an answer is one message, and no other columns are allowed. Together and
Fireworks support neither tools nor tool results.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules, role_of
from prefpairs.errors import BadField
from prefpairs.model.message import as_chat
from prefpairs.targets.base import ChatSupport, Dataset, Example, Host, Target, no_extras
from prefpairs.targets.export_options import ExportOptions


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    given: Row = {"messages": as_chat(example.prompt, "user")}
    if example.tools:
        given["tools"] = example.tools
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
    others |= {key: value for key, value in given.items() if key not in ("messages", "tools")}
    pair = {
        "prompt": given.get("messages"),
        "chosen": row.get("preferred_output"),
        "rejected": row.get("non_preferred_output"),
    }
    return {**pair, **({"tools": given["tools"]} if given.get("tools") else {}), **others}


def check(row: Row) -> Iterator[Finding]:
    """What all hosts do with a row, in addition to the rules."""
    for name in sorted(row.keys() - {*_COLUMNS}):
        yield Finding(Effect.NO_LOAD, "unknown_column", name)
    given = row.get("input")
    messages = given.get("messages") if isinstance(given, dict) else None
    if not isinstance(messages, list) or not messages:
        yield Finding(Effect.NO_LOAD, "wrong_type", "input.messages")
    if isinstance(given, dict) and not isinstance(given.get("tools", []), list):
        yield Finding(Effect.NO_LOAD, "tools_not_a_list", "input.tools")
    for name in _COLUMNS[1:]:
        answer = row.get(name)
        if isinstance(answer, list) and len(answer) != 1:
            yield Finding(Effect.NO_LOAD, "not_one_message", name)


def check_strictly(row: Row) -> Iterator[Finding]:
    """What hosts that support only roles and texts do with a row."""
    yield from check(row)
    given = row.get("input")
    prompt = given.get("messages") if isinstance(given, dict) else None
    parts = [prompt, row.get("preferred_output"), row.get("non_preferred_output")]
    conversation = [message for part in parts if isinstance(part, list) for message in part]
    for place, message in enumerate(conversation):
        given = message if isinstance(message, dict) else {}
        if given.get("role") not in ("system", "user", "assistant"):
            yield Finding(Effect.NO_LOAD, "wrong_role", f"message {place + 1}")
        if not isinstance(given.get("content"), str):
            yield Finding(Effect.NO_LOAD, "content_null", f"message {place + 1}")
    roles = map(role_of, prompt if isinstance(prompt, list) else [])
    if any(one == other for one, other in pairwise(roles)):
        yield Finding(Effect.NO_LOAD, "uneven_turns", "input.messages")


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The body of a job, for POST /v1/fine_tuning/jobs."""
    return _job(dataset, {"method": {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.1}}}})


def extras_of_together(dataset: Dataset) -> Mapping[str, str]:
    """The body of a job, for POST /v1/fine-tunes."""
    return _job(dataset, {"training_method": {"method": "dpo", "dpo_beta": 0.1}})


def _job(dataset: Dataset, method: Row) -> Mapping[str, str]:
    """The body of a job, with placeholders for the files and the model."""
    job = {
        "training_file": "id of the uploaded train.jsonl",
        "model": "name of the model",
        **method,
    }
    if "val" in dataset.files:
        job["validation_file"] = "id of the uploaded val.jsonl"
    return {"job.json": json.dumps(job, indent=2) + "\n"}


_CLOSING = (
    "OpenAI accepts no new fine-tuning jobs from 6 January 2027, and since May 2026 none from "
    "organizations that are new to it"
)
_COLUMNS = ("input", "preferred_output", "non_preferred_output")
_CHAT = frozenset({"chat"})
_AZURE = Host(
    ChatSupport(calls=True, broken_calls=True, tools=True, names=True),
    Rules(
        needs={
            "input": frozenset({"object"}),
            "preferred_output": _CHAT,
            "non_preferred_output": _CHAT,
        },
        read=read,
        check=check,
        on_missing=Effect.NO_LOAD,
        on_null=Effect.NO_LOAD,
        trains="last",
        text_arguments="only",
        least=10,
    ),
    extras,
)
_TOGETHER = Host(
    ChatSupport(), replace(_AZURE.rules, check=check_strictly, least=3), extras_of_together
)
_FIREWORKS = Host(_TOGETHER.supports, _TOGETHER.rules, no_extras, ())

TARGET = Target(
    name="openai",
    rows=rows,
    columns=dict.fromkeys(_COLUMNS),
    extras=extras,
    extra_names=("job.json",),
    supports=_AZURE.supports,
    rules=_AZURE.rules,
    single=True,
    templated=False,
    hosts={
        "azure": _AZURE,
        "together": _TOGETHER,
        "fireworks": _FIREWORKS,
        "openai": _AZURE._replace(note=f"{_CLOSING}; --host azure reads the same rows"),
    },
    note=f"without --host, the rows are for Azure: {_CLOSING}",
    typed=False,
)
