"""NeMo Gym rollouts to candidates: one test per fact about the format."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, NotJson
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import Message, as_chat
from prefpairs.model.tool_calls import tool_call
from prefpairs.sources import companions_of
from prefpairs.sources.nemo_gym import looks_like, open_reader

USER = {"role": "user", "content": "Q"}


def _read_line(line: bytes, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "r.jsonl").read(line)


def _read(row: Any, **options: Any) -> RowOutcome:
    return _read_line(json.dumps(row).encode(), **options)


def _kept(row: Any, **options: Any) -> Candidate:
    reading = _read(row, **options)
    assert reading.lost == []
    return reading.kept[0]


def _text(text: str, **more: Any) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "output_text",
        "text": text,
        "annotations": [],
        "logprobs": None,
    }
    return {"id": "m", "type": "message", "role": "assistant", "content": [part], **more}


def _call(call_id: str, arguments: Any = "{}", name: str = "f") -> dict[str, Any]:
    given = {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
    return {**given, "id": f"fc_{call_id}", "status": "completed"}


def _result(call_id: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output, "id": None}


def _thought(*summary: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": "rs", "type": "reasoning", "summary": parts, **more}


def _rollout(output: Any, **more: Any) -> dict[str, Any]:
    params = {"input": [{"role": "user", "content": "Q", "type": "message"}]}
    return {
        "responses_create_params": params,
        "response": {"output": output},
        "reward": 1.0,
        **more,
    }


def _asked(given: Any, **params: Any) -> dict[str, Any]:
    row = _rollout([_text("A")])
    return {**row, "responses_create_params": {"input": given, **params}}


def _response(*output: Any, **options: Any) -> Any:
    return _kept(_rollout(list(output)), **options).response


def _said(content: str, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def _tool(content: str, number: int) -> Message:
    return {"role": "tool", "content": content, "tool_call_id": f"call_{number}"}


def _calls(*numbers: int) -> list[dict[str, Any]]:
    return [tool_call("f", "{}", f"call_{number}") for number in numbers]


def test_plain_rollout() -> None:
    """Prompt, response and reward are read from their fields; the origin is added later."""
    row = {
        **_rollout([_text("A")], reward=0.5),
        "_ng_task_index": 4,
        "_ng_rollout_index": 3,
        "agent_ref": {"type": "responses_api_agents", "name": "math"},
        "expected_answer": "A",
    }
    assert _kept(row) == Candidate(
        group='["math",4]',
        prompt=[USER],
        response=[_said("A")],
        score=0.5,
        index=3,
    )


@pytest.mark.parametrize("line", [b"[1]", b'"text"', b"null", b"7"])
def test_row_that_is_no_object(line: bytes) -> None:
    """JSON that is no object is a bad row."""
    with pytest.raises(BadField, match="row"):
        _read_line(line)


def test_line_that_is_no_json() -> None:
    """Text other than a placeholder is a bad row."""
    with pytest.raises(NotJson):
        _read_line(b"PLACEHOLDER ROW")


def test_lone_surrogate_is_replaced_and_counted() -> None:
    """A lone surrogate in an answer becomes U+FFFD."""
    reading = _read(_rollout([_text("cut \ud83d")]))
    assert (reading.kept[0].response, reading.noticed) == (
        [_said("cut \ufffd")],
        ["surrogate_replaced"],
    )


def test_text_parts_are_joined() -> None:
    """The parts of an assistant message are joined."""
    item = _text("a")
    item["content"].append({"type": "output_text", "text": "b"})
    assert _response(item) == [_said("ab")]


def test_refusal_is_an_answer() -> None:
    """A refusal part is the answer's text."""
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}],
    }
    assert _response(item) == [_said("No.")]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_turns_of_the_environment_stay_in_the_response(role: str) -> None:
    """Plain-text messages of a simulator stay between the assistant turns."""
    told = {"content": "Your hand: 16", "role": role, "type": "message"}
    spoken = {"role": "user" if role == "user" else "system", "content": "Your hand: 16"}
    assert _response(_text("hit"), told, _text("stand")) == [_said("hit"), spoken, _said("stand")]


def test_message_without_a_type() -> None:
    """The type of a message may be omitted."""
    assert _response({"role": "assistant", "content": "A"}) == [_said("A")]


