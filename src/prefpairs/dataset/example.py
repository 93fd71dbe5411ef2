"""A pair as an example for a target: cut, written as the target supports it, and checked again."""

from dataclasses import replace
from typing import Any

from prefpairs.chat.cut import Cut, cut, first_turn
from prefpairs.chat.flatten import Flattener, with_argument_objects, with_reasoning_as_text
from prefpairs.model.candidate import read_text
from prefpairs.model.content import MEDIA
from prefpairs.model.identity import digest_prompt, digest_response
from prefpairs.model.json_codec import encode_sorted
from prefpairs.model.message import (
    RENDERED,
    Message,
    as_chat,
    asks_by_template,
    says_something,
)
from prefpairs.model.pair import Pair
from prefpairs.model.tool_calls import renumber_calls
from prefpairs.targets.base import (
    CannotExport,
    ChatSupport,
    Example,
    ExportOptions,
    Row,
    Rules,
    Target,
)

_ROLE_AND_CONTENT = 2
_REASONING = "reasoning_content"
_NOTHING: frozenset[str] = frozenset()
_AS_TEXT = frozenset({"reasoning_as_text"})


def plain_example(
    pair: Pair, supports: ChatSupport, options: ExportOptions
) -> tuple[Example, frozenset[str]] | None:
    """The example of a pair that stays as it is; nothing where the long way has to tell.

    >>> texts = Pair("", "", "Q", "yes", "no", None, None, None, None, None, "", "")
    >>> plain_example(texts, ChatSupport(), ExportOptions())[0].chosen
    [{'role': 'assistant', 'content': 'yes'}]
    """
    if pair.tools or options.last_message or options.reasoning_as == "nothing":
        return None
    prompt = as_chat(pair.prompt, "user")
    chosen, rejected = as_chat(pair.chosen, "assistant"), as_chat(pair.rejected, "assistant")
    if not (_is_answer(chosen) and _is_answer(rejected) and _stays(prompt, supports, options)):
        return None
    noticed = _NOTHING
    thinks = _REASONING in chosen[0] or _REASONING in rejected[0]
    if thinks and not (options.reasoning_as == "field" and supports.reasoning):
        noticed = _AS_TEXT
        chosen, rejected = (
            [with_reasoning_as_text(chosen[0])],
            [with_reasoning_as_text(rejected[0])],
        )
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


def _stays(prompt: list[Message], supports: ChatSupport, options: ExportOptions) -> bool:
    """Whether the target can say a prompt as it is: texts of speakers that take turns."""
    speaker = "assistant"  # who answers next
    for message in reversed(prompt):
        if message["role"] == speaker or not _is_text(message):
            return False
        speaker = message["role"]
        if speaker == "assistant" and not supports.earlier_reasoning:
            return False  # thinking in its text would go
        if speaker == "system" and not (supports.system and options.system == "keep"):
            return False
        if speaker == "tool":
            return False
    return bool(prompt)


def _is_text(message: Message) -> bool:
    """Whether a message is a role and a text, and nothing else."""
    return len(message) == _ROLE_AND_CONTENT and isinstance(message["content"], str)


LOSSY = frozenset(
    {
        "reasoning_as_text",
        "reasoning_left_out",
        "earlier_reasoning_left_out",
        "calls_as_text",
        "results_as_text",
        "broken_arguments_as_text",
        "tools_as_text",
        "system_as_text",
        "history_left_out",
        "answer_form_left_out",
    }
)
"""What --lossy is about: what a target could not hold as it was."""


_OF_WHAT_WAS_BROUGHT = frozenset({"environment_in_answer"})
"""What is still to be told where the texts do not count."""

ARGUMENT_NOTES = {
    "dict": "arguments of calls are objects, which the first template of DeepSeek-V3 refuses",
    "string": "arguments of calls are text, which templates of Qwen 3.5, GLM 4.5, LFM2, Gemma 4 "
    "and Nemotron refuse, and those of Qwen 2.5, Llama 3 and gpt-oss quote twice",
}
"""What to know of the form of arguments where nobody has said which it should be."""


def example_of(
    pair: Pair, target: Target, options: ExportOptions
) -> tuple[Example, frozenset[str]]:
    """The example that a pair is for a target, and what was changed for it.

    Raises CannotExport with a reason where it can be none.
    """
    if options.text:
        return _of_texts(pair), frozenset()
    if target.keeps(pair, options):
        example, noticed = build_example(pair, target, replace(options, lossy="flatten"))
        return example, noticed & _OF_WHAT_WAS_BROUGHT
    if _is_rendered(pair):
        raise CannotExport("rendered_prompt")
    if (plain := plain_example(pair, target.supports, options)) is not None:
        return plain
    return build_example(pair, target, options)


