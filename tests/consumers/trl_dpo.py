"""Trains a tiny random model on a preference dataset with the DPOTrainer of TRL."""

import argparse
import copy
import importlib
import math
from typing import Any

import consumer_kit
import tiny_model
import trl_kit
from consumer_kit import Outcome


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Tokenises all rows, takes real steps on the first few, and shows what is trained on."""
    trl = importlib.import_module("trl")
    rows = consumer_kit.load_rows(arguments.path, arguments.split)
    trl_kit.note_loaded(rows, outcome)
    tokenizer = tiny_model.make_tokenizer()
    model = tiny_model.make_model(tokenizer)
    config = trl.DPOConfig(**trl_kit.settings(arguments))
    with trl_kit.warnings_of("trl") as warnings:
        trainer = trl.DPOTrainer(
            model,
            ref_model=copy.deepcopy(model),
            args=config,
            train_dataset=rows,
            processing_class=tokenizer,
        )
    outcome.facts["warnings"] = warnings
    trl_kit.note_kept(trainer, len(rows), outcome)
    for row in trl_kit.first_of(trainer.train_dataset, consumer_kit.MOST_EXAMPLES):
        outcome.show(*sides(trainer.data_collator([row]), tokenizer))
    outcome.facts["identical_sides"] = sum(
        1 for row in trainer.train_dataset if trl_kit.same_sides(row, config.max_length)
    )
    trl_kit.train(trainer, outcome)
    facts = outcome.facts
    facts["first_loss_is_ln_2"] = math.isclose(facts["first_loss"], math.log(2), abs_tol=1e-5)
    facts["win_rate"] = facts["last_metrics"].get("rewards/accuracies")


def sides(batch: Any, tokenizer: Any) -> tuple[str, str, str]:
    """The prompt and the two trained texts of a batch of one pair."""
    ids, trained, real = (
        batch[key].tolist() for key in ("input_ids", "completion_mask", "attention_mask")
    )
    texts = [
        tokenizer.decode([token for token, mask in zip(ids[at], trained[at], strict=True) if mask])
        for at in (0, 1)
    ]
    prompt = [
        token
        for token, mask, seen in zip(ids[0], trained[0], real[0], strict=True)
        if seen and not mask
    ]
    return tokenizer.decode(prompt), texts[0], texts[1]


if __name__ == "__main__":
    consumer_kit.run("trl_dpo", "trl", work, trl_kit.options)