def test_arguments_stay_the_text_of_the_model() -> None:
    """White space and key order of the model's text are kept."""
    arguments = '{"b": 1,  "a": 2}'
    response = _response(_call("x", arguments), _result("x", "42"), _text("A"))
    assert response == [
        _said("", tool_calls=[tool_call("f", arguments, "call_1")]),
        _tool("42", 1),
        _said("A"),
    ]


@pytest.mark.parametrize(
    ("arguments", "text"), [({"a": 1}, '{"a":1}'), (None, "{}"), ({}, "{}"), ("oops", "oops")]
)
def test_arguments_of_other_types_become_text(arguments: Any, text: str) -> None:
    """An object is written as JSON; broken JSON of a model is kept."""
    assert _response(_call("x", arguments)) == [
        _said("", tool_calls=[tool_call("f", text, "call_1")])
    ]


def test_call_without_a_name_is_bad() -> None:
    """A call without a name is a bad field."""
    with pytest.raises(BadField) as caught:
        _read(_rollout([{"type": "function_call", "arguments": "{}"}]))
    assert caught.value.field == "response.output.0.name"


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("plain text, no JSON", "plain text, no JSON"),
        ('{"synonym_value": 711}', '{"synonym_value": 711}'),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "ab"),
        ({"value": 711}, '{"value":711}'),
        (711, "711"),
        (None, ""),
    ],
)
def test_results_of_tools(output: Any, content: str) -> None:
    """Text stays, parts are joined, a structure becomes JSON."""
    response = _response(_call("x"), _result("x", output), _text("A"))
    assert response[1] == _tool(content, 1)


def test_reasoning_summary_becomes_reasoning_content() -> None:
    """The summary, where vLLM puts the reasoning, becomes reasoning_content."""
    assert _response(_thought("\nhm "), _text("A")) == [_said("A", reasoning_content="hm")]


def test_reasoning_content_is_read_where_the_summary_is_empty() -> None:
    """Some servers write the reasoning into content instead."""
    thought = _thought(content=[{"type": "reasoning_text", "text": "hm"}])
    assert _response(thought, _text("A")) == [_said("A", reasoning_content="hm")]


def test_summary_comes_before_content() -> None:
    """If both exist, the summary is used."""
    thought = _thought("short", content=[{"type": "reasoning_text", "text": "long"}])
    assert _response(thought, _text("A")) == [_said("A", reasoning_content="short")]


@pytest.mark.parametrize(
    "thought",
    [
        _thought(),
        _thought(" "),
        _thought(encrypted_content="gAAAA"),
        {"type": "reasoning"},
        {"type": "reasoning", "summary": None, "content": None},
    ],
)
def test_reasoning_that_cannot_be_read_is_none(thought: dict[str, Any]) -> None:
    """Encrypted or empty reasoning adds no key."""
    assert _response(thought, _text("A")) == [_said("A")]


def test_several_thoughts_are_joined_by_lines() -> None:
    """Summary parts, and several reasoning items of one turn, are one text."""
    output = [_thought("a", "b"), _thought("c"), _text("A")]
    assert _response(*output) == [_said("A", reasoning_content="a\nb\nc")]


@pytest.mark.parametrize(
    "kind",
    [
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "computer_call",
        "file_search_call",
        "web_search_call",
        "custom_tool_call",
        "something_new",
    ],
)
def test_items_without_a_form_in_a_chat(kind: str) -> None:
    """The rollout is dropped as unsupported_item."""
    assert _read(_rollout([{"type": kind}, _text("A")])).lost == ["unsupported_item"]


def test_image_of_the_assistant_has_no_form() -> None:
    """A response with an image is dropped, not cut."""
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "input_image", "image_url": "u"}],
    }
    assert _read(_rollout([item])).lost == ["unsupported_item"]


@pytest.mark.parametrize("item", ["text", None, 1, ["message"]])
def test_item_that_is_no_object(item: Any) -> None:
    """The error has the item's position."""
    with pytest.raises(BadField) as caught:
        _read(_rollout([_text("A"), item]))
    assert caught.value.field == "response.output.1"


@pytest.mark.parametrize("role", ["critic", None, ["assistant"], {}])
def test_message_of_an_unknown_role(role: Any) -> None:
    """An unknown role is a bad field, whatever its type."""
    with pytest.raises(BadField, match="role"):
        _read(_rollout([{"type": "message", "role": role, "content": "A"}]))


