"""Columns other than the prompt that belong to the question: their names, and how they join it.

They are the same for rollouts and for pairs; docs/sources/generic.md has a table of them.
"""

from typing import Any

from prefpairs.errors import BadField
from prefpairs.model.candidate import read_text, read_tools
from prefpairs.model.message import Message, Text, as_chat, flat_text, is_messages

INPUT = "input"
PROMPTS = (
    "prompt",
    "question",
    "instruction",
    INPUT,
    "query",
    "problem",
    "input_prompt",
    "user_prompt",
)
"""The columns that may hold a prompt of plain text."""
SYSTEM = (
    "system",
    "system_prompt",
    "system_message",
    "system_msg",
    "system_instruction",
    "system_instructions",
    "sys_prompt",
)
HISTORY = (
    "history",
    "chat_history",
    "conversation_history",
    "dialogue_history",
    "dialog_history",
    "message_history",
    "previous_messages",
    "previous_turns",
    "prior_messages",
    "prior_turns",
    "past_messages",
)
TOOLS = (
    "tools",
    "functions",
    "available_tools",
    "available_functions",
    "tool_schema",
    "tool_schemas",
    "tools_schema",
    "tool_definitions",
    "tool_specs",
    "tools_json",
    "function_schemas",
    "function_definitions",
)
MEDIA = {
    **{
        f"{kind}{end}": kind
        for kind in ("image", "audio", "video")
        for end in ("", "s", "_path", "_paths", "_url", "_urls", "_file", "_files")
    },
    "img": "image",
    "imgs": "image",
}
"""Columns of images, audio and video, and their kind. Each item becomes a part of a message."""
PACKED = ("multi_modal_data", "multi_modal_inputs")
"""Columns with an object of media of several kinds."""
PASSAGES = (
    "context",
    "contexts",
    "document",
    "documents",
    "passage",
    "passages",
    "article",
    "background",
    "knowledge",
)
UNCERTAIN = (
    *PASSAGES,
    "articles",
    "additional_context",
    "extra_context",
    "ctx",
    "ctxs",
    "docs",
    "paragraph",
    "paragraphs",
    "excerpt",
    "story",
    "premise",
    "source_text",
    "source_document",
    "source_documents",
    "source_code",
    "buggy_code",
    "starter_code",
    "retrieved_context",
    "retrieved_contexts",
    "retrieved_docs",
    "retrieved_documents",
    "retrieved_passages",
    "search_results",
    "choices",
    "options",
    "answer_choices",
    "answer_options",
    "few_shot",
    "few_shots",
    "fewshot",
    "few_shot_examples",
    "fewshot_examples",
    "few_shot_prompt",
    "examples",
    "demonstrations",
    "exemplars",
    "in_context_examples",
    "icl_examples",
    "persona",
    "instructions",
    "developer_message",
    "dialogue",
    "dialog",
    "attachment",
    "attachments",
    "files",
    "input_files",
    "schema",
    "json_schema",
    "output_schema",
    "db_schema",
    "database_schema",
    "sql_schema",
    "table_schema",
    "table",
    "tables",
    *PACKED,
)
"""Columns for which there is no convention on whether and how they join a prompt."""

COLUMNS = frozenset({INPUT, *SYSTEM, *HISTORY, *TOOLS[1:], *MEDIA, *UNCERTAIN})


