"""Hypothesis strategies for rows with several answers, of the usual shapes or almost."""

from typing import Any

from corrupted_rows import CALL, FUNCTION, Aims, Fitting, lines_of, nearly
from hypothesis import strategies as st
from run_in_process import Row
from usual_rollouts import NUMBERS, TEXTS, WORDS

PROMPTS: list[Any] = [*WORDS, [{"role": "user", "content": "Q"}]]
PROMPTS += [[{"role": "developer", "content": "S"}, {"role": "user", "content": "naïve ☃"}]]
SCORES: list[Any] = [0, 1, 1.0, 0.1 + 0.2, -0.0, 8e307, 10**30, 2**53 + 1]
_ANSWERS: list[Any] = [["A", "B"], ["A"], [], ["A", None], ["A", ""], ["hm</think>A", "B"], "A"]
_ANSWERS += [[["A"], "B"], [{"role": "assistant", "content": "A"}] * 2, [{"text": "A"}], None, 5]
_NUMBERS: list[Any] = [[0.5, 1], [0.5], [], [0.5, None], [True, False], ["0.5", 1], 0.5, None]
_MARKS: list[Any] = [["stop", "stop"], ["stop", "length"], ["stop"], [], [None, ""], None, "length"]
_MARKS += [["stop", ["stop"]], [5, False], True, {"r": "length"}, "new_limit"]
_ERRORS: list[Any] = [
    ["", ""],
    ["", "boom"],
    [""],
    [],
    [None, False],
    [0.5, True],
    "boom",
    [[], []],
]
_ERRORS += [[{}, {}], {}, "none"]
_THOUGHTS: list[Any] = [["", ""], ["hm", ""], [None, []], [[], ["hm"]], ["hm"], [], "hm", "", None]
_CALLS: list[Any] = [[[CALL], []], [[], []], [None, None], [CALL, CALL], [CALL], "", None]
_BESIDE: Fitting = {
    "tools": [None, [], "[]", [FUNCTION], 0, ""],
    "prompt": ["", None, "P", "Q", [{"role": "user", "content": "Q"}]],
    "question": ["", None, "P"],
    "messages": [[], "x", [{"role": "user", "content": "Q"}]],
    "response": ["", None, "A", ["A", "B"], {"object": "response", "output": []}],
    "answer": ["", None, "4", ["A", "B"]],
    "score": [0.5, None, [0.5, 1], "high"],
    "correct": [True, None, [True, False]],
    "system": ["", None, "S"],
    "context": ["", None, "C"],
    "history": [[], [["a", "b"]]],
    "choices": [[], None, ["a", "b"]],
    "images": [[], ["a.png"]],
    "turn": [0, 1, None],
    "ground_truth": ["G", "", None, ["G"], {"a": 1}],
    "finish_reason": _MARKS,
    "finish_reasons": _MARKS,
    "stop_reasons": _MARKS,
    "status": ["done", "incomplete", None],
    "truncated": [[True, False], [False, False], False],
    "errors": _ERRORS,
    "error": _ERRORS,
    "reasoning": _THOUGHTS,
    "reasonings": _THOUGHTS,
    "thoughts": _THOUGHTS,
    "tool_calls": _CALLS,
    "tool_callss": _CALLS,
    "content": [[[]], [[{"role": "user", "content": "Q"}]], "C", None],
    "idx": [7, [7]],
    "input_lengths": [[7]],
    "instruction": ["I", "", None],
    "origin": ["f:1"],
    "turns": [3],
    "chosen": ["A"],
    "rejected": ["B"],
    "custom_id": ["c"],
    "object": ["response", "text_completion", None],
    "step": [1, None],
    "completion": ["A", ""],
    "advantage": [0.5],
    "extra": [None, [1e-7], "cut \ud83d", "\u2028", {"question": "R"}],
}
_LISTS: Fitting = {
    "responses": _ANSWERS,
    "responses.0": ["C", None],
    "responses[]": [["C", "D"]],
    "rewards": _NUMBERS,
    "rewards.1": [7, None],
    "raw_response": ["A", ""],
    **_BESIDE,
}
_OBJECTS: Fitting = {
    "samples": [
        [],
        [{"text": "A", "score": 1}],
        [{"text": "A"}, {"score": 1}],
        [5],
        ["A", "B"],
        None,
    ],
    "samples[].text": [["C", "D"], None],
    "samples.0.text": ["C"],
    "samples.1.score": [7, None],
    "responses": [[], None, ["A", "B"]],
    "rewards": [None, [0.5, 1]],
    **_BESIDE,
}
_ITEM: Fitting = {
    "text": [*TEXTS, None, 5, [], ["A"], [{"role": "assistant", "content": "A"}]],
    "score": [None, True, "0.7", [0.5], *NUMBERS],
    "role": ["assistant", "user", None],
    "from": ["gpt", "x"],
    "content": ["A", "B", "", None],
    "answer": ["A", "4", None, ""],
    "reward": [0.25, None, "high"],
    "correct": [True, None, 0.5],
    "prompt": ["Q", "P", "", None],
    "question": ["P", None],
    "tools": [[FUNCTION], [], None],
    "context": ["C", ""],
    "finish_reason": ["stop", "length", None, 5, ["stop"], ["stop", "length"]],
    "error": ["", "boom", None, {}, [""], ["", ""]],
    "reasoning_content": ["hm", "", None],
    "tool_calls": [[CALL], [], None],
    "annotations": [{}],
    "model": ["m", None, {"object": "response"}],
    "extra": ["cut \ud83d", [1e-7]],
}
AIMS: Aims = [("responses", _LISTS), ("samples", _OBJECTS), ("text", _ITEM), ("text", _ITEM)]
REPEATED = [b'"prompt":"R"', b'"responses":["B","C"]', b'"rewards":[1,0]', b'"text":"B"']
REPEATED += [b'"score":0.5', b'"samples":[]', b'"tools":[{}]', b'"x":"\xff"', b'"x":NaN', b'"":0']
REPEATED += [b'"x":"\\ud800 ......."', b'"x":1e999', b'"errors":["a"]', b'"error":"a"']


