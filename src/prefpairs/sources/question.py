"""Columns that stand beside a prompt and are part of the question.

Where the convention is certain they join the prompt. Where it is not, `--context` puts them
before it and `--ignore` leaves them out; with neither the run ends. The table is documented in
docs/sources/generic.md, and nothing else may decide which answers compete.
"""

from collections.abc import Iterable
from typing import Any

from prefpairs.errors import BadField, BadRecord, TwoReadings
from prefpairs.records.candidate import read_text
from prefpairs.records.content import parts_of
from prefpairs.records.identity import canonical
from prefpairs.records.media import last_user, with_media
from prefpairs.records.message import Message, Text, as_chat, is_messages
from prefpairs.records.path import MISSING, look_up
from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.names import COLUMNS, HISTORY, INPUT, MEDIA, SYSTEM, UNCERTAIN

Row = dict[str, Any]


def whole_question(
    row: Row, path: str, prompt: Text, options: ReadOptions, shown: list[tuple[str, ...]]
) -> Text:
    """The prompt with all that its row has of the question; what joins it is shown."""
    if not options.context and COLUMNS.isdisjoint(row):
        return prompt
    named = named_columns(options) | {_column(path)}
    columns = {name for name in COLUMNS if holds_something(row.get(name)) and name not in named}
    if INPUT in columns and row[INPUT] == prompt:  # the question once more
        columns.remove(INPUT)
    if INPUT in columns and path == "instruction" and isinstance(prompt, str):
        prompt = f"{prompt}\n\n{_text(row[INPUT], INPUT)}"
        columns.remove(INPUT)
        shown.append(("joined", INPUT, "it follows the instruction"))
    uncertain = [name for name in (INPUT, *UNCERTAIN) if name in columns]
    if uncertain:
        raise _two(row, path, uncertain, options)
    if before := [words for name in options.context if (words := _words(row, name))]:
        prompt = _with_words("\n\n".join(before), prompt)
    if HISTORY in columns:
        prompt = _with_history(row, path, prompt, options)
        shown.append(("joined", HISTORY, "its turns come before the prompt"))
    for name in SYSTEM:
        if name in columns:
            prompt = _with_system(row, path, name, prompt, options)
            shown.append(("joined", name, "it is the system message"))
    media = [name for name in MEDIA if name in columns]
    shown.extend(("joined", name, "as parts of the user's message") for name in media)
    return with_media(prompt, [part for name in media for part in parts_of(name, row[name])])


def named_columns(options: ReadOptions) -> set[str]:
    """The columns that options name as prompt, response, score or context: no guess is left."""
    paths = [options.prompt, options.response, *options.context]
    paths += [path for path, _ in options.scores]
    return {_column(path) for path in paths if path is not None}


def has_media(row: Row) -> bool:
    """Whether a row holds images or the like in columns of their own."""
    return any(holds_something(row.get(name)) for name in MEDIA)


def holds_something(value: Any) -> bool:
    """Whether a value is content: not empty, and no mere flag."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, list):
        return any(map(holds_something, value))
    return value != {} and value is not None and not isinstance(value, bool)


def same_text(one: Any, other: Any, role: str) -> bool:
    """Whether two fields say the same, as text or as messages."""
    if one == other:
        return True
    try:
        return canonical(read_text(one, ""), role) == canonical(read_text(other, ""), role)
    except BadRecord:
        return False


def _column(path: str) -> str:
    return path.partition(".")[0].removesuffix("[]")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadField(name, value, "text")
    return value


def _words(row: Row, path: str) -> str:
    """What --context names in a row, as text."""
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
    """The words before what the user asks last."""
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


def _with_history(row: Row, path: str, prompt: Text, options: ReadOptions) -> Text:
    """Earlier turns before the one that asks; the prompt must not hold some of its own."""
    given = row[HISTORY]
    chat = as_chat(prompt, "user")
    asking = [turn for turn in chat if turn["role"] != "system"]
    if len(asking) > 1 or (turns := _turns(given)) is None:
        raise _two(row, path, [HISTORY], options)
    return [*(turn for turn in chat if turn["role"] == "system"), *turns, *asking]


def _turns(given: Any) -> list[Message] | None:
    """The turns of a history: messages, or pairs of what the user and the model said."""
    if is_messages(given):
        read = read_text(given, HISTORY)
        return None if isinstance(read, str) else read
    if not isinstance(given, list):
        return None
    turns: list[Message] = []
    for pair in given:
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_text, pair))):
            return None
        turns.append({"role": "user", "content": pair[0]})
        turns.append({"role": "assistant", "content": pair[1]})
    return turns


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _with_system(row: Row, path: str, name: str, prompt: Text, options: ReadOptions) -> Text:
    """The system message first; another one that the prompt begins with is a second reading."""
    words = _text(row[name], name)
    chat = as_chat(prompt, "user")
    if chat and chat[0]["role"] == "system":
        if chat[0]["content"] != words:
            raise _two(row, path, [name], options)
        return chat
    return [{"role": "system", "content": words}, *chat]


def _two(row: Row, path: str, names: list[str], options: ReadOptions) -> TwoReadings:
    """That the question may be more than the prompt says."""
    listed = ", ".join(f'"{name}"' for name in names)
    verb = "stands" if len(names) == 1 else "stand"
    choices = []
    paths = [_path_of_texts(name, row[name]) for name in names]
    told = [found for found in paths if found is not None]
    if len(told) == len(names):
        choices.append(("--context", _words_of_option(options.context, told)))
    choices.append(("--ignore", _words_of_option(options.ignore, names)))
    problem = f'is {listed} part of the question? It {verb} beside the prompt "{path}"'
    return TwoReadings(problem, choices)


def _words_of_option(before: Iterable[str], names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*before, *names)))


def _path_of_texts(name: str, value: Any) -> str | None:
    """The path under which --context finds text in a column, if there is one."""
    items = value if isinstance(value, list) else [value]
    if all(isinstance(item, str) for item in items):
        return name
    for key in ("text", "content", "page_content"):
        if all(isinstance(item, dict) and isinstance(item.get(key), str) for item in items):
            return f"{name}[].{key}" if isinstance(value, list) else f"{name}.{key}"
    return None
