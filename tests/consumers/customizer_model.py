"""**A model**, not real code: the rows that two generations of NeMo Customizer accept.

`--generation microservices`: rows of prompt, chosen_response and rejected_response.
`--generation platform`: the rl backend of NeMo Platform / Helix; the first row decides which of
four schemas all rows of a file must have.
"""

import argparse
import os
from collections.abc import Callable
from typing import Any

import consumer_kit
from consumer_kit import Outcome

FOLDERS = {
    "microservices": ("training/", "validation/"),
    "platform": ("training.jsonl", "validation.jsonl"),
}


class DatasetFormatError(Exception):
    """A file that the service would reject."""


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names the generation."""
    parser.add_argument("--generation", choices=sorted(FOLDERS), default="microservices")


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Checks each file separately, row by row."""
    outcome.facts["written_model_not_real_code"] = True
    path = arguments.path
    files = consumer_kit.data_files(path)
    if os.path.isdir(path):
        names = [os.path.relpath(each, path) for each in files]
        for wanted in FOLDERS[arguments.generation]:
            if not any(name.startswith(wanted) for name in names):
                message = f"the folder has no {wanted}"
                raise DatasetFormatError(message)
    schemas = {}
    outcome.rows_out = 0
    outcome.facts["empty_texts"] = 0
    for each in files:
        name = os.path.basename(each)
        schema = None
        for number, row in enumerate(consumer_kit.read_lines(each), start=1):
            schema = schema or schema_of(row, arguments.generation)
            faults = CHECKS[schema](row) if isinstance(row, dict) else ["a row is no object"]
            if faults:
                message = f"{name} row {number} is no {schema}: {'; '.join(faults)}"
                raise DatasetFormatError(message)
            sides = SIDES[schema](row)
            outcome.rows_out += 1
            outcome.facts["empty_texts"] += sum(1 for side in sides if not side)
            outcome.show(*(consumer_kit.text_of(side) for side in sides))
        if schema is None:
            message = f"{name} has no rows"
            raise DatasetFormatError(message)
        schemas[name] = schema
    outcome.facts["schemas"] = schemas


def schema_of(row: Any, generation: str) -> str:
    """The schema that a file's first row selects."""
    if generation == "microservices":
        return "microservices"
    keys = row.keys() if isinstance(row, dict) else set()
    if {"completions", "context"} <= keys:
        return "native"
    if "overall_preference" in keys:
        return "helpsteer3"
    chosen = row.get("chosen") if isinstance(row, dict) else None
    if isinstance(chosen, list) and chosen and isinstance(chosen[0], dict) and "role" in chosen[0]:
        return "tulu3"
    return "binary" if {"prompt", "chosen", "rejected"} <= keys else "native"


def text_fault(row: dict[str, Any], key: str) -> list[str]:
    """The fault of a value that must be text."""
    return [] if isinstance(row.get(key), str) else [f"{key} is no text"]


def messages_fault(row: dict[str, Any], key: str) -> list[str]:
    """The fault of a value that must be messages with text as role and content."""
    value = row.get(key)
    if not isinstance(value, list) or not value:
        return [f"{key} is no list of messages"]
    for message in value:
        if not isinstance(message, dict) or not all(
            isinstance(message.get(name), str) for name in ("role", "content")
        ):
            return [f"a message of {key} lacks role or content as text"]
    return []


def prompt_fault(row: dict[str, Any], key: str) -> list[str]:
    """The fault of a prompt, which must be text or messages."""
    return [] if isinstance(row.get(key), str) else messages_fault(row, key)


def check_microservices(row: dict[str, Any]) -> list[str]:
    """The faults of a row for NeMo Microservices."""
    return [
        *prompt_fault(row, "prompt"),
        *text_fault(row, "chosen_response"),
        *text_fault(row, "rejected_response"),
    ]


def check_binary(row: dict[str, Any]) -> list[str]:
    """The faults of a row with a prompt and two texts."""
    faults = prompt_fault(row, "prompt")
    return [*faults, *text_fault(row, "chosen"), *text_fault(row, "rejected")]


def check_helpsteer3(row: dict[str, Any]) -> list[str]:
    """The faults of a row with two responses and a preference from -3 to 3."""
    faults = prompt_fault(row, "context")
    faults += [*text_fault(row, "response1"), *text_fault(row, "response2")]
    preference = row.get("overall_preference")
    if type(preference) is not int or not -3 <= preference <= 3:
        faults.append("overall_preference is no whole number from -3 to 3")
    return faults


def check_tulu3(row: dict[str, Any]) -> list[str]:
    """The faults of a row with two whole conversations."""
    faults = [*messages_fault(row, "chosen"), *messages_fault(row, "rejected")]
    if not faults and any(row[key][-1]["role"] != "assistant" for key in ("chosen", "rejected")):
        faults.append("a conversation does not end with the assistant")
    return faults


def check_native(row: dict[str, Any]) -> list[str]:
    """The faults of a row with a context and two ranked completions."""
    faults = messages_fault(row, "context")
    completions = row.get("completions")
    if not isinstance(completions, list) or len(completions) != 2:
        return [*faults, "completions are not two"]
    for each in completions:
        if not isinstance(each, dict) or type(each.get("rank")) is not int:
            faults.append("a completion has no rank")
        else:
            faults += messages_fault(each, "completion")
    if not faults and completions[0]["rank"] == completions[1]["rank"]:
        faults.append("the ranks are equal")
    return faults


def native_sides(row: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The context and the completions, best first."""
    best, worst = sorted(row["completions"], key=lambda each: int(each["rank"]))
    return row["context"], best["completion"], worst["completion"]


def helpsteer3_sides(row: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The context and the responses, the better one first."""
    answers = (row["response1"], row["response2"])
    return row["context"], *(answers if row["overall_preference"] < 0 else answers[::-1])


CHECKS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "microservices": check_microservices,
    "binary": check_binary,
    "helpsteer3": check_helpsteer3,
    "tulu3": check_tulu3,
    "native": check_native,
}
SIDES: dict[str, Callable[[dict[str, Any]], tuple[Any, Any, Any]]] = {
    "microservices": lambda row: (row["prompt"], row["chosen_response"], row["rejected_response"]),
    "binary": lambda row: (row["prompt"], row["chosen"], row["rejected"]),
    "helpsteer3": helpsteer3_sides,
    "tulu3": lambda row: ([], row["chosen"], row["rejected"]),
    "native": native_sides,
}


if __name__ == "__main__":
    consumer_kit.run("customizer_model", None, work, options)
