"""The chat templates of real models, as TRL ships them, and what `--to tokens` makes with them.

PATH is a folder. `--make TOKENIZER` creates a folder in it for each template, with a tokenizer to
which the template's special tokens were added. For the `tokens.jsonl` and `chats.jsonl` (`--to
trl`)
there, the program then checks whether transformers produces the same IDs and marks the same tokens
as the model's.
"""

import argparse
import datetime
import importlib
import importlib.resources
import json
import os
import re
import types
from pathlib import Path
from typing import Any

import consumer_kit
from consumer_kit import Outcome

_MARK = re.compile(
    r"<\|[A-Za-z_0-9]+\|>|<\uff5c[^\uff5c]+\uff5c>|</?(?:start_of_turn|end_of_turn)>"
    r"|<(?:turn\||\|turn|sop)>|</?(?:think|tool_call|tool_response)>|\[gMASK\]"
)
_BOS, _EOS = "<bos-of-model>", "<eos-of-model>"
_TRAINING = "_training"


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the option that creates the folders."""
    parser.add_argument("--make", type=os.path.abspath, metavar="TOKENIZER")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Creates the folders, or compares their contents."""
    shipped = importlib.resources.files("trl") / "chat_templates"
    sources = {
        each.name.removesuffix(".jinja"): each.read_text("utf-8")
        for each in shipped.iterdir()
        if each.name.endswith(".jinja")
    }
    if arguments.make:
        make(Path(arguments.path), sources, json.loads(Path(arguments.make).read_bytes()))
    else:
        fix_the_date()
        for folder in sorted(Path(arguments.path).iterdir()):
            if (folder / "tokens.jsonl").exists():
                training = sources.get(folder.name + _TRAINING)
                outcome.facts[folder.name] = compared(folder, sources[folder.name], training)


def make(home: Path, sources: dict[str, str], tokenizer: dict[str, Any]) -> None:
    """Creates a model's folder for each template that is not a training variant."""
    for name, source in sources.items():
        if name.endswith(_TRAINING):
            continue
        folder = home / name
        folder.mkdir(parents=True)
        known = {token["content"] for token in tokenizer["added_tokens"]}
        marks = [_BOS, _EOS, *sorted(set(_MARK.findall(source)) - known)]
        first = 1 + max(token["id"] for token in tokenizer["added_tokens"])
        like = tokenizer["added_tokens"][0]
        added = [{**like, "id": first + at, "content": mark} for at, mark in enumerate(marks)]
        whole = {**tokenizer, "added_tokens": [*tokenizer["added_tokens"], *added]}
        config = {"bos_token": _BOS, "eos_token": _EOS, "chat_template": source}
        (folder / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def fix_the_date() -> None:
    """Fixes the date of templates that write it to the one that prefpairs uses."""
    utils: Any = importlib.import_module("transformers.utils.chat_template_utils")
    that_day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    utils.datetime = types.SimpleNamespace(now=lambda: that_day)


def compared(folder: Path, source: str, training: str | None) -> dict[str, Any]:
    """How many answers were compared, how many differ, and which marked tokens ours lack."""
    transformers = importlib.import_module("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), bos_token=_BOS, eos_token=_EOS
    )
    chats = {row["pair_id"]: row for row in consumer_kit.read_lines(str(folder / "chats.jsonl"))}
    found: dict[str, Any] = {"answers": 0, "ids_differ": 0, "masks": 0, "beyond": 0}
    left_out: set[str] = set()
    for row in consumer_kit.read_lines(str(folder / "tokens.jsonl")):
        chat = chats[row["pair_id"]]
        tools = chat.get("tools") or None
        tools = json.loads(tools) if isinstance(tools, str) else tools
        for side in ("chosen", "rejected"):
            messages = chat["prompt"] + chat[side]
            text = tokenizer.apply_chat_template(
                messages, tools=tools or None, chat_template=source, tokenize=False
            )
            ours = row["prompt_ids"] + row[f"{side}_ids"]
            found["answers"] += 1
            found["ids_differ"] += tokenizer(text, add_special_tokens=False)["input_ids"] != ours
            if training is None:
                continue
            theirs = tokenizer.apply_chat_template(
                messages,
                tools=tools or None,
                chat_template=training,
                return_dict=True,
                return_assistant_tokens_mask=True,
            )
            if theirs["input_ids"] != ours:
                continue  # the training variant writes something else
            start = len(row["prompt_ids"])
            both = zip(theirs["assistant_masks"][start:], row[f"{side}_mask"], strict=True)
            pairs = list(both)
            found["masks"] += 1
            found["beyond"] += any(mine > their for their, mine in pairs)
            rest = [ours[start + at] for at, (their, mine) in enumerate(pairs) if their > mine]
            left_out.add(tokenizer.decode(rest).strip())
    return {**found, "left_out": sorted(left_out)}


if __name__ == "__main__":
    consumer_kit.run("trl_templates", "trl", work, options)
