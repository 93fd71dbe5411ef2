"""Trinity-RFT: DPO from a folder of conversations, of roles and texts only.

Its reader takes a folder, never a file, ignores tool schemas, and finds an answer by removing as
many characters from the rendered conversation as the rendered prompt has.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.dataset.card import card
from prefpairs.dataset.row_checks import repeats
from prefpairs.dataset.row_prompt import split_prompt
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.targets import trl
from prefpairs.targets.base import Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions

_BATCH = 64
_SNIPPET = """# DPO with Trinity-RFT on the files of this folder: for your configuration.
# path: this folder, from the root on, for Ray starts elsewhere; a file would not be found.
# With fewer rows than a batch there is not one step, and no error.
mode: train
algorithm:
  algorithm_type: dpo
buffer:
  train_batch_size: {batch}
  trainer_input:
    experience_buffer:
      storage_type: file
      path: .
      split: train
      format:
        prompt_type: messages
        messages_key: prompt
        chosen_key: chosen
        rejected_key: rejected
"""


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    row = {
        "prompt": as_chat(example.prompt, "user"),
        "chosen": as_chat(example.chosen, "assistant"),
        "rejected": as_chat(example.rejected, "assistant"),
    }
    return [{**row, **trl.provenance(example)}]


def read(row: Row) -> Row:
    """The pair of a row, or of an experience with two whole conversations."""
    if "chosen_messages" in row:
        return _of_experience(row)
    key = next((name for name in ("messages", "message") if name in row), None)
    if key is None or "prompt" in row:
        return split_prompt(row)
    others = {name: value for name, value in row.items() if name != key}
    return split_prompt({"prompt": row[key], **others})


def _of_experience(row: Row) -> Row:
    """The pair of an experience from a DPO buffer: it has no scores, and may have tokens."""
    sides = {"chosen": row["chosen_messages"], "rejected": row.get("rejected_messages")}
    pair = split_prompt(sides, whole=True)
    tools = {"tools": row["tools"]} if row.get("tools") else {}
    meta = {key: row[key] for key in ("eid", "info", "metrics") if row.get(key)}
    tokens = {f"{side}_tokens": _tokens(row, side) for side in ("chosen", "rejected")}
    known = {name: value for name, value in tokens.items() if value is not None}
    return {**pair, **tools, **known, "meta": meta}


def _tokens(row: Row, side: str) -> dict[str, Any] | None:
    """Prompt and answer as tokens, if the row has both."""
    prompt, answer = row.get("tokens"), row.get(side)
    if not (isinstance(prompt, list) and isinstance(answer, list)):
        return None
    return {"ids": [*prompt, *answer], "prompt_length": len(prompt), "mask": [1] * len(answer)}


def check(row: Row) -> Iterator[Finding]:
    """What Trinity-RFT does with a row, in addition to the rules."""
    if repeats(row.get("prompt"), row.get("chosen")):
        yield Finding(Effect.WRONG, "prompt_repeated", "chosen")
    if row.get("tools"):
        yield Finding(Effect.WARNING, "tools_unseen", "tools")


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A card that types every column, and a snippet for the configuration."""
    count = max(1, dataset.rows.get("train") or next(iter(dataset.rows.values())))
    batch = min(_BATCH, 1 << count.bit_length() - 1)
    return {
        "README.md": card(dataset, _COLUMNS, trl.SPLITS),
        "dpo.yaml": _SNIPPET.format(batch=batch),
    }


_COLUMNS: dict[str, Any] = {name: None for name in trl.COLUMNS if name != "tools"}

TARGET = Target(
    name="trinity",
    rows=rows,
    columns=_COLUMNS,
    extras=extras,
    extra_names=("README.md", "dpo.yaml"),
    rules=Rules(
        needs=dict.fromkeys(("prompt", "chosen", "rejected"), frozenset({"chat"})),
        read=read,
        check=check,
        batch=_BATCH,
        together=True,
        slices=True,
    ),
)
