"""Traces of agents to candidates and ready-made pairs: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.pair import Pair
from prefpairs.sources.detect import source_of
from prefpairs.sources.traces import looks_like, open_reader

Row = dict[str, Any]
ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
WRONG = {"role": "assistant", "content": "try a"}
FAILED = {"role": "tool", "content": "no a"}
MENDED = {"role": "assistant", "content": "try b"}
DONE = {"role": "assistant", "content": "done"}


def _trace(*turns: Row, **more: Any) -> Row:
    return {"trace_id": "t", "final_reward": 1.0, "turns": [*ASKED, *turns], **more}


def _read(row: Any, **options: Any) -> RowOutcome:
    reader = open_reader([], ReadOptions(**options), "traces.jsonl")
    return reader.read(json.dumps(row).encode())


def _embedded(**pair: Any) -> RowOutcome:
    given = {"state_messages": ASKED, "chosen": "yes", "rejected": "no", **pair}
    return _read(_trace(DONE, dpo_pairs=[given]))


def _only(reading: RowOutcome) -> Pair:
    assert reading.pairs_lost == []
    (pair,) = reading.pairs
    return pair


def test_a_trace_is_a_candidate() -> None:
    """The first turns are the prompt; everything after is the response."""
    reading = _read(_trace(WRONG, FAILED, DONE, final_reward=0.5))
    (candidate,) = reading.kept
    assert (candidate.prompt, candidate.response) == (ASKED, [WRONG, FAILED, DONE])
    assert (candidate.score, candidate.index, candidate.meta) == (0.5, None, {"trace_id": "t"})
    assert candidate.group.startswith("prompt:")
    assert reading.pairs == []


def test_a_task_id_groups() -> None:
    """A task ID is the group of the trace and its pairs."""
    row = _trace(WRONG, {**MENDED, "tool_error": "x"}, task_id=7)
    reading = _read(row)
    assert (reading.kept[0].group, _only(reading).group) == ("[7]", "[7]")


def test_pairs_without_a_task_id_are_in_the_group_of_their_trace() -> None:
    """Without a task ID, all pairs of a trace are in its group."""
    reading = _read(_trace(WRONG, FAILED, {**MENDED, "tool_error": "x"}, FAILED, DONE))
    assert _only(reading).group == reading.kept[0].group


def test_a_trace_without_reward_is_no_candidate() -> None:
    """A trace without a reward is no candidate, but its pairs are used."""
    reading = _read(_trace(WRONG, {**MENDED, "tool_error": "x"}, final_reward=None))
    assert (reading.kept, reading.lost, len(reading.pairs)) == ([], ["no_score"], 1)


def test_embedded_pair() -> None:
    """State, chosen and rejected are unchanged; there are no scores."""
    pair = _only(_embedded())
    assert (pair.prompt, pair.chosen[0], pair.rejected[0]) == (
        ASKED,
        {"role": "assistant", "content": "yes"},
        {"role": "assistant", "content": "no"},
    )
    assert (pair.chosen_score, pair.rejected_score, pair.gap) == (None, None, None)
    assert pair.meta == {"trace_id": "t", "dpo_pair": 1}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"rejected": "yes"}, "sides_equal"),
        ({"chosen": " "}, "empty_answer"),
        ({"rejected": None}, "no_response"),
        ({"state_messages": []}, "no_prompt"),
        (
            {"chosen": [FAILED, DONE], "rejected": [{**FAILED, "content": "other"}, DONE]},
            "environment_differs",
        ),
    ],
)
def test_unfit_pairs_are_lost(changed: Row, reason: str) -> None:
    """Pairs that cannot be trained on are dropped."""
    reading = _embedded(**changed)
    assert (reading.pairs, reading.pairs_lost) == ([], [reason])


def test_mark_on_the_recovery() -> None:
    """An assistant turn marked with an error is the recovery of the previous assistant turn."""
    pair = _only(_read(_trace(WRONG, FAILED, {**MENDED, "tool_error": "not_found"}, FAILED, DONE)))
    assert (pair.prompt, pair.chosen, pair.rejected) == (ASKED, [MENDED], [WRONG])
    assert pair.meta == {"trace_id": "t", "recovery_turn": 5, "tool_error": "not_found"}


def test_mark_on_the_result() -> None:
    """If a tool result is marked, the next assistant turn is the recovery."""
    pair = _only(_read(_trace(WRONG, {**FAILED, "tool_error": True}, FAILED, MENDED, DONE)))
    assert (pair.prompt, pair.chosen, pair.rejected) == (ASKED, [MENDED], [WRONG])
    assert pair.meta == {"trace_id": "t", "recovery_turn": 6, "tool_error": True}


def test_both_marks_are_one_recovery() -> None:
    """Marks on both the result and the recovery give one pair."""
    error = {"tool_error": "x"}
    assert _only(_read(_trace(WRONG, {**FAILED, **error}, {**MENDED, **error})))


def test_errors_without_a_recovery() -> None:
    """An error without an assistant turn before and after it gives no pair."""
    assert _read(_trace({**MENDED, "tool_error": "x"}, DONE)).pairs_lost == ["no_recovery"]
    assert _read(_trace(WRONG, {**FAILED, "tool_error": "x"})).pairs_lost == ["no_recovery"]
    assert _read(_trace(WRONG, {**FAILED, "tool_error": False}, DONE)).pairs_lost == []


def test_the_recovery_of_a_recovery() -> None:
    """A second failure is not in either side's prompt, only in that of a later turn."""
    mended = {**MENDED, "tool_error": "x"}
    again = {**DONE, "tool_error": "x"}
    first, second = _read(_trace(WRONG, FAILED, mended, FAILED, again)).pairs
    assert (first.prompt, second.prompt) == (ASKED, [*ASKED, WRONG, FAILED])
    assert (second.chosen, second.rejected) == ([DONE], [MENDED])


