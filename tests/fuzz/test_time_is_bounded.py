"""Values that are long in the worst way take no more time than other values of their length."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from prefpairs.dataset.column_types import FIRST_BLOCK, InferredColumns
from prefpairs.dataset.row_checks import check_row
from prefpairs.engine.inputs.source_choice import Formats
from prefpairs.fields.pair_row import read_pair
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.lines import Record
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import DEEPEST, encode
from prefpairs.model.message import drop_reasoning, split_reasoning
from prefpairs.model.tool_calls import renumber_calls, tool_call
from prefpairs.plan import ReadPlan
from prefpairs.stages.answer_defects import is_refusal, is_truncated
from prefpairs.targets import target_named

MANY = 50_000
FIELDS = 10_000
SECONDS = 3.0
"""Long enough that quadratic work takes several times the limit."""

TEXTS = {
    "spaces": " " * MANY + "think>",
    "thoughts": "<think></think>" * MANY,
    "thoughts that never end": "<think>" * MANY,
    "thoughts and a long end": "<think>\n" * MANY + "</think>" + "x" * 8 * MANY,
    "an end and thoughts": "</think>" + "<think>" * MANY,
    "fences": "~" * MANY + "`",
    "backticks": "```" + "`" * MANY + "x`",
    "refusal and spaces": "i can't" + " " * MANY,
    "sorry": "sorry" + "!" * MANY + "but",
    "breaks": "\n" * MANY + "```",
    "dashes": "2024-" * MANY,
}


def seconds(do: Callable[[], object]) -> float:
    """The processor time of a call."""
    begin = time.process_time()
    do()
    return time.process_time() - begin


def said(content: str) -> dict[str, Any]:
    """A turn of the assistant."""
    return {"role": "assistant", "content": content}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_texts(text: str) -> None:
    """Whatever searches an answer scans it once."""
    row = {"prompt": "Q", "chosen": text, "rejected": "no"}
    pair = read_pair(encode(row)).pair
    turn = {"from": "function_call", "value": text}
    rules = target_named("llamafactory").rules
    looks: list[Callable[[], object]] = [
        lambda: split_reasoning(said(text)),
        lambda: drop_reasoning(said(text)),
        lambda: is_truncated(pair),
        lambda: is_refusal(text),
        lambda: check_row({"conversations": [turn], "chosen": turn, "rejected": turn}, rules),
    ]
    assert max(map(seconds, looks)) < SECONDS


@pytest.mark.parametrize("offset", [0, FIRST_BLOCK])
def test_columns_of_many_fields(offset: int) -> None:
    """A row of many fields costs time linear in their number, whether they are known or not."""
    columns = InferredColumns()
    rows = [{f"{kind}{place}": kind for place in range(FIELDS)} for kind in (1, "a", 1.5)]
    assert seconds(lambda: [list(columns.see(row, offset)) for row in rows]) < SECONDS


def test_calls_that_are_answered_from_the_last_one_on() -> None:
    """Each result finds its call at once, even if results come in reverse order."""
    calls = [tool_call("f", "{}", f"c{place}") for place in range(MANY)]
    results = [
        {"role": "tool", "content": "", "tool_call_id": call["id"]} for call in reversed(calls)
    ]
    messages = [{**said(""), "tool_calls": calls}, *results]
    assert seconds(lambda: renumber_calls(messages)) < SECONDS
    assert renumber_calls(messages)[1]["tool_call_id"] == f"call_{MANY}"


def test_rows_of_many_answers() -> None:
    """A row is checked once, not once for each of its answers."""
    answers = [f"{'[' * DEEPEST} {number}" for number in range(6_000)]
    row = {"prompt": "Q", "responses": answers, "rewards": [*range(len(answers))]}
    formats = Formats(ReadPlan(inputs=[], source="auto", options=ReadOptions()), Ledger())
    record = encode(row)
    found, _ = formats.open("r.jsonl", iter([Record(1, 0, record)]))
    assert len(found.how.read(record).kept) == len(answers)
    assert seconds(lambda: found.how.read(record)) < SECONDS
