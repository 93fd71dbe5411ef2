"""A prompt or an answer as lines: roles, texts, reasoning, calls and results."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from prefpairs.errors import NotJson
from prefpairs.model.json_codec import decode, encode
from prefpairs.model.message import Message, Text
from prefpairs.render.escape_and_wrap import one_line, visible_text

Kind = Literal["heading", "text", "thinking", "call", "result"]


class Line(NamedTuple):
    """One visible line, its kind, and its indentation."""

    text: str
    kind: Kind = "text"
    indent: int = 0


BODY = 2
"""Bodies are indented below their headings, so that no text of a model can pass for a heading."""


def is_plain(text: Text) -> bool:
    """Whether a text needs no role headings: plain text, or one message with text only."""
    if isinstance(text, str):
        return True
    bare = len(text) == 1 and text[0].keys() == {"role", "content"}
    return bare and isinstance(text[0]["content"], str)


def plain_lines(text: Text) -> list[Line]:
    """The lines of a plain text."""
    words = text if isinstance(text, str) else text[0]["content"]
    return _lines(words, "text")


def turn_lines(text: Text, role: str) -> list[Line]:
    r"""The lines of a chat, or of a text that is one message of a role.

    >>> call = {"id": "1", "function": {"name": "add", "arguments": '{"a": 1, "code": "x\\ny"}'}}
    >>> for line in turn_lines([{"role": "assistant", "content": "", "tool_calls": [call]}], ""):
    ...     print(" " * line.indent + line.text)
    call add
      a: 1
      code:
        x
        y
    """
    messages = [{"role": role, "content": text}] if isinstance(text, str) else text
    names: dict[str, str] = {}
    return [line for message in messages for line in _message_lines(message, names)]


def beginning(response: Text, letters: int) -> str:
    """The first words of a response without its reasoning, on one line of about this length."""
    text = ""
    for line in turn_lines(response, "assistant"):
        if len(text) > letters:
            break
        if line.kind != "thinking" and (line.kind != "heading" or line.text.startswith("call ")):
            text = f"{text} {' '.join(line.text.split())}".strip()
    return text


def _message_lines(message: Message, names: dict[str, str]) -> Iterator[Line]:
    """The lines of one message; `names` maps the ids of calls to the names of tools."""
    if thoughts := message.get("reasoning_content"):
        yield Line("thinking", "heading")
        yield from _lines(thoughts, "thinking", BODY)
    calls = message.get("tool_calls") or []
    if message["role"] == "tool":
        named = message.get("name") or names.get(message.get("tool_call_id", ""))
        yield Line(f"result of {one_line(named)}" if named else "result", "heading")
        yield from _lines(_content(message), "result", BODY)
    elif message["content"] or not (calls or thoughts):
        yield Line(message["role"], "heading")
        yield from _lines(_content(message), "text", BODY)
    for call in calls:
        function = call["function"]
        names[call["id"]] = function["name"]
        yield Line(f"call {one_line(function['name'])}", "heading")
        yield from _argument_lines(function["arguments"])


def _content(message: Message) -> str:
    """The text of a message; parts that are not text are shown by their type."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] if part["type"] == "text" else f"[{part['type']}]" for part in content
    )


def _argument_lines(arguments: str) -> Iterator[Line]:
    """Arguments, one a line; text of several lines is shown as such."""
    try:
        read = decode(arguments.encode())
    except NotJson:
        read = None
    if not isinstance(read, dict):
        yield from _lines(arguments, "call", BODY)
        return
    for name, value in read.items():
        yield from _one_argument(one_line(name), value)


def _one_argument(name: str, value: Any) -> Iterator[Line]:
    if isinstance(value, str) and "\n" in value:
        yield Line(f"{name}:", "call", BODY)
        yield from _lines(value, "call", 2 * BODY)
    else:
        yield Line(f"{name}: {visible_text(encode(value).decode())}", "call", BODY)


def _lines(text: str, kind: Kind, indent: int = 0) -> list[Line]:
    """The visible lines of a text."""
    return [Line(line, kind, indent) for line in visible_text(text).split("\n")]
