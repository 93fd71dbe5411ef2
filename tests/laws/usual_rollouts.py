"""Hypothesis strategies for rollouts of the usual shape, and for rows that are almost so."""

from typing import Any

from corrupted_rows import CALL, FUNCTION, Fitting, lines_of, nearly
from hypothesis import strategies as st
from run_in_process import Row

WORDS = ["A", "B", "a > b", "naïve ☃ 😀", "line\u2028 \x00\t", ' "quoted" \\ / ']
TEXTS = [*WORDS, "", " \n", "\u00a0\u0085", "hm</think>A", "<think>hm</think>B", "cut \ud83d here"]
NUMBERS = [0, 1, -1, 0.0, -0.0, 2.0, 1.5, 0.1 + 0.2, 1e22, 8e307, 9e307, 10**30, -(10**40)]
NUMBERS += [2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) + 1, float("nan"), float("inf")]

_PART: Fitting = {
    "type": ["text", "input_text", "refusal", "input_image", None],
    "text": [*TEXTS, None, 5],
    "refusal": ["No."],
    "image_url": ["data:x", {"url": "data:x"}, None],
    "file_id": ["file-1", None],
    "detail": ["auto", "low", None],
    "images": [["a.png"], [], None],
    "annotations": [[{"type": "url"}], None],
}
_SPOKEN: Fitting = {
    "type": ["message", "reasoning", "function_call_output", "mcp_call", None, ""],
    "role": ["system", "developer", "user", "assistant", "tool", "function", "human", None],
    "content": ["A", "", None, [], ["A"], [{"type": "text", "text": "A"}], [{"text": "A"}]],
    "reasoning": ["hm", "", None],
    "reasoning_content": ["hm", "", None],
    "tool_calls": [[CALL], [], None],
    "tool_call_id": ["c7", None],
    "name": ["add", None],
    "images": [["a.png"], [], None],
    "documents": [[{"text": "A"}], None],
    "audio": [{"id": "a1"}, None, ""],
    "refusal": ["No.", None],
    "text": ["A", ""],
    "thinking": ["hm", None, [{"thinking": "hm"}]],
    "function_call": [{"name": "add", "arguments": "{}"}, None, {}, "auto"],
    "logprobs": [[-0.1], None],
    "from": ["human"],
    "summary": [[{"text": "so"}], [{"text": 5}], [{}], ["so"], [], None, "so"],
}
_PARAMS: Fitting = {
    "input": ["Q", " ", [], None, 5, [{"role": "user", "content": " "}], [CALL], [[]]],
    "instructions": ["Be brief.", "", None, 5],
    "tools": [[FUNCTION], [{"type": "web"}], "[]", "[{}]", "no JSON", [], None, [1], {}, 0],
    "metadata": [{"problem_statement": "Fix it."}],
    "previous_response_id": ["resp_1", "", None],
    "prompt": [{"id": "pmpt_1", "variables": {"a": "b"}}, None],
    "conversation": ["conv_1", {"id": "conv_1"}, None],
    "tool_choice": ["auto", "required", {"type": "function", "name": "add"}, None],
    "text": [{"format": {"type": "text"}}, {"format": {"type": "json_object"}}, {}, None, 5],
    "response_format": [{"type": "json_object"}, {"type": "text"}, None],
    "temperature": [0.7],
}
_RESPONSE: Fitting = {
    "output": ["A", [], None, 5, [[]], [None]],
    "incomplete_details": [None, {}, {"reason": None}, {"reason": "length"}, "length", False],
}
_ROW: Fitting = {
    "reward": [None, True, "0.7", "high", *NUMBERS],
    "_ng_task_index": [None, True, False, "x", "", [0], *NUMBERS],
    "_ng_rollout_index": [None, True, "3", [0], *NUMBERS],
    "agent_ref": [None, {}, "x", [], {"name": "x"}, {"name": ""}, {"name": 5}, {"name": None}],
    "mask_sample": [None, True, False, 1, "true"],
    "instance_config": [None, {}, {"mask_sample": True}, {"mask_sample": False}, "x"],
    "instance_config.mask_sample": [None, True, False],
    "_ng_failure_class": [None, "timeout", ""],
    "responses_create_params": [None, [], {}, "Q"],
    "response": [None, [], {}, "A"],
    "output": ["A"],
    "extra": [None, {"mask_sample": True}, [1e-7], "cut \ud83d", "\u2028"],
}
AIMS: list[tuple[str, Fitting]] = [
    ("reward", _ROW),
    ("input", _PARAMS),
    ("output", _RESPONSE),
    ("type", _PART),
]
AIMS += [("summary", _SPOKEN), ("role", _SPOKEN)]
"""A key by which objects are selected, and the values to put under other keys there."""

