"""**A model** of how NeMo RL reads preference files: its rules, not its real code.

NeMo RL has no wheel. The real datasets library loads the rows; the rest (the two
dataset classes, the preprocessor, the chat template on every prefix, the loss on the last message
only) is written here from the rules in its source.
"""

import argparse
import importlib
import json
import os
from collections import Counter
from typing import Any

import consumer_kit
import tiny_model
from consumer_kit import Outcome

SUFFIXES = {".arrow": "arrow", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}
BATCH = 128  # pairs per step in the shipped configuration; an incomplete last batch is dropped


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this model."""
    parser.add_argument(
        "--class",
        dest="dataset_class",
        choices=["BinaryPreferenceDataset", "PreferenceDataset"],
        default="PreferenceDataset",
    )
    parser.add_argument("--prompt-key", default="prompt")
    parser.add_argument("--chosen-key", default="chosen")
    parser.add_argument("--rejected-key", default="rejected")
    parser.add_argument("--max-input-seq-length", type=int, default=None, help="a token is a byte")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Loads and formats all rows, then renders both sides of each."""
    outcome.facts["written_model_not_real_code"] = True
    rows = dataset_of(arguments)
    outcome.facts["columns"] = list(rows.column_names)
    outcome.facts["tools_ignored"] = "tools" in rows.column_names
    render = renderer()
    counts: Counter[str] = Counter()
    trained_roles: Counter[str] = Counter()
    outcome.rows_out = 0
    for row in rows:
        chosen, rejected = completions_of(row)
        sides = []
        for completion in (chosen, rejected):
            messages = row["context"] + completion
            texts = chunks_of(messages, render)
            trained_roles[messages[-1]["role"]] += 1
            sides.append(("".join(texts[:-1]), texts[-1]))
        longest = max(len("".join(side).encode()) for side in sides)
        limit = arguments.max_input_seq_length
        if limit is not None and longest > limit:
            counts["rows_masked"] += 1
            continue
        outcome.rows_out += 1
        (prompt, chosen_text), (rejected_prompt, rejected_text) = sides
        counts["identical_sides"] += sides[0] == sides[1]
        counts["prompts_differ"] += prompt != rejected_prompt
        outcome.show(prompt, chosen_text, rejected_text)
    outcome.facts.update(counts)
    outcome.facts["trained_roles"] = dict(trained_roles)
    outcome.facts["steps_an_epoch_at_128_pairs"] = len(rows) // BATCH


def dataset_of(arguments: argparse.Namespace) -> Any:
    """The rows as the dataset class returns them."""
    datasets = importlib.import_module("datasets")
    path = arguments.path
    suffix = os.path.splitext(path)[1]
    if suffix not in SUFFIXES:
        message = f"{os.path.basename(path)} is not taken for a local file"
        raise FileNotFoundError(message)
    rows = datasets.load_dataset(SUFFIXES[suffix], data_files=path)["train"]
    if arguments.dataset_class == "BinaryPreferenceDataset":

        def ranked(row: dict[str, Any]) -> dict[str, Any]:
            """A row of three columns as a context and two ranked completions."""
            prompt = row[arguments.prompt_key]
            context = prompt if isinstance(prompt, list) else [message_of("user", prompt)]
            answers = (row[arguments.chosen_key], row[arguments.rejected_key])
            completions = [
                {"rank": rank, "completion": [message_of("assistant", answer)]}
                for rank, answer in enumerate(answers)
            ]
            return {"context": context, "completions": completions}

        rows = rows.map(ranked, remove_columns=rows.column_names)
    return rows.add_column("task_name", ["model"] * len(rows))


def message_of(role: str, content: Any) -> dict[str, Any]:
    """A message with whatever content it has."""
    return {"role": role, "content": content}


def completions_of(row: dict[str, Any]) -> tuple[Any, Any]:
    """The preferred and the other completion: the lower rank is preferred."""
    completions = row["completions"]
    if len(completions) != 2:
        message = "only two completions are supported"
        raise AssertionError(message)
    first, second = completions
    if first["rank"] == second["rank"]:
        message = "ties are not supported"
        raise NotImplementedError(message)
    if first["rank"] > second["rank"]:
        first, second = second, first
    return first["completion"], second["completion"]


def renderer() -> Any:
    """The chat template of these programs, set up as in transformers."""
    sandbox = importlib.import_module("jinja2.sandbox")
    exceptions = importlib.import_module("jinja2.exceptions")
    room = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def refuse(message: str) -> None:
        """What a template calls for a message that it cannot render."""
        raise exceptions.TemplateError(message)

    room.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    room.globals["raise_exception"] = refuse
    return room.from_string(tiny_model.TEMPLATE)


def chunks_of(messages: list[dict[str, Any]], template: Any) -> list[str]:
    """The text of each message: what the template adds when the message is appended."""
    chunks = []
    before = ""
    for end, message in enumerate(messages, start=1):
        content = message["content"]
        if content is not None and not isinstance(content, str):
            for part in content:
                part["type"]  # a list of parts is searched for images
        text = template.render(messages=messages[:end], add_generation_prompt=False)
        chunks.append(text[shared_length(before, text) :])
        before = text
    last = chunks[-1].rstrip("\n")
    chunks[-1] = last if last.endswith("<|im_end|>") else last + "<|im_end|>"
    return chunks


def shared_length(first: str, second: str) -> int:
    """The length of the texts' common prefix."""
    pairs = zip(first, second, strict=False)
    shortest = min(len(first), len(second))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), shortest)


if __name__ == "__main__":
    consumer_kit.run("nemo_rl_model", "datasets", work, options)
