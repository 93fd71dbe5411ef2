"""Law 3: both answers are to the same prompt with the same tools, unless asked otherwise."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import Bounds, Contents, allowed, content_of, read_generic, read_gym
from rollouts_of_any_format import (
    STRATEGIES,
    asked_across,
    asked_within,
    contest_rows,
    gym_rows,
    nat_rows,
    rollout_lines,
)
from run_in_process import Asked, Outcome, Row, extract_lines, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.errors import TwoReadings
from prefpairs.fields.field_names import TURNS
from prefpairs.fields.read_options import ReadOptions
from prefpairs.strategies.options import PairOptions

TURNS_OF_TWO: list[Row] = [
    {"conversation_id": name, "prompt": asked, "response": said, "score": score}
    for name, asked, said, score in (
        *[("a", "Hi", "Hello", 1), ("a", "Go on", "Sure", 1), ("a", "Go on", "Well", 0)],
        *[("b", "Hi", "Hey", 0), ("b", "Go on", "No", 0)],
    )
]
"""The first two turns of two conversations, one of which has two answers to the second turn."""

GROUPINGS: list[Any] = ["auto", "prompt", "file", ("_ng_rollout_index",)]
SEVERAL_TOOLS: list[Any] = [None, [], [{"type": "function", "name": "add", "parameters": {}}]]


def by_origin(outcome: Outcome) -> dict[str, Row]:
    """Candidates by origin."""
    return {row["origin"]: row for row in outcome.rows}


@pytest.mark.parametrize("column", TURNS)
@pytest.mark.parametrize("first", [0, 1])
def test_turns_of_other_conversations_are_other_questions(column: str, first: int) -> None:
    """Earlier turns are in other rows, so the user must say which rows compete."""
    rows = [{**row, column: first + (row["prompt"] == "Go on")} for row in TURNS_OF_TWO]
    with pytest.raises(TwoReadings) as caught:
        pair_lines(lines_of(*rows), Asked())
    by = ("conversation_id", column)
    assert caught.value.choices == [("--group-by", ",".join(by)), ("--group-by", "prompt")]
    apart = pair_lines(lines_of(*rows), Asked(read=ReadOptions(group_by=by))).rows
    assert [(pair["chosen"], pair["rejected"]) for pair in apart] == [("Sure", "Well")]
    assert len(pair_lines(lines_of(*rows), Asked(read=ReadOptions(group_by="prompt"))).rows) == 2
    told = [{**row, "history": [["a", "b"]]} for row in rows]
    assert len(pair_lines(lines_of(*told), Asked()).rows) == 2


def test_first_turns_are_whole_questions() -> None:
    """First turns pair by their prompt, also if turns count from 1 or are not numbers."""
    for turn in (0, 1, "2", True, None, -1):
        rows = [{**row, "turn": turn} for row in TURNS_OF_TWO]
        assert len(pair_lines(lines_of(*rows), Asked()).rows) == 2


@examples(300)
@given(
    given_lines=rollout_lines(), asked=asked_within(), grouping=st.sampled_from(["auto", "prompt"])
)
def test_both_sides_were_asked_the_same(
    given_lines: list[bytes], asked: Asked, grouping: Any
) -> None:
    """The candidates that a pair names have its group, prompt and tools."""
    read = ReadOptions(group_by=grouping)
    candidates = by_origin(extract_lines(given_lines, read))
    asked = replace(asked, read=read)
    for pair in pair_lines(given_lines, asked).rows:
        for side in ("chosen", "rejected"):
            candidate = candidates[pair[f"{side}_origin"]]
            assert pair["group"] == candidate["group"]
            assert pair.get("tools") == candidate.get("tools")
            prompt = content_of(candidate["prompt"], "user")
            assert content_of(pair["prompt"], "user") == prompt


@examples(200)
@given(rows=gym_rows(odd=False), grouping=st.sampled_from(GROUPINGS))
def test_different_questions_never_meet_however_grouped(rows: list[Row], grouping: Any) -> None:
    """With any --group-by, two rollouts pair only if their own rows have the same question."""
    if grouping == ("_ng_rollout_index",):
        rows = [{"_ng_rollout_index": 0, **row} for row in rows]
    asked = Asked(strategy="exhaustive", read=ReadOptions(group_by=grouping))
    for pair in pair_lines(lines_of(*rows), asked).rows:
        questions = [
            Contents([rows[int(pair[f"{side}_origin"].rpartition(":")[2]) - 1]], read_gym).groups
            for side in ("chosen", "rejected")
        ]
        chosen, rejected = ([key[1:] for key in question] for question in questions)
        assert chosen == rejected


@examples(200)
@given(
    source=st.one_of(
        st.tuples(gym_rows(odd=False), st.just(read_gym)),
        st.tuples(contest_rows(), st.just(read_generic)),
    ),
    strategy=st.sampled_from(STRATEGIES),
    gap=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_an_illegal_pair_never_hides_a_legal_one(
    source: tuple[list[Row], Callable[[Row], list[Row]]], strategy: str, gap: float
) -> None:
    """Every group with an allowed pair gives a pair, whatever else is in it."""
    rows, read = source
    options = PairOptions(min_gap=gap, high_threshold=-100.0, low_threshold=100.0)
    outcome = pair_lines(lines_of(*rows), Asked(strategy=strategy, options=options))
    groups = Contents(rows, read).groups
    expected = [key for key, group in groups.items() if allowed(group, Bounds(min_gap=gap))]
    found = {
        (pair["group"], content_of(pair["prompt"], "user"), json.dumps(pair.get("tools")))
        for pair in outcome.rows
    }
    assert sorted(prompt for _, prompt, _ in found) == sorted(prompt for _, prompt, _ in expected)


@examples(200)
@given(given_lines=rollout_lines(), asked=st.one_of(asked_within(), asked_across()))
def test_pairs_across_prompts_are_counted(given_lines: list[bytes], asked: Asked) -> None:
    """The summary counts the pairs between answers to different questions.

    A question is a prompt with its tools.
    """
    candidates = by_origin(extract_lines(given_lines, ReadOptions()))
    outcome = pair_lines(given_lines, asked)
    questions = [
        {_question(candidates[pair[f"{side}_origin"]]) for side in ("chosen", "rejected")}
        for pair in outcome.rows
    ]
    across = [both for both in questions if len(both) > 1]
    assert outcome.counts()["pairs_across_prompts"] == len(across)
    assert asked.across_prompts or not across


@examples(150)
@given(rows=nat_rows())
def test_turns_of_different_examples_never_meet(rows: list[Row]) -> None:
    """In NAT files, both answers are of one example and turn; example 1 is not example "1"."""
    for pair in pair_lines(lines_of(*rows), Asked(strategy="exhaustive")).rows:
        meta = pair["meta"]
        assert meta.keys() <= {"example_id", "turn_id"}
        assert json.loads(pair["group"]) == [meta.get("example_id"), meta["turn_id"]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_widest_pair_being_illegal_hides_no_other(strategy: str) -> None:
    """If best and worst are the same answer, each still pairs with the one in between."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.5},
        {"prompt": "Q", "response": "A", "score": 0.0},
    )
    options = PairOptions(high_threshold=0.0, low_threshold=1.0)
    pairs = pair_lines(rows, Asked(strategy=strategy, options=options)).rows
    assert pairs
    assert {(pair["chosen"], pair["rejected"]) for pair in pairs} <= {("A", "B"), ("B", "A")}


