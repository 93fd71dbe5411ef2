"""Has the collator of TRL's DPOTrainer batch token IDs, and reads back the batches."""

import argparse
import importlib
import json
from pathlib import Path

import consumer_kit
from consumer_kit import Outcome

_BATCH = 3


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Collates all rows in small batches; records rows that do not come back unchanged."""
    trainer = importlib.import_module("trl.trainer.dpo_trainer")
    lines = Path(arguments.path).read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    collator = trainer.DataCollatorForPreference(pad_token_id=0)
    outcome.facts["rows_loaded"] = outcome.rows_out = len(rows)
    changed = 0
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        batch = collator(some)
        sides = [(row, name) for name in ("chosen", "rejected") for row in some]
        names = ("input_ids", "attention_mask", "completion_mask")
        for (row, name), *columns in zip(sides, *(batch[key] for key in names), strict=True):
            ids, attention, completion = (column.tolist() for column in columns)
            real = row[f"{name}_length"]
            whole = row["prompt_ids"] + row[f"{name}_ids"]
            changed += (
                ids[:real] != whole or attention[:real] != [1] * real or any(attention[real:])
            )
            answer = len(row[f"{name}_ids"])
            changed += completion[:real] != [0] * (real - answer) + [1] * answer
    outcome.facts["rows_changed"] = changed


if __name__ == "__main__":
    consumer_kit.run("trl_collator", "trl", work)
