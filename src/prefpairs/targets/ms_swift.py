"""ms-swift: the whole conversation twice, in `messages` and in `rejected_messages`.

It trains on what follows the last user or tool message and treats everything before it as the
prompt. The shorter form with `rejected_response` would replace everything after the user's last
turn, including tool calls that both sides share.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.chat.flatten import parse_calls
from prefpairs.dataset.row_prompt import split_prompt
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules, role_of
from prefpairs.errors import BadField
from prefpairs.model.json_codec import encode
from prefpairs.model.message import as_chat
from prefpairs.targets.base import ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trl import PROVENANCE, provenance

_SCRIPT = """#!/bin/sh
# DPO with ms-swift on the files of this folder: MODEL=... OUTPUT=... sh dpo.sh [OPTION]...
here=$(cd "$(dirname "$0")" && pwd)
exec swift rlhf --rlhf_type dpo --model "${{MODEL:-Qwen/Qwen3-0.6B}}" \\
  --dataset "$here/{train}"{val} --output_dir "${{OUTPUT:-dpo-output}}" "$@"
"""


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    prompt = as_chat(example.prompt, "user")
    row: Row = {
        "messages": [*prompt, *as_chat(example.chosen, "assistant")],
        "rejected_messages": [*prompt, *as_chat(example.rejected, "assistant")],
    }
    if example.tools:
        tools = encode(example.tools).decode()
        row |= {"tools": tools, "rejected_tools": tools}
    return [{**row, **provenance(example)}]


def read(row: Row) -> Row:
    """The pair of a row, from whichever column holds the rejected answer."""
    messages = row.get("messages")
    if not isinstance(messages, list):
        raise BadField("messages", messages, "a list of messages")
    rejected: Any = row.get("rejected_messages")
    if rejected is None:
        answer = row.get("rejected_response")
        answers = answer if isinstance(answer, list) else [{"role": "assistant", "content": answer}]
        rejected = [*_until_user(messages), *answers]
    if not isinstance(rejected, list):
        raise BadField("rejected_messages", rejected, "a list of messages")
    tools = row.get("rejected_tools")
    if tools is not None and tools != row.get("tools"):
        raise BadField("rejected_tools", tools, "the same value as tools")
    known = ("messages", "rejected_messages", "rejected_response", "rejected_tools")
    messages, rejected = _plain(messages), _plain(rejected)
    others = {key: value for key, value in row.items() if key not in known}
    return split_prompt({"chosen": messages, "rejected": rejected, **others}, whole=True)


def check(row: Row) -> Iterator[Finding]:
    """What ms-swift does with a row, in addition to the rules."""
    if row.get("rejected_messages") is not None:
        if row.get("tools") and not row.get("rejected_tools"):
            yield Finding(Effect.WRONG, "prompts_differ", "rejected_tools")
        return
    answer, messages = row.get("rejected_response"), row.get("messages")
    if answer is None:
        yield Finding(Effect.DROP, "missing_column", "rejected_response")
    elif isinstance(messages, list) and answer == _content(messages[-1:]):
        yield Finding(Effect.DROP, "equal_sides", "rejected_response")


def _plain(messages: list[Any]) -> list[Any]:
    """The messages with ms-swift's roles for tools in the usual form."""
    return [_plain_message(message) for message in messages]


def _plain_message(message: Any) -> Any:
    role = role_of(message)
    if role == "tool_response":
        return {**message, "role": "tool"}
    if role != "tool_call":
        return message
    calls = parse_calls(str(message.get("content")))
    if calls is None:
        return {**message, "role": "assistant"}
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _content(messages: list[Any]) -> Any:
    return messages[0].get("content") if messages and isinstance(messages[0], dict) else None


def _until_user(messages: list[Any]) -> list[Any]:
    """The messages up to the user's last one, as ms-swift counts them."""
    users = [at for at, message in enumerate(messages) if role_of(message) == "user"]
    return messages[: users[-1] + 1] if users else []


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The command that trains."""
    files = dataset.files
    val = f' \\\n  --val_dataset "$here/{files["val"]}"' if "val" in files else ""
    return {"dpo.sh": _SCRIPT.format(train=dataset.train, val=val)}


TARGET = Target(
    name="ms-swift",
    rows=rows,
    columns={
        "messages": None,
        "rejected_messages": None,
        "tools": None,
        "rejected_tools": None,
        **PROVENANCE,
    },
    extras=extras,
    extra_names=("dpo.sh",),
    supports=ChatSupport(calls=True, tools=True),
    templated=False,
    rules=Rules(
        needs={"messages": frozenset({"chat"})},
        read=read,
        check=check,
        reserved={"margin": Effect.WARNING, "label": Effect.WARNING},
        on_missing=Effect.DROP,
        on_null=Effect.DROP,
        roles=("system", "user", "assistant", "tool", "tool_call", "tool_response"),
        on_role=Effect.DROP,
        trains="last",
        text_arguments=True,
    ),
)
