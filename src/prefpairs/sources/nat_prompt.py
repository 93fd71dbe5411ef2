"""The prompt of a NeMo Agent Toolkit candidate."""

from typing import Any

from prefpairs.model.json_codec import encode
from prefpairs.model.message import Message, Text, is_messages, read_messages


def prompt_of(given: Any) -> Text | None:
    """A prompt as recorded: text, a chat, or else JSON."""
    if given is None or given in ([], {}):
        return None
    if isinstance(given, str):
        return given
    if is_messages(given):
        return read_messages(given, "data.input")
    return encode(given).decode()


def without_answer(prompt: Text | None, response: Text | None, mends: list[str]) -> Text | None:
    """The prompt without the candidate's own answer at its end.

    The toolkit's tic-tac-toe example records prompts this way; they would give away the answer.
    """
    if not isinstance(prompt, list) or prompt[-1]["role"] != "assistant":
        return prompt
    if prompt[-1].get("tool_calls") or not _same_words(prompt[-1], response):
        return prompt
    mends.append("prompt_held_answer")
    return prompt[:-1]


def _same_words(turn: Message, response: Text | None) -> bool:
    said = response[-1]["content"] if isinstance(response, list) and response else response
    content = turn["content"]
    return isinstance(said, str) and isinstance(content, str) and said.strip() == content.strip()
