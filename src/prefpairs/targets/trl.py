"""TRL: preferences with an explicit prompt, in chat form; for DPO, reward models, ORPO and others.

TRL 0.24 to 1.16 read it unchanged. The prompt is explicit because an implicit one is cut wrongly if
one answer is the beginning of the other. Tool schemas are the JSON text of a list, so that the
column has one type whatever they contain.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.dataset.card import card
from prefpairs.dataset.row_checks import repeats
from prefpairs.dataset.row_prompt import split_prompt, starts_with_other_role
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.model.candidate import read_tools
from prefpairs.model.json_codec import encode
from prefpairs.targets.base import ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions

SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""What `load_dataset` calls the sides of a split."""

_SCRIPT = """#!/bin/sh
# {method} with TRL on the files of this folder: MODEL=... OUTPUT=... sh {script}.sh [OPTION]...
# Without a GPU add: --use_cpu true --bf16 false --gradient_checkpointing false
here=$(cd "$(dirname "$0")" && pwd)
exec trl {words} --model_name_or_path "${{MODEL:-Qwen/Qwen3-0.6B}}" \\
  --dataset_name "$here" --output_dir "${{OUTPUT:-{script}-output}}"{val} "$@"
"""


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    row: Row = {
        "prompt": example.prompt,
        "chosen": example.chosen,
        "rejected": example.rejected,
    }
    if example.tools:
        row["tools"] = encode(example.tools).decode()
    return [row | provenance(example)]


def read(row: Row) -> Row:
    """The pair of a row, whether the prompt has its own column or is part of both answers."""
    return split_prompt(row)


def check(row: Row) -> Iterator[Finding]:
    """What TRL does with a row, in addition to the rules."""
    prompt, chosen, rejected = (row.get(name) for name in ("prompt", "chosen", "rejected"))
    if prompt is None:
        yield Finding(Effect.WARNING, "prompt_in_both")
    if len({type(text) for text in (prompt, chosen, rejected) if text is not None}) > 1:
        yield Finding(Effect.CRASH, "forms_differ")
    elif repeats(prompt, chosen) or repeats(prompt, rejected):
        yield Finding(Effect.WRONG, "prompt_repeated", "chosen")
    elif prompt is not None and any(map(starts_with_other_role, (chosen, rejected))):
        yield Finding(Effect.WRONG, "environment_trained", "chosen")
    if isinstance(prompt, str) and prompt.endswith(" "):
        yield Finding(Effect.WARNING, "space_at_end", "prompt")
    yield from check_columns(row)


def check_columns(row: Row) -> Iterator[Finding]:
    """What TRL does with the columns other than the texts."""
    if row.keys() >= _TRACE:
        yield Finding(Effect.NO_LOAD, "trace_columns")
    if not isinstance(row.get("chat_template_kwargs", {}), dict):
        yield Finding(Effect.CRASH, "kwargs_missing", "chat_template_kwargs")
    if not _takes_tools(row.get("tools")):
        yield Finding(Effect.CRASH, "tools_not_a_list", "tools")


def _takes_tools(tools: Any) -> bool:
    """Whether TRL can read the tools: it parses any text as JSON, so empty text crashes it."""
    try:
        read_tools(tools, "tools")
    except BadField:
        return False
    return not isinstance(tools, str) or bool(tools.strip())


PROVENANCE = dict.fromkeys(("pair_id", "score_chosen", "score_rejected", "score_gap"))
"""The columns of what may travel along."""


def provenance(example: Example) -> Row:
    """Where the row came from: TRL ignores columns with these names."""
    pair = example.pair
    known: Row = {"pair_id": pair.id}
    if pair.chosen_score is not None:
        known["score_chosen"] = pair.chosen_score
    if pair.rejected_score is not None:
        known["score_rejected"] = pair.rejected_score
    if pair.gap is not None:
        known["score_gap"] = pair.gap
    return known


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A card that types every column, and the command that trains."""
    return {
        "README.md": card(dataset, COLUMNS, SPLITS),
        "dpo.sh": command(dataset, "DPO", "dpo"),
    }


def command(dataset: Dataset, method: str, words: str) -> str:
    """The command that trains on a dataset."""
    val = " \\\n  --dataset_test_split validation --eval_strategy epoch"
    return _SCRIPT.format(
        method=method,
        script=words.partition(" ")[0],
        words=words,
        val=val if "val" in dataset.files else "",
    )


CHAT_OR_TEXT = frozenset({"chat", "text"})
RESERVED = {
    "image": Effect.CRASH,
    "images": Effect.CRASH,
    "messages": Effect.CRASH,
    "ref_chosen_logps": Effect.WRONG,
    "ref_rejected_logps": Effect.WRONG,
    "margin": Effect.WARNING,
}
"""Columns that TRL uses for something else."""

_TRACE = frozenset({"id", "source", "model", "system_prompt", "messages"})

COLUMNS: dict[str, Any] = {
    "prompt": None,
    "chosen": None,
    "rejected": None,
    "tools": "[]",
    **PROVENANCE,
}

TARGET = Target(
    name="trl",
    rows=rows,
    columns=COLUMNS,
    extras=extras,
    extra_names=("README.md", "dpo.sh"),
    supports=ChatSupport(calls=True, tools=True, reasoning=True, names=True),
    tool_args="dict",
    words=frozenset({"text"}),
    rules=Rules(
        needs=dict.fromkeys(("prompt", "chosen", "rejected"), CHAT_OR_TEXT),
        optional=frozenset({"prompt"}),
        read=read,
        check=check,
        reserved={**RESERVED, "completion": Effect.CRASH, "label": Effect.CRASH},
        steady=("prompt", "chat_template_kwargs"),
        together=True,
    ),
)
