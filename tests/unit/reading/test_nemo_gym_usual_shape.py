"""The usual shape of a rollout, and one test for each deviation."""

import json
from typing import Any

import pytest

from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_response
from prefpairs.sources.nemo_gym import open_reader

USUAL = open_reader([], ReadOptions(), "r.jsonl").fast_reader
assert USUAL
read, index_rows = USUAL.read, USUAL.index_rows

USER = {"role": "user", "content": "Q"}
TOOL = {"type": "function", "name": "add", "parameters": {}, "strict": True}


def _said(*texts: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"id": "m", "type": "message", "role": "assistant", "content": parts, **more}


def _thought(*texts: str, **more: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": "rs", "type": "reasoning", "summary": summary, **more}


def _rollout(*output: Any, **more: Any) -> dict[str, Any]:
    return {
        "responses_create_params": {"input": [USER], "temperature": 1.0},
        "response": {"id": "r", "output": list(output) or [_said("A")]},
        "reward": 1.0,
        "_ng_task_index": 3,
        "_ng_rollout_index": 0,
        "agent_ref": {"type": "agents", "name": "math"},
        **more,
    }


def _asked(*items: Any, **more: Any) -> dict[str, Any]:
    return _rollout(responses_create_params={"input": list(items), **more})


def _line(row: Any) -> bytes:
    return json.dumps(row).encode() + b"\n"


def _read(row: Any) -> Candidate | None:
    found = read(_line(row))
    return None if found is None else found.kept[0]


def test_a_row_of_the_usual_shape() -> None:
    """Reasoning and texts are joined, and the score is rounded."""
    row = _rollout(_thought("hm", " ", " ho "), _said("A", "B"), _thought(), _said("C"))
    expected = Candidate(
        group='["math",3]',
        prompt=[USER],
        response=[{"role": "assistant", "content": "ABC", "reasoning_content": "hm\nho"}],
        score=0.3,
        index=0,
    )
    line = _line({**row, "reward": 0.1 + 0.2})
    assert read(line) == RowOutcome([expected], [1])
    (scanned,) = index_rows([line])
    assert scanned
    assert scanned[3] == digest_response(expected.response)


def test_what_the_index_remembers() -> None:
    """The index has score, index and digest of each usual row, and nothing of others."""
    lines = [_line(_rollout(reward=-1)), b"\n", _line(_rollout(_said("B"), _ng_rollout_index=7))]
    first, blank, second = index_rows(lines)
    assert first
    assert second
    assert blank is None
    assert first[0] == second[0]
    assert first[1:] == (-1.0, 0, digest_response("A"), ())
    assert second[1:] == (1.0, 7, digest_response("B"), ())


@pytest.mark.parametrize(
    "other",
    [
        _asked({"role": "user", "content": "R"}),
        _rollout(_ng_task_index=4),
        _rollout(agent_ref={"name": "code"}),
        _rollout(responses_create_params={"input": [USER], "tools": [TOOL]}),
    ],
)
def test_questions_that_differ(other: Any) -> None:
    """Prompt, task, agent and tools make questions different."""
    one, two = index_rows([_line(_rollout()), _line(other)])
    assert one
    assert two
    assert one[0] != two[0]


@pytest.mark.parametrize(
    ("more", "group"),
    [
        ({"agent_ref": None}, "[null,3]"),
        ({"agent_ref": {}}, "[null,3]"),
        ({"agent_ref": {"name": ""}}, '["",3]'),
        ({"_ng_task_index": "x"}, '["math","x"]'),
        ({"_ng_task_index": ""}, '["math",""]'),
        ({"_ng_task_index": 2**70}, '["math",1180591620717411303424]'),
        ({"_ng_task_index": None}, "prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9"),
    ],
)
def test_groups(more: dict[str, Any], group: str) -> None:
    """The group is the agent and its task; without a task, the prompt."""
    candidate = _read(_rollout(**more))
    assert candidate
    assert candidate.group == group


@pytest.mark.parametrize(
    ("asked", "prompt"),
    [
        ([{"role": "developer", "content": "S"}, USER], [{"role": "system", "content": "S"}, USER]),
        ([{"role": "user", "content": [{"type": "input_text", "text": "Q"}]}], [USER]),
        ([{"type": "message", **USER}], [USER]),
        ([{"role": "system", "content": "S"}] * 2, [{"role": "system", "content": "S\n\nS"}]),
        ([USER, {"role": "system", "content": "S"}], [USER, {"role": "system", "content": "S"}]),
        ([{**USER, "name": "n"}], [{**USER, "name": "n"}]),
    ],
)
def test_prompts(asked: list[Any], prompt: Any) -> None:
    """Prompts may have any shape, since they are read once per task."""
    candidate = _read(_asked(*asked))
    assert candidate
    assert candidate.prompt == prompt


def test_prompt_as_text_with_instructions_and_tools() -> None:
    """A text prompt with instructions and tools is usual, too."""
    candidate = _read(
        _rollout(responses_create_params={"input": "Q", "instructions": "I", "tools": [TOOL]})
    )
    assert candidate
    assert candidate.prompt == [{"role": "system", "content": "I"}, USER]
    assert candidate.tools == [{"type": "function", "function": {"name": "add", "parameters": {}}}]


CALL = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"}
RESULT = {"type": "function_call_output", "call_id": "x", "output": "4"}
NUMBERED = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [NUMBERED]}
ANSWERED = {"role": "tool", "content": "4", "tool_call_id": "call_1"}
SAID = {"role": "assistant", "content": "A"}
THOUGHT = {**SAID, "reasoning_content": "hm"}


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ([_said("A"), _said()], [SAID]),
        ([_thought(content=[{"type": "reasoning_text", "text": "hm"}]), _said("A")], [THOUGHT]),
        ([_said("<think>hm</think>A")], [THOUGHT]),
        ([_said("hm</thi", "nk>A")], [THOUGHT]),
        ([_said("A"), CALL], [{**CALLED, "content": "A"}]),
        ([CALL, RESULT, _thought("hm"), _said("A")], [CALLED, ANSWERED, THOUGHT]),
        ([_said("A"), {"type": "message", **USER}, _said("A")], [SAID, USER, SAID]),
    ],
)
def test_answers(output: list[Any], response: list[Any]) -> None:
    """Calls, results, and reasoning anywhere."""
    row = _rollout(*output)
    found = read(_line(row))
    assert found
    assert json.dumps(found.kept[0].response) == json.dumps(response)  # compares key order, too
    (scanned,) = index_rows([_line(row)])
    assert scanned
    assert scanned[3] == digest_response(response)


