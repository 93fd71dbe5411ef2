"""Converts a pair to an example for a target: cut, in a form the target supports, and checked."""

from dataclasses import replace
from typing import Any

from prefpairs.chat.flatten import Flattener, with_argument_objects, with_reasoning_as_text
from prefpairs.chat.prompt_cut import Cut, cut, first_turn
from prefpairs.dataset.row_rules import Row, Rules
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
from prefpairs.targets.base import CannotExport, ChatSupport, Example, Target
from prefpairs.targets.export_options import ExportOptions

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
"""The changes that --lossy is about: what a target cannot represent as it was."""

ARGUMENT_NOTES = {
    "dict": "tool-call arguments are JSON objects, which the first template of DeepSeek-V3 rejects",
    "string": "tool-call arguments are text, which templates of Qwen 3.5, GLM 4.5, LFM2, Gemma 4 "
    "and Nemotron reject, and those of Qwen 2.5, Llama 3 and gpt-oss quote twice",
}
"""What users should know of the form of arguments if they have not chosen it."""

_CHANGES_OF_TOKENS = frozenset({"environment_in_answer"})
"""The changes that still apply if the tokens of the rollouts are written."""

_ROLE_AND_CONTENT = 2
_REASONING = "reasoning_content"
_NO_CHANGES: frozenset[str] = frozenset()
_REASONING_AS_TEXT = frozenset({"reasoning_as_text"})


def convert_pair(
    pair: Pair, target: Target, options: ExportOptions
) -> tuple[Example, frozenset[str]]:
    """The example of a pair for a target, and the reason codes of what was changed for it.

    Raises CannotExport if there is none.
    """
    if options.text:
        return _plain_text_example(pair), _NO_CHANGES
    if target.keeps(pair, options):
        example, changes = build_example(pair, target, replace(options, lossy="flatten"))
        return example, changes & _CHANGES_OF_TOKENS
    if _is_rendered(pair):
        raise CannotExport("rendered_prompt")
    if (plain := plain_example(pair, target.supports, options)) is not None:
        return plain
    return build_example(pair, target, options)


def _plain_text_example(pair: Pair) -> Example:
    """The example of a pair of plain texts, unchanged."""
    if not isinstance(pair.prompt, str):
        raise CannotExport("not_plain_text")
    return Example(pair, pair.prompt, pair.chosen, pair.rejected, None)


def _is_rendered(pair: Pair) -> bool:
    """Whether a chat template rendered the prompt: its text shows it, or the source said so."""
    return asks_by_template(pair.prompt) or bool(pair.meta and pair.meta.get(RENDERED))


def build_example(
    pair: Pair, target: Target, options: ExportOptions
) -> tuple[Example, frozenset[str]]:
    """The example of any pair: cut, flattened, and checked."""
    flattener = Flattener(target.supports, options)
    parts = _cut(pair, flattener)
    prompt, tools = parts.prompt, pair.tools
    if options.last_message:
        if len(prompt) > 1 or tools:
            flattener.changes.add("history_left_out")
        prompt, tools = prompt[-1:], None
    if tools and not flattener.supports.tools:
        prompt, tools = flattener.with_tools_as_text(prompt, tools), None
    prompt = flattener.flatten(prompt, trained=False)
    chosen = flattener.flatten(parts.chosen, trained=True)
    rejected = flattener.flatten(parts.rejected, trained=True)
    if digest_response(chosen) == digest_response(rejected):
        raise CannotExport("sides_equal")
    changes = frozenset(flattener.changes)
    if options.lossy == "drop" and changes & LOSSY:
        raise CannotExport("cannot_be_held")
    if options.tool_args == "dict":
        prompt, chosen, rejected = map(with_argument_objects, (prompt, chosen, rejected))
    return Example(pair, prompt, chosen, rejected, tools), changes


def _cut(pair: Pair, flattener: Flattener) -> Cut:
    """The conversation, cut into the prompt and as much of the answers as will be written."""
    prompt = flattener.without_answer_form(as_chat(pair.prompt, "user"))
    if prompt and prompt[-1]["role"] == "assistant":
        flattener.changes.add("answer_begun_in_prompt")
    sides = [
        renumber_calls(
            flattener.without_reasoning(_conversation(prompt, as_chat(answer, "assistant")))
        )
        for answer in (pair.chosen, pair.rejected)
    ]
    parts = cut(*sides)
    if len(parts.prompt) > len(prompt):
        flattener.changes.add("shared_turns_moved")
    if not flattener.all_turns:
        first = Cut(parts.prompt, first_turn(parts.chosen), first_turn(parts.rejected))
        if first != parts:
            flattener.changes.add("later_turns_left_out")
        parts = first
    elif any(turn["role"] != "assistant" for turn in (*parts.chosen, *parts.rejected)):
        flattener.changes.add("environment_in_answer")
    for side in (parts.chosen, parts.rejected):
        if not any(says_something(message) for message in side if message["role"] == "assistant"):
            raise CannotExport("empty_answer")
    return parts