def test_reasoning_text_and_calls_are_one_message() -> None:
    """Items are collected up to the next turn of another role."""
    output = [_thought("hm"), _text("Let me see."), _call("x"), _result("x", "42"), _text("42")]
    assert _response(*output) == [
        _said("Let me see.", reasoning_content="hm", tool_calls=_calls(1)),
        _tool("42", 1),
        _said("42"),
    ]


def test_parallel_calls_are_one_message() -> None:
    """Consecutive calls are one message."""
    output = [_call("a"), _call("b"), _result("b", "2"), _result("a", "1"), _text("A")]
    assert _response(*output) == [
        _said("", tool_calls=_calls(1, 2)),
        _tool("2", 2),
        _tool("1", 1),
        _said("A"),
    ]


def test_several_texts_in_a_row_are_one_message() -> None:
    """Texts of one turn are concatenated."""
    assert _response(_text("a"), _thought("hm"), _text("b")) == [
        _said("ab", reasoning_content="hm")
    ]


def test_call_ids_that_repeat_are_told_apart() -> None:
    """Each call gets its own number, and its result the same."""
    output = [_call("x"), _result("x", "1"), _call("x"), _result("x", "2"), _text("A")]
    assert _response(*output) == [
        _said("", tool_calls=_calls(1)),
        _tool("1", 1),
        _said("", tool_calls=_calls(2)),
        _tool("2", 2),
        _said("A"),
    ]


def test_random_call_ids_do_not_make_answers_differ() -> None:
    """Two rollouts that differ only in call IDs are the same."""
    first = _response(_call("call_uUg"), _result("call_uUg", "1"), _text("A"))
    second = _response(_call("call_7xQ"), _result("call_7xQ", "1"), _text("A"))
    assert first == second


def test_call_numbers_go_on_from_the_prompt() -> None:
    """Calls are numbered across prompt and response."""
    given = [USER, _call("p"), _result("p", "0"), {**USER, "content": "Go on."}]
    row = {**_asked(given), "response": {"output": [_call("p"), _result("p", "1"), _text("A")]}}
    candidate = _kept(row)
    assert candidate.prompt == [
        USER,
        _said("", tool_calls=_calls(1)),
        _tool("0", 1),
        {"role": "user", "content": "Go on."},
    ]
    assert candidate.response == [_said("", tool_calls=_calls(2)), _tool("1", 2), _said("A")]


def test_one_transcript_a_step_keeps_the_last() -> None:
    """If each list repeats the previous steps, the last one is used."""
    first = [_call("x"), _result("x", "1")]
    steps = [first, [*first, _call("x"), _result("x", "2")]]
    steps.append([*steps[1], _text("A")])
    assert _response(*steps) == [
        _said("", tool_calls=_calls(1)),
        _tool("1", 1),
        _said("", tool_calls=_calls(2)),
        _tool("2", 2),
        _said("A"),
    ]


def test_one_list_a_step_is_joined() -> None:
    """If the lists continue each other, they are joined."""
    assert _response([_call("x"), _result("x", "1")], [_text("A")]) == [
        _said("", tool_calls=_calls(1)),
        _tool("1", 1),
        _said("A"),
    ]


def test_output_at_the_top_of_the_row() -> None:
    """Early documentation showed `output` without `response`."""
    row = {key: value for key, value in _rollout([]).items() if key != "response"}
    assert _kept({**row, "output": [_text("A")]}).response == [_said("A")]


def test_output_as_text() -> None:
    """Plain text is used as it is."""
    assert _kept(_rollout("A")).response == "A"


@pytest.mark.parametrize("output", [{}, 1, True])
def test_output_of_another_type(output: Any) -> None:
    """Anything else is a bad field."""
    with pytest.raises(BadField, match=r"response\.output"):
        _read(_rollout(output))


@pytest.mark.parametrize("response", [None, {}, {"output": None}, "text"])
def test_no_response(response: Any) -> None:
    """A row without an output is dropped."""
    assert _read({**_rollout([]), "response": response}).lost == ["no_response"]


@pytest.mark.parametrize(
    "output",
    [
        [],
        [[]],
        "",
        " \n",
        [_text("")],
        [_text(" \n")],
        [_thought("hm")],
        [_thought("hm"), _text("")],
        [_text("<think>I came to an end</think>")],
        [{"type": "message", "role": "user", "content": "hello?"}],
        [_result("x", "42")],
    ],
)
def test_empty_answer(output: Any) -> None:
    """A row without text or calls of the model is dropped."""
    assert _read(_rollout(output)).lost == ["empty_answer"]