def test_an_answer_that_ends_in_a_result() -> None:
    """The index notes that the result is cut; so does reading the row."""
    row = _line(_rollout(_said("A"), CALL, RESULT))
    (found,) = index_rows([row])
    assert found
    assert found[3:] == (digest_response([{**CALLED, "content": "A"}]), ("trailing_turn_cut",))
    read_row = read(row)
    assert read_row
    assert read_row.noticed == ["trailing_turn_cut"]


UNUSUAL: dict[str, Any] = {
    "a reward that is true": _rollout(reward=True),
    "a reward as text": _rollout(reward="0.7"),
    "no reward": _rollout(reward=None),
    "a reward beyond the largest": _rollout(reward=9e307),
    "a reward that is no number": _rollout(reward=float("nan")),
    "an index that is a float": _rollout(_ng_rollout_index=2.0),
    "an index beyond 64 bits": _rollout(_ng_rollout_index=2**63),
    "the smallest index of 64 bits": _rollout(_ng_rollout_index=-(2**63)),
    "a task that is a float": _rollout(_ng_task_index=1.0),
    "a task that is true": _rollout(_ng_task_index=True),
    "an agent as text": _rollout(agent_ref="math"),
    "a name that is no text": _rollout(agent_ref={"name": 5}),
    "a masked row": _rollout(mask_sample=True),
    "a mask in the config": _rollout(instance_config={"mask_sample": True}),
    "a mask under a dotted key": _rollout(**{"instance_config.mask_sample": True}),
    "a failed row": _rollout(_ng_failure_class="timeout"),
    "a cut answer": _rollout(response={"output": [_said("A")], "incomplete_details": {"a": "b"}}),
    "no response": _rollout(response=None),
    "output as text": _rollout(response={"output": "A"}),
    "a list of lists": _rollout([_said("A")]),
    "a message without a type": _rollout({"role": "assistant", "content": "A"}),
    "a message with thoughts": _rollout(_said("A", reasoning_content="hm")),
    "a message with calls": _rollout(_said("A", tool_calls=[{"function": {"name": "f"}}])),
    "a refusal": _rollout(_said("A", content=[{"type": "refusal", "refusal": "No."}])),
    "thoughts that are no text": _rollout(_said("A"), _thought(summary=[{"text": 5}])),
    "thoughts alone": _rollout(_thought("hm")),
    "no words": _rollout(_said(" \n\u00a0")),
    "half an emoji in a field that is not read": _rollout(x="cut \ud83d"),
    "half an emoji in the request": _asked({"role": "user", "content": "cut \ud83d"}),
    "a prompt that begins with the model": _asked({"role": "assistant", "content": "A"}, USER),
    "nothing asked": _asked({"role": "user", "content": " "}),
    "an empty input": _asked(),
    "an input that has no form": _asked(USER, {"type": "web_search_call"}),
    "instructions that are no text": _asked(USER, instructions=5),
    "tools that are none": _asked(USER, tools=[1]),
    "a request that is no object": _rollout(responses_create_params=[]),
    "NaN in a field that is not read": _rollout(x=[float("nan")]),
    "no object": [],
}


