"""Hypothesis strategies for rows of prompt, response and score, of the usual shape or almost."""

from typing import Any

from corrupted_rows import CALL, FUNCTION, Aims, Fitting, lines_of, nearly
from hypothesis import strategies as st
from run_in_process import Row
from usual_rollouts import NUMBERS, TEXTS, WORDS

_PROMPTS: list[Any] = [*WORDS, [{"role": "user", "content": "Q"}]]
_PROMPTS += [[{"role": "developer", "content": "S"}, {"role": "user", "content": "naïve ☃"}]]
_THINKING = ["<|im_start|>assistant\n<think>\n", "user\nQ\nassistant\n<think>", "What is <think>"]
_ROW: Fitting = {
    "question": [*_PROMPTS, *_THINKING, *TEXTS, None, True, 5, [], {}, [None], [{"role": "user"}]],
    "answer": [*TEXTS, None, 5, [], {}, ["A", "B"], [{"role": "assistant", "content": "A"}]],
    "reward": [None, True, "0.7", "high", [], [0.5], [0.5, 1], *NUMBERS],
    "tools": [None, [], "[]", "[{}]", "no JSON", [FUNCTION], [1], {}, 0, ""],
    "score": [0.25, None, "high"],
    "prompt": ["", None, "P", "Q", [{"role": "user", "content": "Q"}]],
    "input": ["", "more", None, 5],
    "response": ["", None, "A", "B", 5, ["A"]],
    "answers": [[], ["A", "B"], None],
    "solution": [*TEXTS, None, 5],
    "reference": [*TEXTS, *NUMBERS, None, True, [], [""], {}, {"b": 1e22, "a": [-0.0]}, [[" "], 0]],
    "ground_truth": ["", "G", " \u001f", [True, None], "cut \ud83d", "\u2028", 2**64, 1e400],
    "messages": [[], "x", [{"role": "user", "content": "Q"}]],
    "system": ["", None, "S", 5],
    "history": [[], [["a", "b"]], ["a"]],
    "context": ["", None, "C", ["C", "D"]],
    "images": [[], None, ["a.png"], [None]],
    "origin": ["f:1"],
    "turns": [[{"tool_error": "x"}], 3],
    "completion": [None, "A", ""],
    "output": [None, "A", ""],
    "finish_reason": ["stop", "length", "LENGTH", "", None, 5, True, ["length"], {"r": "length"}],
    "stop_reasons": [["stop"], ["max_tokens"], ["stop", "length"], None],
    "status": ["done", "incomplete", 200, None],
    "truncated": [True, False, None, "yes"],
    "error": ["", " ", "boom", None, False, True, 0.5, [], ["boom"], {}, {"code": 1}],
    "exception": [None, "boom"],
    "errors": [[], ["boom"], [""], "boom"],
    "reasoning_content": ["", None, "hm"],
    "raw_output": ["A", "It is A", "", None],
    "thinking": ["hm", "", {"effort": "low"}],
    "tool_calls": [[], 3, [{"function": {"name": "f"}}]],
    "step": [None, 1],
    "advantage": [None, 0.5],
    "extra": [None, [1e-7], "cut \ud83d", "\u2028", {"question": "R"}],
}
_MESSAGE: Fitting = {
    "role": ["system", "developer", "user", "assistant", "tool", "human", None, 5],
    "content": [*TEXTS, None, 5, [], [{"type": "text", "text": "A"}], ["A"]],
    "tool_calls": [[CALL], [{}], []],
}
AIMS: Aims = [("answer", _ROW), ("answer", _ROW), ("content", _MESSAGE)]
REPEATED = [b'"question":"R"', b'"question":null', b'"answer":"B"', b'"answer":5', b'"reward":0.5']
REPEATED += [b'"reward":"x"', b'"tools":[{}]', b'"role":"tool"', b'"x":"\xff"', b'"x":NaN']
REPEATED += [b'"x":"\\ud800 ......."', b'"x":1e999', b'"":0']


@st.composite
def usual_rows(draw: st.DrawFn) -> Row:
    """Rows with one answer, as scripts write them."""
    row: Row = {
        "id": 7,
        "question": draw(st.sampled_from(_PROMPTS)),
        "answer": draw(st.sampled_from(WORDS)),
        "reward": draw(st.sampled_from([0, 1, 1.0, 0.1 + 0.2, -0.0, 8e307, 10**30, 2**53 + 1])),
        "tools": draw(st.sampled_from([None, []])),
        "model": "m",
    }
    missing = draw(st.sampled_from([(), ("tools",), ("id", "tools")]))
    return {key: row[key] for key in row if key not in missing}


def plain_rows() -> st.SearchStrategy[bytes]:
    """Such rows as lines, some with values removed, added or changed, some not JSON."""
    return lines_of(nearly(usual_rows(), AIMS), REPEATED)
