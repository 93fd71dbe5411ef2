"""One group as strategies see it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.engine.candidate_index import Index, Place
from prefpairs.engine.ranked_group import Contest, fair_members
from prefpairs.engine.rejudged import judged_both_ways
from prefpairs.fields.answer import TASK
from prefpairs.fields.read_options import ReadOptions
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.reasons import CONFLICTING
from prefpairs.strategies.options import PairOptions

ONE = Candidate("g", "Q", "A", 0.5, 3)


def _index(candidates: Sequence[Candidate]) -> Index:
    index = Index()
    for candidate in candidates:
        index.add(candidate, Place(0, 0, 0, 0, 0))
    return index


def _fair(
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
    members, _ = fair_members(_index(candidates), 0, candidates.__getitem__, plan, ledger)
    return members, ledger


def _contest(*candidates: Candidate) -> Contest:
    index = _index(candidates)
    members = sorted(range(len(candidates)), key=index.rank)
    return Contest(index, members, candidates.__getitem__, b"key")


def test_group_is_best_first() -> None:
    """Scores and digests in the order of the members, the key as identity."""
    contest = _contest(ONE._replace(score=0.1), ONE._replace(response="B"))
    assert list(contest.group.scores) == [0.5, 0.1]
    assert contest.group.identity == b"key"
    assert [contest.member(place) for place in range(2)] == [1, 0]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_twins_are_told_apart_by_their_text(order: list[int]) -> None:
    """Equal in score, index and answer: the whole text decides, and arrival nothing."""
    twins = [ONE._replace(index=None, meta={"n": n}, origin=f"f:{9 - n}") for n in range(3)]
    candidates = [twins[n] for n in order]
    contest = _contest(*candidates)
    assert [candidates[contest.member(place)].meta for place in (2, 0, 1)] == [
        {"n": 2},
        {"n": 0},
        {"n": 1},
    ]


def test_twins_are_fetched_when_somebody_asks() -> None:
    """A group without winners costs no reading."""
    asked: list[int] = []
    twins = [ONE._replace(index=None)] * 3

    def fetch(number: int) -> Candidate:
        asked.append(number)
        return twins[number]

    contest = Contest(_index([*twins, ONE._replace(score=0.1)]), [0, 1, 2, 3], fetch, b"")
    contest.member(3)
    assert asked == []
    contest.member(1)
    contest.member(2)
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
    """The reason that is told for a group."""
    assert _contest(*members).why_no_pair() == reason


def test_different_rollouts_all_stay() -> None:
    """Other index, other answer, or no index: nobody is a copy."""
    candidates = [
        ONE,
        ONE._replace(index=4),
        ONE._replace(response="B"),
        ONE._replace(index=None),
        ONE._replace(index=None, origin="f:9"),
    ]
    members, dropped = _fair(*candidates)
    assert (sorted(members), dropped) == ([0, 1, 2, 3, 4], {})


def test_copies_with_equal_scores_count_once() -> None:
    """A row that stands three times is one rollout."""
    copies = [ONE._replace(origin=f"f:{n}") for n in range(3)]
    members, dropped = _fair(*copies)
    assert (len(members), dropped) == (1, {"duplicate_rollout": 2})


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_which_copy_stays_is_no_chance(order: list[int]) -> None:
    """The smallest text stays, whichever came first."""
    copies = [ONE._replace(meta={"run": run}, origin=f"f:{run}") for run in order]
    members, _ = _fair(*copies)
    assert [copies[number].meta for number in members] == [{"run": 0}]


def test_copies_with_different_scores_are_all_dropped() -> None:
    """Nobody can say which of two verifiers is right."""
    members, dropped = _fair(ONE, ONE._replace(score=0.9), ONE._replace(response="B"))
    assert (members, dropped) == ([2], {"conflicting_scores": 2})


def test_copies_with_different_scores_can_be_kept() -> None:
    """--keep-rows conflicting_scores; exact copies still count once."""
    copies = ONE, ONE._replace(score=0.9), ONE._replace(origin="f:9")
    members, dropped = _fair(*copies, keep=CONFLICTING)
    assert (members[0], len(members), dropped) == (1, 2, {"duplicate_rollout": 1})


def test_tasks_of_one_prompt_are_no_copies() -> None:
    """Joined by --group-by prompt, rollout 3 of two tasks is two rollouts."""
    members, dropped = _fair(
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
    """Without an index nobody knows whether they are copies: A is better than B, and worse."""
    members, ledger = _reported(*JUDGED_TWICE)
    assert (members, ledger.candidates_dropped, ledger.marked) == (
        [0, 2, 1, 3],
        {},
        {CONFLICTING: 1},
    )


def test_answers_judged_twice_are_dropped_on_request() -> None:
    """--drop-rows conflicting_scores; also where indexes tell the rollouts apart."""
    assert _fair(*JUDGED_TWICE, drop=CONFLICTING) == ([2, 3], {CONFLICTING: 2})
    numbered = [one._replace(index=number) for number, one in enumerate(JUDGED_TWICE)]
    assert _fair(*numbered, drop=CONFLICTING) == ([2, 3], {CONFLICTING: 2})


def test_answers_judged_twice_within_the_gap_are_no_contradiction() -> None:
    """No pair is as narrow."""
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
    """An answer with several scores that some pair would choose over another, and some reject."""
    gap = max(min_gap, 1)  # scores are whole here, and ties never pair
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