@pytest.mark.parametrize("row", UNUSUAL.values(), ids=UNUSUAL)
def test_rows_left_to_the_general_reader(row: Any) -> None:
    """The fast reader passes these rows on."""
    assert read(_line(row)) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"<PLACEHOLDER>\n",
        _line(_rollout(x="X")).replace(b"X", b"\xff"),
        _line(_rollout(x="X")).replace(b"X", b"\xed\xa0\x80"),
        _line(_rollout(x="X")).replace(b"X", b"\x01"),
        _line(_rollout(x="X")).replace(b'"X"', b"01"),
        b"\xef\xbb\xbf" + _line(_rollout()),
        _line(_rollout())[:-2],
        _line(_rollout()) + b"}",
    ],
)
def test_lines_that_are_no_json(line: bytes) -> None:
    """The fast reader passes them on; the general one reports the fault, even in unused fields."""
    assert (read(line), index_rows([line])) == (None, [None])


def test_keys_that_repeat() -> None:
    """The last value of a duplicate key counts."""
    line = _line(_rollout()).replace(b'"reward": 1.0', b'"reward": 5.0, "re\\u0077ard": 0.5')
    found = read(line)
    assert found
    assert found.kept[0].score == 0.5


@pytest.mark.parametrize(
    ("options", "suitable"),
    [
        ({}, True),
        ({"keep_rows": frozenset({"masked"})}, True),
        ({"cast_score": True}, True),
        ({"step_name": "x"}, True),
        ({"scores": (("reward", 1.0),)}, False),
        ({"lower_is_better": True}, False),
        ({"prompt": "p"}, False),
        ({"response": "r"}, False),
        ({"group_by": "prompt"}, False),
        ({"group_by": "file"}, False),
        ({"response_part": "final"}, False),
        ({"reasoning": "drop"}, False),
        ({"keep": ("reward",)}, False),
    ],
)
def test_options_that_change_rows(options: dict[str, Any], *, suitable: bool) -> None:
    """Options that change rows disable the fast reader."""
    wanted = ReadOptions(**options)
    assert is_default_reading(wanted) is suitable
    assert bool(open_reader([], wanted, "r.jsonl").fast_reader) is suitable
