"""Which model or step wins against which."""

from typing import Any

import pytest

from prefpairs.analysis.win_matrix import Matrix, Wins
from prefpairs.model.pair import pair_of


def wins(*metas: dict[str, Any], **row: str) -> Wins:
    """The wins of pairs with these metas."""
    found = Wins()
    for meta in metas:
        found.add(pair_of({"prompt": "Q", "chosen": "a", "rejected": "b", "meta": meta, **row})[0])
    return found


def test_models_that_met() -> None:
    """A row for each chosen model, a column for each rejected one."""
    found = wins(
        {"chosen_model": "b", "rejected_model": "a"},
        {"chosen_model": "b", "rejected_model": "a"},
        {"chosen_model": "a", "rejected_model": "b"},
        {"model": "a"},
    )
    assert found.matrices() == [Matrix("model", ["a", "b"], [[1, 1], [2, 0]])]


def test_steps_are_ordered_by_number() -> None:
    """Step 9 comes before step 10, and paths are named by their last part."""
    found = wins({"chosen_run.step": 10, "rejected_run.step": 9})
    assert found.matrices() == [Matrix("run.step", ["9", "10"], [[0, 0], [1, 0]])]


def test_files_are_told_apart() -> None:
    """Files are told apart by the origins of both answers."""
    found = wins({}, chosen_origin="new.jsonl:3", rejected_origin="old.jsonl:3#2")
    expected = Matrix("file", ["new.jsonl", "old.jsonl"], [[0, 1], [0, 0]])
    assert found.matrices() == [expected]


@pytest.mark.parametrize(
    "meta",
    [
        {"model": "a"},
        {"chosen_model": "a"},
        {"chosen_model": "a", "rejected_model": None},
        {"chosen_model": ["a"], "rejected_model": "b"},
        {"chosen_model": True, "rejected_model": False},
        {"chosen_mode": "a", "rejected_mode": "b"},
        {"rejected_model": "a"},
    ],
)
def test_what_tells_nothing(meta: dict[str, Any]) -> None:
    """No matrix for a single name, no name, or no model."""
    assert wins(meta).matrices() == []


def test_too_many_names_are_no_table() -> None:
    """No matrix for too many names, only their number."""
    found = wins(*({"chosen_step": step, "rejected_step": step + 1} for step in range(100)))
    assert (found.matrices(), found.too_many()) == ([], ["step"])
