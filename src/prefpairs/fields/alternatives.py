"""Several answers in one row, each with its own score.

A path through a list (`choices[].message`) names several answers, and so does a column that
contains a list of answers. They are never turns of one answer.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from prefpairs.errors import NotOneEach
from prefpairs.fields.answer_parts import is_of_message
from prefpairs.fields.names import MANY_OUTPUTS, OUTPUTS, is_called_score
from prefpairs.model.message import is_messages
from prefpairs.model.path import MISSING, Item, items_at, look_up, path_beside

_EACH = "[]"

WeightedScore = tuple[str, float, Any]
"""The path of a score, its weight, and the value found there."""


class Alternatives(NamedTuple):
    """The answers of one row, and the path through the list that contains them."""

    path: str
    items: list[Item]
    named: str
    """The path as the user named it, or as it was guessed."""

    def place(self, number: int) -> "Place":
        """The position of one of them."""
        return Place(self.path, self.items[number], number, len(self.items))


def alternatives_at(row: Any, path: str) -> Alternatives | None:
    """The answers at a path that leads to several; None for a single answer or a missing one.

    >>> alternatives_at({"choices": [{"text": "a"}, {"text": "b"}]}, "choices[].text").items[1].path
    'choices.1.text'
    >>> alternatives_at({"completion": [{"role": "assistant", "content": "a"}]}, "completion")
    """
    items = items_at(row, path)
    if items is not None:
        return Alternatives(path, items, path)
    given = look_up(row, path)
    in_plural = path.rpartition(".")[2] in MANY_OUTPUTS
    if not is_several(given) and not (in_plural and _only_the_model_speaks(given)):
        return None
    if is_of_message(row, path):  # parts of one content
        return None
    items = [Item(f"{path}.{place}", (place,)) for place in range(len(given))]
    return Alternatives(f"{path}{_EACH}", items, path)


def is_several(given: Any) -> bool:
    """Whether a value is a list of answers, rather than one answer that is a chat."""
    return isinstance(given, list) and not is_messages(given)


def _only_the_model_speaks(given: Any) -> bool:
    """Whether a list contains nothing but messages of the model."""
    return (
        isinstance(given, list)
        and len(given) > 1
        and all(isinstance(turn, dict) and turn.get("role") == "assistant" for turn in given)
    )


def scores_of_each(
    row: Any, scores: Sequence[WeightedScore], answers: Alternatives
) -> list[list[WeightedScore]]:
    """The scores of each answer in one row."""
    columns = [
        (path, weight, _of_each(row, path, value, answers)) for path, weight, value in scores
    ]
    return [
        [(path, weight, values[place]) for path, weight, values in columns]
        for place in range(len(answers.items))
    ]


def _of_each(row: Any, path: str, value: Any, answers: Alternatives) -> list[Any]:
    """The value at a path for each of the answers."""
    count = len(answers.items)
    if value is MISSING or value is None:
        return [None] * count
    if not isinstance(value, list) and count <= 1:
        return [value] * count
    items = items_at(row, path)
    if items is None and isinstance(value, list):
        items = [Item(f"{path}.{place}", (place,)) for place in range(len(value))]
    if items is None or [one.places for one in items] != [one.places for one in answers.items]:
        inner = isinstance(value, dict) and [f"{path}.{name}" for name in _lists_of(value, count)]
        names = inner or [name for name in _lists_of(row, count) if is_called_score(name)]
        instead = [("--score", path, name) for name in names]
        if count and not inner and not isinstance(value, list) and answers.named not in OUTPUTS:
            instead.append(("--response", answers.named, answers.items[0].path))
        raise NotOneEach(path, value, f"a list of {count} scores", instead)
    found = [look_up(row, item.path) for item in items]
    return [None if one is MISSING else one for one in found]


def _lists_of(row: Any, count: int) -> list[str]:
    """The fields that contain one number per answer."""
    columns = row.items() if isinstance(row, dict) else ()
    return [
        name
        for name, value in columns
        if isinstance(value, list)
        and len(value) == count
        and all(isinstance(one, (int, float)) for one in value)
    ]


class Place(NamedTuple):
    """The position of an answer among those of its row."""

    through: str
    item: Item
    number: int
    of: int

    def look_up(self, row: Any, path: str) -> Any:
        """The value at a path for this answer, taken from the same items of the same lists."""
        own = path_beside(path, self.through, self.item.places)
        value = look_up(row, own)
        if own != path or not path.endswith(_EACH) or not isinstance(value, list):
            return value
        if len(value) != self.of:
            raise NotOneEach(path, value, f"a list of {self.of}")
        return value[self.number]
