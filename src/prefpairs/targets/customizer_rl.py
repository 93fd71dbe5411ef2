"""The rl backend of NeMo Customizer in NeMo Platform and NeMo Helix: binary preferences.

Every message has a role and a text. The first row of a file determines the format of all rows.
"""

import json
from collections.abc import Iterator, Mapping

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.targets.base import ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.nemo_rl import REWARDS, TEXT, check_prompt, rewards, text_of

_JOB = {
    "model": "default/your-model",
    "dataset": "default/preferences",
    "training": {
        "type": "dpo",
        "epochs": 1,
        "batch_size": 32,
        "learning_rate": 1e-06,
        "max_seq_length": 2048,
        "ref_policy_kl_penalty": 0.05,
    },
    "output": {"name": "preferences-dpo"},
}


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    row = {
        "prompt": as_chat(example.prompt, "user"),
        "chosen": text_of(example.chosen),
        "rejected": text_of(example.rejected),
        "pair_id": example.pair.id,
    }
    return [{**row, **rewards(example)}]


def read(row: Row) -> Row:
    """The pair of a row."""
    return row


def check(row: Row) -> Iterator[Finding]:
    """What the platform's validation reports for a row, in addition to the rules."""
    if "chosen_response" in row and "chosen" not in row:
        yield Finding(Effect.NO_LOAD, "old_keys", "chosen_response")
    for place, message in enumerate(row["prompt"] if isinstance(row.get("prompt"), list) else []):
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            yield Finding(Effect.NO_LOAD, "wrong_type", f"prompt.{place}.content")
    yield from check_prompt(row, "prompt")


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The specification of a job."""
    return {"job.json": json.dumps(_JOB, indent=2) + "\n"}


TARGET = Target(
    name="customizer-rl",
    rows=rows,
    files={"train": "training.jsonl", "val": "validation.jsonl", "test": "test.jsonl"},
    columns={
        "prompt": None,
        "chosen": None,
        "rejected": None,
        **REWARDS,
    },
    extras=extras,
    extra_names=("job.json",),
    supports=ChatSupport(earlier_reasoning=False),
    single=True,
    rules=Rules(
        needs={"prompt": frozenset({"chat", "text"}), "chosen": TEXT, "rejected": TEXT},
        read=read,
        check=check,
        on_missing=Effect.NO_LOAD,
        on_null=Effect.NO_LOAD,
        trains="last",
    ),
)
