"""Rows of RewardBench 2 to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.reward_bench import open_reader

ROW: dict[str, Any] = {"id": "7", "subset": "Ties", "prompt": "Q", "num_correct": 2}
ROW |= {"chosen": ["A", "B"], "rejected": ["C"]}


def _read(row: dict[str, Any], **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "in.jsonl").read(json.dumps(row).encode())


def test_right_answers_score_1_and_wrong_ones_0() -> None:
    """All answers of a row compete, grouped by its ID, since prompts may repeat."""
    found = _read(ROW).kept
    assert [(one.response, one.score) for one in found] == [("A", 1.0), ("B", 1.0), ("C", 0.0)]
    assert {one.group for one in found} == {'["Ties","7"]'}
    assert source_of(json.dumps(ROW).encode()) == "reward-bench"


def test_rows_without_an_id_compete_by_their_prompt() -> None:
    """Without an ID, the prompt is the group."""
    groups = {one.group for one in _read({**ROW, "id": None}).kept}
    assert len(groups) == 1
    assert groups.pop().startswith("prompt:")


def test_losses() -> None:
    """A null or empty answer is counted; a missing list of answers makes the row bad."""
    found = _read({**ROW, "chosen": [None], "rejected": ["C", ""]})
    assert found.lost == ["no_response", "empty_answer"]
    assert found.places == [2]
    with pytest.raises(BadField):
        _read({**ROW, "chosen": "A"})


def test_pairs_are_no_such_rows() -> None:
    """Texts in chosen and rejected are a pair, with or without a number next to them."""
    assert source_of(json.dumps({**ROW, "chosen": "A", "rejected": "B"}).encode()) == "generic"
