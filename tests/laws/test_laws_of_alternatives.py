"""Several answers in a row: each is written with the data of its own item only.

The oracle is the row itself: the item at the index that a pair names.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_in_process import (
    Asked,
    Outcome,
    Row,
    lines_of,
    pair_lines,
    pair_packed,
    pair_piped,
)

from hypothesis_examples import examples
from prefpairs.errors import NotOneEach
from prefpairs.fields.read_options import ReadOptions
from prefpairs.reasons import CONFLICTING
from prefpairs.sources import generic

CUT_OFF = ("length", "max_tokens")
MODEL = "choices[].model"


@st.composite
def items(draw: st.DrawFn) -> Row:
    """One item of a response, scored by position."""
    message: Row = {"role": "assistant", "content": draw(st.sampled_from(["A", "B", "C", "D"]))}
    if thought := draw(st.sampled_from([None, "", "hm", "aha"])):
        message[draw(st.sampled_from(["reasoning_content", "reasoning"]))] = thought
    return {
        "message": message,
        "finish_reason": draw(st.sampled_from(["stop", None, *CUT_OFF])),
        "error": draw(st.sampled_from([None, "", "boom", {"code": 1}])),
        "model": draw(st.sampled_from(["m", "n"])),
        "score": draw(st.sampled_from([0, 0.5, 1])),
    }


def rows() -> st.SearchStrategy[list[Row]]:
    """Rows with an item per answer, each row with its own question."""
    lists = st.lists(st.lists(items(), min_size=1, max_size=4), min_size=1, max_size=4)
    return lists.map(
        lambda drawn: [
            {"prompt": f"Q{place}", "choices": choices, "scores": [one["score"] for one in choices]}
            for place, choices in enumerate(drawn)
        ]
    )


def asked(response: str, score: str, **options: Any) -> Asked:
    """All pairs of such rows."""
    read = ReadOptions(response=response, scores=((score, 1.0),), keep=(MODEL,), **options)
    return Asked(strategy="exhaustive", read=read)


PATHS = st.sampled_from(["choices[].message", "choices[].message.content"])
SCORES = st.sampled_from(["choices[].score", "scores[]", "scores"])


def item_of(pair: Row, side: str, given_rows: list[Row]) -> Row:
    """The item from which a side of a pair was made."""
    row = given_rows[
        int(
            pair["prompt"][1:]
            if isinstance(pair["prompt"], str)
            else pair["prompt"][0]["content"][1:]
        )
    ]
    found: Row = row["choices"][pair[f"{side}_index"]]
    return found


def spoken(answer: Any) -> tuple[str, str]:
    """The text and thinking of an answer, which is at most one turn."""
    if isinstance(answer, str):
        return answer, ""
    (turn,) = answer
    return turn["content"], turn.get("reasoning_content", "")


def thought(message: Row) -> str:
    """The thinking of a message."""
    return message.get("reasoning_content") or message.get("reasoning") or ""


def meta_of(pair: Row, name: str, side: str) -> Any:
    """The meta values of one side of a pair."""
    meta = pair.get("meta", {})
    return meta.get(name, meta.get(f"{side}_{name}"))


def check(outcome: Outcome, given_rows: list[Row]) -> None:
    """Compare each side of each pair with its item, and the counts of marks with the pairs."""
    counted: dict[str, int] = {}
    for pair in outcome.rows:
        for side in ("chosen", "rejected"):
            item = item_of(pair, side, given_rows)
            message = item["message"]
            assert spoken(pair[side]) == (message["content"], thought(message))
            assert pair[f"{side}_score"] == item["score"]
            assert meta_of(pair, MODEL, side) == item["model"]
            cut_off, failed = item["finish_reason"] in CUT_OFF, bool(item["error"])
            said = meta_of(pair, "finish_reason", side)
            assert said == (item["finish_reason"] if cut_off else None)
            assert meta_of(pair, "error", side) is (True if failed else None)
            for reason, holds in (("incomplete", cut_off), ("failed", failed)):
                counted[f"{side}_{reason}"] = counted.get(f"{side}_{reason}", 0) + holds
    marked = {key: count for key, count in outcome.ledger.marked.items() if key != CONFLICTING}
    assert marked == {key: count for key, count in counted.items() if count}


@examples(250)
@given(given_rows=rows(), response=PATHS, score=SCORES)
def test_each_side_is_its_own_item(given_rows: list[Row], response: str, score: str) -> None:
    """Text, thinking, score, --keep and marks are correct from a file, compressed file and pipe."""
    lines, how = lines_of(*given_rows), asked(response, score)
    expected = pair_lines(lines, how)
    check(expected, given_rows)
    for other in (pair_packed(lines, how), pair_piped(b"".join(lines), how)):
        assert other.contents() == expected.contents()
        assert other.ledger.marked == expected.ledger.marked


@examples(150)
@given(
    given_rows=rows(),
    response=PATHS,
    dropped=st.sets(st.sampled_from(["incomplete", "failed"]), min_size=1),
)
def test_dropped_answers_are_in_no_pair(
    given_rows: list[Row], response: str, dropped: set[str]
) -> None:
    """--drop-rows drops exactly the marked answers, each under its reason."""
    outcome = pair_lines(
        lines_of(*given_rows), asked(response, "scores", drop_rows=frozenset(dropped))
    )
    check(outcome, given_rows)
    everyone = [item for row in given_rows for item in row["choices"]]
    gone = [
        item
        for item in everyone
        if ("incomplete" in dropped and item["finish_reason"] in CUT_OFF)
        or ("failed" in dropped and item["error"])
    ]
    assert not {f"{side}_{reason}" for side in ("chosen", "rejected") for reason in dropped} & {
        *outcome.ledger.marked
    }
    lost = outcome.ledger.candidates_dropped
    assert sum(lost[reason] for reason in dropped) == len(gone)


@examples(150)
@given(given_rows=rows(), response=PATHS, score=st.sampled_from([0, 1, 0.5]))
def test_one_score_is_never_that_of_several_answers(
    given_rows: list[Row], response: str, score: float
) -> None:
    """One score for several answers makes the row bad; with one answer it is fine."""
    options = asked(response, "score").read
    for row in given_rows:
        line = json.dumps({**row, "score": score}).encode()
        if len(row["choices"]) == 1:
            assert len(generic.read_any_shape(line, options, "f").kept) == 1
        else:
            with pytest.raises(NotOneEach):
                generic.read_any_shape(line, options, "f")
