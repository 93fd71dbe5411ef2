"""TRL: KTO. Answers one by one, each with a label.

The trainer combines each answer with the prompt of its neighbour, so neighbours are answers to
different prompts (see unpaired_answers.py).
"""

from collections.abc import Iterator, Mapping

from prefpairs.dataset.card import card
from prefpairs.dataset.row_checks import repeats
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.json_codec import encode
from prefpairs.model.message import Text
from prefpairs.targets import trl
from prefpairs.targets.base import Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The rows of the two answers, the chosen one first."""
    pair = example.pair
    return [
        _row(example, example.chosen, pair.chosen_score, label=True),
        _row(example, example.rejected, pair.rejected_score, label=False),
    ]


def check(row: Row) -> Iterator[Finding]:
    """What TRL does with a row, in addition to the rules."""
    if "completion" not in row and {"chosen", "rejected"} <= row.keys():
        yield from trl.check(row)  # pairs are accepted too
        return
    for name in ("prompt", "completion", "label"):
        if row.get(name) is None:
            yield Finding(Effect.CRASH, "missing_column", name)
    if isinstance(row.get("prompt"), str) != isinstance(row.get("completion"), str):
        yield Finding(Effect.CRASH, "forms_differ")
    elif repeats(row.get("prompt"), row.get("completion")):
        yield Finding(Effect.WRONG, "prompt_repeated", "completion")
    yield from trl.check_columns(row)


def _row(example: Example, answer: Text, score: float | None, *, label: bool) -> Row:
    row: Row = {"prompt": example.prompt, "completion": answer, "label": label}
    if example.tools:
        row["tools"] = encode(example.tools).decode()
    return row if score is None else {**row, "score": score}


def read(row: Row) -> Row:
    """The prompt of a row, and its one or two answers."""
    if "completion" not in row:
        return trl.read(row)
    return {"prompt": row.get("prompt"), "chosen": row.get("completion")}


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A card that types every column, and the command that trains."""
    command = trl.command(dataset, "KTO", "kto --per_device_train_batch_size 8")
    return {"README.md": card(dataset, TARGET.columns, trl.SPLITS), "kto.sh": command}


TARGET = Target(
    name="trl-kto",
    rows=rows,
    files=trl.TARGET.files,
    columns={"prompt": None, "completion": None, "label": None, "tools": "[]", "score": None},
    extras=extras,
    extra_names=("README.md", "kto.sh"),
    supports=trl.TARGET.supports,
    tool_args="dict",
    words=frozenset({"text"}),
    unpaired=True,
    rules=Rules(
        needs={
            "prompt": trl.CHAT_OR_TEXT,
            "completion": trl.CHAT_OR_TEXT,
            "label": frozenset({"flag"}),
        },
        read=read,
        optional=frozenset({"prompt", "completion", "label"}),
        check=check,
        reserved=trl.RESERVED,
        steady=("chat_template_kwargs",),
        together=True,
    ),
)