def _is_rendered(pair: Pair) -> bool:
    """Whether a chat template made the prompt: its text shows it, or the source has said so."""
    return asks_by_template(pair.prompt) or bool(pair.meta and pair.meta.get(RENDERED))


def build_example(
    pair: Pair, target: Target, options: ExportOptions
) -> tuple[Example, frozenset[str]]:
    """The same by the long way: cut, said, and checked."""
    speaker = Flattener(target.supports, options)
    parts = _cut(pair, speaker)
    told, tools = parts.prompt, pair.tools
    if options.last_message:
        if len(told) > 1 or tools:
            speaker.changes.add("history_left_out")
        told, tools = told[-1:], None
    if tools and not speaker.supports.tools:
        told, tools = speaker.tell_tools(told, tools), None
    prompt = speaker.say(told, trained=False)
    chosen, rejected = (speaker.say(side, trained=True) for side in (parts.chosen, parts.rejected))
    if digest_response(chosen) == digest_response(rejected):
        raise CannotExport("sides_equal")
    noticed = frozenset(speaker.changes)
    if options.lossy == "drop" and noticed & LOSSY:
        raise CannotExport("cannot_be_held")
    if options.tool_args == "dict":
        prompt, chosen, rejected = map(with_argument_objects, (prompt, chosen, rejected))
    return Example(pair, prompt, chosen, rejected, tools), noticed


def _cut(pair: Pair, speaker: Flattener) -> Cut:
    """The conversation cut, with as much of the answers as will be written."""
    prompt = speaker.without_answer_form(as_chat(pair.prompt, "user"))
    if prompt and prompt[-1]["role"] == "assistant":
        speaker.changes.add("answer_begun_in_prompt")
    sides = [
        renumber_calls(speaker.forget(_conversation(prompt, as_chat(answer, "assistant"))))
        for answer in (pair.chosen, pair.rejected)
    ]
    parts = cut(*sides)
    if len(parts.prompt) > len(prompt):
        speaker.changes.add("shared_turns_moved")
    if not speaker.all_turns:
        first = Cut(parts.prompt, first_turn(parts.chosen), first_turn(parts.rejected))
        if first != parts:
            speaker.changes.add("later_turns_left_out")
        parts = first
    elif any(turn["role"] != "assistant" for turn in (*parts.chosen, *parts.rejected)):
        speaker.changes.add("environment_in_answer")
    for side in (parts.chosen, parts.rejected):
        if not any(says_something(message) for message in side if message["role"] == "assistant"):
            raise CannotExport("empty_answer")
    return parts


def _conversation(prompt: list[Message], answer: list[Message]) -> list[Message]:
    """Prompt and answer; an answer that the prompt begins goes on where it stops."""
    if not (prompt and answer) or prompt[-1]["role"] != "assistant":
        return [*prompt, *answer]
    texts = [message["content"] for message in (prompt[-1], answer[0])]
    if prompt[-1].get("tool_calls") or not all(isinstance(text, str) for text in texts):
        return [*prompt, *answer]
    return [*prompt[:-1], {**prompt[-1], **answer[0], "content": "".join(texts)}, *answer[1:]]


def _of_texts(pair: Pair) -> Example:
    """The example of a pair of plain texts, which stay as they are."""
    if not isinstance(pair.prompt, str):
        raise CannotExport("not_plain_text")
    return Example(pair, pair.prompt, pair.chosen, pair.rejected, None)


def trainer_prompt(row: Row, rules: Rules) -> bytes:
    """The digest of a row's prompt. Raises BadRecord where no prompt can be read."""
    prompt: Any = read_text(rules.read(row).get("prompt"), "prompt")
    shown = {name: row[name] for name in MEDIA if row.get(name)}
    if shown:
        prompt = f"{digest_prompt(prompt).hex()} {encode_sorted(shown).decode()}"
    return digest_prompt(prompt)


def trainer_prompt_of(pair: Pair, target: Target, options: ExportOptions) -> bytes | None:
    """The digest of the prompt that a pair is written with; None where it cannot be written."""
    try:
        example, _ = example_of(pair, target, options)
        return trainer_prompt(target.rows(example, options)[0], target.rules)
    except CannotExport:
        return None
