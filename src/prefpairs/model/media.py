"""Images, audio and the like in a column next to the prompt, which become parts of a message."""

from collections.abc import Callable
from typing import Any

from prefpairs.model.message import Message, Text, as_chat

Parts = list[dict[str, Any]]


def with_media(prompt: Text, parts: Parts) -> Text:
    """The prompt with parts in its placeholders, or else before the user's last words.

    >>> image = {"type": "image", "image": "a.png"}
    >>> with_media("Who?", [image])[0]["content"]
    [{'type': 'image', 'image': 'a.png'}, {'type': 'text', 'text': 'Who?'}]
    >>> with_media([{"role": "user", "content": [{"type": "image"}]}], [image])[0]["content"]
    [{'type': 'image', 'image': 'a.png'}]
    """
    if not parts:
        return prompt
    chat = as_chat(prompt, "user")
    places = [part for turn in chat for part in _content(turn) if part.keys() == {"type"}]
    if [part["type"] for part in places] == [part["type"] for part in parts]:
        fill = iter(parts)
        return [
            _mapped(turn, lambda part: next(fill) if part.keys() == {"type"} else part)
            for turn in chat
        ]
    place = last_user(chat)
    if place is None:
        return [*chat, {"role": "user", "content": parts}]
    content = chat[place]["content"]
    said = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*chat[:place], {**chat[place], "content": [*parts, *said]}, *chat[place + 1 :]]


def last_user(messages: list[Message]) -> int | None:
    """The index of the user's last message."""
    places = [place for place, turn in enumerate(messages) if turn["role"] == "user"]
    return places[-1] if places else None


def _content(turn: Message) -> Parts:
    return turn["content"] if isinstance(turn["content"], list) else []


def _mapped(turn: Message, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Message:
    if not isinstance(turn["content"], list):
        return turn
    return {**turn, "content": [change(part) for part in turn["content"]]}
