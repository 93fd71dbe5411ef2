"""Rows to pairs, written by prefpairs or others."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, BadRecord, NotJson
from prefpairs.fields.pair_row import PairRowOutcome, read_pair
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_prompt
from prefpairs.model.pair import digests_of, make_pair, pair_line
from prefpairs.model.tool_calls import tool_call

ROW: dict[str, Any] = {"prompt": "Q", "chosen": "A", "rejected": "B"}


def _read(**more: Any) -> PairRowOutcome:
    return read_pair(json.dumps({**ROW, **more}).encode())


def test_pair_of_our_own() -> None:
    """A written pair is read unchanged, without repairs."""
    pair = make_pair(
        Candidate("g", "Q", "A", 0.9, 1, "f:1", [{"name": "t"}], {"ids": [1]}, {"m": 1}),
        Candidate("h", "R", "B", 0.8, 0, "f:2", [{"name": "t"}], None, {"m": 2}),
    )
    reading = read_pair(pair_line(pair))
    assert reading == PairRowOutcome(
        pair, digests_of("Q", [{"name": "t"}], "A", "B"), digest_prompt("R"), None, []
    )


def test_row_of_others() -> None:
    """Three fields are enough; unknown fields are noted."""
    reading = _read(model="m", source=None)
    assert (reading.pair.meta, reading.noticed) == (
        {"model": "m", "source": None},
        ["moved_to_meta"],
    )
    assert (reading.lost, reading.other_prompt, _read().noticed) == (None, b"", [])


@pytest.mark.parametrize("own", ["0" * 32, "mine", 7, ["x"], ""])
def test_id_that_does_not_fit(own: Any) -> None:
    """An edited row gets another ID, with a note."""
    reading = _read(id=own)
    assert (reading.pair.id, reading.noticed) == (_read().pair.id, ["id_renewed"])


def test_id_that_fits_or_is_missing() -> None:
    """A correct or missing ID gives no note."""
    assert (_read(id=_read().pair.id).noticed, _read(id=None).noticed) == ([], [])


@pytest.mark.parametrize(
    ("scores", "mends"),
    [
        ({"chosen_score": 1, "rejected_score": 0}, []),
        ({"chosen_score": 1, "rejected_score": 1}, ["not_preferred"]),
        ({"chosen_score": 0, "rejected_score": 1}, ["not_preferred"]),
        ({"chosen_score": 0.1 + 0.2, "rejected_score": 0.3}, ["not_preferred"]),
        ({"gap": 0}, ["not_preferred"]),
        ({"gap": -1}, ["not_preferred"]),
        ({"gap": 1}, []),
        ({"chosen_score": 0}, []),
        ({"gap": 9, "chosen_score": 0, "rejected_score": 1}, ["not_preferred"]),
    ],
)
def test_pair_that_is_not_preferred(scores: dict[str, Any], mends: list[str]) -> None:
    """A pair whose chosen score is not higher is kept, with a note."""
    reading = _read(**scores)
    assert (reading.lost, reading.noticed) == (None, mends)


def test_all_mends_at_once() -> None:
    """Notes have a fixed order; each surrogate is counted."""
    row = '{"prompt":"\\ud83d \\ud83d","chosen":"A","rejected":"B","id":"x","y":1,"gap":0}'
    assert read_pair(row.encode()).noticed == [
        "surrogate_replaced",
        "surrogate_replaced",
        "moved_to_meta",
        "id_renewed",
        "not_preferred",
    ]


CALL = [{"role": "assistant", "content": "", "tool_calls": [tool_call("f", "{}")]}]


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"prompt": ""}, "no_prompt"),
        ({"prompt": " \n"}, "no_prompt"),
        ({"prompt": []}, "no_prompt"),
        ({"prompt": [{"role": "user", "content": " "}]}, "no_prompt"),
        ({"prompt": "", "chosen": ""}, "no_prompt"),
        ({"chosen": ""}, "empty_answer"),
        ({"rejected": " "}, "empty_answer"),
        ({"chosen": []}, "empty_answer"),
        (
            {"chosen": [{"role": "assistant", "content": "", "reasoning_content": "hm"}]},
            "empty_answer",
        ),
        ({"chosen": CALL}, None),
        ({"chosen": CALL, "rejected": CALL}, "sides_equal"),
        ({"rejected": "A"}, "sides_equal"),
        ({"rejected": [{"role": "assistant", "content": "A"}]}, "sides_equal"),
        ({"rejected": "A "}, None),
        ({"prompt": [{"role": "system", "content": "S"}]}, None),
    ],
)
def test_untrainable_pairs(fields: dict[str, Any], lost: str | None) -> None:
    """Rows without a prompt, with an empty answer or with equal answers are dropped."""
    assert _read(**fields).lost == lost


@pytest.mark.parametrize("row", ["7", "[]", "null", '"Q"'])
def test_row_that_is_no_object(row: str) -> None:
    """A bad row, not a dropped pair."""
    with pytest.raises(BadField) as caught:
        read_pair(row.encode())
    assert caught.value.field == "row"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"prompt": None}, "prompt"),
        ({"chosen": {"role": "assistant", "content": "A"}}, "chosen"),
        ({"rejected": 7}, "rejected"),
        ({"chosen": ["A"]}, "chosen.0"),
        ({"meta": {"prompt_of_rejected": "R"}}, "meta.prompt_of_rejected"),
    ],
)
def test_field_of_the_wrong_type(fields: dict[str, Any], field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(**fields)
    assert caught.value.field == field


def test_rollouts_are_no_pairs() -> None:
    """Rollouts, and what is not JSON, are rejected."""
    with pytest.raises(BadRecord):
        read_pair(b'{"prompt": "Q", "response": "A", "score": 1}')
    with pytest.raises(NotJson):
        read_pair(b"{torn\n")


@pytest.mark.parametrize("side", ["chosen", "rejected"])
def test_conversation_that_is_no_answer(side: str) -> None:
    """A side that begins with the user's turn is a conversation, not an answer, and is rejected."""
    turns = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    with pytest.raises(BadField, match=rf"{side}\.0\.role"):
        _read(**{side: turns})