def test_a_recovery_that_is_embedded_is_written_once() -> None:
    """The embedded pair is used; it has only texts, so a call in the trace does not matter."""
    call = {"name": "a", "arguments": {"path": "x"}}
    embedded = {"state_messages": ASKED, "chosen": "try b", "rejected": "try a"}
    row = _trace(
        {**WRONG, "tool_call": call},
        FAILED,
        {**MENDED, "tool_error": "x"},
        dpo_pairs=[embedded],
    )
    reading = _read(row)
    assert [pair.meta for pair in reading.pairs] == [{"trace_id": "t", "dpo_pair": 1}]
    assert reading.pairs_lost == ["ready_twice"]


def test_a_call_is_part_of_its_turn() -> None:
    """tool_call is converted to chat completions, answered by the tool turn after it."""
    call = {"name": "read", "arguments": {"path": "x"}}
    (candidate,) = _read(_trace({**WRONG, "content": None, "tool_call": call}, FAILED, DONE)).kept
    function = {"name": "read", "arguments": '{"path":"x"}'}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    assert candidate.response == [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {**FAILED, "tool_call_id": "call_1"},
        DONE,
    ]


@pytest.mark.parametrize(
    ("chosen", "mends"),
    [
        ("Let me look.", ["format_differs"]),
        ('```json\n{"type": "text"}\n```', []),
        ("[see below]", ["format_differs"]),
    ],
)
def test_sides_that_differ_in_form(chosen: str, mends: list[str]) -> None:
    """JSON blocks against prose get a note, since they teach a format."""
    reading = _embedded(chosen=chosen, rejected='[{"type": "tool_use", "name": "read"}]')
    assert (len(reading.pairs), reading.noticed) == (1, mends)


def test_a_call_against_prose_differs_in_form() -> None:
    """A structured call against prose gets the same note."""
    call = {"name": "a", "arguments": {}}
    row = _trace({**WRONG, "tool_call": call}, FAILED, {**MENDED, "tool_error": "x"})
    assert _read(row).noticed == ["format_differs"]


def test_thinking_is_kept_or_dropped() -> None:
    """Reasoning is kept or dropped, as in candidates."""
    said = "<think>hm</think>yes"
    given = {"state_messages": ASKED, "chosen": said, "rejected": "no"}
    row = _trace(DONE, dpo_pairs=[given])
    assert _only(_read(row)).chosen[0] == {
        "role": "assistant",
        "content": "yes",
        "reasoning_content": "hm",
    }
    assert _only(_read(row, reasoning="drop")).chosen[0] == {"role": "assistant", "content": "yes"}


