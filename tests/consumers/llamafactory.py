"""Loads a dataset folder with the loader, converter and template of LLaMA-Factory."""

import argparse
import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from typing import Any

import consumer_kit
import tiny_model
from consumer_kit import Outcome

MASKED = -100


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of LLaMA-Factory that affect a dataset."""
    parser.add_argument("--dataset", default=None, help="a name of dataset_info.json; all if left")
    parser.add_argument("--template", default="qwen")
    parser.add_argument("--cutoff-len", type=int, default=8192, help="tokens; a token is a byte")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Converts and encodes each dataset listed in dataset_info.json."""
    if importlib.util.find_spec("torchaudio") is None:  # imported, but used for audio only
        stand_in = types.ModuleType("torchaudio")
        stand_in.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
        sys.modules["torchaudio"] = stand_in
    with open(os.path.join(arguments.path, "dataset_info.json"), encoding="utf-8") as source:
        described = json.load(source)
    names = [arguments.dataset] if arguments.dataset else list(described)
    outcome.rows_out = 0
    outcome.facts["datasets"] = facts = {}
    for name in names:
        stage = "rm" if described[name].get("ranking") else "kto"
        facts[name] = {"stage": stage}
        load_one(arguments, name, stage, facts[name], outcome)


def load_one(
    arguments: argparse.Namespace, name: str, stage: str, facts: dict[str, Any], outcome: Outcome
) -> None:
    """Converts one dataset, encodes it and shows the trained texts."""
    loader = importlib.import_module("llamafactory.data.loader")
    templates = importlib.import_module("llamafactory.data.template")
    arguments_of = importlib.import_module("llamafactory.hparams")
    transformers = importlib.import_module("transformers")
    data = arguments_of.DataArguments(
        dataset=name,
        dataset_dir=arguments.path,
        template=arguments.template,
        cutoff_len=arguments.cutoff_len,
    )
    model = arguments_of.ModelArguments(model_name_or_path="none")
    training = transformers.Seq2SeqTrainingArguments(
        output_dir=os.path.join(os.environ["HF_HOME"], "out"), use_cpu=True, report_to="none"
    )
    tokenizer = tiny_model.make_tokenizer()
    template = templates.get_template_and_fix_tokenizer(tokenizer, data)
    aligned = loader._get_merged_dataset([name], model, data, training, stage)  # noqa: SLF001
    facts["aligned"] = len(aligned)
    facts["aligned_without_answers"] = sum(1 for row in aligned if len(row["_response"]) < 2)
    facts["aligned_first"] = aligned[0]
    module = loader.get_dataset(template, model, data, training, stage, tokenizer)
    encoded = module["train_dataset"]
    facts["encoded"] = len(encoded)
    facts["identical_sides"] = 0
    outcome.rows_out = (outcome.rows_out or 0) + len(encoded)
    for row in encoded:
        prompt, chosen, rejected = texts_of(row, tokenizer)
        facts["identical_sides"] += chosen == rejected
        outcome.show(prompt, chosen, rejected)


def texts_of(row: dict[str, Any], tokenizer: Any) -> tuple[str, str, str]:
    """The prompt and the trained texts of an encoded row; one side is empty for a KTO row."""

    def split(ids: list[int], labels: list[int]) -> tuple[str, str]:
        """Splits a row into the text that is only read and the text that is trained on."""
        pairs = list(zip(ids, labels, strict=True))
        read = [token for token, label in pairs if label == MASKED]
        trained = [label for _, label in pairs if label != MASKED]
        return tokenizer.decode(read), tokenizer.decode(trained)

    if "kto_tags" in row:
        prompt, text = split(row["input_ids"], row["labels"])
        return (prompt, text, "") if row["kto_tags"] else (prompt, "", text)
    prompt, chosen = split(row["chosen_input_ids"], row["chosen_labels"])
    _, rejected = split(row["rejected_input_ids"], row["rejected_labels"])
    return prompt, chosen, rejected


if __name__ == "__main__":
    consumer_kit.run("llamafactory", "llamafactory", work, options)
