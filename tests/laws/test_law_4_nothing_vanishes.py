"""Law 4: every row and every candidate is used, or lost for a reason that is counted."""

import json
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts_of_any_format import (
    BLANK_LINES,
    STRATEGIES,
    any_scores,
    asked,
    bad_gym_lines,
    bad_lines,
    contest_rows,
    gym_rows,
    lines,
    nat_rows,
    one_answer_rows,
)
from run_in_process import (
    Asked,
    Outcome,
    Row,
    extract_lines,
    input_of,
    line_of,
    lines_of,
    pair_lines,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.cli.main import main
from prefpairs.fields.read_options import ReadOptions
from prefpairs.reasons import ALL

PLACEHOLDER = b"<PLACEHOLDER ROW>\n"


def expect_balance(outcome: Outcome) -> None:
    """Both ledgers in the summary add up, and every loss has a known reason."""
    counts = outcome.counts()
    rows, candidates = counts["rows"], counts["candidates"]
    assert rows["read"] == rows["used"] + sum(rows["dropped"].values()) + rows["bad"]
    assert candidates["found"] == candidates["kept"] + sum(candidates["dropped"].values())
    reasons = [*rows["dropped"], *candidates["dropped"], *counts["groups_without_pair"]]
    assert [reason for reason in reasons if reason not in ALL] == []
    assert all(count > 0 for count in [*rows["dropped"].values(), *candidates["dropped"].values()])
    assert counts["pairs"] == len(outcome.lines)
    if (pairing := counts.get("stages", {}).get("pairing")) is not None:
        assert pairing["found"] == pairing["kept"] + sum(pairing["dropped"].values())
        ready = counts["stages"].get("ready-made", {"kept": 0})["kept"]
        assert pairing["kept"] == counts["pairs"] - ready


MIXTURES = st.one_of(
    st.tuples(lines(), bad_lines()),
    st.tuples(gym_rows().map(lambda rows: lines_of(*rows)), bad_gym_lines()),
)
"""Readable and unreadable lines."""


@examples(300)
@given(
    mixture=MIXTURES,
    blank=st.lists(st.sampled_from(BLANK_LINES), max_size=2),
    asked=asked(),
    chance=st.randoms(use_true_random=False),
)
def test_both_ledgers_balance(
    mixture: tuple[list[bytes], list[bytes]], blank: list[bytes], asked: Asked, chance: Random
) -> None:
    """Each line is counted once, bad ones as bad, and the rest adds up."""
    good, bad = mixture
    mixed = [*good, *bad, *blank]
    chance.shuffle(mixed)
    outcome = pair_lines(mixed, asked)
    expect_balance(outcome)
    assert outcome.ledger.rows_read == len(good) + len(bad)
    assert outcome.ledger.rows_bad == len(bad)


@examples(200)
@given(mixture=MIXTURES)
def test_extract_writes_all_that_it_keeps(mixture: tuple[list[bytes], list[bytes]]) -> None:
    """`extract` writes exactly the kept candidates, and all others have a reason."""
    good, bad = mixture
    outcome = extract_lines([*good, *bad], ReadOptions())
    ledger = outcome.ledger
    assert ledger.rows_read == len(good) + len(bad)
    assert ledger.rows_read == ledger.rows_used + ledger.rows_dropped.total() + ledger.rows_bad
    assert ledger.candidates_found == len(outcome.lines) + ledger.candidates_dropped.total()


@examples(150)
@given(given_lines=lines(), asked=asked())
def test_pair_keeps_what_extract_keeps_but_for_copies(
    given_lines: list[bytes], asked: Asked
) -> None:
    """`pair` keeps what `extract` writes, or drops it as a copy."""
    extracted = extract_lines(given_lines, asked.read)
    ledger = pair_lines(given_lines, asked).ledger
    copies = ledger.candidates_dropped - extracted.ledger.candidates_dropped
    assert ledger.candidates_kept + copies.total() == len(extracted.lines)
    assert copies.keys() <= {"duplicate_rollout", "conflicting_scores"}


@examples(150)
@given(rows=contest_rows(), strategy=st.sampled_from(STRATEGIES))
def test_every_group_gives_a_pair_or_a_reason(rows: list[Row], strategy: str) -> None:
    """Groups with a pair, and those without one by reason, add up to all groups."""
    outcome = pair_lines(lines_of(*rows), Asked(strategy=strategy))
    ledger = outcome.ledger
    with_pair = {pair["group"] for pair in outcome.rows}
    assert ledger.groups == len({row["prompt"] for row in rows})
    assert ledger.groups == len(with_pair) + ledger.groups_without_pair.total()


@examples(150)
@given(given_lines=lines(), asked=asked())
def test_the_summary_describes_the_pairs(given_lines: list[bytes], asked: Asked) -> None:
    """The number, gaps and mean scores in the summary are those of the pairs written."""
    outcome = pair_lines(given_lines, asked)
    counts, pairs = outcome.counts(), outcome.rows
    gaps = [pair["gap"] for pair in pairs]
    assert counts["pairs"] == len(pairs)
    assert counts["pairs_at_min_gap"] == {
        least: sum(gap >= float(least) for gap in gaps) for least in ("0.1", "0.2")
    }
    assert (counts["gap"] is None) == (not pairs)
    if pairs:
        mean = counts["gap"]["mean"]
        assert (counts["gap"]["min"], counts["gap"]["max"]) == (min(gaps), max(gaps))
        assert mean == pytest.approx(fmean(gaps), rel=1e-12)
        for side in ("chosen", "rejected"):
            scores = [pair[f"{side}_score"] for pair in pairs]
            assert counts[f"mean_{side}_score"] == pytest.approx(fmean(scores), rel=1e-12, abs=1e-9)


@examples(100)
@given(rows=gym_rows(), holders=st.integers(0, 3), asked=asked())
def test_placeholder_lines_are_dropped_rows(rows: list[Row], holders: int, asked: Asked) -> None:
    """A placeholder line is not JSON, but it is dropped, not bad."""
    outcome = pair_lines([*lines_of(*rows), *[PLACEHOLDER] * holders], asked)
    expect_balance(outcome)
    assert outcome.ledger.rows_bad == 0
    assert outcome.ledger.rows_dropped["placeholder"] == holders


@examples(150)
@given(rows=nat_rows())
def test_every_scored_step_is_found(rows: list[Row]) -> None:
    """Each TTC_END step with the right name is found as a candidate, kept or not."""
    steps = [step for row in rows for step in row.get("intermediate_steps", [row])]
    payloads = [step.get("payload", step) for step in steps]
    kinds = [(payload["event_type"], payload["name"]) for payload in payloads]
    outcome = pair_lines(lines_of(*rows), Asked())
    assert outcome.ledger.candidates_found == kinds.count(("TTC_END", "dpo_candidate_move"))


@examples(100)
@given(given_lines=lines(), cut=st.integers(0, 10), limit=st.integers(0, 10))
def test_a_limit_reads_so_many_rows(given_lines: list[bytes], cut: int, limit: int) -> None:
    """--limit N reads and counts the first N rows of all files."""
    shards = [given_lines[:cut], given_lines[cut:]]
    ledger = pair_shards(shards, Asked(limit=limit)).ledger
    expected = pair_lines(given_lines[:limit], Asked()).ledger
    assert ledger.rows_read == min(limit, len(given_lines))
    assert (ledger.rows_dropped, ledger.candidates_dropped) == (
        expected.rows_dropped,
        expected.candidates_dropped,
    )


@examples(100)
@given(first=any_scores(), second=any_scores(), weight=st.sampled_from([1.0, 0.5, 1e10, -1.0]))
def test_sums_of_scores_are_kept_or_dropped(first: float, second: float, weight: float) -> None:
    """Several --score give a finite sum, or a loss with its reason."""
    row = {"prompt": "Q", "response": "A", "first": first, "second": second}
    read = ReadOptions(scores=(("first", 1.0), ("second", weight)))
    outcome = extract_lines([line_of(row)], read)
    assert len(outcome.lines) + outcome.ledger.candidates_dropped["score_not_finite"] == 1


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (None, "no_score"),
        (float("nan"), "score_not_finite"),
        (float("-inf"), "score_not_finite"),
        (10**400, "score_not_finite"),
        (-(10**400), "score_not_finite"),
    ],
    ids=["null", "nan", "minus infinity", "huge integer", "minus huge integer"],
)
def test_a_score_that_is_no_number_is_dropped_with_its_reason(score: Any, reason: str) -> None:
    """A missing, NaN or infinite score makes a row dropped, not bad."""
    rows: list[Row] = [
        {"prompt": "Q", "response": "A", "score": score},
        {"responses_create_params": {"input": "Q"}, "response": {"output": "A"}, "reward": score},
        {"group": "g", "prompt": "Q", "response": "A", "score": score, "origin": "f:1"},
    ]
    for row in rows:
        ledger = extract_lines([line_of(row)], ReadOptions()).ledger
        assert (ledger.rows_bad, ledger.candidates_dropped) == (0, {reason: 1})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_group_that_lost_all_candidates_has_a_reason(strategy: str) -> None:
    """A group of copies with conflicting scores is counted as one without a pair."""
    row = {"group": "g", "prompt": "Q", "response": "A", "index": 0, "origin": "f:1"}
    outcome = pair_lines(
        lines_of({**row, "score": 0.0}, {**row, "score": 1.0}), Asked(strategy=strategy)
    )
    ledger = outcome.ledger
    assert (
        ledger.candidates_found,
        ledger.candidates_kept,
        ledger.candidates_dropped["conflicting_scores"],
    ) == (2, 0, 2)
    assert (ledger.groups, ledger.groups_without_pair.total()) == (1, 1)


