"""One group, as strategies see it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.engine.store.candidate_columns import CandidateColumns
from prefpairs.engine.store.candidate_store import CandidatesInMemory
from prefpairs.engine.store.ranking import RankedGroup, competing_members, judged_both_ways
from prefpairs.fields.make_candidate import TASK
from prefpairs.fields.read_options import ReadOptions
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.reasons import CONFLICTING
from prefpairs.strategies.options import PairOptions

ONE = Candidate("g", "Q", "A", 0.5, 3)


def _columns(candidates: Sequence[Candidate]) -> CandidateColumns:
    return CandidatesInMemory(candidates).columns


def _competing(
    *candidates: Candidate, keep: str = "", drop: str = ""
) -> tuple[list[int], dict[str, int]]:
    members, ledger = _reported(*candidates, keep=keep, drop=drop)
    return members, dict(ledger.candidates_dropped)


def _reported(
    *candidates: Candidate, keep: str = "", drop: str = "", min_gap: float = 0
) -> tuple[list[int], Ledger]:
    ledger = Ledger()
    settled = ReadOptions(keep_rows=frozenset([keep]), drop_rows=frozenset([drop]))
    read = ReadPlan(inputs=[], options=settled)
    plan = PairPlan(read=read, options=PairOptions(min_gap=min_gap))
    members, _ = competing_members(_columns(candidates), 0, candidates.__getitem__, plan, ledger)
    return members, ledger


def _ranked(*candidates: Candidate) -> RankedGroup:
    columns = _columns(candidates)
    members = sorted(range(len(candidates)), key=columns.rank)
    return RankedGroup(columns, members, candidates.__getitem__, b"key")


def test_group_is_best_first() -> None:
    """Scores and digests in rank order, with the key as identity."""
    ranked = _ranked(ONE._replace(score=0.1), ONE._replace(response="B"))
    assert list(ranked.group.scores) == [0.5, 0.1]
    assert ranked.group.identity == b"key"
    assert [ranked.member(place) for place in range(2)] == [1, 0]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_ties_are_ordered_by_their_text(order: list[int]) -> None:
    """Ties in score, index and answer are broken by the whole text, not by order."""
    ties = [ONE._replace(index=None, meta={"n": n}, origin=f"f:{9 - n}") for n in range(3)]
    candidates = [ties[n] for n in order]
    ranked = _ranked(*candidates)
    assert [candidates[ranked.member(place)].meta for place in (2, 0, 1)] == [
        {"n": 2},
        {"n": 0},
        {"n": 1},
    ]


def test_ties_are_fetched_only_when_asked_for() -> None:
    """A group without winners reads no text."""
    asked: list[int] = []
    ties = [ONE._replace(index=None)] * 3

    def fetch(number: int) -> Candidate:
        asked.append(number)
        return ties[number]

    ranked = RankedGroup(_columns([*ties, ONE._replace(score=0.1)]), [0, 1, 2, 3], fetch, b"")
    ranked.member(3)
    assert asked == []
    ranked.member(1)
    ranked.member(2)
    assert sorted(asked) == [0, 1, 2]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([], "no_candidate"),
        ([ONE], "one_candidate"),
        ([ONE, ONE._replace(score=0.1, index=4)], "same_answer"),
        ([ONE, ONE._replace(response="B")], "all_tied"),
        ([ONE, ONE._replace(index=4)], "same_answer"),
        ([ONE, ONE._replace(response="B", score=0.1)], "none_allowed"),
    ],
)
def test_why_no_pair(members: list[Candidate], reason: str) -> None:
    """The reason that is reported for a group without a pair."""
    assert _ranked(*members).why_no_pair() == reason


def test_different_rollouts_all_stay() -> None:
    """Rollouts with another index, another answer or no index are not copies."""
    candidates = [
        ONE,
        ONE._replace(index=4),
        ONE._replace(response="B"),
        ONE._replace(index=None),
        ONE._replace(index=None, origin="f:9"),
    ]
    members, dropped = _competing(*candidates)
    assert (sorted(members), dropped) == ([0, 1, 2, 3, 4], {})


def test_copies_with_equal_scores_count_once() -> None:
    """Three copies with equal scores are one rollout."""
    copies = [ONE._replace(origin=f"f:{n}") for n in range(3)]
    members, dropped = _competing(*copies)
    assert (len(members), dropped) == (1, {"duplicate_rollout": 2})


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_which_copy_competes_does_not_depend_on_order(order: list[int]) -> None:
    """The copy with the smallest text is used, in any order."""
    copies = [ONE._replace(meta={"run": run}, origin=f"f:{run}") for run in order]
    members, _ = _competing(*copies)
    assert [copies[number].meta for number in members] == [{"run": 0}]


def test_copies_with_different_scores_are_all_dropped() -> None:
    """Copies with different scores are all dropped, since either score may be wrong."""
    members, dropped = _competing(ONE, ONE._replace(score=0.9), ONE._replace(response="B"))
    assert (members, dropped) == ([2], {"conflicting_scores": 2})


def test_copies_with_different_scores_can_be_kept() -> None:
    """--keep-rows conflicting_scores keeps them; exact copies still count once."""
    copies = ONE, ONE._replace(score=0.9), ONE._replace(origin="f:9")
    members, dropped = _competing(*copies, keep=CONFLICTING)
    assert (members[0], len(members), dropped) == (1, 2, {"duplicate_rollout": 1})


def test_tasks_of_one_prompt_are_no_copies() -> None:
    """With --group-by prompt, rollout 3 of two tasks is two rollouts."""
    members, dropped = _competing(
        ONE._replace(meta={TASK: "a"}), ONE._replace(meta={TASK: "b"}, score=0.9)
    )
    assert (members, dropped) == ([1, 0], {})


JUDGED_TWICE = [
    Candidate("g", "Q", "A", 1.0),
    Candidate("g", "Q", "A", 0.0),
    Candidate("g", "Q", "B", 0.5),
    Candidate("g", "Q", "C", -1.0),
]


def test_answers_judged_twice_compete_and_are_counted() -> None:
    """Without an index, they may be different rollouts: A is both better and worse than B."""
    members, ledger = _reported(*JUDGED_TWICE)
    assert (members, ledger.candidates_dropped, ledger.marked) == (
        [0, 2, 1, 3],
        {},
        {CONFLICTING: 1},
    )


def test_answers_judged_twice_are_dropped_on_request() -> None:
    """--drop-rows conflicting_scores drops them, also if their indexes differ."""
    assert _competing(*JUDGED_TWICE, drop=CONFLICTING) == ([2, 3], {CONFLICTING: 2})
    numbered = [one._replace(index=number) for number, one in enumerate(JUDGED_TWICE)]
    assert _competing(*numbered, drop=CONFLICTING) == ([2, 3], {CONFLICTING: 2})


def test_answers_judged_twice_within_the_gap_are_no_contradiction() -> None:
    """With a --min-gap above the difference, no pair contradicts another."""
    assert not _reported(*JUDGED_TWICE[:3], min_gap=0.6)[1].marked
    assert _reported(*JUDGED_TWICE[:3], min_gap=0.4)[1].marked == {CONFLICTING: 1}


@given(
    judged=st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.integers(0, 6).map(float)),
        max_size=9,
    ),
    min_gap=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_judged_both_ways_is_what_all_pairs_show(
    judged: list[tuple[bytes, float]], min_gap: float
) -> None:
    """The marked answers are those with several scores that pairs both choose and reject."""
    gap = max(min_gap, 1)  # scores are whole numbers here, and ties never pair
    over = {
        (one, other)
        for one, score in judged
        for other, least in judged
        if one != other and score - least >= gap
    }
    several = {
        one for one, _ in judged if len({score for said, score in judged if said == one}) > 1
    }
    expected = {one for one, other in over if (other, one) in over and one in several}
    assert judged_both_ways(judged, min_gap) == len(expected)
