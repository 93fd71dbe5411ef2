"""The answers in a row: where they are, one or several, and what the row says about each.

A path through a list (`choices[].message`) names several answers, and so does a column that
contains a list of answers. They are never turns of one answer.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from prefpairs.errors import BadField, NotOneEach
from prefpairs.fields.field_names import CALLS, MANY_OUTPUTS, OUTPUTS, THOUGHTS, is_called_score
from prefpairs.fields.join_question_columns import same_text
from prefpairs.model.candidate import read_text
from prefpairs.model.marks import COLUMNS as MARK_COLUMNS
from prefpairs.model.marks import marks_in
from prefpairs.model.message import REASONING_KEYS, Text, is_messages, read_message
from prefpairs.model.path import MISSING, Item, holders_at, items_at, look_up, path_beside
from prefpairs.model.question_columns import COLUMNS, PROMPTS, TOOLS, holds_something

_EACH = "[]"

WeightedScore = tuple[str, float, Any]
"""The path of a score, its weight, and the value found there."""


class SeveralAnswers(NamedTuple):
    """The answers of one row, and the path through the list that contains them."""

    path: str
    items: list[Item]
    named: str
    """The path as the user named it, or as it was guessed."""

    def place(self, number: int) -> "Place":
        """The position of one of them."""
        return Place(self.path, self.items[number], number, len(self.items))


def several_answers_at(row: Any, path: str) -> SeveralAnswers | None:
    """The answers at a path that leads to several; None for a single answer or a missing one.

    >>> row = {"choices": [{"text": "a"}, {"text": "b"}]}
    >>> several_answers_at(row, "choices[].text").items[1].path
    'choices.1.text'
    >>> several_answers_at({"completion": [{"role": "assistant", "content": "a"}]}, "completion")
    """
    items = items_at(row, path)
    if items is not None:
        return SeveralAnswers(path, items, path)
    given = look_up(row, path)
    in_plural = path.rpartition(".")[2] in MANY_OUTPUTS
    if not is_several(given) and not (in_plural and _only_the_model_speaks(given)):
        return None
    if is_message_content(row, path):  # parts of one content
        return None
    items = [Item(f"{path}.{place}", (place,)) for place in range(len(given))]
    return SeveralAnswers(f"{path}{_EACH}", items, path)


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
    row: Any, scores: Sequence[WeightedScore], answers: SeveralAnswers
) -> list[list[WeightedScore]]:
    """The scores of each answer in one row."""
    columns = [
        (path, weight, _of_each(row, path, value, answers)) for path, weight, value in scores
    ]
    return [
        [(path, weight, values[place]) for path, weight, values in columns]
        for place in range(len(answers.items))
    ]


def _of_each(row: Any, path: str, value: Any, answers: SeveralAnswers) -> list[Any]:
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


CONTENT = "content"


def answer_at(row: dict[str, Any], path: str, noticed: list[str]) -> Text:
    """The answer at a path: text, messages or one message.

    A path to the content of a message includes its reasoning; its tool calls are left out and
    counted. So are reasoning and tool calls in other columns, where the answer is plain text.
    """
    value = look_up(row, path)
    if isinstance(value, dict) and ("role" in value or CONTENT in value):
        return [read_message({"role": "assistant", **value}, path)]
    *_, holder = holders_at(row, path)
    if is_message_content(row, path):
        if holder.get("tool_calls"):
            noticed.append("calls_left_out")
        thinking = {key: holder[key] for key in REASONING_KEYS if holder.get(key)}
        if thinking or not isinstance(value, str):
            turn = {"role": "assistant", CONTENT: value, **thinking}
            return [read_message(turn, path.removesuffix(f".{CONTENT}"))]
    elif isinstance(value, str):
        noticed += _left_out(row, path, value)
    return read_text(value, path)


def _left_out(row: dict[str, Any], path: str, words: str) -> Iterator[str]:
    """What other columns say the model did, and which no pair will contain."""
    *_, holder = holders_at(row, path)
    parent, _, place = path.rpartition(".")
    if isinstance(holder, dict):
        beside = {name: holder.get(name) for name in (*THOUGHTS, *CALLS)}
    else:  # a list of answers, with other lists parallel to it
        *_, outer = holders_at(row, parent)
        lists = _lists_beside(outer, len(holder)) if isinstance(outer, dict) else {}
        beside = {name: value[int(place)] for name, value in lists.items()}
    if any(_says_more(beside.get(name), words) for name in THOUGHTS):
        yield "thinking_left_out"
    if any(beside.get(name) and isinstance(beside[name], (list, dict)) for name in CALLS):
        yield "calls_left_out"


def _says_more(thought: Any, words: str) -> bool:
    """Whether there is reasoning that the answer does not already contain."""
    if isinstance(thought, str):
        return bool(thought.strip()) and thought.strip() not in words
    return isinstance(thought, list) and bool(thought)


def _lists_beside(holder: dict[str, Any], count: int) -> dict[str, list[Any]]:
    """The columns of reasoning and tool calls that hold one value per answer."""
    named = {name: holder.get(name) or holder.get(f"{name}s") for name in (*THOUGHTS, *CALLS)}
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, list) and len(value) == count
    }


def single_answer_at(row: Any, path: str, noticed: list[str]) -> Text | None:
    """The answer at a path that the user named; a row with one score has one answer."""
    given = look_up(row, path)
    if given is MISSING or given is None:
        return None
    items = items_at(row, path)
    if items is not None and len(items) != 1:
        raise BadField(path, given, "one answer, for the row has one score")
    if items is not None:
        return answer_at(row, items[0].path, noticed)
    return answer_by_number(row, path, noticed)


def answer_by_number(row: dict[str, Any], path: str, noticed: list[str]) -> Text:
    """The answer at a path that may select list items by number; unselected items are counted."""
    lists = [holder for holder in holders_at(row, path) if isinstance(holder, list)]
    if any(len(items) > 1 and not is_messages(items) for items in lists):
        noticed.append("items_left_out")
    return answer_at(row, path, noticed)


def is_message_content(row: Any, path: str) -> bool:
    """Whether a path names the content of a message of the model, which may be the row itself."""
    if path.rpartition(".")[2] != CONTENT:
        return False
    *_, holder = holders_at(row, path)
    usual = None if holder is row else "assistant"
    return isinstance(holder, dict) and bool(holder.get("role", usual) == "assistant")


def marks_at(
    row: dict[str, Any], path: str, unmarked: Collection[str], place: int = 0, of: int = 1
) -> dict[str, Any] | None:
    """The marks of an answer (cut off, failed), from all objects that contain it.

    Columns that the user named as something else are not marks.
    """
    found: dict[str, Any] = {}
    value = look_up(row, path)
    last = value[-1] if isinstance(value, list) and value else value
    for holder in (*holders_at(row, path), last):
        if isinstance(holder, dict) and not MARK_COLUMNS.keys().isdisjoint(holder):
            named = unmarked if holder is row else ()
            found |= marks_in(holder, place, of, named)
    return found or None


OWN_QUESTION = (*PROMPTS, "custom_system_prompt", TOOLS[0], *sorted(COLUMNS.difference(PROMPTS)))


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
    items = look_up(row, name)
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


def own_question(items: Sequence[dict[str, Any]], prompt: Any = None) -> str | None:
    """A field of list items that is part of the question and differs between them, if any.

    Or their prompt, if it is another one than that of their row.
    """
    for key in OWN_QUESTION:
        asked = [item.get(key) for item in items]
        if not any(map(holds_something, asked)):
            continue
        if any(other != asked[0] for other in asked):
            return key
        if prompt is not None and key in PROMPTS and not same_text(asked[0], prompt, "user"):
            return key
    return None