def test_copies_of_a_rollout_are_counted() -> None:
    """Of three copies of a rollout, one is kept and two are dropped."""
    row = {"group": "g", "prompt": "Q", "response": "A", "index": 0, "score": 1.0, "origin": "f:1"}
    other = {**row, "response": "B", "score": 0.0}
    outcome = pair_lines(lines_of(row, other, row, row), Asked(strategy="exhaustive"))
    ledger = outcome.ledger
    assert (
        ledger.candidates_found,
        ledger.candidates_kept,
        ledger.candidates_dropped["duplicate_rollout"],
    ) == (4, 2, 2)
    assert len(outcome.lines) == 1


@pytest.mark.parametrize("shape", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [10, 250, 600, 950, 5000])
def test_deep_nesting_is_read_or_bad(shape: str, depth: int) -> None:
    """Deeply nested tool arguments are read or make the row bad; they never crash."""
    closing = "]" if shape == "[" else "}"
    arguments = shape * depth + "1" + closing * depth
    call = {"function": {"name": "f", "arguments": arguments}}
    said = [{"role": "assistant", "content": "", "tool_calls": [call]}]
    rows = lines_of(
        {"prompt": "Q", "response": said, "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.0},
    )
    outcome = pair_lines(rows, Asked())
    expect_balance(outcome)
    assert outcome.ledger.rows_read == 2


@pytest.mark.parametrize("depth", [10, 250, 600, 950, 5000])
def test_deep_nesting_that_is_carried_along_is_read_or_bad(depth: int) -> None:
    """A deeply nested --keep field is kept or makes its row bad; it never crashes."""
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    rows = [
        b'{"prompt": "Q", "response": "A", "score": 1.0, "extra": ' + deep + b"}\n",
        b'{"prompt": "Q", "response": "B", "score": 0.0, "extra": 1}\n',
    ]
    outcome = pair_lines(rows, Asked(read=ReadOptions(keep=("extra",))))
    expect_balance(outcome)
    assert outcome.ledger.rows_read == 2


def test_an_empty_chat_is_an_empty_answer() -> None:
    """A response without messages is valid but empty: its row is dropped, not bad."""
    rows = lines_of(
        {"prompt": "Q", "response": [], "score": 0.0},
        {"prompt": "Q", "response": [{"role": "assistant", "content": "A"}], "score": 1.0},
    )
    outcome = pair_lines(rows, Asked())
    expect_balance(outcome)
    assert (outcome.ledger.rows_bad, outcome.ledger.rows_dropped.total()) == (0, 1)


@examples(15)
@given(rows=one_answer_rows(), bad=bad_lines())
def test_the_summary_is_written_whatever_happens(rows: list[Row], bad: list[bytes]) -> None:
    """--summary writes the ledgers after success, bad rows and an empty result."""
    with input_of([*lines_of(*rows), *bad]) as given_input:
        folder = Path(given_input.path).parent
        written, summary = str(folder / "pairs.jsonl"), folder / "summary.json"
        words = ["pair", given_input.path, "-o", written, "--summary", str(summary), "--quiet"]
        code = main(words)
        counts = json.loads(summary.read_bytes())
    assert code in (0, 1, 3)
    assert counts["rows"]["read"] == len(rows) + len(bad)
    assert counts["rows"]["bad"] == len(bad)
    used, dropped = counts["rows"]["used"], sum(counts["rows"]["dropped"].values())
    assert counts["rows"]["read"] == used + dropped + len(bad)
    found, lost = counts["candidates"]["found"], sum(counts["candidates"]["dropped"].values())
    assert found == counts["candidates"]["kept"] + lost
