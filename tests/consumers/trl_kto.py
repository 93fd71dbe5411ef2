"""Trains a tiny random model on labelled or paired completions with the KTOTrainer of TRL."""

import argparse
import copy
import importlib
import math

import consumer_kit
import tiny_model
import trl_kit
from consumer_kit import Outcome


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Tokenises all rows, takes real steps on the first few, and shows what is trained on."""
    trl = importlib.import_module("trl")
    rows = consumer_kit.load_rows(arguments.path, arguments.split)
    trl_kit.note_loaded(rows, outcome)
    paired = {"chosen", "rejected"} <= set(rows.column_names)
    tokenizer = tiny_model.make_tokenizer()
    model = tiny_model.make_model(tokenizer)
    with trl_kit.warnings_of("trl") as warnings:
        trainer = trl.KTOTrainer(
            model,
            ref_model=copy.deepcopy(model),
            args=trl.KTOConfig(**trl_kit.settings(arguments)),
            train_dataset=rows,
            processing_class=tokenizer,
        )
    outcome.facts["warnings"] = warnings
    trl_kit.note_kept(trainer, len(rows) * (2 if paired else 1), outcome)
    kept = trainer.train_dataset
    outcome.facts["paired"] = paired
    outcome.facts["labels_true"] = sum(1 for label in kept["label"] if label)
    for row in trl_kit.first_of(kept, consumer_kit.MOST_EXAMPLES):
        room = arguments.max_length - len(row["prompt_ids"])
        text = tokenizer.decode(row["completion_ids"][:room])
        texts = (text, "") if row["label"] else ("", text)
        outcome.show(tokenizer.decode(row["prompt_ids"]), *texts)
    trl_kit.train(trainer, outcome)
    facts = outcome.facts
    facts["first_loss_is_half"] = math.isclose(facts["first_loss"], 0.5, abs_tol=1e-5)


if __name__ == "__main__":
    consumer_kit.run("trl_kto", "trl", work, trl_kit.options)