@pytest.mark.parametrize("before", [[], [_thought("hm")]])
def test_unfinished_thinking(before: list[Any]) -> None:
    """--keep-rows unfinished_thinking uses the text as written."""
    row = _rollout([*before, _text("<think>I never came to an end")])
    assert _read(row).lost == ["unfinished_thinking"]
    kept = _kept(row, keep_rows=frozenset({"unfinished_thinking"})).response
    assert as_chat(kept, "assistant")[0]["content"] == "<think>I never came to an end"


@pytest.mark.parametrize(
    "end",
    [
        [_result("x", "42")],
        [_result("x", "42"), {"type": "message", "role": "user", "content": "###STOP###"}],
    ],
)
def test_trailing_turns_of_others_are_cut(end: list[Any]) -> None:
    """Turns after the model's last message are removed and counted."""
    reading = _read(_rollout([_text("Look."), _call("x"), *end]))
    assert reading.kept[0].response == [_said("Look.", tool_calls=_calls(1))]
    assert reading.noticed == ["trailing_turn_cut"]


def test_ending_with_a_call_is_no_cut() -> None:
    """A rollout may end with a call without a result."""
    reading = _read(_rollout([_text("Look."), _call("x")]))
    assert (reading.kept[0].response, reading.noticed) == (
        [_said("Look.", tool_calls=_calls(1))],
        [],
    )


def test_leading_turns_of_others_move_to_the_prompt() -> None:
    """A task at the start of the output moves to the prompt."""
    task = {"content": "Solve it.", "role": "user", "type": "message"}
    reading = _read(_rollout([task, _text("A")]))
    assert reading.kept[0].prompt == [USER, {"role": "user", "content": "Solve it."}]
    assert reading.kept[0].response == [_said("A")]
    assert reading.noticed == ["leading_turn_moved"]


def test_token_ids_of_training_variants_are_dropped() -> None:
    """They make rows huge, and are not part of a chat."""
    more = {"prompt_token_ids": [1], "generation_token_ids": [2], "generation_log_probs": [-0.1]}
    assert _response(_text("A", **more)) == [_said("A")]
    assert _response({**_call("x"), **more}) == [_said("", tool_calls=_calls(1))]


@pytest.mark.parametrize("text", ["<think>\nhm\n</think>\n\nA", "hm\n</think>\n\nA"])
def test_thinking_inside_the_text(text: str) -> None:
    """Inline thinking is split off, with and without its opening tag."""
    assert _response(_text(text)) == [_said("A", reasoning_content="hm")]


def test_reasoning_can_be_dropped() -> None:
    """--reasoning drop removes reasoning of every kind."""
    output = [_thought("hm"), _call("x"), _result("x", "1"), _text("<think>so</think>A")]
    assert _response(*output, reasoning="drop") == [
        _said("", tool_calls=_calls(1)),
        _tool("1", 1),
        _said("A"),
    ]


def test_final_part_is_the_last_text() -> None:
    """--response-part final drops calls and results, with a note."""
    output = [_call("x"), _result("x", "1"), _thought("hm"), _text("A"), _call("y")]
    reading = _read(_rollout(output), response_part="final")
    assert reading.kept[0].response == [_said("A", reasoning_content="hm")]
    assert reading.noticed == ["final_rests_on_tools"]


def test_final_part_of_calls_alone_is_empty() -> None:
    """A rollout without text has no final answer."""
    assert _read(_rollout([_call("x")]), response_part="final").lost == ["empty_answer"]


def test_input_as_text() -> None:
    """A string is one user message."""
    assert _kept(_asked("Q")).prompt == [USER]


@pytest.mark.parametrize("given", [[], None, "", "  "])
def test_input_that_is_empty(given: Any) -> None:
    """A row with an empty prompt is dropped."""
    assert _read(_asked(given)).lost == ["no_prompt"]


@pytest.mark.parametrize("params", [None, {}, "text", []])
def test_input_that_is_missing(params: Any) -> None:
    """A row of another schema has no prompt."""
    assert _read({**_rollout([_text("A")]), "responses_create_params": params}).lost == [
        "no_prompt"
    ]


