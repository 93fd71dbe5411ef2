"""The columns of ultrafeedback_binarized, which many recipes on the Hub are written for.

`prompt` is the text of the question; chosen and rejected are whole conversations.
"""

from collections.abc import Mapping
from hashlib import sha256

from prefpairs.dataset.card import card
from prefpairs.dataset.row_prompt import split_prompt, starts_with_other_role
from prefpairs.dataset.row_rules import Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.targets.base import Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions

_SPLITS = {"train": "train_prefs", "val": "val_prefs", "test": "test_prefs"}


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    prompt = as_chat(example.prompt, "user")
    question = next((turn["content"] for turn in reversed(prompt) if turn["role"] == "user"), "")
    chosen = [*prompt, *as_chat(example.chosen, "assistant")]
    pair = example.pair
    row: Row = {
        "prompt": question,
        "prompt_id": sha256(question.encode()).hexdigest(),
        "chosen": chosen,
        "rejected": [*prompt, *as_chat(example.rejected, "assistant")],
        "messages": chosen,
    }
    scores = {"score_chosen": pair.chosen_score, "score_rejected": pair.rejected_score}
    return [{**row, **{name: score for name, score in scores.items() if score is not None}}]


def read(row: Row) -> Row:
    """The pair of a row, without columns that copy others."""
    copies = {"prompt_id"} | ({"messages"} if row.get("messages") == row.get("chosen") else set())
    return split_prompt({key: value for key, value in row.items() if key not in copies}, whole=True)


def looks_like(row: Row) -> bool:
    """Whether answers are whole conversations; `messages` may repeat the chosen one."""
    return starts_with_other_role(row.get("chosen")) or row.get("messages") == row.get("chosen")


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A card that types every column."""
    return {"README.md": card(dataset, TARGET.columns, _SPLITS)}


TARGET = Target(
    name="ultrafeedback",
    rows=rows,
    files={side: f"{split}.jsonl" for side, split in _SPLITS.items()},
    columns={
        "prompt": None,
        "prompt_id": None,
        "chosen": None,
        "rejected": None,
        "messages": None,
        "score_chosen": None,
        "score_rejected": None,
    },
    extras=extras,
    extra_names=("README.md",),
    rules=Rules(
        needs={"chosen": frozenset({"chat"}), "rejected": frozenset({"chat"})},
        read=read,
        looks_like=looks_like,
        trains="last",
        together=True,
    ),
)
