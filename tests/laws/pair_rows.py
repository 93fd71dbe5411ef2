"""Hypothesis strategies for rows of pairs, and for stages with their options."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from pair_oracle import content_of, digest
from run_in_process import Row, lines_of

from prefpairs.stages.base import Stage
from prefpairs.stages.dedupe import SAME_IN, Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split

# Identity of a pair -----------------------------------------------------------------------


def question_of(pair: Row) -> str:
    """The content of the prompt; a text equals a chat with that one message."""
    return content_of(pair["prompt"], "user")


def tools_of(pair: Row) -> str:
    """The content of the tools; missing tools equal an empty list."""
    return str(pair.get("tools") or [])


def answers_of(pair: Row) -> tuple[str, str]:
    """The contents of both answers, chosen first."""
    return content_of(pair["chosen"], "assistant"), content_of(pair["rejected"], "assistant")


def identity_of(pair: Row) -> tuple[str, str, str, str]:
    """The four contents that make two pairs the same."""
    return question_of(pair), tools_of(pair), *answers_of(pair)


def named_by(prompt: Any) -> str:
    """A prompt in the form of meta.prompt_of_rejected."""
    return digest(content_of(prompt, "user")).hex()


def prompts_of(pair: Row) -> set[str]:
    """The prompts of a pair by name: one, or one per answer."""
    ours = named_by(pair["prompt"])
    return {ours, (pair.get("meta") or {}).get("prompt_of_rejected", ours)}


# Rows -------------------------------------------------------------------------------------

_USER = {"role": "user", "content": "Q"}
_SYSTEM = {"role": "system", "content": "Be brief."}
_TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
_CALL = {"id": "x", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
_PROMPTS: list[Any] = ["Q", "Q", [_USER], "R", [{"role": "user", "content": "R"}]]
_PROMPTS += [[_SYSTEM, _USER], [_USER, {"role": "assistant", "content": "A"}, _USER]]
_ANSWERS: list[Any] = ["A", "B", "A", "B", "C", [{"role": "assistant", "content": "A"}]]
_ANSWERS += [
    [{"role": "assistant", "content": "B", "reasoning_content": "hm"}],
    [
        {"role": "assistant", "content": "", "tool_calls": [_CALL]},
        {"role": "tool", "content": "1", "tool_call_id": "x"},
        {"role": "assistant", "content": "B"},
    ],
]
_SCORES: list[Row] = [
    {"chosen_score": 1.0, "rejected_score": 0.5},
    {"chosen_score": 0.9, "rejected_score": 0.4},
    {"chosen_score": 0.9, "rejected_score": 0.8},
    {"chosen_score": 0.1 + 0.2, "rejected_score": 0.2},
    {"chosen_score": 2, "rejected_score": -1, "gap": 9.0},
    {"chosen_score": 0.0, "rejected_score": 1.0},
    {"chosen_score": 1.0, "rejected_score": None},
    {"rejected_score": 0.5},
    {"gap": 0.5},
    {"gap": 0.1, "chosen_score": 1.0},
    {},
    {},
]
_METAS: list[Row] = [{"k": 1}, {"k": 2}, {"k": "\u2028 naïve 😀", "l": [None, 2**64]}, {}]
_TASKS: list[Row] = [
    {"meta": {"task": 1}},
    {"meta": {"task": 2, "at": {"turn": 0}}},
    {"meta": {"task": "1", "at": {"turn": 1}}},
    {"meta": {"chosen_task": 1, "rejected_task": 2}},
    {"meta": {"chosen_task": 3, "rejected_task": 3}},
    {"meta": {"chosen_task": None, "rejected_task": 1}},
    {"task": 1},
    {},
]


def pair_rows(*, least: int = 0, most: int = 12) -> st.SearchStrategy[list[Row]]:
    """Pairs of few contents: duplicates, contradictions, other scores, formats and origins."""
    return st.lists(_pair_row(), min_size=least, max_size=most)


def rows_across() -> st.SearchStrategy[list[Row]]:
    """Pairs, many of them between answers to different prompts."""
    return st.lists(st.one_of(_pair_row(), _row_across(), _row_across()), max_size=12)


def rows_with_tasks() -> st.SearchStrategy[list[Row]]:
    """Pairs whose meta names a task, or one per answer, or none."""
    rows = st.tuples(_pair_row(), st.sampled_from(_TASKS))
    return st.lists(rows.map(lambda both: {**both[0], **both[1]}), max_size=12)


def different_rows(*, least: int = 0, most: int = 12) -> st.SearchStrategy[list[Row]]:
    """Pairs with distinct contents."""
    rows = st.lists(_pair_row(), min_size=least, max_size=most)
    return rows.map(
        lambda given: [{**row, "prompt": f"Q{place}"} for place, row in enumerate(given)]
    )


def pair_lines_mixed() -> st.SearchStrategy[list[bytes]]:
    """Lines with all kinds of pairs."""
    return st.one_of(pair_rows(), rows_across(), rows_with_tasks()).map(
        lambda rows: lines_of(*rows)
    )


@st.composite
def _pair_row(draw: st.DrawFn) -> Row:
    required = {
        "prompt": st.sampled_from(_PROMPTS),
        "chosen": st.sampled_from(_ANSWERS),
        "rejected": st.sampled_from(_ANSWERS),
    }
    optional: dict[str, st.SearchStrategy[Any]] = {
        "group": st.sampled_from(["g", "h"]),
        "chosen_index": st.sampled_from([None, 0, 7]),
        "chosen_origin": st.sampled_from(["a.jsonl:1", "b.jsonl:2"]),
        "rejected_origin": st.sampled_from(["a.jsonl:3", "b.jsonl:4"]),
        "tools": st.sampled_from([_TOOLS, []]),
        "meta": st.sampled_from(_METAS),
        "model": st.sampled_from(["m", None]),
        "id": st.just("f00d"),
        "chosen_tokens": st.just({"ids": [1, 2], "prompt_length": 1}),
    }
    row: Row = draw(st.fixed_dictionaries(required, optional=optional))
    row |= draw(st.sampled_from(_SCORES))
    if answers_of(row)[0] == answers_of(row)[1] and draw(st.integers(0, 3)):
        row["rejected"] = "D"
    return row


@st.composite
def _row_across(draw: st.DrawFn) -> Row:
    row = draw(_pair_row())
    other = draw(st.sampled_from(["Q", "R", "S", "T"]))
    meta = {"group_of_rejected": draw(st.sampled_from(["g", "h", "i"]))}
    if named_by(other) != named_by(row["prompt"]):
        meta["prompt_of_rejected"] = named_by(other)
    return {**row, "meta": meta}


def numbered_rows(count: int, groups: int = 1) -> list[Row]:
    """Plain pairs with a prompt each, distributed over groups."""
    return [
        {
            "group": f"g{number % groups}",
            "prompt": f"Question {number}",
            "chosen": "yes",
            "rejected": "no",
            "chosen_score": 1.0,
            "rejected_score": 0.0,
        }
        for number in range(count)
    ]


BAD_PAIRS: list[Row] = [
    {"prompt": "Q", "chosen": "A"},
    {"prompt": 7, "chosen": "A", "rejected": "B"},
    {"prompt": "Q", "chosen": "A", "rejected": "B", "chosen_score": "high"},
    {"prompt": "Q", "chosen": "A", "rejected": "B", "gap": float("nan")},
]
UNFIT_PAIRS: list[Row] = [
    {"prompt": " ", "chosen": "A", "rejected": "B"},
    {"prompt": "Q", "chosen": "A", "rejected": ""},
    {"prompt": "Q", "chosen": "A", "rejected": [{"role": "assistant", "content": "A"}]},
]

# Options ----------------------------------------------------------------------------------


def dedupes() -> st.SearchStrategy[Dedupe]:
    """All options of `dedupe`, except near-duplicates and references."""
    fields = st.lists(st.sampled_from(SAME_IN), min_size=1, max_size=2, unique=True).map(tuple)
    return st.builds(
        Dedupe,
        by=st.one_of(st.just(("content",)), fields),
        conflicts=st.sampled_from(["keep", "drop", "strongest"]),
    )


def samples(*, ordered: bool = True) -> st.SearchStrategy[Sample]:
    """All options of `sample`, or only those that keep the order of the input."""
    orders = ["input", "shuffle", "easy-first", "hard-first"] if ordered else ["input"]
    return st.builds(
        Sample,
        max_pairs=st.sampled_from([None, 1, 2, 5, 100]),
        fraction=st.sampled_from([None, None, 0.0, 0.3, 0.7, 1.0]),
        per_group=st.sampled_from([None, None, 1, 2, 100]),
        order=st.sampled_from(orders),
        seed=st.integers(0, 5),
    )


def filters() -> st.SearchStrategy[Filter]:
    """Conditions that some pairs meet and others do not."""
    return st.builds(
        Filter,
        min_gap=st.sampled_from([None, None, 0.1, 0.5]),
        max_gap=st.sampled_from([None, 0.5]),
        min_chosen_score=st.sampled_from([None, 0.9]),
        max_answer_chars=st.sampled_from([None, 1, 3]),
        max_length_ratio=st.sampled_from([None, 1.0, 4.0]),
        drop_refusals=st.booleans(),
    )


def splits(*, by: Sequence[str] = ("prompt", "group", "meta.task")) -> st.SearchStrategy[Split]:
    """All options of `split`."""
    return st.builds(
        Split,
        val_fraction=st.sampled_from([0.2, 0.5, 0.0, 0.1, 0.6]),
        test_fraction=st.sampled_from([0.0, 0.0, 0.2, 0.4]),
        by=st.sampled_from(by),
        seed=st.integers(0, 9),
        exact=st.booleans(),
    )


def chains(*, ordered: bool = True) -> st.SearchStrategy[list[Stage]]:
    """One to three commands in a row; unless `ordered`, only the last one may change the order."""
    stages: st.SearchStrategy[Stage] = st.one_of(dedupes(), samples(ordered=ordered), filters())
    if ordered:
        return st.lists(stages, min_size=1, max_size=3)
    last: st.SearchStrategy[list[Stage]] = st.one_of(st.just([]), samples().map(lambda one: [one]))
    return st.tuples(st.lists(stages, min_size=1, max_size=3), last).map(
        lambda both: [*both[0], *both[1]]
    )
