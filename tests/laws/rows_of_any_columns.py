"""Hypothesis strategies for rows of unknown formats, with columns that compete."""

import json
from typing import Any

from hypothesis import strategies as st
from run_in_process import Row

_ASKED = [{"role": "user", "content": "Q"}]
_TALK = [*_ASKED, {"role": "assistant", "content": "A"}]
_TEXTS: list[Any] = ["Q", "R", "", None]
_SAID: list[Any] = ["A", "B", "C", "", None, ["A", "B"]]
_TURN = {"role": "assistant", "content": "A"}
_ONES: list[Any] = [[_TURN], [_TURN, {**_TURN, "content": "B", "reasoning_content": "hm"}]]
_SCORES: list[Any] = [0, 0.5, 1, True, None, [0, 1], "high"]
_BESIDE: list[Any] = ["C", "D", "", None, ["C"], [["a", "b"]], [{"text": "C"}], 7]

_SCHEMAS: list[Any] = [[{"name": "f"}], '[{"name": "f"}]', ["f"], [], None, [{"text": "C"}]]
_MORE = (
    *("input", "system", "system_prompt", "system_message", "history", "chat_history"),
    *("image", "images", "image_path", "audio", "videos", "multi_modal_data"),
    *("context", "documents", "passage", "article", "choices", "few_shot_examples", "schema"),
)

COMPETING: dict[str, list[Any]] = {
    **{key: [*_TEXTS, _ASKED, _TALK] for key in ("prompt", "question", "instruction", "query")},
    "messages": [_ASKED, _TALK, [], None, json.dumps(_ASKED), json.dumps(_TALK), "Q"],
    "conversation": [_ASKED, _TALK, [], None],
    **dict.fromkeys(("response", "completion", "output", "answer"), _SAID),
    "responses": [*_SAID, *_ONES],
    "finish_reason": ["stop", "length"],
    "error": ["", "boom", None, ["", "boom"]],
    **dict.fromkeys(("reward", "score", "rating", "scores"), _SCORES),
    **dict.fromkeys(_MORE, _BESIDE),
    **dict.fromkeys(("tools", "functions", "tool_schemas"), _SCHEMAS),
    "ground_truth": ["G", "H", 7, {"b": 1, "a": [None]}, "", None],
    "target": ["G", "H", True],
    "step": [1, 2],
    "advantage": [0.5, None],
    "run": ["a", "b"],
    "turn": [0, 1, 2, "0", None],
    "conversation_id": ["a", "b"],
    "origin": ["f:1"],
    "turns": [3],
    "chosen": ["A"],
    "rejected": ["B"],
}
"""Columns that could be the prompt, answer, score or part of the question, and others."""


def rows_of_any_names(most: int = 4) -> st.SearchStrategy[Row]:
    """A few of these columns with any values."""
    names = st.lists(st.sampled_from([*COMPETING]), max_size=most, unique=True)
    return names.flatmap(
        lambda chosen: st.fixed_dictionaries(
            {name: st.sampled_from(COMPETING[name]) for name in chosen}
        )
    )


_PROMPTS = ("prompt", "question", "instruction", "input", "messages")
_ANSWERS = ("response", "completion", "output", "answer")
_JUDGED = ("reward", "score")


@st.composite
def guessed_rows(draw: st.DrawFn) -> list[Row]:
    """Rows of one or two shapes, some with a column more or less."""
    rows = []
    for names in draw(st.lists(_names(), min_size=1, max_size=2)):
        asked, said, judged = names
        odd = draw(st.lists(rows_of_any_names(2), max_size=2))
        for place in range(draw(st.integers(2, 6))):
            prompt: Any = draw(st.sampled_from("QR"))
            row: Row = {
                asked: [{"role": "user", "content": prompt}] if asked == "messages" else prompt,
                said: draw(st.sampled_from("ABCD")),
                judged: draw(st.sampled_from([0, 0.25, 0.5, 1])),
                "id": place,
            }
            more = draw(st.sampled_from([{}, {}, *odd]))
            less = draw(st.sampled_from([None, None, None, *names]))
            rows.append({key: value for key, value in {**row, **more}.items() if key != less})
    return rows


def _names() -> st.SearchStrategy[tuple[str, str, str]]:
    return st.tuples(*map(st.sampled_from, (_PROMPTS, _ANSWERS, _JUDGED)))


def sample_with(names: tuple[str, str, str], more: Row) -> Row:
    """A row whose prompt, response and score have these names."""
    sample = {**dict(zip(names, ("Q", "A", 1.0), strict=True)), **more}
    if names[0] == "messages":
        sample["messages"] = [{"role": "user", "content": "Q"}]
    return sample