def test_names_of_any_kind() -> None:
    """Text and numbers stay; other values are written as JSON, and NaN is null."""
    for given, told in ((7, 7), ({"a": [1]}, '{"a":[1]}'), (float("nan"), None)):
        (candidate,) = _read(_trace(DONE, trace_id=given)).kept
        assert candidate.meta == {"trace_id": told}
    pair = _only(_read(_trace(WRONG, {**MENDED, "tool_error": {"kind": 1}})))
    assert (pair.meta or {})["tool_error"] == '{"kind":1}'


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"trace_id": "t", "turns": "x"}, "turns"),
        (_trace(DONE, dpo_pairs={}), "dpo_pairs"),
        (_trace(DONE, dpo_pairs=["x"]), "dpo_pairs.0"),
        (_trace(DONE, dpo_pairs=[{"state_messages": 1}]), "dpo_pairs.0.state_messages"),
        ({"trace_id": "t", "turns": ["x"]}, "turns.0"),
        (_trace({"role": "robot", "content": "x"}), "turns.2.role"),
    ],
)
def test_fields_of_the_wrong_type(row: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(row)
    assert caught.value.field == field


def test_looks_like() -> None:
    """Turns alone do not make a trace; another of its fields is required."""
    assert source_of(json.dumps(_trace(DONE)).encode()) == "traces"
    assert looks_like(b'{"turns": [{"role": "tool", "content": "x", "tool_error": "y"}]}')
    assert not looks_like(b'{"turns": [{"role": "user", "content": "x"}]}')
    assert not looks_like(b'{"trace_id": "t"}')


@pytest.mark.parametrize(("chosen", "rejected"), [("call", "call"), ("", "")])
def test_a_recovery_of_which_the_embedded_pair_is_unfit(chosen: str, rejected: str) -> None:
    """If the embedded pair is dropped, the recovery is written."""
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("cat", "read")]
    wrong, mended = ({"role": "assistant", "content": chosen, "tool_calls": [one]} for one in calls)
    pair = {"state_messages": ASKED, "chosen": chosen, "rejected": rejected}
    failed = {**FAILED, "tool_error": "x"}
    reading = _read(_trace(wrong, failed, mended, dpo_pairs=[pair]))
    assert len(reading.pairs) == 1
    assert reading.pairs_lost in (["sides_equal"], ["empty_answer"])


@pytest.mark.parametrize(
    "column",
    [*("context", "documents", "images", "system_prompt", "history"), "background", "attachment"],
)
def test_other_columns_are_part_of_the_question(column: str) -> None:
    """Other columns are part of the question, also for embedded pairs and recoveries."""
    mended = {**MENDED, "tool_error": "x"}
    embedded = {"state_messages": ASKED, "chosen": "try b", "rejected": "try a"}
    row = _trace(WRONG, FAILED, mended, DONE, dpo_pairs=[{**embedded, "chosen": "try c"}])
    one, other = (_read({**row, column: value}) for value in ("One.", "Two."))
    prompts = [
        [*(kept.prompt for kept in each.kept), *(pair.prompt for pair in each.pairs)]
        for each in (one, other)
    ]
    assert len(prompts[0]) == 3
    assert all(mine != theirs for mine, theirs in zip(*prompts, strict=True))
    none = _read({**row, column: None})
    assert none == _read(row)


def test_a_system_prompt_column_is_a_system_message() -> None:
    """A system_prompt becomes one system message, even if the turns begin with it."""
    given = {"role": "system", "content": "Be brief."}
    asked = {"role": "user", "content": "Q"}
    row = {**_trace(), "turns": [asked, DONE]}
    (apart,) = _read({**row, "system_prompt": "Be brief."}).kept
    assert apart.prompt == [given, asked]
    row["turns"] = [given, *row["turns"]]
    assert _read({**row, "system": "Be brief."}).kept[0].prompt == apart.prompt


@pytest.mark.parametrize("empty", [None, False, "", " \n", [], {}])
def test_an_empty_error_is_none(empty: Any) -> None:
    """Some writers have an empty error field on every turn."""
    reading = _read(_trace(WRONG, {**FAILED, "tool_error": empty}, MENDED, DONE))
    assert (reading.pairs, reading.pairs_lost) == ([], [])
