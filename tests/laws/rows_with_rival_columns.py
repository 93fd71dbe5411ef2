"""Rows in which other columns compete for prompt, answer and score.

`World` has the truth that no run knows: which columns are meant. The pairs that it gives are
computed here only from that and from the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from run_in_process import Row

ASKED = ("prompt", "question", "instruction", "input", "query", "problem", "input_prompt")
TALKS = ("messages", "conversation")
SAID = (
    "response",
    "completion",
    "output",
    "generation",
    "prediction",
    "model_output",
    "model_response",
    "generated_text",
    "output_response",
)
MANY_SAID = ("responses", "completions", "generations", "model_outputs")
LISTS = ("samples", "completions", "candidates", "rollouts", "outputs")
LEAVES = ("text", "response", "content", "output")
MANY_JUDGED = ("rewards", "scores", "ratings")
JUDGED = ("reward", "score", "rating", "final_reward", "overall_score")
VERDICTS = ("correct", "is_correct", "resolved", "passed")
REFERENCES = (
    "answer",
    "answers",
    "solution",
    "target",
    "gold",
    "gold_answer",
    "reference",
    "reference_answer",
    "ground_truth",
    "label",
    "expected",
    "expected_answer",
    "correct_answer",
    "final_answer",
)
OTHERS = (
    "raw_response",
    "revised_output",
    "id",
    "task_id",
    "problem_id",
    "group",
    "uid",
    "model",
    "source",
    "level",
    "extra",
)

Pairs = list[tuple[str, str, str, float, float]]


@dataclass(frozen=True)
class World:
    """Rows, and the pairs of all their answers if each column is read as it is meant."""

    rows: list[Row]
    pairs: Pairs
    whole: bool
    """Whether all rows have everything that is meant."""


@dataclass(frozen=True)
class _Answer:
    asked: str
    said: str | None
    judged: float | bool | None


def _pairs_of(answers: list[_Answer]) -> Pairs:
    """Every answer paired with every worse one to the same question."""
    return sorted(
        (better.asked, better.said, worse.said, float(better.judged), float(worse.judged))
        for better, worse in permutations(answers, 2)
        if better.said and worse.said and better.judged is not None and worse.judged is not None
        if better.asked == worse.asked and better.said != worse.said
        if better.judged > worse.judged
    )


@st.composite
def _answers(draw: st.DrawFn, *, verdicts: bool) -> list[_Answer]:
    scores: list[Any] = [True, False] if verdicts else [0, 0.25, 0.5, 1]
    spoilt = draw(st.booleans())
    answers = []
    for asked in draw(st.sampled_from([["Q"], ["Q", "R"]])):
        for _ in range(draw(st.integers(2, 4))):
            said = draw(st.sampled_from(["A", "B", "C", *([None] if spoilt else [])]))
            judged = draw(st.sampled_from([*scores, *([None] if spoilt else [])]))
            answers.append(_Answer(asked, said, judged))
    assume(any(answer.said for answer in answers))  # an empty column cannot be meant
    assume(any(answer.judged is not None for answer in answers))
    return answers


Column = Callable[[int, _Answer], Any]

_VALUES: dict[str, Column] = {
    "another text": lambda place, _: f"other {place}",
    "another text now and then": lambda place, _: None if place % 2 else f"other {place}",
    "one text for each question": lambda _, answer: f"gold {answer.asked}",
    "the question": lambda _, answer: answer.asked,
    "the answer": lambda _, answer: answer.said,
    "the score": lambda _, answer: answer.judged,
    "the score the other way round": lambda _, answer: 1 - (answer.judged or 0),
    "whether it is high": lambda _, answer: (answer.judged or 0) > 0.4,
    "not judged": lambda place, _: -1 if place % 2 else 1,
    "a number": lambda place, _: place,
    "nothing": lambda _, __: None,
    "no text": lambda _, __: " ",
    "texts": lambda place, _: ["x", f"y {place}"],
    "a message": lambda place, _: {"role": "assistant", "content": f"other {place}"},
    "an object": lambda place, _: {"text": f"other {place}", "n": place},
    "objects": lambda place, _: [{"text": "x", "reward": 0}, {"text": f"y {place}", "reward": 1}],
    "a chat": lambda _, answer: [{"role": "user", "content": answer.asked}],
    "another chat": lambda _, __: [{"role": "user", "content": "other"}],
    "a talk": lambda _, answer: [
        {"role": "user", "content": answer.asked},
        {"role": "assistant", "content": answer.said or ""},
    ],
    "another talk": lambda place, answer: [
        {"role": "user", "content": answer.asked},
        {"role": "assistant", "content": f"other {place}"},
    ],
}
_LISTS: list[Callable[[list[_Answer]], Any]] = [
    lambda own: [f"other {place}" for place, _ in enumerate(own)],
    lambda _: ["gold", "gilt"],
    lambda own: [answer.said for answer in own],
    lambda own: [answer.judged for answer in own],
    lambda own: [1 - (answer.judged or 0) for answer in own],
    lambda own: [
        [{"role": "assistant", "content": f"other {place}"}] for place, _ in enumerate(own)
    ],
    lambda own: [{"text": f"other {place}", "reward": place} for place, _ in enumerate(own)],
    lambda own: [None for _ in own],
    lambda _: [],
    lambda own: own[0].said,
    lambda own: own[0].judged,
    lambda _: None,
]
COMPANY = (*ASKED, *TALKS, *SAID, *MANY_SAID, *LISTS, *JUDGED, *VERDICTS, *REFERENCES, *OTHERS)


def _company(taken: tuple[str, ...]) -> st.SearchStrategy[dict[str, Column]]:
    """Up to three more columns with any values."""
    names = st.sampled_from([name for name in dict.fromkeys(COMPANY) if name not in taken])
    return st.dictionaries(names, st.sampled_from([*_VALUES]).map(_VALUES.__getitem__), max_size=3)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One answer per row; or all answers to a question in one row, as lists or objects."""
    asked = draw(st.sampled_from((*ASKED, *TALKS)))
    judged = draw(st.sampled_from((*JUDGED, *VERDICTS)))
    answers = draw(_answers(verdicts=judged in VERDICTS))
    shape = draw(st.sampled_from(["one", "one", "one", "objects", "lists"]))
    if shape == "objects":
        rows = draw(_rows_of_objects(asked, judged, answers))
    elif shape == "lists":
        rows = draw(_rows_of_lists(asked, answers))
    else:
        said = draw(st.sampled_from((*SAID, "answer")))
        company = draw(_company((asked, said, judged)))
        rows = [
            _shuffled(draw, {asked: _as_asked(asked, answer.asked), said: answer.said})
            | {judged: answer.judged}
            | {name: value(place, answer) for name, value in company.items()}
            for place, answer in enumerate(answers)
        ]
        if said == "answer":  # next to a column that only answers have, it is the reference
            rows = [_without(row, (*SAID, *MANY_SAID, *LISTS, *TALKS), asked) for row in rows]
    if asked in ("instruction", "input"):  # together they are one question
        rows = [_without(row, ("instruction", "input"), asked) for row in rows]
    whole = all(answer.said and answer.judged is not None for answer in answers)
    return World(draw(st.permutations(rows)), _pairs_of(answers), whole)


