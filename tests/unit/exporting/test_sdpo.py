"""Rows for distillation with hints: one test per rule."""

from functools import partial
from typing import Any

import pytest
from target_rows import CHATML, calling, letters, model, system, told, user

from prefpairs.chat.hints import hint_of
from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.template import TemplateFacts
from prefpairs.dataset.row_rules import Row
from prefpairs.model.candidate import ToolError, Trace
from prefpairs.targets.base import CannotExport, TraceForm
from prefpairs.targets.sdpo import row_of

HINT = partial(hint_of, hints={"gone": "Not {name}!", "other": "Hm."})
TURNS = [system("S"), user("Q"), model("try a"), told("no a"), model("try b"), model("done")]
ERROR = ToolError("gone", {"name": "a"}, 4)


def _options(source: str = CHATML, **more: Any) -> TraceForm:
    facts = TemplateFacts("dict", reasoning=True, system=True)
    asked = {"encode": letters, "chat": ChatRenderer(source, {}), "facts": facts, "hint": HINT}
    return TraceForm(**{**asked, **more})


def _row(*errors: ToolError, turns: Any = None, **more: Any) -> tuple[Row, list[str]]:
    trace = Trace(turns or TURNS, None, [*errors], None, None, 0)
    made = row_of(trace, _options(**more))
    return made.row, [*made.no_hint]


def _text(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def _at(row: Row, who: str) -> str:
    ids = row["input_ids" if who == "student" else "teacher_input_ids"]
    return _text([ids[place] for place in row[f"{who}_index"]])


def test_only_the_teacher_has_the_hint() -> None:
    """The hint is before the turn with the recovery; the student has no placeholder for it."""
    row, skipped = _row(ERROR)
    hint = "<|im_start|>system\nNot a!<|im_end|>\n"
    student, teacher = _text(row["input_ids"]), _text(row["teacher_input_ids"])
    place = teacher.index(hint)
    assert student == teacher.replace(hint, "")
    assert teacher[place + len(hint) :].startswith("<|im_start|>assistant\ntry b<|im_end|>")
    assert (row["length"], row["teacher_length"]) == (len(student), len(teacher))
    assert skipped == []


def test_places_name_the_same_tokens() -> None:
    """Indexes cover the recovery and its end of turn, and nothing else."""
    row, _ = _row(ERROR)
    assert _at(row, "student") == _at(row, "teacher") == "try b<|im_end|>"
    assert row["student_index"] != row["teacher_index"]


def test_mask_of_the_trace() -> None:
    """The mask covers all assistant text."""
    row, _ = _row()
    own = [
        token for token, mine in zip(row["input_ids"], row["response_mask"], strict=True) if mine
    ]
    assert _text(own) == "try a<|im_end|>try b<|im_end|>done<|im_end|>"


def test_several_errors() -> None:
    """Each recovery is covered, in order, with its calls and reasoning."""
    mended = calling(content="so", reasoning_content="hm")
    turns = [user("Q"), model("a"), told("no"), mended, told("no"), model("b")]
    row, _ = _row(ToolError("other", None, 3), ToolError("other", None, 5), turns=turns)
    assert _at(row, "student") == _at(row, "teacher")
    assert _at(row, "student").startswith("<think>\nhm\n</think>\n\nso\n<tool_call>")
    assert _at(row, "student").endswith("</tool_call><|im_end|>b<|im_end|>")


def test_the_first_turn_may_be_a_recovery() -> None:
    """If the first turn is a recovery, the hint ends the prompt."""
    row, _ = _row(ToolError("other", None, 1), turns=[user("Q"), model("b")])
    assert "Hm.<|im_end|>\n<|im_start|>assistant\nb" in _text(row["teacher_input_ids"])
    assert _at(row, "teacher") == "b<|im_end|>"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ERROR._replace(recovery=None), "no_recovery"),
        (ERROR._replace(error="unheard of"), "no_hint"),
        (ERROR._replace(details={}), "no_hint"),
        (ERROR._replace(recovery=5), "empty_recovery"),
    ],
)
def test_errors_without_a_hint(error: ToolError, reason: str) -> None:
    """Errors without a hint are reported; the trace still gives a row."""
    row, skipped = _row(error, turns=[*TURNS[:5], model(" ")])
    assert skipped == [reason]
    assert (row["teacher_input_ids"], row["teacher_length"], row["student_index"]) == ([], 0, [])
    assert row["length"] > 0


