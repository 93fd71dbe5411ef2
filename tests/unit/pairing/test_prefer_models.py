"""Pairs by who gave the answer, where nothing says how good it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import run
from prefpairs.errors import BadField, OptionNeeds, OptionsConflict, TwoReadings, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.option import filled
from prefpairs.sources import source_named

WORDS = ("--prefer", "large", "--over", "small,tiny", "--by", "model")
TYPED: dict[str, Any] = {"prefer": ["large"], "over": ["small,tiny"], "by": "model"}


def _row(said: str, model: Any, **more: Any) -> dict[str, Any]:
    return {"prompt": "Q", "response": said, "model": model, **more}


def _read(row: dict[str, Any], source: str = "generic") -> Any:
    options = filled(ReadOptions, TYPED)
    reader = source_named(source).open_reader([], options, "in.jsonl")
    return reader.read(json.dumps(row).encode())


def _pairs(folder: Path, rows: list[dict[str, Any]], *words: str) -> list[dict[str, Any]]:
    path = folder / "in.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    done = run("pair", "--quiet", *(words or WORDS), str(path))
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "words", [(), ("--workers", "2"), ("--num-candidates",), ("--order", "key")]
)
def test_pairs_have_no_scores(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Pairs have no scores, however they are written; their meta names both models."""
    rows = [_row("A", "large"), _row("B", "small"), _row("C", "other"), _row("D", None)]
    (pair,) = _pairs(tmp_path, rows, *WORDS, *words)
    assert (pair["chosen"], pair["rejected"]) == ("A", "B")
    assert (pair["chosen_score"], pair["rejected_score"], pair["gap"]) == (None, None, None)
    assert pair["meta"]["chosen_model"] == "large"
    assert pair["meta"]["rejected_model"] == "small"


def test_all_pairs(tmp_path: Path) -> None:
    """Never two answers of one side, and never equal ones."""
    rows = [_row("A", "large"), _row("B", "large"), _row("C", "small"), _row("A", "tiny")]
    pairs = _pairs(tmp_path, rows, *WORDS, "--strategy", "exhaustive")
    found = {(pair["chosen"], pair["rejected"]) for pair in pairs}
    assert found == {("A", "C"), ("B", "C"), ("B", "A")}


def test_stages_see_no_scores(tmp_path: Path) -> None:
    """Pairs that are counted for stats have no gap either."""
    path = tmp_path / "in.jsonl"
    rows = [_row("A", "large"), _row("B", "small")]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    done = run("stats", "--json", *WORDS, str(path))
    assert json.loads(done.stdout)["pairs"] == 1
    assert b'"gap":1' not in done.stdout.replace(b" ", b"")


def test_losses() -> None:
    """Answers of anyone else, and those of whom nothing is known."""
    assert _read(_row("A", "other")).lost == ["other_maker"]
    assert _read({"prompt": "Q", "response": "A"}).lost == ["other_maker"]
    assert _read(_row("A", "tiny")).kept[0].score == 0.0


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        *((True, name) for name in ("true", "True")),
        *((None, name) for name in ("null", "None")),
        *((1, name) for name in ("1", "1.0")),
        *((0.5, name) for name in ("0.5", ".5")),
        ("true", "true"),
    ],
)
def test_names_of_other_values(value: Any, spelled: str) -> None:
    """Booleans, numbers and null are named as JSON or Python spell them."""
    options = filled(ReadOptions, {"prefer": ["large"], "over": [spelled], "by": "model"})
    reader = source_named("generic").open_reader([], options, "in.jsonl")
    (found,) = reader.read(json.dumps(_row("A", value)).encode()).kept
    assert found.score == 0.0
    for other in ("yes", {"a": 1}, 7, False):
        assert reader.read(json.dumps(_row("A", other)).encode()).lost == ["other_maker"]


def test_a_list_of_names() -> None:
    """`models` of several answers is named with brackets; the error has the command."""
    row = {"prompt": "Q", "responses": ["A", "B"], "models": ["large", "small"]}
    options = filled(ReadOptions, {**TYPED, "by": "models"})
    reader = source_named("generic").open_reader([], options, "in.jsonl")
    with pytest.raises(TwoReadings) as caught:
        reader.read(json.dumps(row).encode())
    assert caught.value.choices == [("--by", "models[]")]
    options = filled(ReadOptions, {**TYPED, "by": "models[]"})
    reader = source_named("generic").open_reader([], options, "in.jsonl")
    assert len(reader.read(json.dumps(row).encode()).kept) == 2


def test_a_missing_maker_has_no_name() -> None:
    """Not even the word by which a program calls what is missing."""
    names = {"over": ["MISSING,None,null,<missing>,small"]}
    options = filled(ReadOptions, {**TYPED, **names})
    reader = source_named("generic").open_reader([], options, "in.jsonl")
    assert reader.read(b'{"prompt": "Q", "response": "A"}').lost == ["other_maker"]


def test_a_number_that_both_sides_name() -> None:
    """1 and 1.0 are one number, so neither side has it."""
    options = filled(ReadOptions, {"prefer": ["1"], "over": ["1.0"], "by": "model"})
    reader = source_named("generic").open_reader([], options, "in.jsonl")
    with pytest.raises(BadField):
        reader.read(json.dumps(_row("A", 1)).encode())
    assert reader.read(json.dumps(_row("A", "1.0")).encode()).kept[0].score == 0.0


def test_scores_could_contradict() -> None:
    """Rows with scores are refused; one's own may be read without them."""
    with pytest.raises(TwoReadings) as caught:
        _read(_row("A", "large", reward=0))
    assert caught.value.choices == [("--ignore", "reward")]
    options = filled(ReadOptions, {**TYPED, "ignore": ["reward"]})
    row = json.dumps(_row("A", "large", reward=0)).encode()
    assert source_named("generic").open_reader([], options, "in.jsonl").read(row).kept
    rollout = {"example_id": 1, "prompt": "Q", "completion": "A", "metrics": {}, "reward": 1}
    with pytest.raises(UsageError):
        _read({**rollout, "model": "large"}, "verifiers-v0")


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ({"prefer": ["a"]}, OptionNeeds),
        ({"prefer": ["a"], "over": ["b"]}, OptionNeeds),
        ({"by": "model"}, OptionNeeds),
        ({"prefer": ["a"], "over": ["a"], "by": "m"}, UsageError),
        ({**TYPED, "scores": ["x"]}, OptionsConflict),
    ],
)
def test_options_that_go_together(typed: dict[str, Any], error: type[Exception]) -> None:
    """All three options are needed together, and exclude a score."""
    with pytest.raises(error):
        filled(ReadOptions, typed)


def test_candidates_would_have_scores(tmp_path: Path) -> None:
    """Candidates need scores, so `extract` rejects the option."""
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(_row("A", "large")), "utf-8")
    assert run("extract", *WORDS, str(path)).returncode == 2
