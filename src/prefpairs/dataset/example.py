"""From a pair to an example: cut, said as the target can say it, and checked once more."""

from dataclasses import replace

from prefpairs.chat.as_text import Speaker, with_objects
from prefpairs.chat.cut import Cut, cut, first_turn
from prefpairs.dataset.plain_example import plain_example
from prefpairs.model.identity import digest_response
from prefpairs.model.message import (
    RENDERED,
    Message,
    as_chat,
    asks_by_template,
    says_something,
)
from prefpairs.model.pair import Pair
from prefpairs.model.tool_calls import renumber_calls
from prefpairs.targets.base import Example, ExportOptions, Target, Unfit

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

ARGUMENTS = {
    "dict": "arguments of calls are objects, which the first template of DeepSeek-V3 refuses",
    "string": "arguments of calls are text, which templates of Qwen 3.5, GLM 4.5, LFM2, Gemma 4 "
    "and Nemotron refuse, and those of Qwen 2.5, Llama 3 and gpt-oss quote twice",
}
"""What to know of the form of arguments where nobody has said which it should be."""


def example_of(
    pair: Pair, target: Target, options: ExportOptions
) -> tuple[Example, frozenset[str]]:
    """The example that a pair is for a target, and what was changed for it.

    Raises Unfit with a reason where it can be none.
    """
    if options.text:
        return _of_texts(pair), frozenset()
    if target.keeps(pair, options):
        example, noticed = by_steps(pair, target, replace(options, lossy="flatten"))
        return example, noticed & _OF_WHAT_WAS_BROUGHT
    if _is_rendered(pair):
        raise Unfit("rendered_prompt")
    if (plain := plain_example(pair, target.speech, options)) is not None:
        return plain
    return by_steps(pair, target, options)


def _is_rendered(pair: Pair) -> bool:
    """Whether a chat template made the prompt: its text shows it, or the source has said so."""
    return asks_by_template(pair.prompt) or bool(pair.meta and pair.meta.get(RENDERED))


def by_steps(pair: Pair, target: Target, options: ExportOptions) -> tuple[Example, frozenset[str]]:
    """The same by the long way: cut, said, and checked."""
    speaker = Speaker(target.speech, options)
    parts = _cut(pair, speaker)
    told, tools = parts.prompt, pair.tools
    if options.last_message:
        if len(told) > 1 or tools:
            speaker.noticed.add("history_left_out")
        told, tools = told[-1:], None
    if tools and not speaker.speech.tools:
        told, tools = speaker.tell_tools(told, tools), None
    prompt = speaker.say(told, trained=False)
    chosen, rejected = (speaker.say(side, trained=True) for side in (parts.chosen, parts.rejected))
    if digest_response(chosen) == digest_response(rejected):
        raise Unfit("sides_equal")
    noticed = frozenset(speaker.noticed)
    if options.lossy == "drop" and noticed & LOSSY:
        raise Unfit("cannot_be_held")
    if options.tool_args == "dict":
        prompt, chosen, rejected = map(with_objects, (prompt, chosen, rejected))
    return Example(pair, prompt, chosen, rejected, tools), noticed


def _cut(pair: Pair, speaker: Speaker) -> Cut:
    """The conversation cut, with as much of the answers as will be written."""
    prompt = speaker.without_answer_form(as_chat(pair.prompt, "user"))
    if prompt and prompt[-1]["role"] == "assistant":
        speaker.noticed.add("answer_begun_in_prompt")
    sides = [
        renumber_calls(speaker.forget(_conversation(prompt, as_chat(answer, "assistant"))))
        for answer in (pair.chosen, pair.rejected)
    ]
    parts = cut(*sides)
    if len(parts.prompt) > len(prompt):
        speaker.noticed.add("shared_turns_moved")
    if not speaker.all_turns:
        first = Cut(parts.prompt, first_turn(parts.chosen), first_turn(parts.rejected))
        if first != parts:
            speaker.noticed.add("later_turns_left_out")
        parts = first
    elif any(turn["role"] != "assistant" for turn in (*parts.chosen, *parts.rejected)):
        speaker.noticed.add("environment_in_answer")
    for side in (parts.chosen, parts.rejected):
        if not any(says_something(message) for message in side if message["role"] == "assistant"):
            raise Unfit("empty_answer")
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
        raise Unfit("not_plain_text")
    return Example(pair, pair.prompt, pair.chosen, pair.rejected, None)
