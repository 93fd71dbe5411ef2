"""The short way from a pair to an example, for pairs that every step would leave as they are.

Most pairs are chats of roles and texts with one message an answer. Nothing in them is shared but
the prompt, and nothing has to be said otherwise but the thinking. To find that out by cutting
and saying them takes 20 us a pair; here it takes 2 us. A property holds both ways equal.
"""

from prefpairs.chat.as_text import with_thoughts
from prefpairs.model.message import Message, as_chat
from prefpairs.model.pair import Pair
from prefpairs.targets.base import Example, ExportOptions, Speech

_ROLE_AND_CONTENT = 2
_REASONING = "reasoning_content"
_NOTHING: frozenset[str] = frozenset()
_AS_TEXT = frozenset({"reasoning_as_text"})


def plain_example(
    pair: Pair, speech: Speech, options: ExportOptions
) -> tuple[Example, frozenset[str]] | None:
    """The example of a pair that stays as it is; nothing where the long way has to tell.

    >>> texts = Pair("", "", "Q", "yes", "no", None, None, None, None, None, "", "")
    >>> plain_example(texts, Speech(), ExportOptions())[0].chosen
    [{'role': 'assistant', 'content': 'yes'}]
    """
    if pair.tools or options.last_message or options.reasoning_as == "nothing":
        return None
    prompt = as_chat(pair.prompt, "user")
    chosen, rejected = as_chat(pair.chosen, "assistant"), as_chat(pair.rejected, "assistant")
    if not (_is_answer(chosen) and _is_answer(rejected) and _stays(prompt, speech, options)):
        return None
    noticed = _NOTHING
    thinks = _REASONING in chosen[0] or _REASONING in rejected[0]
    if thinks and not (options.reasoning_as == "field" and speech.reasoning):
        noticed = _AS_TEXT
        chosen, rejected = [with_thoughts(chosen[0])], [with_thoughts(rejected[0])]
    if (noticed and options.lossy == "drop") or chosen == rejected:
        return None
    return Example(pair, prompt, chosen, rejected, pair.tools), noticed


def _is_answer(messages: list[Message]) -> bool:
    """Whether an answer is one text of the model, with or without its thinking."""
    if len(messages) != 1:
        return False
    message = messages[0]
    content, others = message["content"], len(message) - _ROLE_AND_CONTENT
    plain = not others or (others == 1 and bool(message.get(_REASONING)))
    said = plain and isinstance(content, str) and bool(content) and not content.isspace()
    return said and bool(message["role"] == "assistant")


def _stays(prompt: list[Message], speech: Speech, options: ExportOptions) -> bool:
    """Whether the target can say a prompt as it is: texts of speakers that take turns."""
    speaker = "assistant"  # who answers next
    for message in reversed(prompt):
        if message["role"] == speaker or not _is_text(message):
            return False
        speaker = message["role"]
        if speaker == "assistant" and not speech.earlier_reasoning:
            return False  # thinking in its text would go
        if speaker == "system" and not (speech.system and options.system == "keep"):
            return False
        if speaker == "tool":
            return False
    return bool(prompt)


def _is_text(message: Message) -> bool:
    """Whether a message is a role and a text, and nothing else."""
    return len(message) == _ROLE_AND_CONTENT and isinstance(message["content"], str)
