"""LLaMA-Factory: the sharegpt form of ranked pairs, with its dataset_info.json.

Turns must alternate, tools and calls have roles of their own, and an answer is one object. Other
rows are dropped with a warning in the log.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.chat.flatten import parse_calls
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField, NotJson
from prefpairs.model.json_codec import decode, encode
from prefpairs.model.message import Message, as_chat
from prefpairs.targets.base import CannotExport, ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trl import PROVENANCE, provenance

_NAMES = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
_ROLES = {**{name: role for role, name in _NAMES.items()}, "function_call": "assistant"}
_ASKING = ("human", "observation")
_THOUGHT = re.compile(r"\A\s*<think>(.*?)</think>", re.DOTALL)
_BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    row: Row = {
        "conversations": _conversation(as_chat(example.prompt, "user")),
        "chosen": _turn(as_chat(example.chosen, "assistant")[0]),
        "rejected": _turn(as_chat(example.rejected, "assistant")[0]),
    }
    if example.tools:
        row["tools"] = encode(example.tools).decode()
    return [{**row, **provenance(example)}]


def read(row: Row) -> Row:
    """The pair of a row, also of the alpaca form."""
    known = ("conversations", "instruction", "input", "history", "system", "chosen", "rejected")
    others = {key: value for key, value in row.items() if key not in known}
    prompt = _read_alpaca(row) if "instruction" in row else _read_turns(row)
    answers = {
        side: [_message(row[side], side)] if isinstance(row.get(side), dict) else row.get(side)
        for side in ("chosen", "rejected")
    }
    return {"prompt": prompt, **answers, **others}


def looks_like(row: Row) -> bool:
    """Whether a row is of the sharegpt form, or of the alpaca form with texts as answers."""
    return "conversations" in row or isinstance(row["chosen"], str)


def check(row: Row) -> Iterator[Finding]:
    """What LLaMA-Factory does with a row: it drops what does not fit."""
    if "instruction" in row:
        for side in ("chosen", "rejected"):
            if not isinstance(row.get(side), str):
                yield Finding(Effect.DROP, "wrong_type", side)
        return
    turns = row.get("conversations")
    if not isinstance(turns, list):
        yield Finding(Effect.CRASH, "missing_column", "conversations")
        return
    if not _alternate(turns):
        yield Finding(Effect.DROP, "uneven_turns", "conversations")
    if not _are_tools(row.get("tools")):
        yield Finding(Effect.CRASH, "tools_not_a_list", "tools")
    if any(isinstance(turn, dict) and turn.get("value") is None for turn in turns):
        yield Finding(Effect.CRASH, "content_null", "conversations")
    if any(map(_is_broken_call, (*turns, row.get("chosen"), row.get("rejected")))):
        yield Finding(Effect.CRASH, "call_not_json", "function_call")
    for side in ("chosen", "rejected"):
        yield from _check_answer(row.get(side), side)


def _are_tools(tools: Any) -> bool:
    """Whether tools are the JSON text of a list, or missing."""
    if not tools:
        return not isinstance(tools, list)
    try:
        return isinstance(tools, str) and isinstance(decode(tools.encode()), list)
    except NotJson:
        return False


def _check_answer(answer: Any, side: str) -> Iterator[Finding]:
    if not isinstance(answer, dict):
        yield Finding(Effect.DROP, "wrong_type", side)
    elif answer.get("from") not in ("gpt", "function_call"):
        yield Finding(Effect.WRONG, "wrong_role", side)


def _alternate(turns: list[Any]) -> bool:
    """Whether the turns of user and model alternate, and end with the user."""
    names = [turn.get("from") if isinstance(turn, dict) else None for turn in turns]
    asking = [name in _ASKING for name in names[names[:1] == ["system"] :]]
    return len(asking) % 2 == 1 and asking == [place % 2 == 0 for place in range(len(asking))]


def _is_broken_call(turn: Any) -> bool:
    """Whether a call is mixed with text; LLaMA-Factory removes one <think> block from it first."""
    if not isinstance(turn, dict) or turn.get("from") != "function_call":
        return False
    value = str(turn.get("value"))
    before, _, thinking = value.partition("<think>")
    _, end, after = thinking.partition("</think>")
    return parse_calls(before + after if end else value) is None


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The list of datasets, and a configuration to train with."""
    columns = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}
    if any(path.startswith("tools:") for path in dataset.shape):
        columns["tools"] = "tools"
    info = {
        f"prefpairs_{side}": {
            "file_name": file,
            "formatting": "sharegpt",
            "ranking": True,
            "columns": columns,
        }
        for side, file in dataset.files.items()
    }
    lines = [
        "# In this folder: llamafactory-cli train dpo.yaml",
        "# Change the model and its template to yours.",
        "stage: dpo",
        "do_train: true",
        "model_name_or_path: Qwen/Qwen3-0.6B",
        "template: qwen3",
        "finetuning_type: lora",
        "lora_target: all",
        "dataset_dir: .",
        f"dataset: {next(iter(info))}",
        *(["eval_dataset: prefpairs_val"] if "val" in dataset.files else []),
        "cutoff_len: 4096",
        "pref_beta: 0.1",
        "per_device_train_batch_size: 1",
        "gradient_accumulation_steps: 8",
        "learning_rate: 5.0e-6",
        "num_train_epochs: 1.0",
        "output_dir: dpo-output",
    ]
    return {
        "dataset_info.json": json.dumps(info, indent=2) + "\n",
        "dpo.yaml": "".join(f"{line}\n" for line in lines),
    }


