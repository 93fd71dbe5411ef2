"""Traces as rows for self-distillation: what the model saw, and the same with hints.

The teacher's sequence has a hint before each turn that recovers from an error; the student's has
none. Two lists of indexes say which tokens of one sequence are those of the other.
"""

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
from prefpairs.chat.hints import Hint
from prefpairs.chat.model_spans import Span
from prefpairs.chat.template import TemplateFacts
from prefpairs.chat.token_ids import labels_of, tokens_of
from prefpairs.dataset.row_rules import Row
from prefpairs.model.candidate import Trace
from prefpairs.model.message import Message, says_something
from prefpairs.targets.base import CannotExport, TraceForm, TraceRow, TraceTarget


class _Tokens(NamedTuple):
    """A conversation as tokens: a mask of those the model wrote, and the indexes of its turns.

    `whole` has the tokens beyond --max-tokens, too.
    """

    ids: list[int]
    mask: list[int]
    turns: list[range]
    whole: list[int]


def row_of(trace: Trace, options: TraceForm) -> TraceRow:
    """The row of a trace.

    Raises CannotExport if the trace itself cannot become a row.
    """
    if not all(map(is_text_message, trace.turns)):
        raise CannotExport("not_text")
    messages = [_renderable(turn, options.facts) for turn in trace.turns]
    student = _tokenized(messages, trace.tools, options)
    cut = len(student.whole) > len(student.ids)
    if cut and not any(student.mask):
        raise CannotExport("too_many_tokens")
    hinted, skipped = _hinted(trace, options.hint)
    row: Row = {
        "input_ids": student.ids,
        "response_mask": student.mask,
        "length": len(student.ids),
        "teacher_input_ids": [],
        "teacher_length": 0,
        "student_index": [],
        "teacher_index": [],
    }
    if options.labels:
        row["labels"] = labels_of(student.ids, student.mask)
    if hinted:
        try:
            row |= _teacher_columns(messages, trace.tools, hinted, student, options)
        except CannotExport as unfit:
            skipped += [unfit.reason] * len(hinted)
    return TraceRow(row, skipped, noticed=["tokens_cut"] if cut else [])


def _hinted(trace: Trace, hint_for: Hint) -> tuple[dict[int, str], list[str]]:
    """The hint before each turn that gets one, and the reasons why other errors get none."""
    hinted: dict[int, str] = {}
    skipped: list[str] = []
    for error, details, recovery in trace.errors:
        hint = hint_for(error, details)
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
    options: TraceForm,
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
    if [student.whole[at] for at in ours] != [teacher.whole[at] for at in theirs]:
        raise CannotExport("recovery_tokens_differ")
    both = [
        (mine, other)
        for mine, other in zip(ours, theirs, strict=True)
        if mine < len(student.ids) and other < len(teacher.ids)
    ]
    if not both:
        raise CannotExport("too_many_tokens")
    return {
        "teacher_input_ids": teacher.ids,
        "teacher_length": len(teacher.ids),
        "student_index": [mine for mine, _ in both],
        "teacher_index": [other for _, other in both],
    }


def _tokenized(messages: list[Message], tools: list[Any] | None, options: TraceForm) -> _Tokens:
    spoken = options.chat.rendered_trace(messages, tools)
    encoded = options.encode(spoken.text)
    side = tokens_of(spoken, lambda _: encoded)
    ids = [*side.prompt, *side.ids]
    most = options.max_tokens
    if most is not None and len(ids) > most and not options.truncate:
        raise CannotExport("too_many_tokens")
    mask = [*[0] * len(side.prompt), *side.mask]
    return _Tokens(ids[:most], mask[:most], _places(encoded[1], spoken.spans), ids)


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


WORDS = frozenset(
    {
        *("tokenizer", "template", "hints", "max_tokens", "truncate", "labels"),
        *("score", "hint_generator"),
    }
)
"""The options of targets that are made from traces."""

TARGET = TraceTarget(name="sdpo", row=row_of, words=WORDS)
