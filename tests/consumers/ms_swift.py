"""Loads a dataset with the loader of ms-swift and encodes it with one of its templates."""

import argparse
import importlib
import types
from typing import Any

import consumer_kit
import tiny_model
from consumer_kit import Outcome

MASKED = -100
ROW_ERRORS = 5


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `swift rlhf` that affect a dataset."""
    parser.add_argument("--rlhf-type", choices=["dpo", "kto"], default="dpo")
    parser.add_argument("--template", default="qwen2_5")
    parser.add_argument("--agent-template", default=None)
    parser.add_argument("--loss-scale", default="last_round", help="what `swift rlhf` sets")
    parser.add_argument("--max-length", type=int, default=8192, help="tokens; a token is a byte")
    parser.add_argument("--strict", action="store_true", help="as --strict true of swift")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Preprocesses all rows, then encodes each as training does."""
    dataset = importlib.import_module("swift.dataset")
    rows, _ = dataset.load_dataset(
        consumer_kit.data_files(arguments.path), strict=arguments.strict, num_proc=1
    )
    outcome.facts["columns"] = list(rows.column_names)
    outcome.facts["preprocessed"] = len(rows)
    tokenizer = tiny_model.make_tokenizer()
    template = template_of(arguments, tokenizer)
    refused = []
    differing: list[list[str]] = []
    identical = 0
    outcome.rows_out = 0
    for row in rows:
        try:
            encoded = template.encode(dict(row))
        except Exception as error:  # noqa: BLE001  # training would skip the row and go on
            refused.append(f"{type(error).__name__}: {error}")
            continue
        outcome.rows_out += 1
        prompt, chosen = split(encoded, "chosen", tokenizer)
        if "rejected_input_ids" in encoded:
            rejected_prompt, rejected = split(encoded, "rejected", tokenizer)
            if rejected_prompt != prompt:
                differing.append([prompt, rejected_prompt])
            identical += encoded["chosen_input_ids"] == encoded["rejected_input_ids"]
            outcome.show(prompt, chosen, rejected)
        elif encoded.get("label"):
            outcome.show(prompt, chosen, "")
        else:
            outcome.show(prompt, "", chosen)
    outcome.facts.update(
        rows_refused_by_template=len(refused),
        first_refusals=refused[:ROW_ERRORS],
        identical_sides=identical,
        prompts_differ=len(differing),
        first_prompts_that_differ=differing[:1],
    )
    if outcome.rows_in is not None:
        outcome.facts["rows_dropped"] = outcome.rows_in - outcome.rows_out


def template_of(arguments: argparse.Namespace, tokenizer: Any) -> Any:
    """A template in the trainer's mode, with a tokenizer that has no model folder."""
    templates = importlib.import_module("swift.template")
    tokenizer.model_info = types.SimpleNamespace(
        config=None, task_type="causal_lm", max_model_len=arguments.max_length, model_dir=""
    )
    tokenizer.model_meta = types.SimpleNamespace(
        is_multimodal=False, template=arguments.template, candidate_templates=[]
    )
    template = templates.get_template(
        tokenizer,
        max_length=arguments.max_length,
        template_type=arguments.template,
        agent_template=arguments.agent_template,
        loss_scale=arguments.loss_scale,
    )
    template.set_mode({"dpo": "rlhf", "kto": "kto"}[arguments.rlhf_type])
    return template


def split(encoded: dict[str, Any], side: str, tokenizer: Any) -> tuple[str, str]:
    """The text before the first trained token, and the rest with masked parts in brackets."""
    ids = list(encoded[f"{side}_input_ids"])
    labels = list(encoded[f"{side}_labels"])
    start = next((at for at, label in enumerate(labels) if label != MASKED), len(labels))
    pieces: list[tuple[bool, list[int]]] = []
    for token, label in zip(ids[start:], labels[start:], strict=True):
        masked = label == MASKED
        if not pieces or pieces[-1][0] != masked:
            pieces.append((masked, []))
        pieces[-1][1].append(token)
    texts = [
        f"[masked: {tokenizer.decode(piece)}]" if masked else tokenizer.decode(piece)
        for masked, piece in pieces
    ]
    return tokenizer.decode(ids[:start]), "".join(texts)


if __name__ == "__main__":
    consumer_kit.run("ms_swift", "ms-swift", work, options)
