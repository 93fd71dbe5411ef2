"""Loads a file with the preference loader and a prompt strategy of axolotl."""

import argparse
import importlib
import os

import consumer_kit
import tiny_model
from consumer_kit import Outcome


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the dataset's entry in an axolotl configuration."""
    parser.add_argument("--type", default="chat_template.default")
    parser.add_argument("--rl", default="dpo", choices=["dpo", "ipo", "kto", "simpo"])
    parser.add_argument("--field-messages", default=None)
    parser.add_argument("--chat-template", default="chatml", help="tokenizer_default: our own")
    parser.add_argument("--sequence-len", type=int, default=4096, help="a token is a byte")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Runs the loader as `axolotl preprocess` does, but with a tokenizer made in code."""
    loading = importlib.import_module("axolotl.utils.data.rl")
    kinds = importlib.import_module("axolotl.utils.schemas.enums")
    settings = importlib.import_module("axolotl.utils.dict")
    tokenizer = tiny_model.make_tokenizer()
    vars(loading)["load_tokenizer"] = lambda _settings: tokenizer
    entry = {"path": arguments.path, "ds_type": "json", "split": "train", "type": arguments.type}
    if arguments.field_messages is not None:
        entry["field_messages"] = arguments.field_messages
    configuration = settings.DictDefault(
        {
            "rl": kinds.RLType(arguments.rl),
            "chat_template": arguments.chat_template,
            "sequence_len": arguments.sequence_len,
            "datasets": [entry],
            "dataset_prepared_path": os.path.join(os.environ["HF_HOME"], "prepared"),
            "dataset_num_proc": 1,
        }
    )
    rows = loading._load_split(configuration, "train")  # noqa: SLF001
    outcome.rows_out = len(rows)
    outcome.facts["columns"] = list(rows.column_names)
    if outcome.rows_in is not None:
        outcome.facts["rows_dropped"] = outcome.rows_in - len(rows)
    if "chosen" not in rows.column_names:
        for row in rows:
            sides = (row["completion"], "") if row["label"] else ("", row["completion"])
            outcome.show(row["prompt"], *sides)
        return
    outcome.facts["identical_sides"] = sum(1 for row in rows if row["chosen"] == row["rejected"])
    outcome.facts["dummy_left_in"] = sum(
        1 for row in rows if "[[dummy_message]]" in row["chosen"] + row["rejected"]
    )
    for row in rows:
        outcome.show(*(consumer_kit.text_of(row[key]) for key in ("prompt", "chosen", "rejected")))


if __name__ == "__main__":
    consumer_kit.run("axolotl", "axolotl", work, options)
