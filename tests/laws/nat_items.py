"""Hypothesis strategies for NeMo Agent Toolkit items of the usual shape, or almost."""

from typing import Any

from corrupted_rows import Aims, Fitting, lines_of, nearly
from hypothesis import strategies as st
from run_in_process import Row
from usual_rollouts import NUMBERS, TEXTS, WORDS

STEP_NAME = "dpo_candidate_move"
IDS: list[Any] = [0, 7, -1, 2**64, "x", "", "naïve", "1", 1]
SCORES: list[Any] = [0, 1, 1.0, 0.1 + 0.2, -0.0, 8e307, 10**30, 2**53 + 1]

_ASKED: list[Any] = [
    "Q",
    [{"role": "user", "content": "Q"}],
    [{"role": "developer", "content": "S"}, {"role": "user", "content": "naïve ☃"}],
    [{"role": "user", "content": "Q"}, {"role": "assistant", "content": " A "}],
    [{"role": "user", "content": [{"type": "text", "text": "Q"}]}],
    {"board": [1, 0.5, "x"]},
]
_MESSAGE: Fitting = {
    "role": ["system", "developer", "user", "assistant", "tool", "human", None, 5],
    "content": [*TEXTS, None, 5, [], [{"type": "text", "text": "A"}], ["A"]],
    "reasoning_content": ["hm", None],
    "tool_calls": [[{"function": {"name": "f"}}], [{}], []],
}
_DATA: Fitting = {
    "input": [*_ASKED, *TEXTS, None, [], {}, 5, [{"role": "assistant", "content": "A"}], [[]]],
    "output": [*TEXTS, None, [], {}, 5, ["A"], [{"role": "assistant", "content": "A"}]],
    "turn_id": [None, 1, 1.0, True, "t", "", "cut \ud83d", ["t"]],
    "score": [None, True, "0.7", "nan", "high", [], *NUMBERS],
    "candidate_index": [None, True, "3", 2.5, 2**53 - 1, 2**53, -(2**53), [0], *NUMBERS],
    "turn_index": [None, "x", 1e400],
}
_PAYLOAD: Fitting = {
    "event_type": ["TTC_END", "TTC_START", "LLM_END", "", None, 5],
    "name": [STEP_NAME, "x", "", None, 5],
    "data": [None, "A", [], {}],
    "metadata": [None, [1e-7], "cut \ud83d", "\u2028"],
}
_STEP: Fitting = {
    "payload": [None, "A", [], {}, {"event_type": "TTC_END"}, {"event_type": "CUSTOM_START"}],
    "event_type": ["TTC_END"],
}
_ITEM: Fitting = {
    "id": [None, True, 1.0, [0], *IDS],
    "intermediate_steps": [None, [], {}, [None], [[]], "x"],
    "trajectory": [[], None, [{"payload": {"event_type": "TTC_END"}}]],
}
AIMS: Aims = [
    ("content", _MESSAGE),
    ("output", _DATA),
    ("output", _DATA),
    ("event_type", _PAYLOAD),
    ("payload", _STEP),
    ("intermediate_steps", _ITEM),
]
REPEATED = [b'"id":7', b'"id":null', b'"payload":5', b'"event_type":"LLM_END"', b'"data":{}']
REPEATED += [b'"name":"x"', b'"turn_id":"z"', b'"score":0.5', b'"score":NaN', b'"input":[]']
REPEATED += [b'"output":"B"', b'"candidate_index":2', b'"intermediate_steps":[]', b'"role":"tool"']
REPEATED += [b'"x":"\xff"', b'"x":"\\ud800 ......."', b'"x":NaN', b'"x":1e999', b'"":0']


@st.composite
def usual_items(draw: st.DrawFn) -> Row:
    """Items with a few candidates each, and some steps of other kinds."""
    steps = [draw(_steps()) for _ in range(draw(st.integers(1, 4)))]
    place = draw(st.integers(0, len(steps)))
    others = st.lists(st.sampled_from(["LLM_START", "TTC_START"]).map(_other_step), max_size=2)
    steps[place:place] = draw(others)
    return {"id": draw(st.sampled_from(IDS)), "question": "Q?", "intermediate_steps": steps}


@st.composite
def _steps(draw: st.DrawFn) -> Row:
    data = {
        "input": draw(st.sampled_from(_ASKED)),
        "output": draw(st.sampled_from(WORDS)),
        "turn_id": draw(st.sampled_from(["t", "u", ""])),
        "score": draw(st.sampled_from(SCORES)),
        "candidate_index": draw(st.sampled_from([None, 0, 3, 2**53])),
    }
    missing = draw(st.sampled_from([(), ("candidate_index",)]))
    data = {key: data[key] for key in data if key not in missing}
    return {"parent_id": "p", "payload": {"event_type": "TTC_END", "name": STEP_NAME, "data": data}}


def _other_step(kind: str) -> Row:
    data = {"input": [{"role": "user", "content": "Q"}], "output": None, "chunk": {"a": [1]}}
    return {"payload": {"event_type": kind, "name": "x", "data": data}}


def plain_items() -> st.SearchStrategy[bytes]:
    """Such items as lines, some with values removed, added or changed, some not JSON."""
    return lines_of(nearly(usual_items(), AIMS), REPEATED)
