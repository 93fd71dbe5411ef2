"""Samples of lm-eval to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, NoSuchPath, TwoReadings
from prefpairs.fields.cross_row_facts import CrossRowFacts
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.lm_eval import open_reader

Row = dict[str, Any]


def _row(*answers: Any, metric: Any = 1.0, used: str = "none", **more: Any) -> Row:
    row: Row = {"doc_id": 3, "doc": {"q": "Q"}, "target": "T", "filter": used}
    row["arguments"] = {"gen_args_0": {"arg_0": "Q", "arg_1": {}}}
    row |= {"resps": [[*answers]], "filtered_resps": [*answers[:1]]}
    return {**row, "metrics": ["acc"], "acc": metric, **more}


def _read(row: Row, *scores: str) -> RowOutcome:
    options = ReadOptions(scores=tuple((name, 1.0) for name in scores))
    return open_reader([], options, "samples.jsonl").read(json.dumps(row).encode())


def test_an_answer_is_a_candidate() -> None:
    """The group is the document with its target."""
    (found,) = _read(_row("A")).kept
    assert (found.prompt, found.response, found.score, found.meta) == ("Q", "A", 1.0, None)
    assert json.loads(found.group)[0] == 3
    (other,) = _read(_row("A", target="U")).kept
    assert other.group != found.group
    assert source_of(json.dumps(_row("A")).encode()) == "lm-eval"


@pytest.mark.parametrize(
    ("row", "scores"),
    [
        (_row("A", used="maj@8"), {"A": 1.0}),
        (_row("A", "B"), {"A": 1.0}),
        (_row("A", "B", used="take_first"), {"A": 1.0}),
        (_row("A", "B", used="maj@2"), {}),
        (_row("A", "B", used="strict-match"), {}),
        (_row("A", metric=[0.5]), {"A": 0.5}),
        (_row("A", "B", metric=[0, 1, 1], used="maj@2"), {}),
    ],
)
def test_of_which_answer_a_metric_is(row: Row, scores: dict[str, float]) -> None:
    """Answers to which the metric does not apply have no score."""
    found = _read(row)
    assert {
        one.response: one.score for one in found.kept if isinstance(one.response, str)
    } == scores
    assert found.lost == ["no_score"] * (len(row["resps"][0]) - len(scores))


def test_a_list_for_several_answers() -> None:
    """It may be of the right answer and the model's, so the user must say that it is for each."""
    row = _row("A", "B", metric=[0, 1], used="maj@2")
    with pytest.raises(TwoReadings) as caught:
        _read(row)
    assert caught.value.choices == [("--score", "acc[],maj@2")]
    for named in ("acc[],maj@2", "acc[]"):
        assert [one.score for one in _read(row, named).kept] == [0.0, 1.0]
    for odd in ([0, 1, 1], 0.5):
        with pytest.raises(BadField, match=r"acc\[\]"):
            _read(_row("A", "B", metric=odd, used="maj@2"), "acc[]")


@pytest.mark.parametrize("name", ["tests_failed", "duration_sec", "rmse"])
def test_names_of_which_less_is_better(name: str) -> None:
    """Counts of failures, times and deviations are not read as they come."""
    with pytest.raises(TwoReadings, match="is less of it better"):
        _read(_row("A", metrics=[name]) | {name: 2})


def test_metrics_of_which_less_is_better() -> None:
    """The choice turns such a metric around; the only metric is not read as it comes."""
    row = _row("A", metrics=["acc", "ter"], ter=0.25)
    with pytest.raises(TwoReadings) as caught:
        _read(row)
    assert caught.value.choices == [("--score", "acc,none"), ("--score", "ter,none:-1")]
    alone = {**row, "metrics": ["ter"]}
    with pytest.raises(TwoReadings) as caught:
        _read(alone)
    assert caught.value.choices == [("--score", "ter,none:-1"), ("--score", "ter,none")]
    turned = ReadOptions(lower_is_better=True)
    (found,) = open_reader([], turned, "s.jsonl").read(json.dumps(alone).encode()).kept
    assert found.score == -0.25


def test_metrics_and_filters() -> None:
    """Several metrics stop the run; a filter that is not named drops the row."""
    row = _row("A", used="strict", metrics=["acc", "f1"], f1=0.5)
    with pytest.raises(TwoReadings) as caught:
        _read(row)
    assert caught.value.choices == [("--score", "acc,strict"), ("--score", "f1,strict")]
    assert [one.score for one in _read(row, "f1,strict").kept] == [0.5]
    assert [one.score for one in _read(row, "f1").kept] == [0.5]
    assert _read(row, "f1,loose").lost == ["other_filter"]
    with pytest.raises(NoSuchPath):
        _read(row, "f2")


@pytest.mark.parametrize("metrics", [[], None, "exact_match", [7]])
def test_rows_without_metrics_have_no_score(metrics: Any) -> None:
    """There is nothing to choose from, so nothing is asked; `--score` may name any field."""
    row = _row("A", metrics=metrics)
    assert _read(row).lost == ["no_score"]
    assert [found.score for found in _read({**row, "points": 3.0}, "points").kept] == [3.0]


def test_filters_of_several_rows() -> None:
    """An answer has a metric per filter, one of which must be named."""
    facts = CrossRowFacts()
    facts.add(_read(_row("A", used="strict")).facts)
    with pytest.raises(TwoReadings) as caught:
        facts.add(_read(_row("A", used="loose")).facts)
    assert caught.value.choices == [("--score", "acc,loose"), ("--score", "acc,strict")]
    assert _read(_row("A"), "acc,none").facts == ()


def test_what_was_sent() -> None:
    """A request to a chat API is its messages as JSON text; older rows have a list."""
    chat = [{"role": "user", "content": "Q"}]
    sent = {"gen_args_0": {"arg_0": json.dumps(chat)}}
    assert _read(_row("A", arguments=sent)).kept[0].prompt == chat
    assert _read(_row("A", arguments=[["Q", {}]])).kept[0].prompt == "Q"
    with pytest.raises(BadField):
        _read(_row("A", arguments={}))


@pytest.mark.parametrize(
    "row",
    [
        _row("A", arguments={"a": {"arg_0": "Q"}, "b": {"arg_0": "Q"}}),
        _row([-1.5, True]),
        {**_row("A"), "resps": [["A"], ["B"]]},
    ],
)
def test_likelihoods_are_no_answers(row: Row) -> None:
    """Multiple-choice tasks, which have a number for each given answer, are dropped."""
    assert _read(row).lost == ["no_response"]