@st.composite
def _rows_of_objects(draw: st.DrawFn, asked: str, judged: str, answers: list[_Answer]) -> list[Row]:
    column, leaf = draw(st.sampled_from(LISTS)), draw(st.sampled_from(LEAVES))
    inner = draw(_company((leaf, judged, *(name for name in COMPANY if name in ASKED))))
    company = draw(_company((asked, column)))
    rows: list[Row] = []
    for question in dict.fromkeys(answer.asked for answer in answers):
        own = [answer for answer in answers if answer.asked == question]
        items = [
            {leaf: answer.said, judged: answer.judged}
            | {name: value(place, answer) for name, value in inner.items()}
            for place, answer in enumerate(own)
        ]
        row = {asked: _as_asked(asked, question), column: items}
        rows.append(row | {name: value(len(rows), own[0]) for name, value in company.items()})
    return rows


@st.composite
def _rows_of_lists(draw: st.DrawFn, asked: str, answers: list[_Answer]) -> list[Row]:
    said, judged = draw(st.sampled_from(MANY_SAID)), draw(st.sampled_from(MANY_JUDGED))
    names = (*SAID, *MANY_SAID, *LISTS, *JUDGED, *MANY_JUDGED, *VERDICTS, *REFERENCES, *OTHERS)
    others = st.sampled_from([name for name in dict.fromkeys(names) if name not in (said, judged)])
    company = draw(st.dictionaries(others, st.sampled_from(_LISTS), max_size=3))
    rows = []
    for question in dict.fromkeys(answer.asked for answer in answers):
        own = [answer for answer in answers if answer.asked == question]
        row = {
            asked: _as_asked(asked, question),
            said: [answer.said for answer in own],
            judged: [answer.judged for answer in own],
        }
        rows.append(row | {name: value(own) for name, value in company.items()})
    return rows


def _as_asked(name: str, text: str) -> Any:
    return [{"role": "user", "content": text}] if name in TALKS else text


def _without(row: Row, names: tuple[str, ...], but: str) -> Row:
    return {name: row[name] for name in row if name not in names or name == but}


def _shuffled(draw: st.DrawFn, row: Row) -> Row:
    return {name: row[name] for name in draw(st.permutations([*row]))}
