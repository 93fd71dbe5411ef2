"""Checks of a trainer's row that all formats share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadRecord
from prefpairs.model.candidate import read_text
from prefpairs.model.common_prefix import shared_length
from prefpairs.model.identity import canonical
from prefpairs.model.message import (
    Message,
    as_chat,
    asks_by_template,
    flat_text,
    says_something,
)

_KINDS = {
    str: ("text",),
    list: ("chat", "list"),
    dict: ("object",),
    bool: ("flag",),
    int: ("flag",),
}
_ANSWERS = ("chosen", "rejected", "completion", "preferred_output", "non_preferred_output")
FATAL = (Effect.NO_LOAD, Effect.CRASH, Effect.DROP)
"""After one of these effects, nothing else happens to a row."""


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """The maximum length of prompt plus answer, in characters or tokens."""

    most: int
    encode: Callable[[str], list[int]] | None = None

    def cut(self, prompt: str, answer: str) -> tuple[Any, bool]:
        """The truncated answer, and whether the prompt alone reaches the limit."""
        if self.encode is None:
            return answer[: max(self.most - len(prompt), 0)], len(prompt) >= self.most
        used = len(self.encode(prompt))
        return self.encode(answer)[: max(self.most - used, 0)], used >= self.most


class Sides(NamedTuple):
    """The prompt and the answers of a row; a single answer is in `chosen`."""

    prompt: list[Message]
    chosen: list[Message]
    rejected: list[Message] | None


def check_row(row: Row, rules: Rules, length: LengthLimit | None = None) -> list[Finding]:
    """Everything that would go wrong with a row; empty if it is trained on as intended."""
    found = [*_check_columns(row, rules), *rules.check(row)]
    if any(finding.effect in FATAL for finding in found):
        return found
    try:
        fields = rules.read(row)
        found += _new(_check_nested_chats(fields, rules), found)
        sides = _sides(fields)
    except BadRecord:
        lost = any(finding.effect is not Effect.WARNING for finding in found)
        return found if lost else [*found, Finding(Effect.CRASH, "wrong_type")]
    more = [*_check_sides(sides, rules), *_check_length(sides, length)]
    return [*found, *_new(more, found)]


def _new(more: Iterable[Finding], found: list[Finding]) -> list[Finding]:
    """The findings whose code is not among those found before."""
    known = {finding.code for finding in found}
    return [finding for finding in more if finding.code not in known]


def _check_nested_chats(fields: Row, rules: Rules) -> Iterator[Finding]:
    """Check the messages of a row that are not in columns of their own."""
    for name in ("prompt", "chosen", "rejected"):
        value = fields.get(name)
        if isinstance(value, list) and "chat" not in rules.needs.get(name, ()):
            yield from _check_chat(value, name, rules)


def repeats(prompt: Any, answer: Any) -> bool:
    """Whether an answer repeats the messages of its prompt at its beginning."""
    both = isinstance(prompt, list) and isinstance(answer, list)
    return both and bool(prompt) and answer[: len(prompt)] == prompt


def _sides(row: Row) -> Sides:
    """The prompt and the answers of a row as chats, whatever their roles are."""
    prompt = as_chat(read_text(row.get("prompt"), "prompt"), "user")
    chosen = as_chat(read_text(row.get("chosen"), "chosen"), "assistant")
    if row.get("rejected") is None:
        return Sides(prompt, chosen, None)
    rejected = as_chat(read_text(row["rejected"], "rejected"), "assistant")
    return Sides(prompt, chosen, rejected)


def _check_columns(row: Row, rules: Rules) -> Iterator[Finding]:
    """Find columns that are missing, of the wrong type, or reserved."""
    for name, kinds in rules.needs.items():
        value = row.get(name)
        if value is None:
            if name not in rules.optional:
                effect = rules.on_null if name in row else rules.on_missing
                yield Finding(effect, "missing_column", name)
        elif kinds.isdisjoint(_KINDS.get(type(value), ())):
            yield Finding(Effect.CRASH, "wrong_type", name)
        elif "chat" in kinds and isinstance(value, list):
            yield from _check_chat(value, name, rules)
    for name, effect in rules.reserved.items():
        if name in row:
            yield Finding(effect, "reserved_column", name)


def _check_chat(messages: list[Any], name: str, rules: Rules) -> Iterator[Finding]:
    if not messages and name in _ANSWERS:
        yield Finding(Effect.NOTHING, "empty_side", name)
    elif not messages:
        yield Finding(rules.on_empty_prompt, "empty_chat", name)
    for place, message in enumerate(messages):
        field = f"{name}.{place}"
        if not isinstance(message, dict):
            yield Finding(Effect.CRASH, "wrong_type", field)
        elif "role" not in message and "from" in message:
            yield Finding(Effect.CRASH, "sharegpt_keys", field)
        else:
            yield from _check_message(message, field, rules)


def _check_message(message: Message, field: str, rules: Rules) -> Iterator[Finding]:
    if message.get("role") not in rules.roles:
        yield Finding(rules.on_role, "wrong_role", f"{field}.role")
    content = message.get("content")
    if content is None and not message.get("tool_calls"):
        yield Finding(Effect.CRASH, "content_null", f"{field}.content")
    if isinstance(content, str) and asks_by_template(content):
        yield Finding(Effect.WRONG, "template_in_prompt", f"{field}.content")
    if isinstance(content, list):
        yield Finding(Effect.NOTHING, "content_parts", f"{field}.content")
    if message.get("reasoning_content"):
        yield Finding(Effect.WARNING, "reasoning_unseen", f"{field}.reasoning_content")
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        yield Finding(Effect.CRASH, "wrong_type", f"{field}.tool_calls")
    elif rules.text_arguments == "only" and not all(map(_has_text_arguments, calls)):
        yield Finding(Effect.NO_LOAD, "wrong_type", f"{field}.tool_calls")
    elif not rules.text_arguments and any(map(_has_text_arguments, calls)):
        yield Finding(Effect.WARNING, "arguments_as_text", f"{field}.tool_calls")


def _has_text_arguments(call: Any) -> bool:
    function = call.get("function", call) if isinstance(call, dict) else {}
    return isinstance(function, dict) and isinstance(function.get("arguments"), str)


def _check_sides(sides: Sides, rules: Rules) -> Iterator[Finding]:
    """Check the prompt and the answers."""
    prompt, chosen, rejected = sides
    if rejected is not None and canonical(chosen, "") == canonical(rejected, ""):
        yield Finding(Effect.NOTHING, "equal_sides")
        return
    if prompt and prompt[-1]["role"] == "assistant":
        yield Finding(Effect.WRONG, "prompt_ends_with_answer", "prompt")
    if rejected is None:
        yield from _check_answer("completion", chosen, rules)
        return
    if rules.trains == "all" and shared_length(chosen, rejected):
        yield Finding(Effect.WARNING, "shared_turns")
    yield from _check_answer("chosen", chosen, rules)
    yield from _check_answer("rejected", rejected, rules)


def _check_answer(name: str, answer: list[Message], rules: Rules) -> Iterator[Finding]:
    if not any(map(says_something, answer)):
        yield Finding(Effect.NOTHING, "empty_side", name)
    elif answer[-1]["role"] != "assistant":
        yield Finding(Effect.WRONG, "environment_last", name)
    elif rules.trains == "last" and len(answer) > 1:
        yield Finding(Effect.WRONG, "last_turn_alone", name)
    elif rules.trains == "all" and any(turn["role"] != "assistant" for turn in answer):
        yield Finding(Effect.WRONG, "environment_trained", name)


def _check_length(sides: Sides, length: LengthLimit | None) -> Iterator[Finding]:
    if length is None:
        return
    prompt = flat_text(sides.prompt)
    chosen, too_long = length.cut(prompt, flat_text(sides.chosen))
    if too_long:
        yield Finding(Effect.DROP, "prompt_too_long", "prompt")
    elif sides.rejected is not None and chosen == length.cut(prompt, flat_text(sides.rejected))[0]:
        yield Finding(Effect.NOTHING, "equal_when_cut")