@pytest.mark.parametrize("theirs", [("judge", 0), ("solver", 1), (None, 0), ("solver", None)])
def test_other_agents_and_tasks_never_meet(theirs: tuple[str | None, int | None]) -> None:
    """The same prompt given to another agent, or in another task, is another question."""
    rows = []
    for (agent, task), reward in ((("solver", 0), 1.0), (theirs, 0.0)):
        row: Row = {
            "responses_create_params": {"input": "Q"},
            "response": {"output": f"{reward}"},
            "reward": reward,
            "_ng_task_index": task,
            "agent_ref": agent and {"name": agent},
        }
        rows.append({key: value for key, value in row.items() if value is not None})
    outcome = pair_lines(lines_of(*rows), Asked())
    assert (outcome.lines, outcome.ledger.groups) == ([], 2)


def test_ids_of_examples_keep_their_type() -> None:
    """Example 1 and example "1" of a NAT file are two examples, and "a" is neither."""
    move = {"event_type": "TTC_END", "name": "dpo_candidate_move"}
    rows: list[Row] = [
        {
            "id": identity,
            "intermediate_steps": [
                {
                    **move,
                    "data": {"input": "Q", "output": f"{score}", "turn_id": "t", "score": score},
                }
            ],
        }
        for identity, score in ((1, 0.0), ("1", 1.0), ("a", 2.0))
    ]
    outcome = pair_lines(lines_of(*rows), Asked())
    assert (outcome.lines, outcome.ledger.groups) == ([], 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("ours", SEVERAL_TOOLS)
@pytest.mark.parametrize("theirs", SEVERAL_TOOLS)
def test_other_tools_are_another_question(strategy: str, ours: Any, theirs: Any) -> None:
    """Answers with different tools never pair; missing tools equal an empty list."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0, "tools": ours},
        {"prompt": "Q", "response": "B", "score": 0.0, "tools": theirs},
    )
    outcome = pair_lines(rows, Asked(strategy=strategy))
    assert len(outcome.lines) == ((ours or None) == (theirs or None))


def _question(candidate: Row) -> tuple[object, str]:
    tools = json.dumps(candidate.get("tools") or [], sort_keys=True)
    return content_of(candidate["prompt"], "user"), tools


TASKS = st.fixed_dictionaries({}, optional={"uid": st.sampled_from(["a", "b", "a_0", "b_1_1"])})


@examples(200)
@given(
    given_rows=st.lists(
        st.tuples(
            st.sampled_from(["user\nP\nassistant\n", "user\nQ\nassistant\n"]),
            st.sampled_from(["x", "y", "z"]),
            st.sampled_from(["1", "2"]),
            st.integers(0, 3),
            TASKS,
        ),
        max_size=12,
    ),
    strategy=st.sampled_from(STRATEGIES),
)
def test_tasks_of_verl_never_meet(given_rows: list[Any], strategy: str) -> None:
    """One prompt can belong to several tasks, told apart by uid or else by the reference."""
    rows = [
        {"input": asked, "output": said, "gts": right, "score": score, "step": 1}
        | {key: f"{uid}_{place}_0" for key, uid in task.items()}
        for place, (asked, said, right, score, task) in enumerate(given_rows)
    ]
    truth = [
        (asked, task.get("uid"), not task and right) for asked, _, right, _, task in given_rows
    ]
    for pair in pair_lines(lines_of(*rows), Asked(strategy=strategy)).rows:
        sides = (pair["chosen_origin"], pair["rejected_origin"])
        better, worse = (int(origin.rpartition(":")[2]) - 1 for origin in sides)
        assert truth[better] == truth[worse]
        assert rows[better]["score"] > rows[worse]["score"]


@pytest.mark.parametrize("empty", ["", " ", "[]", "null", [], None])
def test_empty_tools_are_no_tools(empty: Any) -> None:
    """Empty tools equal missing ones, however they are written."""
    rows = [
        {"prompt": "Q", "response": "A", "score": 1, "tools": empty},
        {"prompt": "Q", "response": "B", "score": 0},
    ]
    assert len(pair_lines(lines_of(*rows), Asked()).rows) == 1
