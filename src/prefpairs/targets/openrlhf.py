"""OpenRLHF: prompt, chosen and rejected in chat form, of roles and texts only."""

from collections.abc import Iterator, Mapping

from prefpairs.dataset.row_checks import repeats
from prefpairs.dataset.row_prompt import split_prompt
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.targets import trl
from prefpairs.targets.base import Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions

_SCRIPT = """#!/bin/sh
# DPO with OpenRLHF on the files of this folder: MODEL=... OUTPUT=... sh dpo.sh [OPTION]...
# A step takes --train.batch_size pairs (128): with fewer there is none.
here=$(cd "$(dirname "$0")" && pwd)
exec deepspeed --module openrlhf.cli.train_dpo \\
  --model.model_name_or_path "${{MODEL:-Qwen/Qwen3-0.6B}}" \\
  --data.dataset "$here/{train}" --data.apply_chat_template --data.prompt_key prompt \\
  --data.chosen_key chosen --data.rejected_key rejected --data.max_len 4096{val} \\
  --ckpt.output_dir "${{OUTPUT:-dpo-output}}" "$@"
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
    """The pair of a row, whether the prompt has its own column or is part of both answers."""
    return split_prompt(row)


def check(row: Row) -> Iterator[Finding]:
    """What OpenRLHF does with a row, in addition to the rules."""
    texts = [row.get(name) for name in ("prompt", "chosen", "rejected")]
    if len({type(text) for text in texts if text is not None}) > 1:
        yield Finding(Effect.CRASH, "forms_differ")
    elif repeats(texts[0], texts[1]):
        yield Finding(Effect.WRONG, "prompt_repeated", "chosen")
    if row.get("tools"):
        yield Finding(Effect.WARNING, "tools_unseen", "tools")


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The command that trains."""
    files = dataset.files
    val = ""
    if "val" in files:
        val = f' \\\n  --eval.dataset "$here/{files["val"]}" --eval.split train'
    return {"dpo.sh": _SCRIPT.format(train=dataset.train, val=val)}


TARGET = Target(
    name="openrlhf",
    rows=rows,
    columns={name: None for name in trl.TARGET.columns if name != "tools"},
    extras=extras,
    extra_names=("dpo.sh",),
    rules=Rules(
        needs=dict.fromkeys(("prompt", "chosen", "rejected"), trl.CHAT_OR_TEXT),
        optional=frozenset({"prompt"}),
        read=read,
        check=check,
        reserved={"margin": Effect.WARNING},
        batch=128,
    ),
)