def _conversation(prompt: list[Message]) -> list[Row]:
    """The prompt, with strictly alternating turns after the system message."""
    turns: list[Row] = []
    for message in prompt:
        turn = _turn(message)
        if turns and turn["from"] == turns[-1]["from"] == "observation":
            turns[-1]["value"] += _BETWEEN_RESULTS + turn["value"]
        else:
            turns.append(turn)
    speaking = [turn["from"] for turn in turns if turn["from"] != "system"]
    asked = all((name in _ASKING) == (place % 2 == 0) for place, name in enumerate(speaking))
    leading = len(turns) - len(speaking) == (bool(turns) and turns[0]["from"] == "system")
    if not (asked and leading and len(speaking) % 2):
        raise CannotExport("turns_do_not_alternate")
    return turns


def _turn(message: Message) -> Row:
    """One message. Its calls have no text next to them: those with text became text before."""
    if calls := [_call(call["function"]) for call in message.get("tool_calls", [])]:
        value = encode(calls[0] if len(calls) == 1 else calls).decode()
        # LLaMA-Factory removes a <think> block from the value, even inside an argument.
        return {"from": "function_call", "value": value.replace("<think>", "\\u003cthink>")}
    return {"from": _NAMES[message["role"]], "value": message["content"]}


def _call(function: Mapping[str, str]) -> Row:
    return {"name": function["name"], "arguments": decode(function["arguments"].encode())}


def _read_turns(row: Row) -> list[Row]:
    turns = row.get("conversations")
    if not isinstance(turns, list):
        raise BadField("conversations", turns, "a list of turns")
    messages = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    return [*messages, *(_message(turn, f"conversations.{at}") for at, turn in enumerate(turns))]


def _read_alpaca(row: Row) -> list[Row]:
    messages = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    history = row.get("history") or []
    if not isinstance(history, list):
        raise BadField("history", history, "a list of questions and answers")
    for place, turn in enumerate(history):
        if not isinstance(turn, list) or len(turn) != 2:
            raise BadField(f"history.{place}", turn, "a question and its answer")
        messages += [
            {"role": "user", "content": turn[0]},
            {"role": "assistant", "content": turn[1]},
        ]
    for name in ("instruction", "input"):
        if not isinstance(row.get(name) or "", str):
            raise BadField(name, row[name], "text")
    question = "\n".join(filter(None, (row.get("instruction"), row.get("input"))))
    return [*messages, {"role": "user", "content": question}]


def _message(turn: Any, field: str) -> Row:
    """One turn as a message; a call that is not JSON stays text."""
    if not isinstance(turn, dict) or str(turn.get("from")) not in _ROLES:
        raise BadField(field, turn, f"a turn from {', '.join(_ROLES)}")
    role, value = _ROLES[turn["from"]], turn.get("value")
    if turn["from"] == "function_call" and isinstance(value, str):
        thought = _THOUGHT.match(value)
        calls = parse_calls(value[thought.end() if thought else 0 :])
        if calls is None:
            return {"role": role, "content": value}
        thinking = {"reasoning_content": thought[1].strip()} if thought else {}
        return {"role": role, "content": "", **thinking, "tool_calls": calls}
    return {"role": role, "content": value}


TARGET = Target(
    name="llamafactory",
    rows=rows,
    columns={
        "conversations": None,
        "chosen": None,
        "rejected": None,
        "tools": "",
        **PROVENANCE,
    },
    extras=extras,
    extra_names=("dataset_info.json", "dpo.yaml"),
    supports=ChatSupport(calls=True, text_with_calls=False, tools=True),
    single=True,
    templated=False,
    rules=Rules(needs={}, read=read, looks_like=looks_like, check=check, trains="last"),
)
