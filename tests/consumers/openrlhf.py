"""Loads a preference file with the RewardDataset of OpenRLHF."""

import argparse
import importlib
import types
from typing import Any

import consumer_kit
import tiny_model
from consumer_kit import Outcome


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the data options of OpenRLHF's DPO and reward model commands."""
    consumer_kit.split_option(parser)
    parser.add_argument("--prompt-key", default=None)
    parser.add_argument("--chosen-key", default="chosen")
    parser.add_argument("--rejected-key", default="rejected")
    parser.add_argument("--apply-chat-template", action="store_true")
    parser.add_argument("--input-template", default=None)
    parser.add_argument("--reward-model", action="store_true", help="as the reward model's command")
    parser.add_argument("--max-len", type=int, default=4096, help="tokens; a token is a byte")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Builds the dataset and decodes the tokens of each pair."""
    module = importlib.import_module("openrlhf.datasets.reward_dataset")
    rows = consumer_kit.load_rows(arguments.path, arguments.split)
    tokenizer = tiny_model.make_tokenizer()
    data = types.SimpleNamespace(
        prompt_key=arguments.prompt_key,
        chosen_key=arguments.chosen_key,
        rejected_key=arguments.rejected_key,
        apply_chat_template=arguments.apply_chat_template,
        tokenizer_chat_template=None,
    )
    strategy = types.SimpleNamespace(args=types.SimpleNamespace(data=data))
    is_dpo = not arguments.reward_model
    pairs = module.RewardDataset(
        rows,
        tokenizer,
        arguments.max_len,
        strategy,
        input_template=arguments.input_template,
        is_dpo=is_dpo,
        num_processors=1,
    )
    outcome.rows_out = len(pairs)
    outcome.facts.update(rows_loaded=len(rows), rows_dropped=len(rows) - len(pairs))
    identical = 0
    margins = []
    for at in range(len(pairs)):
        chosen_ids, _, rejected_ids, _, extra = pairs[at]
        chosen, rejected = chosen_ids[0].tolist(), rejected_ids[0].tolist()
        identical += chosen == rejected
        if is_dpo:
            outcome.show(*cut(chosen, rejected, extra, tokenizer))
        else:
            margins.append(extra)
            outcome.show("", tokenizer.decode(chosen), tokenizer.decode(rejected))
    outcome.facts.update(identical_sides=identical, margins=margins[: consumer_kit.MOST_EXAMPLES])
    pairs.collate_fn([pairs[at] for at in range(min(2, len(pairs)))])


def cut(
    chosen: list[int], rejected: list[int], length: int, tokenizer: Any
) -> tuple[str, str, str]:
    """The prompt and the trained texts; the loss starts after the length of the prompt."""
    return (
        tokenizer.decode(chosen[:length]),
        tokenizer.decode(chosen[length:]),
        tokenizer.decode(rejected[length:]),
    )


if __name__ == "__main__":
    consumer_kit.run("openrlhf", "openrlhf", work, options)
