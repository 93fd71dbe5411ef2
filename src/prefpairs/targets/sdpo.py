"""Traces as rows for self-distillation: what the model saw, and the same with hints.

The teacher's sequence has a hint before each turn that recovers from an error; the student's has
none. Two lists of indexes say which tokens of one sequence are those of the other.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prefpairs.chat.flatten import (
    have_object_arguments,
    is_text_message,
    with_argument_objects,
    with_calls_as_text,
    with_reasoning_as_text,
)
from prefpairs.chat.model_spans import Span
from prefpairs.chat.template import TemplateFacts
from prefpairs.chat.token_ids import tokens_of
from prefpairs.dataset.row_rules import Row
from prefpairs.model.candidate import Trace
from prefpairs.model.json_codec import encode
from prefpairs.model.message import Message, says_something
from prefpairs.targets.base import CannotExport, TraceOptions, TraceTarget

_FIELD = re.compile(r"\{(\w+)\}")
_DEFAULT = "default"
_UNNAMED = "tool_error"


class _Tokens(NamedTuple):
    """A conversation as tokens: a mask of those the model wrote, and the indexes of its turns."""

    ids: list[int]
    mask: list[int]
    turns: list[range]


def row_of(trace: Trace, options: TraceOptions) -> tuple[Row, list[str]]:
    """The row of a trace, and a reason for each error that got no hint.

    Raises CannotExport if the trace itself cannot become a row.
    """
    if not all(map(is_text_message, trace.turns)):
        raise CannotExport("not_text")
    messages = [_renderable(turn, options.facts) for turn in trace.turns]
    student = _tokenized(messages, trace.tools, options)
    hinted, skipped = _hinted(trace, options.hints)
    row: Row = {
        "input_ids": student.ids,
        "response_mask": student.mask,
        "length": len(student.ids),
        "teacher_input_ids": [],
        "teacher_length": 0,
        "student_index": [],
        "teacher_index": [],
    }
    if not hinted:
        return row, skipped
    try:
        row |= _teacher_columns(messages, trace.tools, hinted, student, options)
    except CannotExport as unfit:
        skipped += [unfit.reason] * len(hinted)
    return row, skipped


def hint_of(error: Any, meta: Any, hints: Mapping[str, str]) -> str | None:
    """The hint for a kind of error, with its fields filled in; None if a field is not known.

    >>> hint_of("gone", {"name": "a", "tools": ["b", "c"]}, {"gone": "No {name}. Try {tools}."})
    'No a. Try b, c.'
    """
    hint = hints.get(error if isinstance(error, str) else _UNNAMED, hints.get(_DEFAULT))
    known = meta if isinstance(meta, dict) else {}
    if hint is None or not {*_FIELD.findall(hint)} <= known.keys():
        return None
    return _FIELD.sub(lambda found: _as_text(known[found[1]]), hint).strip() or None


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return value if isinstance(value, str) else encode(value).decode()


def _hinted(trace: Trace, hints: Mapping[str, str]) -> tuple[dict[int, str], list[str]]:
    """The hint before each turn that gets one, and the reasons why other errors get none."""
    hinted: dict[int, str] = {}
    skipped: list[str] = []
    for error, details, recovery in trace.errors:
        hint = hint_of(error, details, hints)
        if recovery is None:
            skipped.append("no_recovery")
        elif not says_something(trace.turns[recovery]):
            skipped.append("empty_recovery")
        elif hint is None:
            skipped.append("no_hint")
        else:
            hinted[recovery] = hint
    return hinted, skipped


def _teacher_columns(
    messages: list[Message],
    tools: list[Any] | None,
    hinted: Mapping[int, str],
    student: _Tokens,
    options: TraceOptions,
) -> Row:
    """The columns of the sequence with hints, and the indexes of the tokens that both share."""
    with_hints: list[Message] = []
    for place, message in enumerate(messages):
        if place in hinted:
            with_hints.append({"role": "system", "content": hinted[place]})
        with_hints.append(message)
    teacher = _tokenized(with_hints, tools, options)
    ours: list[int] = []
    theirs: list[int] = []
    spoken = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    for number, place in enumerate(spoken):
        if place in hinted:
            ours += student.turns[number]
            theirs += teacher.turns[number]
    if [student.ids[at] for at in ours] != [teacher.ids[at] for at in theirs]:
        raise CannotExport("recovery_tokens_differ")
    return {
        "teacher_input_ids": teacher.ids,
        "teacher_length": len(teacher.ids),
        "student_index": ours,
        "teacher_index": theirs,
    }


def _tokenized(messages: list[Message], tools: list[Any] | None, options: TraceOptions) -> _Tokens:
    spoken = options.chat.rendered_trace(messages, tools)
    encoded = options.encode(spoken.text)
    side = tokens_of(spoken, lambda _: encoded)
    ids = [*side.prompt, *side.ids]
    if options.max_tokens is not None and len(ids) > options.max_tokens:
        raise CannotExport("too_many_tokens")
    return _Tokens(ids, [*[0] * len(side.prompt), *side.mask], _places(encoded[1], spoken.spans))


def _places(offsets: Sequence[Span], spans: Sequence[Span]) -> list[range]:
    """The indexes of the tokens of each span."""
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    return [range(bisect_left(starts, start), bisect_right(ends, end)) for start, end in spans]


def _renderable(turn: Message, facts: TemplateFacts) -> Message:
    """A turn in the form that the template supports."""
    said = turn if facts.reasoning else with_reasoning_as_text(turn)
    calls = said.get("tool_calls")
    if calls and (facts.tool_args is None or not have_object_arguments(calls)):
        return with_calls_as_text(said)
    return with_argument_objects([said])[0] if facts.tool_args == "dict" else said


TARGET = TraceTarget(
    name="sdpo",
    rows=row_of,
    words=frozenset({"tokenizer", "template", "hints", "max_tokens"}),
)
