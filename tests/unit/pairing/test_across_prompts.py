"""Pairs of answers to different prompts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.engine.store.candidate_store import CandidatesInMemory
from prefpairs.engine.store.decide import pairs_across_prompts
from prefpairs.errors import TooManyPairs
from prefpairs.fields.read_options import ReadOptions
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions

ROLLOUTS = [
    Candidate(
        f"g{number % 10}", f"Q{number % 10}", f"A{number}", 0.9 if number % 2 else 0.1, number
    )
    for number in range(40)
]


def _pairs(
    candidates: Sequence[Candidate], ledger: Ledger | None = None, **options: Any
) -> list[tuple[str, str]]:
    read = ReadPlan(inputs=[], options=options.pop("read", ReadOptions()))
    asked = options.pop("options", PairOptions())
    plan = PairPlan(read=read, options=replace(asked, across_prompts=True, **options))
    numbers = pairs_across_prompts(CandidatesInMemory(candidates), plan, ledger or Ledger())
    return [
        (str(candidates[chosen].response), str(candidates[rejected].response))
        for chosen, rejected in numbers
    ]


def test_every_good_answer_gets_a_bad_one() -> None:
    """Every good answer is chosen once, against a bad one of any prompt, in input order."""
    ledger = Ledger()
    pairs = _pairs(ROLLOUTS, ledger)
    assert [chosen for chosen, _ in pairs] == [f"A{number}" for number in range(1, 40, 2)]
    assert all(int(rejected[1:]) % 2 == 0 for _, rejected in pairs)
    assert ledger.groups == 10


def test_order_of_the_input_changes_no_pair() -> None:
    """Shuffling changes no pair; with --order key, not even the output's order."""
    backwards = ROLLOUTS[::-1]
    assert sorted(_pairs(backwards)) == sorted(_pairs(ROLLOUTS))
    assert _pairs(backwards, order="key") == _pairs(ROLLOUTS, order="key")


def test_several_rejected_ones() -> None:
    """The requested number of rejected answers, each only once."""
    pairs = _pairs(ROLLOUTS, options=PairOptions(rejected_per_chosen=3))
    assert len(pairs) == len(set(pairs)) == 60


def test_large_group_is_not_sorted_for_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand answers to one prompt are ranked a few times, not once per pair."""
    ranked = 0
    rank = CandidateColumns.rank

    def counted(columns: CandidateColumns, number: int) -> tuple[float, bool, int, bytes]:
        nonlocal ranked
        ranked += 1
        return rank(columns, number)

    monkeypatch.setattr(CandidateColumns, "rank", counted)
    one_prompt = [
        Candidate("g", "Q", f"A{number}", 0.9 if number % 2 else 0.1, number)
        for number in range(1000)
    ]
    assert len(_pairs(one_prompt)) == 500
    assert ranked <= 50 * 1000


def test_more_pairs_than_anyone_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many pairs are rejected in advance, unless --yes-all is given."""
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 39)
    options = PairOptions(rejected_per_chosen=2)
    with pytest.raises(TooManyPairs) as caught:
        _pairs(ROLLOUTS, options=options)
    assert (caught.value.pairs, caught.value.limit) == (40, 39)
    assert len(_pairs(ROLLOUTS, options=options, yes_all=True)) == 40
    assert len(_pairs(ROLLOUTS)) == 20


def test_copies_do_not_compete() -> None:
    """A repeated rollout is chosen once and counted as dropped."""
    ledger = Ledger()
    pairs = _pairs([*ROLLOUTS, ROLLOUTS[1]._replace(origin="again:1")], ledger)
    assert [chosen for chosen, _ in pairs].count("A1") == 1
    assert ledger.candidates_dropped == {"duplicate_rollout": 1}


def test_ties_across_prompts_are_ordered_by_their_text() -> None:
    """Ties in score, index and answer are broken by the text, not by order."""
    ties = [
        Candidate("g", "Q", "A", 0.9, None, meta={"n": 0}),
        Candidate("g", "Q", "A", 0.9, None, meta={"n": 1}),
        Candidate("h", "R", "B", 0.1, 0),
    ]
    written = []
    for order in (ties, ties[::-1]):
        plan = PairPlan(read=ReadPlan(inputs=[]), options=PairOptions(across_prompts=True))
        numbers = pairs_across_prompts(CandidatesInMemory(order), plan, Ledger())
        written.append(sorted(str(order[chosen].meta) for chosen, _ in numbers))
    assert written == [["{'n': 0}", "{'n': 1}"]] * 2


def test_conflicting_copies_do_not_compete() -> None:
    """Copies with conflicting scores are not paired, unless they are kept on request."""
    conflict = [*ROLLOUTS, ROLLOUTS[1]._replace(score=0.1)]
    keep = ReadOptions(keep_rows=frozenset({"conflicting_scores"}))
    ledger = Ledger()
    assert "A1" not in {answer for pair in _pairs(conflict, ledger) for answer in pair}
    assert ledger.candidates_dropped == {"conflicting_scores": 2}
    assert "A1" in {chosen for chosen, _ in _pairs(conflict, read=keep)}


def test_equal_rollouts_of_two_tasks_differ_by_their_task() -> None:
    """Equal rollouts of two tasks are ordered by task, not by arrival."""
    ties = [
        Candidate("P", "P", "A", 0.0, 0, meta={"source_task": f"t{number}"}) for number in range(9)
    ]
    candidates = [*ties, Candidate("Q", "Q", "B", 1.0, 0)]

    def tasks(given: Sequence[Candidate]) -> list[Any]:
        plan = PairPlan(read=ReadPlan(inputs=[]), options=PairOptions(across_prompts=True))
        found = pairs_across_prompts(CandidatesInMemory(given), plan, Ledger())
        return [given[rejected].meta for _, rejected in found]

    met = {str(tasks(candidates[at:] + candidates[:at])) for at in range(len(candidates))}
    assert len(met) == 1