@pytest.mark.parametrize("given", [[], None, ""])
def test_problem_statement_stands_in_for_an_empty_input(given: Any) -> None:
    """Coding agents get their task in the metadata."""
    assert _kept(_asked(given, metadata={"problem_statement": "Fix it."})).prompt == [
        {"role": "user", "content": "Fix it."}
    ]


def test_problem_statement_does_not_replace_an_input() -> None:
    """A non-empty input is the prompt."""
    assert _kept(_asked([USER], metadata={"problem_statement": "Fix it."})).prompt == [USER]


@pytest.mark.parametrize("metadata", [None, {}, {"problem_statement": " "}, "text", []])
def test_metadata_without_a_problem(metadata: Any) -> None:
    """Without a problem statement there is no prompt."""
    assert _read(_asked([], metadata=metadata)).lost == ["no_prompt"]


def test_roles_of_the_input() -> None:
    """The role developer becomes system; types of messages are ignored."""
    given = [
        {"role": "developer", "content": "S", "type": "message"},
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "A?"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Yes."}]},
    ]
    assert _kept(_asked(given)).prompt == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A?"},
        {"role": "user", "content": "Yes."},
    ]


def test_images_of_the_input() -> None:
    """Image parts are converted to chat completions."""
    parts = [{"type": "input_text", "text": "Q"}, {"type": "input_image", "image_url": "data:x"}]
    assert _kept(_asked([{"role": "user", "content": parts}])).prompt == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Q"},
                {"type": "image_url", "image_url": {"url": "data:x"}},
            ],
        }
    ]


def test_input_that_holds_earlier_turns() -> None:
    """Reasoning, calls and results in the input are merged like those in the output."""
    given = [USER, _thought("hm"), _call("x"), _result("x", "42"), {**USER, "content": "And?"}]
    assert _kept(_asked(given)).prompt == [
        USER,
        _said("", reasoning_content="hm", tool_calls=_calls(1)),
        _tool("42", 1),
        {"role": "user", "content": "And?"},
    ]


def test_input_with_an_item_that_has_no_form() -> None:
    """An input item that cannot be represented drops the rollout."""
    assert _read(_asked([USER, {"type": "web_search_call"}])).lost == ["unsupported_item"]


def test_input_of_another_type() -> None:
    """An object as input is rejected."""
    with pytest.raises(BadField) as caught:
        _read(_asked({"role": "user"}))
    assert caught.value.field == "responses_create_params.input"


def test_instructions_are_the_system_message() -> None:
    """The system prompt may be separate from the input."""
    assert _kept(_asked("Q", instructions="I")).prompt == [
        {"role": "system", "content": "I"},
        USER,
    ]


def test_instructions_and_leading_system_messages_are_one() -> None:
    """Instructions, system and developer messages are joined by an empty line."""
    given = [{"role": "system", "content": "S"}, {"role": "developer", "content": "D"}, USER]
    assert _kept(_asked(given, instructions="I")).prompt == [
        {"role": "system", "content": "I\n\nS\n\nD"},
        USER,
    ]


def test_leading_system_messages_are_one() -> None:
    """Leading system messages are joined, also if there are no instructions."""
    given = [{"role": "system", "content": "S"}, {"role": "developer", "content": "D"}, USER]
    assert _kept(_asked(given)).prompt == [{"role": "system", "content": "S\n\nD"}, USER]


def test_later_system_messages_stay_in_place() -> None:
    """System messages in the middle stay there."""
    given = [USER, {"role": "system", "content": "S"}, USER]
    assert _kept(_asked(given)).prompt == [USER, {"role": "system", "content": "S"}, USER]


@pytest.mark.parametrize("instructions", [None, ""])
def test_instructions_that_are_empty(instructions: Any) -> None:
    """Empty instructions make no system message."""
    assert _kept(_asked("Q", instructions=instructions)).prompt == [USER]


def test_instructions_of_another_type() -> None:
    """Instructions that are not text are bad, not an empty system message."""
    with pytest.raises(BadField, match="instructions"):
        _read(_asked("Q", instructions=["I"]))


def test_instructions_alone_are_no_prompt() -> None:
    """A system prompt alone is no prompt."""
    assert _read(_asked([], instructions="I")).lost == ["no_prompt"]


