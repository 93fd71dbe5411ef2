"""Rows of UltraFeedback to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.ultrafeedback import open_reader

Row = dict[str, Any]


def _completion(said: str, score: float | None, **more: Any) -> Row:
    rated = {"annotations": {}, "overall_score": 10.0, "fine-grained_score": score}
    return {"response": said, **rated, **more}


def _row(*completions: Row) -> Row:
    return {"instruction": "Q", "models": [], "completions": list(completions)}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "in.jsonl").read(json.dumps(row).encode())


def test_the_mean_of_the_ratings_counts() -> None:
    """overall_score is 10 where the judge gave 1, so it is used only if it is named."""
    row = _row(_completion("A", 1.25), _completion("B", 4.5))
    assert [one.score for one in _read(row).kept] == [1.25, 4.5]
    named = (("completions[].overall_score", 1.0),)
    assert [one.score for one in _read(row, scores=named).kept] == [10.0, 10.0]


def test_their_system_prompts_are_left_out_with_a_note() -> None:
    """System prompts are omitted with a note, so all completions compete."""
    row = _row(
        _completion("A", 1, custom_system_prompt="S"), _completion("B", 2, custom_system_prompt="T")
    )
    assert {one.prompt if isinstance(one.prompt, str) else "" for one in _read(row).kept} == {"Q"}
    assert "custom_system_prompt" in open_reader([b"{}"], ReadOptions(), "in.jsonl").notes[0]


def test_losses() -> None:
    """Completions without ratings or text, and rows without completions, are counted."""
    found = _read(_row(_completion("A", None), _completion("", 3)))
    assert (found.kept, found.lost) == ([], ["no_score", "empty_answer"])
    assert _read(_row()).kept == []


@pytest.mark.parametrize(
    ("row", "source"),
    [
        (_row(_completion("A", 1)), "ultrafeedback"),
        (_row(), "ultrafeedback"),
        ({"instruction": "Q", "completions": ["A", "B"], "scores": [1, 2]}, "generic"),
        ({"prompt": "Q", "completions": [_completion("A", 1)]}, "generic"),
    ],
)
def test_recognised_by_content(row: Row, source: str) -> None:
    """Other rows with completions are generic rows."""
    assert source_of(json.dumps(row).encode()) == source