@st.composite
def usual_rows(draw: st.DrawFn, listed: bool | None = None) -> Row:
    """Rows with several answers, as scripts write them, in lists or in a list of objects."""
    count = draw(st.integers(1, 4))
    said = draw(st.lists(st.sampled_from(WORDS), min_size=count, max_size=count))
    judged = draw(st.lists(st.sampled_from(SCORES), min_size=count, max_size=count))
    endings: list[Any] = ["stop", "", None, False, "length", True]
    endings = [draw(st.sampled_from(endings)) for _ in said]
    row: Row = {"id": 7, "prompt": draw(st.sampled_from(PROMPTS)), "model": {"name": "m"}}
    if draw(st.booleans()) if listed is None else listed:
        row |= {"responses": said, "rewards": judged}
        silent: list[Any] = [draw(st.sampled_from(["", None, []])) for _ in said]
        quiet: Row = {
            "finish_reasons": endings,
            "errors": [draw(st.sampled_from(["", None, "boom"])) for _ in said],
            "reasonings": silent,
        }
    else:
        row["samples"] = [
            {"n": place, "text": text, "score": score, "finish_reason": ended}
            for place, (text, score, ended) in enumerate(zip(said, judged, endings, strict=True))
        ]
        quiet = {"finish_reason": "stop", "reasoning": ""}
    quiet |= {"tools": [], "ground_truth": draw(st.sampled_from(["G", {"b": 1e22}, None]))}
    return row | {name: quiet[name] for name in quiet if draw(st.booleans())}


def changed_rows() -> st.SearchStrategy[Row]:
    """Such rows, some with values removed, added or changed."""
    return nearly(usual_rows(), AIMS)


def almost_usual_rows() -> st.SearchStrategy[bytes]:
    """The same as lines, some of them not JSON."""
    return lines_of(changed_rows(), REPEATED)