REPEATED = [b'"reward":0.5', b'"mask_sample":true', b'"type":"reasoning"', b'"role":"user"']
REPEATED += [b'"content":[]', b'"text":"B"', b'"tools":[]', b'"input":"R"', b'"output":[]']
REPEATED += [b'"agent_ref":null', b'"_ng_task_index":7', b'"x":"\xff"', b'"x":"\\ud800 ......."']
REPEATED += [b'"x":NaN', b'"x":1e999', b'"x":"\\udc00"', b'"response":5', b'"name":"z"', b'"":0']


CALLED: Row = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"}
RESULT: Row = {"type": "function_call_output", "call_id": "x", "output": "4"}
SAID: Row = {"role": "assistant", "content": "A"}
ITEMS: list[Row] = [
    CALLED,
    {**CALLED, "call_id": "y", "arguments": '{"b": [1.50, "\\u00e9"], "a": 1E3}'},
    {**CALLED, "name": "", "call_id": "z", "arguments": "[NaN]"},
    {**CALLED, "call_id": ""},
    {**CALLED, "call_id": "call_1", "arguments": '{"a": 1, "a": -0}'},
    RESULT,
    {**RESULT, "call_id": "y"},
    {**RESULT, "call_id": None, "output": [{"type": "input_text", "text": "5"}]},
    {**RESULT, "call_id": "call_1"},
    {"type": "reasoning", "summary": [{"text": " hm "}, {"text": "ho"}]},
    SAID,
    {**SAID, "content": "\x1c<think>a</think> <think>b</think>\u2028C"},
    {"role": "user", "content": "Go on."},
]
"""Items with calls and results under repeated, missing or different IDs."""


@st.composite
def usual_rollouts(draw: st.DrawFn) -> Row:
    """Rollouts of the usual shape: one assistant turn, with or without reasoning."""
    said = [message(text) for text in draw(st.lists(st.sampled_from(WORDS), max_size=1))]
    thoughts = st.lists(st.sampled_from([*WORDS, "", " "]), max_size=2).map(_thought)
    output = [*draw(st.lists(thoughts, max_size=2)), *said, message(draw(st.sampled_from(WORDS)))]
    asked: Any = draw(
        st.sampled_from([["user"], ["system", "user"], ["user", "assistant", "user"]])
    )
    parts = [{"type": "input_text", "text": "Q"}, {"type": "text", "text": "?"}]
    content = st.sampled_from(["Q", "R", parts])
    row: Row = {
        "responses_create_params": {
            "input": [{"role": r, "content": draw(content)} for r in asked]
        },
        "response": {"id": "r", "output": output, "incomplete_details": None},
        "reward": draw(st.sampled_from([0, 1, 1.0, 0.1 + 0.2, -0.0, 8e307, 10**30])),
        "_ng_task_index": draw(st.sampled_from([None, 0, "x", "", 10**30])),
        "_ng_rollout_index": draw(st.sampled_from([None, 0, 3, 2**63 - 1, -(2**63) + 1])),
        "agent_ref": draw(st.sampled_from([None, {}, {"name": "x"}, {"name": None, "type": "a"}])),
        "mask_sample": draw(st.sampled_from([None, False])),
    }
    missing = draw(st.sets(st.sampled_from([key for key in row if row[key] is None] or [""])))
    return {key: row[key] for key in row if key not in missing}


def message(text: str) -> Row:
    """The item of a message."""
    part: Row = {"type": "output_text", "text": text, "annotations": [], "logprobs": None}
    return {"id": "m", "type": "message", "role": "assistant", "content": [part]}


def _thought(texts: list[str]) -> Row:
    parts = [{"type": "summary_text", "text": text} for text in texts]
    return {"id": "rs", "type": "reasoning", "summary": parts, "encrypted_content": None}


def plain_lines() -> st.SearchStrategy[bytes]:
    """Such rollouts as lines, some with values removed, added or changed, some not JSON."""
    return lines_of(nearly(usual_rollouts(), AIMS), REPEATED)