def test_tools_get_chat_form() -> None:
    """Flat tools of the Responses API lose `strict`; other keys get a fixed order."""
    flat = {
        "type": "function",
        "name": "search",
        "parameters": {"type": "object"},
        "strict": True,
        "description": "Search.",
    }
    assert _kept(_asked("Q", tools=[flat])).tools == [
        {
            "type": "function",
            "function": {
                "name": "search",
                "description": "Search.",
                "parameters": {"type": "object"},
            },
        }
    ]


def test_tools_without_description_or_parameters() -> None:
    """Null and missing keys are omitted."""
    flat = {"type": "function", "name": "now", "description": None}
    assert _kept(_asked("Q", tools=[flat])).tools == [
        {"type": "function", "function": {"name": "now"}}
    ]


@pytest.mark.parametrize(
    "tool", [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}]
)
def test_other_tools_stay(tool: dict[str, Any]) -> None:
    """Tools in chat form and server tools stay unchanged."""
    assert _kept(_asked("Q", tools=[tool])).tools == [tool]


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools(tools: Any) -> None:
    """An empty list of tools equals none."""
    assert _kept(_asked("Q", tools=tools)).tools is None


@pytest.mark.parametrize(
    ("reward", "score"), [(1, 1.0), (-12.7, -12.7), (10.9, 10.9), (True, 1.0), (0.1 + 0.2, 0.3)]
)
def test_reward(reward: Any, score: float) -> None:
    """Whole, negative and large numbers are scores, to 15 digits."""
    assert _kept(_rollout([_text("A")], reward=reward)).score == score


def test_missing_reward() -> None:
    """A null reward is missing, as in some environments."""
    row = _rollout([_text("A")])
    del row["reward"]
    assert _read(row).lost == _read(_rollout([_text("A")], reward=None)).lost == ["no_score"]


def test_missing_reward_can_count_as_zero() -> None:
    """--keep-rows no_score counts it as 0."""
    row = _rollout([_text("A")], reward=None)
    assert _kept(row, keep_rows=frozenset({"no_score"})).score == 0.0


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), float("-inf")])
def test_reward_that_is_not_finite(reward: float) -> None:
    """NaN and infinities are dropped with a reason of their own."""
    assert _read(_rollout([_text("A")], reward=reward)).lost == ["score_not_finite"]


def test_reward_as_text() -> None:
    """Text is bad unless --cast-score is given."""
    row = _rollout([_text("A")], reward="0.7")
    with pytest.raises(BadField, match="reward"):
        _read(row)
    assert _kept(row, cast_score=True).score == 0.7


def test_other_scores_by_path() -> None:
    """Components are multiplied by their weights and added."""
    row = _rollout([_text("A")], reward=2.0, reward_components={"correct": 1.0, "format": 0.5})
    scores = (("reward_components.correct", 1.0), ("reward_components.format", -0.2))
    assert _kept(row, scores=scores).score == 0.9


def test_lower_is_better() -> None:
    """The reward is negated."""
    assert _kept(_rollout([_text("A")], reward=0.25), lower_is_better=True).score == -0.25


def test_task_without_an_agent() -> None:
    """Rows of older versions name no agent."""
    assert _kept(_rollout([_text("A")], _ng_task_index=0)).group == "[null,0]"


def test_task_of_an_agent_without_a_type() -> None:
    """Only the name of an agent counts."""
    row = _rollout([_text("A")], _ng_task_index=0, agent_ref={"name": "math"})
    assert _kept(row).group == '["math",0]'


def test_tasks_of_two_agents_are_two() -> None:
    """Task 0 of one agent is not task 0 of another."""
    groups = {
        _kept(_rollout([_text("A")], _ng_task_index=0, agent_ref={"name": name})).group
        for name in ("math", "code")
    }
    assert groups == {'["math",0]', '["code",0]'}


def test_without_an_index_the_prompt_is_the_task() -> None:
    """In rows of the oldest versions, the prompt is the task; an agent alone is not."""
    row = _rollout([_text("A")], agent_ref={"name": "math"})
    assert _kept(row).group == "prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9"


def test_index_may_be_missing() -> None:
    """The order of lines is not used as an index."""
    assert _kept(_rollout([_text("A")])).index is None


