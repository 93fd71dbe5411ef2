"""Trains a tiny random reward model on a preference dataset with the RewardTrainer of TRL."""

import argparse
import importlib

import consumer_kit
import tiny_model
import trl_kit
from consumer_kit import Outcome


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Tokenises all rows, takes real steps on the first few, and shows what is compared."""
    trl = importlib.import_module("trl")
    rows = consumer_kit.load_rows(arguments.path, arguments.split)
    trl_kit.note_loaded(rows, outcome)
    tokenizer = tiny_model.make_tokenizer()
    with trl_kit.warnings_of("trl") as warnings:
        trainer = trl.RewardTrainer(
            tiny_model.make_model(tokenizer, scores=True),
            args=trl.RewardConfig(**trl_kit.settings(arguments)),
            train_dataset=rows,
            processing_class=tokenizer,
        )
    outcome.facts["warnings"] = warnings
    trl_kit.note_kept(trainer, len(rows), outcome)
    kept = trainer.train_dataset
    outcome.facts["identical_sides"] = sum(
        1 for row in kept if row["chosen_ids"] == row["rejected_ids"]
    )
    outcome.facts["margin_column"] = "margin" in kept.column_names
    for row in trl_kit.first_of(kept, consumer_kit.MOST_EXAMPLES):
        outcome.show("", tokenizer.decode(row["chosen_ids"]), tokenizer.decode(row["rejected_ids"]))
    trl_kit.train(trainer, outcome)
    outcome.facts["win_rate"] = outcome.facts["last_metrics"].get("accuracy")


if __name__ == "__main__":
    consumer_kit.run("trl_reward", "trl", work, trl_kit.options)
