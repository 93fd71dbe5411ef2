"""Labelled comparisons to ready-made pairs: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, OptionNeeds, OptionsConflict, TwoReadings, UsageError
from prefpairs.fields.preference_label import read_label, read_meanings
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.pair import Pair
from prefpairs.option import filled
from prefpairs.plan import ReadPlan
from prefpairs.sources.detect import source_of
from prefpairs.sources.preferences import open_reader

Row = dict[str, Any]
OWN = {"preference": "label", "response_a": "a", "response_b": "b"}
STEER = {"context": "Q", "response1": "A", "response2": "B"}


def _read(row: Row, **options: Any) -> RowOutcome:
    read_options = ReadOptions(**options)
    return open_reader([], read_options, "rows.jsonl").read(json.dumps(row).encode())


def _pair(row: Row, **options: Any) -> Pair:
    (pair,) = _read(row, **options).pairs
    return pair


def _own(label: Any, **more: Any) -> Row:
    return {"prompt": "Q", "a": "A", "b": "B", "label": label, **more}


@pytest.mark.parametrize(
    ("row", "chosen"),
    [
        ({**STEER, "overall_preference": -1}, "A"),
        ({**STEER, "overall_preference": 3}, "B"),
        (
            {"prompt": "Q", "response_1": "A", "response_2": "B", "preference_strength": 2},
            "B",
        ),
        ({"history": "Q", "human_ref_A": "A", "human_ref_B": "B", "labels": 1}, "A"),
        ({"history": "Q", "human_ref_A": "A", "human_ref_B": "B", "labels": 0}, "B"),
    ],
)
def test_known_datasets(row: Row, chosen: str) -> None:
    """The labels of each dataset have their own meaning, and there are no scores."""
    pair = _pair(row)
    assert (pair.prompt, pair.chosen, pair.rejected) == ("Q", chosen, "BA"["AB".index(chosen)])
    assert (pair.chosen_score, pair.rejected_score, pair.gap) == (None, None, None)
    assert (pair.chosen_index, pair.rejected_index) == ((0, 1) if chosen == "A" else (1, 0))
    assert source_of(json.dumps(row).encode()) == "preferences"


def test_conversations() -> None:
    """The prompt ends before the first assistant turn, and must be the same on both sides."""
    asked = {"role": "user", "content": "Q"}
    first, second = ([asked, {"role": "assistant", "content": said}] for said in "AB")
    row = {"conversation_a": first, "conversation_b": second, "winner": "model_b"}
    pair = _pair({**row, "model_a": "m1", "model_b": "m2"})
    assert pair.prompt == [asked]
    assert pair.chosen == second[1:]
    assert pair.meta == {"chosen_model": "m2", "rejected_model": "m1"}
    assert _pair({**row, "winner": "m1", "model_a": "m1", "model_b": "m2"}).chosen == first[1:]
    other = [{"role": "user", "content": "Q2"}, second[1]]
    assert _read({**row, "conversation_b": other}).pairs_lost == ["environment_differs"]


def test_strength_and_annotators() -> None:
    """The size of a signed label is kept; annotators who contradict each other are counted."""
    labels = [{"score": -2}, {"score": 1}]
    found = _read({**STEER, "overall_preference": -2, "individual_preference": labels})
    assert found.pairs[0].meta == {"strength": 2}
    assert found.noticed == ["annotators_differ"]
    agreeing = {"individual_preference": [{"score": -2}, {"score": 0}]}
    assert _read({**STEER, "overall_preference": -2, **agreeing}).noticed == []


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (None, "no_label"),
        ("Tie", "tied"),
        ("tie (bothbad)", "both_bad"),
        ("both_bad", "both_bad"),
    ],
)
def test_labels_without_a_preference(label: Any, reason: str) -> None:
    """Labels without a preference are dropped and counted."""
    found = _read(_own(label), **OWN)
    assert (found.pairs, found.pairs_lost) == ([], [reason])
    assert _read({**STEER, "overall_preference": 0}).pairs_lost == ["tied"]


@pytest.mark.parametrize(
    ("label", "chosen"),
    [("A", "A"), ("b", "B"), ("[[A]]", "A"), ("model_b", "B"), ("Response A", "A")],
)
def test_labels_in_words(label: str, chosen: str) -> None:
    """The usual words for both sides, whatever their case."""
    assert _pair(_own(label), **OWN).chosen == chosen


def test_names_of_answers_and_models() -> None:
    """A label may be the name of a column, or of a model if there are two of them."""
    named = {"preference": "label", "response_a": "x.left", "response_b": "x.right"}
    row = {"prompt": "Q", "x": {"left": "A", "right": "B"}, "label": "right"}
    assert _pair(row, **named).chosen == "B"
    assert _pair(_own("m2", model_a="m1", model_b="m2"), **OWN).chosen == "B"
    with pytest.raises(BadField):
        _read(_own("m1", model_a="m1", model_b="m1"), **OWN)
    with pytest.raises(BadField):
        _read(_own("first"), **OWN)


@pytest.mark.parametrize("label", ["b", "B", "model_b"])
def test_a_name_that_means_the_other_answer(label: str) -> None:
    """The answer b may be called A: the run stops, with a command for each reading."""
    row = {"prompt": "Q", "b": "A", "a": "B", "model_a": "model_b", "model_b": "x", "label": label}
    named = {"preference": "label", "response_a": "b", "response_b": "a"}
    with pytest.raises(TwoReadings) as caught:
        _read(row, **named)
    words = [read_meanings([word]) for _, word in caught.value.choices]
    assert [_pair(row, **named, preference_map=one).chosen for one in words] == ["A", "B"]


@pytest.mark.parametrize("label", [1, 0, -2, "1", True, 2.5])
def test_numbers_have_no_meaning_of_their_own(label: Any) -> None:
    """In SHP, 1 is the first answer, in others the second: the run stops."""
    with pytest.raises(TwoReadings) as caught:
        _read(_own(label), **OWN)
    for option, word in caught.value.choices:
        assert option == "--preference-map"
        read_label(label, "label", read_meanings([word]))


@pytest.mark.parametrize(
    ("meanings", "label", "side", "strength"),
    [
        ("1=A,0=B", 0, "B", None),
        ("1=A,0=B", "1.0", "A", None),
        ("true=b,false=a", True, "B", None),
        ("negative=B", -2, "B", 2),
        ("negative=B", "0.5", "A", 0.5),
        ("negative=A", 0, "tie", 0),
        ("0=both-bad,negative=A", 0, "both-bad", None),
        ("first=A", "first", "A", None),
    ],
)
def test_meanings(meanings: str, label: Any, side: str, strength: float | None) -> None:
    """--preference-map gives the meaning of numbers, texts and booleans."""
    assert read_label(label, "label", read_meanings([meanings])) == (side, strength)


@pytest.mark.parametrize(
    "words", ["A", "=A", "1=C", "1=A,1=B", "negative=tie", "negative=A,positive=A"]
)
def test_meanings_that_mean_nothing(words: str) -> None:
    """Meanings that make no sense are rejected before anything is read."""
    with pytest.raises(UsageError):
        read_meanings([words])


def test_a_number_that_the_map_does_not_name() -> None:
    """A number missing in the map makes the row bad: 2 is neither 1 nor 0."""
    with pytest.raises(BadField):
        _read(_own(2), **OWN, preference_map=(("1", "A"), ("0", "B")))


def test_the_question_of_own_rows() -> None:
    """The prompt is guessed or named; other columns of the question are added, as in all rows."""
    pair = _pair(_own("A", system="S", tools=[{"name": "f"}]), **OWN)
    assert [turn["content"] for turn in pair.prompt if isinstance(turn, dict)] == ["S", "Q"]
    assert pair.tools == [{"name": "f"}]
    assert _pair({**_own("A"), "q": "Other"}, **OWN, prompt="q").prompt == "Other"
    with pytest.raises(TwoReadings):
        _read(_own("A", context="C"), **OWN)
    assert _read({**_own("A"), "prompt": None}, **OWN).pairs_lost == ["no_prompt"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_own("A", b="A"), "sides_equal"),
        (_own("A", b=" "), "empty_answer"),
        (_own("A", b=None), "no_response"),
    ],
)
def test_answers_that_are_no_pair(row: Row, reason: str) -> None:
    """Ready-made pairs follow the same rules as all others."""
    assert _read(row, **OWN).pairs_lost == [reason]


@pytest.mark.parametrize("options", [{"response": "a"}, {"scores": (("x", 1.0),)}])
def test_options_for_scores(options: Row) -> None:
    """Options for scores are for rows of another kind; the hint reads them as such."""
    with pytest.raises(TwoReadings) as caught:
        _read({**STEER, "overall_preference": 1}, **options)
    assert caught.value.choices == [("--from", "generic")]


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ({"preference": "x"}, OptionNeeds),
        ({"preference": "x", "response_a": "a"}, OptionNeeds),
        ({"response_b": "b"}, OptionNeeds),
        ({**OWN, "scores": ["x"]}, OptionsConflict),
        ({**OWN, "response": "x"}, OptionsConflict),
    ],
)
def test_options_that_go_together(typed: Row, error: type[Exception]) -> None:
    """The label and both answers must be named together, without other options."""
    with pytest.raises(error):
        filled(ReadOptions, typed)


def test_another_source_is_refused() -> None:
    """--preference contradicts --from with another source."""
    rows = filled(ReadOptions, OWN)
    with pytest.raises(OptionsConflict):
        ReadPlan(source="generic").as_rollouts(rows)
    assert ReadPlan().as_rollouts(rows).source == "preferences"