@pytest.mark.parametrize("index", ["3", True, 1.5, [0]])
def test_index_of_another_type(index: Any) -> None:
    """An index must be a whole number."""
    with pytest.raises(BadField, match="_ng_rollout_index"):
        _read(_rollout([_text("A")], _ng_rollout_index=index))


@pytest.mark.parametrize(
    "mask", [{"mask_sample": True}, {"instance_config": {"mask_sample": True}}]
)
def test_masked(mask: dict[str, Any]) -> None:
    """Masked rows are dropped, also by instance_config, unless --keep-rows masked is given."""
    row = _rollout([_text("A")], **mask)
    assert _read(row).lost == ["masked"]
    assert _kept(row, keep_rows=frozenset({"masked"})).score == 1.0


@pytest.mark.parametrize(
    "mask",
    [
        {"mask_sample": False},
        {"mask_sample": None},
        {"instance_config": {"mask_sample": False}},
        {"instance_config": None},
    ],
)
def test_not_masked(mask: dict[str, Any]) -> None:
    """Only true masks a row."""
    assert _kept(_rollout([_text("A")], **mask)).score == 1.0


def test_failed() -> None:
    """A failure class drops the row, unless --keep-rows failed is given."""
    row = _rollout([_text("A")], _ng_failure_class="agent_timeout")
    assert _read(row).lost == ["failed"]
    assert _kept(row, keep_rows=frozenset({"failed"})).score == 1.0


@pytest.mark.parametrize(
    "more",
    [
        {"_ng_failure_class": ""},
        {"_ng_failure_class": None},
        {"failure_reason": "wrong answer"},
        {"agent_error_kind": "x"},
    ],
)
def test_not_failed(more: dict[str, Any]) -> None:
    """A verifier's verdict is no failure."""
    assert _kept(_rollout([_text("A")], **more)).score == 1.0


def test_incomplete_details_without_a_reason() -> None:
    """Empty details do not mark an answer as truncated."""
    row = _rollout([_text("A")])
    row["response"] = {"output": [_text("A")], "incomplete_details": {"reason": None}}
    assert _kept(row).score == 1.0


def test_incomplete() -> None:
    """A truncated answer is dropped, unless --keep-rows incomplete is given."""
    row = _rollout([])
    row["response"] = {
        "output": [_text("A")],
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    assert _read(row).lost == ["incomplete"]
    assert _kept(row, keep_rows=frozenset({"incomplete"})).score == 1.0


@pytest.mark.parametrize("status", [None, "completed"])
def test_complete(status: str | None) -> None:
    """Null incomplete_details and any status are fine."""
    row = _rollout([])
    row["response"] = {"output": [_text("A")], "incomplete_details": None, "status": status}
    assert _kept(row).score == 1.0


def test_placeholder_that_is_not_passed_over() -> None:
    """--keep-rows placeholder makes such a line a bad row."""
    with pytest.raises(NotJson):
        _read_line(b"<PLACEHOLDER ROW>\n", keep_rows=frozenset({"placeholder"}))


def test_placeholder() -> None:
    """A placeholder line is dropped as such."""
    reading = _read_line(b"<PLACEHOLDER ROW>\n")
    assert (reading.row_lost, reading.kept, reading.lost) == ("placeholder", [], [])


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (b'{"responses_create_params": {}, "reward": 1}', True),
        (b"<PLACEHOLDER ROW>", True),
        (b'{"responses_create_params": null}', False),
        (b'{"prompt": "Q"}', False),
        (b"[]", False),
        (b"{", False),
    ],
)
def test_looks_like(line: bytes, known: bool) -> None:
    """Recognized by the request, which every rollout has."""
    assert looks_like(line) is known


@pytest.mark.parametrize(
    ("path", "companion"),
    [
        ("r.jsonl", False),
        ("r_failures.jsonl", True),
        ("r_materialized_inputs.jsonl", True),
        ("r_reward_profiling.jsonl", True),
        ("r_aggregate_metrics.json", True),
        ("runs/r_failures.jsonl.gz", True),
        ("r_failures.jsonl.zst", True),
        ("failures.jsonl", False),
        ("r_failures_fixed.jsonl", False),
    ],
)
def test_is_companion(path: str, companion: bool) -> None:
    """Other files that NeMo Gym writes are recognized by their names."""
    [(tool, names, _)] = companions_of("nemo-gym")
    assert (tool, names.search(path) is not None) == ("NeMo Gym", companion)
