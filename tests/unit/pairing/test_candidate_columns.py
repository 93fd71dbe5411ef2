"""The columns of candidates."""

from collections.abc import Iterator
from itertools import permutations

import pytest

from prefpairs.engine.store.candidate_columns import Block, CandidateColumns
from prefpairs.errors import InputChanged
from prefpairs.fields.make_candidate import TASK
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import (
    NO_TOOLS,
    digest,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
)

ONE = Candidate("g", "Q", "A", 0.5, 3)


def _columns(*candidates: Candidate) -> CandidateColumns:
    columns = CandidateColumns()
    for candidate in candidates:
        columns.add_row([candidate], 0, 0, 0)
    return columns


def _keys_of(columns: CandidateColumns) -> list[bytes]:
    return [columns.keys[group] for group in range(columns.groups)]


def test_candidate_comes_back_by_its_number() -> None:
    """A candidate's score, digest, position and group are found by its number."""
    columns = _columns(ONE)
    columns.begin_file(2)
    columns.add_row([ONE, ONE._replace(response="B", score=-1.0)], 2**40, 7, 2**31)
    assert len(columns) == 3
    assert list(columns.scores) == [0.5, 0.5, -1.0]
    assert columns.digest(2) == digest_response("B")
    assert columns.place(2) == (2, 2**40, 7, 1, 2**31)
    assert columns.group_number(2) == 0


def test_groups_in_order_of_arrival() -> None:
    """Members keep their order; groups are ordered by their first member."""
    columns = _columns(*[ONE._replace(group=group) for group in "abacab"])
    assert [list(columns.members(group)) for group in range(3)] == [[0, 2, 4], [1, 5], [3]]
    assert _keys_of(columns) == [digest_group(g, digest_prompt("Q"), b"") for g in "abc"]


def test_what_competes_shares_key_prompt_and_tools() -> None:
    """Key, prompt and tools each make another group; the prompt as text or chat does not."""
    columns = _columns(
        ONE,
        ONE._replace(prompt=[{"role": "user", "content": "Q"}]),
        ONE._replace(group="h"),
        ONE._replace(prompt="R"),
        ONE._replace(tools=[{"type": "function"}]),
        ONE._replace(tools=[]),
    )
    assert [columns.group_number(number) for number in range(6)] == [0, 0, 1, 2, 3, 0]


def test_rank_is_score_then_index_then_content() -> None:
    """Best first; candidates without an index come last; input order never matters."""
    candidates = [
        ONE._replace(score=0.1, index=0),
        ONE._replace(score=0.9, index=None),
        ONE._replace(score=0.9, index=7),
        ONE._replace(score=0.9, index=2),
        ONE._replace(score=0.9, index=-5),
    ]
    columns = _columns(*candidates)
    assert sorted(range(5), key=columns.rank) == [4, 3, 2, 1, 0]


def test_rank_of_equal_scores_and_indexes_is_the_content() -> None:
    """Equal scores and indexes are ordered by digest, whatever came first."""
    answers = ["A", "B", "C", "D"]
    ranked = []
    for order in (answers, answers[::-1]):
        columns = _columns(*[ONE._replace(response=answer) for answer in order])
        ranked.append([order[number] for number in sorted(range(4), key=columns.rank)])
    assert ranked[0] == ranked[1]


def test_rollout_is_task_index_and_content() -> None:
    """Equal for copies of one rollout, different otherwise, unknown without an index."""
    columns = _columns(
        ONE,
        ONE._replace(score=0.9, origin="elsewhere:1"),
        ONE._replace(index=4),
        ONE._replace(response="B"),
        ONE._replace(meta={TASK: "other"}),
        ONE._replace(index=None),
    )
    rollouts = [columns.rollout(number) for number in range(6)]
    assert rollouts[0] == rollouts[1]
    assert len(set(rollouts)) == 5
    assert rollouts[5] is None


def test_most_pairs() -> None:
    """The number of pairs in all groups, n over 2 in each."""
    columns = _columns(*[ONE._replace(group=group) for group in "aaaabbbc"])
    assert columns.most_pairs() == 6 + 3


@pytest.mark.parametrize(
    ("indexes", "answers", "distinct"),
    [
        ([3, 1, 2], "AAA", True),
        ([None, None, None], "CAB", True),
        ([None, None, None], "ABA", False),
        ([3, None, 2], "CAB", False),
        ([3, 2, 3], "CAB", False),
    ],
)
def test_a_group_in_order(indexes: list[int | None], answers: str, *, distinct: bool) -> None:
    """Sorted by rank(); distinct if all have indexes, or none and different answers."""
    given = list(zip(indexes, answers, strict=True))
    columns = _columns(*[ONE._replace(index=number, response=answer) for number, answer in given])
    assert columns.ranked(0) == (sorted(range(3), key=columns.rank), distinct)


