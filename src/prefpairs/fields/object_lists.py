"""Lists of objects: the answers to one prompt, each with its score."""

from collections.abc import Callable, Sequence
from typing import Any

from prefpairs.model.message import is_messages
from prefpairs.model.question_columns import COLUMNS, PROMPTS, TOOLS, holds_something

_OWN_QUESTION = (*PROMPTS, "custom_system_prompt", TOOLS[0], *sorted(COLUMNS.difference(PROMPTS)))


def is_list_of_objects(value: Any) -> bool:
    """Whether a value is a list of objects that are not messages."""
    if not isinstance(value, list) or not value or is_messages(value):
        return False
    return all(isinstance(item, dict) for item in value)


def paths_of_items(
    row: dict[str, Any], name: str, wanted: Sequence[str], fits: Callable[[Any], bool]
) -> list[str]:
    """The paths through a list of objects to those wanted fields that fit in some item.

    >>> row = {"samples": [{"text": "A"}, {"n": 1}]}
    >>> paths_of_items(row, "samples", ("text", "n"), is_number)
    ['samples[].n']
    """
    items = row[name]
    return [f"{name}[].{key}" for key in wanted if any(fits(item.get(key)) for item in items)]


def is_number(value: Any) -> bool:
    """Whether a value could be a score."""
    return isinstance(value, (int, float))


def paths_of_object(row: dict[str, Any], name: str, wanted: Sequence[str]) -> list[str]:
    """The paths to the answers inside an object, if the value is one.

    >>> row = {"completion": {"choices": [{"message": {"role": "assistant"}}]}}
    >>> paths_of_object(row, "completion", ("text",))
    ['completion.choices[].message']
    """
    value = row[name]
    if not isinstance(value, dict):
        return []
    paths = [f"{name}.{key}" for key in wanted if isinstance(value.get(key), str)]
    if is_list_of_objects(choices := value.get("choices")):
        choices = paths_of_items(value, "choices", ("message", "text"), bool)
        paths += [f"{name}.{path}" for path in choices]
    return paths


def own_question(items: Sequence[dict[str, Any]]) -> str | None:
    """A field of list items that is part of the question and differs between them, if any."""
    for key in _OWN_QUESTION:
        asked = [item.get(key) for item in items]
        if any(map(holds_something, asked)) and any(other != asked[0] for other in asked):
            return key
    return None
