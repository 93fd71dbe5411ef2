"""Reads a folder of `--to trinity` with Trinity-RFT's own configuration, reader and formatter.

The package's formatter imports one name from vLLM that it does not need here, so stubs stand in
for vLLM. `--frames FILE` writes the result as the package puts it into its buffers.
"""

import argparse
import importlib
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import consumer_kit
import tiny_model
from consumer_kit import Outcome

VLLM = {
    "vllm": (),
    "vllm.config": ("ModelConfig",),
    "vllm.entrypoints": (),
    "vllm.entrypoints.chat_utils": (
        "ChatTemplateContentFormat",
        "ConversationMessage",
        "parse_chat_messages",
        "parse_chat_messages_async",
    ),
    "vllm.inputs": ("MultiModalDataDict",),
}


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the file for frames, and a chat template that replaces the tokenizer's."""
    parser.add_argument("--frames", type=os.path.abspath)
    parser.add_argument("--template", type=os.path.abspath)


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Loads the configuration next to the rows, and formats all of them."""
    for name, members in VLLM.items():
        module = types.ModuleType(name)
        module.__dict__.update(dict.fromkeys(members, Any))
        sys.modules[name] = module
    config = importlib.import_module("trinity.common.config")
    reader = importlib.import_module("trinity.buffer.reader.file_reader")
    experience = importlib.import_module("trinity.common.experience")
    given = config.load_config(str(Path(arguments.path) / "dpo.yaml"))
    tokenizer = tiny_model.make_tokenizer()
    with tempfile.TemporaryDirectory() as model:
        tokenizer.save_pretrained(model)
        # What Trinity itself fills in from other parts of a configuration.
        buffer = given.buffer.trainer_input.experience_buffer
        buffer.path = arguments.path
        buffer.schema_type = given.algorithm.algorithm_type
        buffer.tokenizer_path = model
        buffer.batch_size = 1
        if arguments.template:
            buffer.format.chat_template = Path(arguments.template).read_text("utf-8")
        rows = reader.ExperienceFileReader(buffer.to_storage_config())
        made = [rows._read_sync()[0] for _ in range(len(rows))]  # noqa: SLF001 - `read` awaits it
    outcome.rows_out = len(made)
    outcome.facts.update(
        mode=given.mode,
        train_batch_size=given.buffer.train_batch_size,
        types=sorted({each.experience_type for each in made}),
        identical_sides=sum(each.chosen.tolist() == each.rejected.tolist() for each in made),
        empty_sides=sum(not len(side) for each in made for side in (each.chosen, each.rejected)),
    )
    for each in made:
        texts = (tokenizer.decode(part) for part in (each.tokens, each.chosen, each.rejected))
        outcome.show(*texts)
    if arguments.frames:
        Path(arguments.frames).write_bytes(experience.Experience.serialize_many(made))


if __name__ == "__main__":
    consumer_kit.run("trinity_rft", "trinity-rft", work, options)