def holds_something(value: Any) -> bool:
    """Whether a value is content: neither empty nor a flag."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, list):
        return any(map(holds_something, value))
    return value != {} and value is not None and not isinstance(value, bool)


def asks_in(name: str, value: Any) -> bool:
    """Whether a column holds a part of the question. The `choices` of an API are answers.

    >>> asks_in("choices", ["a", "b"]), asks_in("choices", [{"message": {"content": "a"}}])
    (True, False)
    """
    items = value if name == "choices" and isinstance(value, list) else ()
    answers = any(isinstance(item, dict) and "message" in item for item in items)
    return not answers and holds_something(value)


def is_told_in(prompt: Text, value: Any) -> bool:
    """Whether a prompt already contains all texts of a column, as whole words and in order.

    >>> choices = {"label": ["A", "B"], "text": ["Paris", "Rome"]}
    >>> is_told_in("Capital of Italy? A. Paris B. Rome", choices)
    True
    >>> is_told_in("Do you know?", ["no"]), is_told_in("B or A?", ["A", "B"])
    (False, False)
    """
    return _told_until(flat_text(prompt), value, 0) is not None


def _told_until(said: str, value: Any, start: int) -> int | None:
    """Where the last text of a value ends in `said`, or None if one is missing."""
    if value is None or isinstance(value, bool):
        return start
    if isinstance(value, dict):
        ends = [_told_until(said, one, start) for one in value.values()]
        there = [end for end in ends if end is not None]
        return max(there, default=start) if len(there) == len(ends) else None
    if isinstance(value, list):
        for one in value:
            end = _told_until(said, one, start)
            if end is None:
                return None
            start = end
        return start
    words = str(value).strip()
    place = said.find(words, start)
    while place >= 0:
        end = place + len(words)
        around = said[max(0, place - 1) : place] + said[end : end + 1]
        if not any(sign.isalnum() or sign == "_" for sign in around):
            return end
        place = said.find(words, place + 1)
    return None


def with_system(prompt: Text, words: str) -> Text | None:
    """The prompt after a system message, or None if it begins with another one.

    >>> with_system("Q", "S")
    [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': 'Q'}]
    >>> with_system([{"role": "system", "content": "T"}], "S")
    """
    chat = as_chat(prompt, "user")
    if chat and chat[0]["role"] == "system":
        return chat if chat[0]["content"] == words else None
    return [{"role": "system", "content": words}, *chat]


def with_history(prompt: Text, given: Any) -> Text | None:
    """The prompt after earlier turns, or None if it is not clear how to join them.

    The prompt must not have several turns itself, and the turns must not contain its question.

    >>> with_history("Q", [["P", "A"]])[1:]
    [{'role': 'assistant', 'content': 'A'}, {'role': 'user', 'content': 'Q'}]
    >>> with_history("Q", [{"role": "user", "content": "Q"}])
    """
    chat = as_chat(prompt, "user")
    asking = [turn for turn in chat if turn["role"] != "system"]
    told = [turn for turn in chat if turn["role"] == "system"]
    turns = _turns(given)
    if turns is None or len(asking) > 1 or _is_asked_in(turns, asking):
        return None
    if told and turns[0] == told[0]:
        turns = turns[1:]
    if told and any(turn["role"] == "system" for turn in turns):
        return None
    return [*told, *turns, *asking]


def _is_asked_in(turns: list[Message], asking: list[Message]) -> bool:
    """Whether turns contain the question: they end with a user's turn, or answer this question."""
    asked = [turn for turn in turns if turn["role"] == "user"]
    return turns[-1]["role"] == "user" or (bool(asked) and asked[-1:] == asking)


def _turns(given: Any) -> list[Message] | None:
    """The turns of a history: messages, or pairs of user's and assistant's text."""
    if is_messages(given):
        read = read_text(given, "history")
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


def tools_in(value: Any) -> list[Any] | None:
    """The tool schemas in a column, or None if it has names, calls or anything else.

    >>> tools_in([{"name": "f", "parameters": {}}])
    [{'name': 'f', 'parameters': {}}]
    >>> tools_in(["f"]), tools_in([{"name": "f", "arguments": {}}])
    (None, None)
    """
    try:
        tools = read_tools(value, "") or []
    except BadField:
        return None
    inner = [tool.get("function", tool) for tool in tools]
    sure = all(isinstance(one, dict) and "name" in one and "arguments" not in one for one in inner)
    return tools if sure and tools else None