def test_a_row_of_several_is_all_of_them_one_by_one() -> None:
    """Adding a row of several candidates equals adding them singly, with slots of one record."""
    several = [ONE, ONE._replace(index=None, group="h"), ONE._replace(meta={TASK: "t"})]
    whole, single, places = CandidateColumns(), CandidateColumns(), []
    whole.begin_file(0)
    for number, row in enumerate([several[:1], several, several[:2], [], several]):
        whole.add_row(row, 10 * number, 7, number)
        for slot, candidate in enumerate(row):
            single.add_row([candidate], 0, 0, 0)
            places.append((0, 10 * number, 7, slot, number))
    assert len(whole) == 9
    for one in range(9):
        assert whole.place(one) == places[one]
        assert whole.question(one) == single.question(one)
        assert (whole.rank(one), whole.rollout(one)) == (single.rank(one), single.rollout(one))


@pytest.mark.parametrize("size", [1, 2, 3, 1 << 14])
def test_joined_block_by_block(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size give what indexing all rows at once gives, including positions."""
    monkeypatch.setattr("prefpairs.engine.store.candidate_columns._BLOCK", size)
    rows = [(2, "ab"), (7, "c"), (8, "dea"), (9, "f"), (12, "gc"), (13, "h")]

    def indexed(rows: list[tuple[int, str]], before: int) -> CandidateColumns:
        columns = CandidateColumns()
        columns.begin_file(0)
        for number, groups in rows:
            known = ("answer", number % 4) if number > 7 else None
            answers = [
                ONE._replace(group=group, score=number / 10, reference=known) for group in groups
            ]
            columns.add_row(answers, 100 * number, number, number - before)
        return columns

    for cut in range(len(rows) + 1):
        before = rows[cut - 1][0] if cut else 0
        whole, first, second = indexed(rows, 0), indexed(rows[:cut], 0), indexed(rows[cut:], before)
        assert len([*second.blocks()]) == second.number_of_blocks
        first.join(second.blocks(), before)
        assert [*map(first.place, range(len(first)))] == [*map(whole.place, range(len(whole)))]
        assert [*map(first.rank, range(len(first)))] == [*map(whole.rank, range(len(whole)))]
        assert _keys_of(first) == _keys_of(whole)
        groups = range(whole.groups)
        assert first.references.of(groups) == whole.references.of(groups)
        for group in range(whole.groups):
            members = whole.members(group)
            assert first.members(group) == members
            assert first.question(members[0]) == whole.question(members[0])


def test_references_in_any_order() -> None:
    """The two marks that are kept of a group do not depend on the order of arrival."""
    known = [("answer", "4"), ("target", "4"), ("answer", "5"), ("gold", "6"), ("gold", "4")]
    orders = permutations([ONE._replace(reference=one) for one in known])
    assert len({_columns(*order).references.of([0]) for order in orders}) == 1


def test_blocks_that_end_with_an_error_leave_no_references() -> None:
    """What they had of new groups is removed; group numbers will mean other groups."""
    known = ONE._replace(reference=("answer", "4"))
    columns, others = _columns(known), _columns(known._replace(group="h"), ONE)
    others.references.add(0, 1)

    def torn() -> Iterator[Block]:
        yield from others.blocks()
        raise InputChanged("r.jsonl")

    with pytest.raises(InputChanged):
        columns.join(torn(), 0)
    columns.add_row([ONE._replace(group="i")], 0, 0, 0)
    assert columns.references.of(range(2)) == _columns(known).references.of(range(2))


def test_empty_index() -> None:
    """Columns without candidates are empty."""
    columns = CandidateColumns()
    assert (len(columns), _keys_of(columns), columns.most_pairs()) == (0, [], 0)


def test_question_of_a_candidate() -> None:
    """The digests of a candidate's group, prompt and tools, as in pairs."""
    tools = [{"type": "function", "function": {"name": "add"}}]
    candidates = [
        ONE,
        ONE._replace(group="h"),
        ONE._replace(prompt="R"),
        ONE._replace(prompt=[{"role": "user", "content": "Q"}], tools=[]),
        ONE._replace(tools=tools, response="B"),
        ONE._replace(group="", prompt="R", tools=tools),
        ONE._replace(score=0.9),
    ]
    columns = _columns(*candidates)
    assert [columns.question(number) for number in range(7)] == [
        (
            digest("name", candidate.group.encode()),
            digest_prompt(candidate.prompt),
            digest_tools(candidate.tools),
        )
        for candidate in candidates
    ]
    assert columns.question(0) == columns.question(3) == columns.question(6)
    assert (columns.question(0)[2], len(columns.question(4)[2])) == (NO_TOOLS, 16)


def test_groups_of_one_answer_and_several_scores() -> None:
    """Groups with a single answer and different scores are found, in any order."""
    same = [Candidate("a", "Q", "G", 1.0), Candidate("a", "Q", "G", 0.0)]
    tied = [Candidate("b", "R", "G", 1.0), Candidate("b", "R", "G", 1.0)]
    varied = [Candidate("c", "S", "G", 1.0), Candidate("c", "S", "G", 0.0)]
    other = Candidate("c", "S", "H", 0.5)
    for candidates in ([*same, *tied, *varied, other], [other, *varied, *tied, *same]):
        assert _columns(*candidates).constant_groups() == 1
    assert _columns(*same, *varied).constant_groups() == 2
    assert _columns().constant_groups() == 0
