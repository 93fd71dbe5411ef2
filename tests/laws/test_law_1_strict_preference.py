"""Law 1: the chosen score is higher by at least the requested gap, in decimal."""

import re
from dataclasses import replace
from decimal import Decimal
from math import isclose, isfinite
from sys import float_info

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rollouts_of_any_format import STRATEGIES, any_scores, asked, contest_rows, lines
from run_in_process import Asked, Row, extract_lines, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.fields.read_options import ReadOptions
from prefpairs.strategies.options import PairOptions

NUMBERS = re.compile(rb'"(?:chosen_score|rejected_score|gap)":([^,}]+)')
FLOAT = re.compile(rb"-?\d+\.\d+(e[+-]?\d+)?|-?\d+e[+-]?\d+")


def two_answers(better: float, worse: float) -> list[bytes]:
    """Two answers to one question."""
    return lines_of(
        {"prompt": "Q", "response": "yes", "score": better},
        {"prompt": "Q", "response": "no", "score": worse},
    )


def exact(number: float) -> Decimal:
    """The decimal number that a float is written as."""
    return Decimal(repr(number))


@examples(300)
@given(given_lines=lines(), asked=asked())
def test_every_pair_prefers_by_the_gap(given_lines: list[bytes], asked: Asked) -> None:
    """The chosen score is higher in every pair, and the gap is the difference, within bounds."""
    options = asked.options
    for pair in pair_lines(given_lines, asked).rows:
        chosen, rejected = exact(pair["chosen_score"]), exact(pair["rejected_score"])
        assert chosen > rejected
        assert pair["gap"] == float(chosen - rejected)
        assert chosen - rejected >= exact(options.min_gap)
        assert options.max_gap is None or chosen - rejected <= exact(options.max_gap)
        assert options.min_chosen_score is None or chosen >= exact(options.min_chosen_score)


@examples(300)
@given(given_lines=lines(), asked=asked())
def test_numbers_are_written_as_floats(given_lines: list[bytes], asked: Asked) -> None:
    """Every score and gap is finite, has a point or an exponent, and at most 15 digits."""
    outcome = pair_lines(given_lines, asked)
    numbers = [number for line in outcome.lines for number in NUMBERS.findall(line)]
    assert len(numbers) == 3 * len(outcome.lines)
    assert [number for number in numbers if not FLOAT.fullmatch(number)] == []
    scores = [pair[side] for pair in outcome.rows for side in ("chosen_score", "rejected_score")]
    assert scores == [float(f"{score:.15g}") for score in scores]


@examples(200)
@example(better=float_info.max, worse=-float_info.max, strategy="exhaustive")
@example(better=float_info.max, worse=0.0, strategy="sweet-spot")
@example(better=1e308, worse=-1e308, strategy="best-vs-worst")
@example(better=1e200, worse=-1e200, strategy="sweet-spot")
@example(better=5e-324, worse=0.0, strategy="adjacent")
@given(better=any_scores(), worse=any_scores(), strategy=st.sampled_from(STRATEGIES))
def test_any_two_finite_scores_make_a_strict_pair_or_none(
    better: float, worse: float, strategy: str
) -> None:
    """Any two finite scores give no pair, or one with a finite, positive gap."""
    thresholds = PairOptions(high_threshold=0.0, low_threshold=0.0)
    outcome = pair_lines(two_answers(better, worse), Asked(strategy=strategy, options=thresholds))
    for pair in outcome.rows:
        assert pair["chosen_score"] > pair["rejected_score"]
        assert isfinite(pair["gap"])


@examples(200)
@example(score=float_info.max)
@example(score=-1e308)
@given(score=any_scores())
def test_a_finite_score_is_kept_to_15_digits(score: float) -> None:
    """A candidate's score is finite, and equals the source's up to 15 significant digits."""
    candidates = extract_lines(two_answers(score, 0)[:1], ReadOptions()).rows
    assert len(candidates) == 1 or abs(score) > 8e307
    for candidate in candidates:
        assert isfinite(candidate["score"])
        assert isclose(candidate["score"], score, rel_tol=1e-14)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("better", "worse"), [(0.1 + 0.2, 0.3), (1.0, 1), (0.0, -0.0), (1 - 0.1, 0.9), (True, 1.0)]
)
def test_float_noise_makes_no_preference(strategy: str, better: float, worse: float) -> None:
    """Scores that are equal to 15 significant digits tie, and ties never pair."""
    thresholds = PairOptions(high_threshold=-1, low_threshold=2)
    for first, second in ((better, worse), (worse, better)):
        asked = Asked(strategy=strategy, options=thresholds)
        assert pair_lines(two_answers(first, second), asked).lines == []


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("better", "worse", "gap"),
    [(0.9, 0.8, 0.1), (0.3, 0.2, 0.1), (0.1 + 0.2, 0.2, 0.1), (1, 0.7, 0.3), (10.9, -12.7, 23.6)],
)
def test_the_gap_is_the_decimal_one(strategy: str, better: float, worse: float, gap: float) -> None:
    """--min-gap and --max-gap compare decimal numbers; the gap is written as one."""
    options = PairOptions(min_gap=gap, max_gap=gap, high_threshold=-20.0, low_threshold=20.0)
    outcome = pair_lines(two_answers(better, worse), Asked(strategy=strategy, options=options))
    assert [pair["gap"] for pair in outcome.rows] == [gap]


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "bounds",
    [
        {"min_gap": 0.3},
        {"max_gap": 0.1},
        {"min_gap": 0.2000000001},
        {"max_gap": 0.1999999999},
        {"min_chosen_score": 0.91},
    ],
)
def test_a_pair_out_of_bounds_is_not_made(
    bounds: dict[str, float], strategy: str, across: bool
) -> None:
    """In every strategy, no pair has a gap too small or too large, or a chosen score too low."""
    options = PairOptions(high_threshold=-20.0, low_threshold=20.0, **bounds)  # type: ignore[arg-type]
    asked = Asked(strategy=strategy, options=options)
    if across:
        asked = replace(asked, strategy="stratified", across_prompts=True)
    assert pair_lines(two_answers(0.9, 0.7), asked).lines == []


@examples(200)
@given(rows=contest_rows(), asked=asked())
def test_lower_is_better_negates_scores(rows: list[Row], asked: Asked) -> None:
    """--lower-is-better gives the pairs of the negated scores."""
    negated = [{**row, "score": -row["score"]} for row in rows]
    turned = replace(asked, read=ReadOptions(lower_is_better=True))
    found = pair_lines(lines_of(*negated), turned).contents()
    assert found == pair_lines(lines_of(*rows), asked).contents()
