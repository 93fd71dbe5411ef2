"""Joins columns that are part of the question to the prompt: system, history, input, images, tools.

Columns with a clear convention join the prompt. For others, `--context` puts them before the
prompt and `--ignore` leaves them out; without either option the run stops. The table in
docs/sources/generic.md documents this; nothing else may decide which answers compete.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from prefpairs.errors import BadField, BadRecord, TwoReadings
from prefpairs.fields.field_names import CONVERSATIONS, TURNS
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.content import parts_of
from prefpairs.model.identity import canonical
from prefpairs.model.message import Text, as_chat, is_messages, last_user, with_media
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.question_columns import (
    COLUMNS,
    HISTORY,
    INPUT,
    MEDIA,
    PACKED,
    SYSTEM,
    TOOLS,
    UNCERTAIN,
    asks_in,
    holds_something,
    is_told_in,
    tools_in,
    with_history,
    with_system,
)

Row = dict[str, Any]
_LOOKED_FOR = COLUMNS | {*TOOLS}


def whole_question(
    row: Row, path: str, prompt: Text, options: ReadOptions, facts: list[tuple[str, ...]]
) -> Text:
    """The prompt with every column that is part of the question; each is reported as a fact."""
    columns = _beside(row, path, options)
    if not columns and not options.context:
        return prompt
    more = columns.get(INPUT)
    if more is not None and look_up(row, more) == prompt:  # it repeats the question
        del columns[INPUT]
    elif more is not None and isinstance(prompt, str) and _is_alpaca(path, more):
        prompt = f"{prompt}\n\n{_text(look_up(row, more), more)}"
        del columns[INPUT]
        facts.append(("joined", more, "it follows the instruction"))
    uncertain = [columns[name] for name in (INPUT, *UNCERTAIN) if name in columns]
    uncertain = [column for column in uncertain if not is_told_in(prompt, look_up(row, column))]
    if uncertain:
        raise _two(row, path, uncertain, options)
    if before := [words for name in options.context if (words := _words(row, name))]:
        prompt = _with_words("\n\n".join(before), prompt)
    if (earlier := _only(row, columns, HISTORY)) is not None:
        prompt = _joined(row, path, earlier, with_history(prompt, look_up(row, earlier)), options)
        facts.append(("joined", earlier, "its turns come before the prompt"))
    for column in [columns[name] for name in SYSTEM if name in columns]:
        words = _text(look_up(row, column), column)
        prompt = _joined(row, path, column, with_system(prompt, words), options)
        facts.append(("joined", column, "it is the system message"))
    media = {columns[name]: kind for name, kind in MEDIA.items() if name in columns}
    facts.extend(("joined", column, "as parts of the user's message") for column in media)
    shows = [parts_of(kind, look_up(row, column)) for column, kind in media.items()]
    return with_media(prompt, [part for parts in shows for part in parts])


def tools_beside(
    row: Row, path: str, options: ReadOptions, facts: list[tuple[str, ...]], *, logged: bool = False
) -> list[Any] | None:
    """The tools of a prompt, under any of their names; training logs use one name."""
    columns = {} if logged else _beside(row, path, options)
    column = _only(row, columns, TOOLS)
    if column is None or column == TOOLS[0]:
        return read_tools(row.get(TOOLS[0]), TOOLS[0])
    if (tools := tools_in(look_up(row, column))) is None:
        raise _two(row, path, [column], options)
    facts.append(("joined", column, "as its tools"))
    return tools


def turn_of(row: Row, prompt: Text, options: ReadOptions) -> Iterator[tuple[str, ...]]:
    """Which turn of a conversation a row is, if its prompt does not contain the turns before.

    Only later turns depend on others; other rows show whether turns are counted from 0 or 1.
    """
    asked = [turn for turn in as_chat(prompt, "user") if turn["role"] != "system"]
    if len(asked) > 1 or options.group_by not in ("auto", "file"):
        return
    conversation = next((name for name in CONVERSATIONS if holds_something(row.get(name))), "")
    for name in TURNS:
        number = row.get(name)
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            yield "turn", name, str(min(number, 2)), conversation


def named_columns(options: ReadOptions) -> set[str]:
    """The columns that options name as prompt, response, score or context."""
    return {_column(path) for path in _named(options)}


def is_named(column: str, options: ReadOptions) -> bool:
    """Whether one of those options names a column, or something inside it."""
    return any(_leads(column, path) for path in _named(options))


def has_media(row: Row) -> bool:
    """Whether a row has images or other media in separate columns."""
    return any(holds_something(row.get(name)) for name in (*MEDIA, *PACKED))


def same_text(one: Any, other: Any, role: str) -> bool:
    """Whether two fields have the same content, as text or as messages."""
    if one == other:
        return True
    try:
        return canonical(read_text(one, ""), role) == canonical(read_text(other, ""), role)
    except BadRecord:
        return False


def _beside(row: Row, path: str, options: ReadOptions) -> dict[str, str]:
    """The paths of columns next to a prompt, by name, in the row and in objects on its path.

    Columns that options name are not among them.
    """
    if "." not in path and _LOOKED_FOR.isdisjoint(row):
        return {}
    named = [path, *_named(options)]
    found: dict[str, str] = {}
    for begin, holder in _holders(row, path):
        for name in _LOOKED_FOR.intersection(holder):
            column = begin + name
            if not asks_in(name, holder[name]) or any(_leads(column, one) for one in named):
                continue
            if name in found and look_up(row, found[name]) != holder[name]:
                raise _differing([found[name], column])
            found.setdefault(name, column)
    return found


def _holders(row: Row, path: str) -> Iterator[tuple[str, Row]]:
    """The row and the objects that a path passes through, each with its path prefix."""
    yield "", row
    place = path.find(".")
    while place != -1 and path not in row:
        holder = look_up(row, path[:place])
        if isinstance(holder, dict):
            yield path[: place + 1], holder
        place = path.find(".", place + 1)


def _leads(column: str, path: str) -> bool:
    """Whether a path starts at a column."""
    return path == column or path.startswith((f"{column}.", f"{column}[]"))


def _only(row: Row, columns: dict[str, str], names: Iterable[str]) -> str | None:
    """The column with one of these names; raises TwoReadings if several differ."""
    found = [columns[name] for name in names if name in columns]
    if not found:
        return None
    value = look_up(row, found[0])
    if differing := [other for other in found[1:] if look_up(row, other) != value]:
        raise _differing([found[0], *differing])
    return found[0]


def _differing(columns: list[str]) -> TwoReadings:
    """The error that columns with the same meaning differ; --ignore removes all but one."""
    listed = " and ".join(f'"{column}"' for column in columns)
    choices = [
        ("--ignore", ",".join(other for other in columns if other != column)) for column in columns
    ]
    return TwoReadings(f"the question could go with {listed}, which differ", choices)


def _is_alpaca(path: str, more: str) -> bool:
    """Whether an input column continues an instruction column."""
    return path.removesuffix("instruction") == more.removesuffix(INPUT)


def _joined(row: Row, path: str, column: str, whole: Text | None, options: ReadOptions) -> Text:
    """The prompt with a column added; raises TwoReadings if its place is already taken."""
    if whole is None:
        raise _two(row, path, [column], options)
    return whole


def _named(options: ReadOptions) -> list[str]:
    paths = [options.prompt, options.response, *options.context]
    paths += [path for path, _ in options.scores]
    return [path for path in paths if path is not None]


def _column(path: str) -> str:
    return path.partition(".")[0].removesuffix("[]")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadField(name, value, "text")
    return value


def _words(row: Row, path: str) -> str:
    """The text at a path of --context."""
    value = look_up(row, path)
    if value is MISSING or not holds_something(value):
        column = _column(path)
        if column in COLUMNS and holds_something(row.get(column)):
            raise BadField(path, row[column], "text or a list of texts")
        return ""
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in items):
        raise BadField(path, value, "text or a list of texts")
    return "\n\n".join(item for item in items if item.strip())


def _with_words(words: str, prompt: Text) -> Text:
    """The prompt with text inserted before the last question of the user."""
    if isinstance(prompt, str):
        return f"{words}\n\n{prompt}" if prompt.strip() else words
    place = last_user(prompt)
    if place is None:
        return [*prompt, {"role": "user", "content": words}]
    asked = prompt[place]
    content = asked["content"]
    joined = f"{words}\n\n{content}" if isinstance(content, str) else [_said(words), *content]
    return [*prompt[:place], {**asked, "content": joined}, *prompt[place + 1 :]]


def _said(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _two(row: Row, path: str, names: list[str], options: ReadOptions) -> TwoReadings:
    """The error that columns next to the prompt may be part of the question."""
    listed = ", ".join(f'"{name}"' for name in names)
    what = "it" if len(names) == 1 else "them"
    choices = []
    paths = [_path_of_texts(name, look_up(row, name)) for name in names]
    told = [found for found in paths if found is not None]
    if len(told) == len(names):
        choices.append(("--context", _words_of_option(options.context, told)))
    choices.append(("--ignore", _words_of_option(options.ignore, names)))
    problem = f'is {listed} part of the question? The row has {what} next to the prompt "{path}"'
    return TwoReadings(problem, choices)


def _words_of_option(before: Iterable[str], names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*before, *names)))


def _path_of_texts(name: str, value: Any) -> str | None:
    """The path by which --context finds text in a column, if there is one."""
    items = value if isinstance(value, list) else [value]
    if all(isinstance(item, str) for item in items):
        return name
    if is_messages(items):  # who said what would be lost
        return None
    for key in ("text", "content", "page_content"):
        if all(isinstance(item, dict) and isinstance(item.get(key), str) for item in items):
            return f"{name}[].{key}" if isinstance(value, list) else f"{name}.{key}"
    return None
