"""--require: conditions on counts of the summary."""

from typing import Any

import pytest

from prefpairs.engine.outputs.required_counts import Gate, read_gates
from prefpairs.errors import GateNotMet, UnknownWord, UsageError
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.summaries import pair_input_summary, pair_summary


def _summary() -> dict[str, Any]:
    stage = StageCounts("dedupe", found=10)
    stage.dropped["duplicate"] = 3
    ledger = Ledger(rows_read=12, stages=[stage], sides={"train": 6, "val": 1})
    for gap in (0.25, 0.75):
        ledger.add_pair(gap, None, 0.0)
    return pair_input_summary(ledger)


def _check(word: str) -> None:
    (gate,) = read_gates([word], _summary())
    gate.check(_summary())


@pytest.mark.parametrize(
    ("word", "gate"),
    [
        ("pairs>=5000", Gate("pairs>=5000", "pairs", ">=", 5000.0)),
        (" pairs <= -0.5 ", Gate(" pairs <= -0.5 ", "pairs", "<=", -0.5)),
        ("rows.read==1e3", Gate("rows.read==1e3", "rows.read", "==", 1000.0)),
        ("pairs!=0", Gate("pairs!=0", "pairs", "!=", 0.0)),
        ("sides.val>1", Gate("sides.val>1", "sides.val", ">", 1.0)),
        ("stages.a.kept<1", Gate("stages.a.kept<1", "stages.a.kept", "<", 1.0)),
    ],
)
def test_words(word: str, gate: Gate) -> None:
    """A condition has a path, a comparison and a number."""
    assert read_gates([word], pair_input_summary(Ledger())) == [gate]


@pytest.mark.parametrize(
    "word",
    ["pairs", "", "pairs>=", ">=5", "pairs=5", "pairs=>5", "pairs>=many", "pairs>=nan", "a b>1"],
)
def test_invalid_gates(word: str) -> None:
    """Invalid conditions are reported before the run, with an example."""
    with pytest.raises(UsageError) as caught:
        read_gates([word], pair_input_summary(Ledger()))
    assert caught.value.problem == f"--require {word}: expected NAME>=NUMBER"


@pytest.mark.parametrize(
    "word",
    [
        "pairs>=2",
        "pairs<=2",
        "pairs==2",
        "pairs!=3",
        "pairs>1.9",
        "pairs<2.1",
        "rows.read==12",
        "rows.dropped.sides_equal==0",
        "stages.dedupe.found>=10",
        "stages.dedupe.dropped.duplicate<=3",
        "stages.dedupe.dropped.contradiction==0",
        "noticed.id_renewed==0",
        "gap.mean==0.5",
        "mean_rejected_score==0",
        "sides.val>=1",
    ],
)
def test_gate_that_is_met(word: str) -> None:
    """Any count of the summary can be required; a reason that did not occur counts 0."""
    _check(word)


@pytest.mark.parametrize(
    ("word", "actual"),
    [
        ("pairs>=3", 2),
        ("pairs<=1", 2),
        ("pairs==1", 2),
        ("pairs!=2", 2),
        ("pairs>2", 2),
        ("pairs<2", 2),
        ("stages.dedupe.dropped.duplicate<3", 3),
        ("stages.dedupe.dropped.contradiction>0", 0),
        ("gap.min>=0.3", 0.25),
        ("mean_chosen_score>=0", None),
        ("mean_chosen_score<0", None),
        ("mean_chosen_score!=0", None),
    ],
)
def test_gate_that_is_not_met(word: str, actual: float | None) -> None:
    """The error has the condition and the actual count; an unknown number never meets it."""
    with pytest.raises(GateNotMet) as caught:
        _check(word)
    assert (caught.value.gate, caught.value.actual) == (word, actual)


@pytest.mark.parametrize(
    "word",
    [
        "pair>=1",
        "rows>=1",
        "notes==0",
        "inputs.0.name==1",
        "stages.dedupe.keptt>=1",
        "sides.tst>=0",
    ],
)
def test_unknown_count(word: str) -> None:
    """A mistyped name exits 2, instead of never being met."""
    with pytest.raises(UnknownWord) as caught:
        _check(word)
    assert caught.value.word == word.partition(">")[0].partition("=")[0]


def test_names_are_checked_before_the_run() -> None:
    """Names are checked before the run, except those that depend on it."""
    empty = pair_summary(Ledger())
    with pytest.raises(UnknownWord) as caught:
        read_gates(["pairs>=1", "candidate.kept>=1"], empty)
    assert (caught.value.what, caught.value.word) == ("count for --require", "candidate.kept")
    assert "candidates" in caught.value.known
    assert len(read_gates(["candidates.kept>=1", "stages.x.kept>1", "sides.val>1"], empty)) == 3


def test_gap_of_the_what_if() -> None:
    """A key that contains a dot is found."""
    ledger = Ledger(groups=1)
    ledger.add_pair(0.15, 1.0, 0.85)
    summary = pair_summary(ledger)
    for gate in read_gates(["pairs_at_min_gap.0.1==1", "pairs_at_min_gap.0.2==0"], summary):
        gate.check(summary)