def test_templates_that_refuse_hints() -> None:
    """The trace gives a row, and its errors are counted."""
    late = (
        "{%- for m in messages[1:] if m.role == 'system' %}{{- raise_exception('') }}{%- endfor %}"
    )
    row, skipped = _row(ERROR, source=late + CHATML)
    assert (skipped, row["teacher_input_ids"]) == (["template_refuses"], [])


def test_length() -> None:
    """A trace that is too long is dropped; if only the teacher is too long, it is omitted."""
    row, _ = _row(ERROR)
    again, skipped = _row(ERROR, max_tokens=row["length"])
    assert (again["length"], again["teacher_length"]) == (row["length"], 0)
    assert skipped == ["too_many_tokens"]
    with pytest.raises(CannotExport) as caught:
        _row(ERROR, max_tokens=row["length"] - 1)
    assert caught.value.reason == "too_many_tokens"


def test_calls_that_a_template_does_not_know() -> None:
    """Calls that a template does not support become text in both sequences."""
    facts = TemplateFacts(None, reasoning=False, system=True)
    turns = [user("Q"), calling(reasoning_content="hm"), told("no"), model("b")]
    row, _ = _row(ToolError("other", None, 3), turns=turns, facts=facts)
    call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call><|im_end|>'
    assert f"<think>\nhm\n</think>\n\n{call}" in _text(row["input_ids"])


@pytest.mark.parametrize(
    ("error", "meta", "hint"),
    [
        ("a", {"x": "1"}, "1 {y"),
        ("a", {"x": {"b": 2}}, '{"b":2} {y'),
        ("a", {"x": ["1", 2]}, "1, 2 {y"),
        ("a", {}, None),
        ("a", None, None),
        (True, None, "failed"),
        ("none", None, None),
        ("blank", None, None),
    ],
)
def test_hints(error: Any, meta: Any, hint: str | None) -> None:
    """Fields are filled in, and other braces stay."""
    assert hint_of(error, meta, {"a": "{x} {y", "tool_error": "failed", "blank": " "}) == hint
    assert hint_of("none", None, {"default": "any"}) == "any"


def test_truncated() -> None:
    """Both sequences end at the length, and their indexes still name the same tokens."""
    whole, _ = _row(ERROR)
    most = whole["teacher_index"][3]
    row, skipped = _row(ERROR, max_tokens=most, truncate=True)
    assert row["input_ids"] == whole["input_ids"][:most]
    assert row["response_mask"] == whole["response_mask"][:most]
    assert row["teacher_input_ids"] == whole["teacher_input_ids"][:most]
    assert (row["length"], row["teacher_length"]) == (most, most)
    assert _at(row, "student") == _at(row, "teacher") == "try"
    assert skipped == []
    trace = Trace(TURNS, None, [], None, None, 0)
    assert row_of(trace, _options(max_tokens=most, truncate=True)).noticed == ["tokens_cut"]
    assert row_of(trace, _options(max_tokens=9999, truncate=True)).noticed == []


def test_truncated_until_nothing_is_left() -> None:
    """A recovery beyond the length gets no hint; a trace without tokens of the model is dropped."""
    whole, _ = _row(ERROR)
    row, skipped = _row(ERROR, max_tokens=whole["student_index"][0], truncate=True)
    assert (row["teacher_index"], skipped) == ([], ["too_many_tokens"])
    with pytest.raises(CannotExport) as caught:
        _row(ERROR, max_tokens=whole["response_mask"].index(1), truncate=True)
    assert caught.value.reason == "too_many_tokens"


def test_labels() -> None:
    """Ids under the mask, -100 elsewhere."""
    row, _ = _row(labels=True)
    both = zip(row["input_ids"], row["response_mask"], strict=True)
    assert row["labels"] == [one if own else -100 for one, own in both]