def _conversation(prompt: list[Message], answer: list[Message]) -> list[Message]:
    """Prompt and answer; if the prompt ends with the beginning of the answer, they are joined."""
    if not (prompt and answer) or prompt[-1]["role"] != "assistant":
        return [*prompt, *answer]
    texts = [message["content"] for message in (prompt[-1], answer[0])]
    if prompt[-1].get("tool_calls") or not all(isinstance(text, str) for text in texts):
        return [*prompt, *answer]
    return [*prompt[:-1], {**prompt[-1], **answer[0], "content": "".join(texts)}, *answer[1:]]


def plain_example(
    pair: Pair, supports: ChatSupport, options: ExportOptions
) -> tuple[Example, frozenset[str]] | None:
    """The example of a pair that needs no cutting or flattening, or None.

    Most pairs are chats of roles and texts with one message an answer. Only their reasoning may
    have to be rewritten. This takes 2 us a pair, build_example 20; a property holds them equal.

    >>> texts = Pair("", "", "Q", "yes", "no", None, None, None, None, None, "", "")
    >>> plain_example(texts, ChatSupport(), ExportOptions())[0].chosen
    [{'role': 'assistant', 'content': 'yes'}]
    """
    if pair.tools or options.last_message or options.reasoning_as == "nothing":
        return None
    prompt = as_chat(pair.prompt, "user")
    chosen, rejected = as_chat(pair.chosen, "assistant"), as_chat(pair.rejected, "assistant")
    if not (_is_plain(chosen) and _is_plain(rejected) and _fits(prompt, supports, options)):
        return None
    changes = _NO_CHANGES
    reasons = _REASONING in chosen[0] or _REASONING in rejected[0]
    if reasons and not (options.reasoning_as == "field" and supports.reasoning):
        changes = _REASONING_AS_TEXT
        chosen = [with_reasoning_as_text(chosen[0])]
        rejected = [with_reasoning_as_text(rejected[0])]
    if (changes and options.lossy == "drop") or chosen == rejected:
        return None
    return Example(pair, prompt, chosen, rejected, pair.tools), changes


def _is_plain(messages: list[Message]) -> bool:
    """Whether an answer is one text of the model, with or without reasoning."""
    if len(messages) != 1:
        return False
    message = messages[0]
    content, others = message["content"], len(message) - _ROLE_AND_CONTENT
    plain = not others or (others == 1 and bool(message.get(_REASONING)))
    has_text = plain and isinstance(content, str) and bool(content) and not content.isspace()
    return has_text and bool(message["role"] == "assistant")


def _fits(prompt: list[Message], supports: ChatSupport, options: ExportOptions) -> bool:
    """Whether a target can hold a prompt as it is: texts in alternating roles."""
    following = "assistant"
    for message in reversed(prompt):
        if message["role"] == following or not _is_text(message):
            return False
        following = message["role"]
        if following == "assistant" and not supports.earlier_reasoning:
            return False  # reasoning in its text would have to be removed
        if following == "system" and not (supports.system and options.system != "merge"):
            return False
        if following == "tool":
            return False
    return bool(prompt)


def _is_text(message: Message) -> bool:
    """Whether a message is a role and a text, and nothing else."""
    return len(message) == _ROLE_AND_CONTENT and isinstance(message["content"], str)


def trainer_prompt(row: Row, rules: Rules) -> bytes:
    """The digest of a row's prompt as its trainer sees it: it must not be on two sides of a split.

    Export changes prompts: shared turns move into them, and reasoning or history may be omitted. So
    rows are compared as they are written. If nothing changed, this is the digest of the pair's
    prompt. Raises BadRecord if the prompt cannot be read.
    """
    prompt: Any = read_text(rules.read(row).get("prompt"), "prompt")
    shown = {name: row[name] for name in MEDIA if row.get(name)}
    if shown:
        prompt = f"{digest_prompt(prompt).hex()} {encode_sorted(shown).decode()}"
    return digest_prompt(prompt)


def trainer_prompt_of(pair: Pair, target: Target, options: ExportOptions) -> bytes | None:
    """The digest of the prompt that a pair is written with, or None if it cannot be written."""
    try:
        example, _ = convert_pair(pair, target, options)
        return trainer_prompt(target.rows(example, options)[0], target.rules)
    except CannotExport:
        return None
