"""The columns of a candidate equal what reading its row again gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rollouts_of_any_format import STRATEGIES, lines, pair_options, rollout_lines
from run_in_process import (
    Asked,
    Outcome,
    Row,
    extract_lines,
    input_of,
    lines_of,
    pair_lines,
    pair_packed,
    pair_piped,
)

from hypothesis_examples import examples
from prefpairs.engine.inputs.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.store.candidate_store import CandidateStore
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_prompt, digest_response, digest_tools
from prefpairs.model.pair import POSITION
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions


@contextmanager
def indexed(given_lines: list[bytes]) -> Iterator[tuple[CandidateStore, list[Candidate]]]:
    """A store with a file's candidates, and the same candidates as read."""
    read: list[Candidate] = []
    with input_of(given_lines) as given_input:
        plan = ReadPlan(inputs=[given_input])
        with reading_inputs(plan, Ledger()) as reader:
            for given in reader.inputs():
                read += candidates_of(given.rows)
        with CandidateStore(PairPlan(read=plan)) as store:
            store.index(Ledger())
            yield store, read


@examples(200)
@given(given_lines=lines(), chance=st.randoms(use_true_random=False))
def test_what_is_fetched_is_what_was_read(given_lines: list[bytes], chance: Any) -> None:
    """Every candidate that is fetched, in any order, equals the one that was indexed."""
    with indexed(given_lines) as (store, read):
        numbers = list(range(len(read)))
        chance.shuffle(numbers)
        fetched = {number: store.fetch(number) for number in numbers}
    assert [fetched[number] for number in sorted(fetched)] == read


@examples(200)
@given(given_lines=lines())
def test_the_columns_hold_what_the_candidates_say(given_lines: list[bytes]) -> None:
    """The columns have the candidate's score, answer digest, and rank by index and content."""
    with indexed(given_lines) as (store, read):
        columns = store.columns
        assert len(columns) == len(read)
        for number, candidate in enumerate(read):
            own = candidate.index
            answer = digest_response(candidate.response)
            assert columns.scores[number] == candidate.score
            assert columns.digest(number) == answer
            expected = -candidate.score, own is None, own, answer
            if own is not None:
                assert columns.rank(number) == expected
            assert (columns.rollout(number) is None) == (own is None)


@examples(200)
@given(given_lines=lines())
def test_groups_are_equal_keys_prompts_and_tools(given_lines: list[bytes]) -> None:
    """Two candidates are in one group exactly if their group, prompt and tools are equal."""
    with indexed(given_lines) as (store, read):
        columns = store.columns
        asked = [(one.group, digest_prompt(one.prompt), digest_tools(one.tools)) for one in read]
        numbers = [columns.group_number(number) for number in range(len(read))]
        members = [list(columns.members(group)) for group in range(columns.groups)]
    assert len(set(zip(asked, numbers, strict=True))) == len(set(asked)) == len(set(numbers))
    for group, found in enumerate(members):
        assert found == [number for number, own in enumerate(numbers) if own == group]


def by_origin(candidates: Outcome) -> dict[str, Row]:
    """Candidates by origin."""
    return {row["origin"]: row for row in candidates.rows}


@examples(150)
@given(
    given_lines=rollout_lines(),
    strategy=st.sampled_from(STRATEGIES),
    options=pair_options(),
)
def test_both_sides_of_a_pair_are_extracted_candidates(
    given_lines: list[bytes], strategy: str, options: PairOptions
) -> None:
    """`pair` writes the same candidate as `extract`, from any kind of input."""
    candidates = by_origin(extract_lines(given_lines, Asked().read))
    asked = Asked(strategy=strategy, options=options)
    for outcome in (
        pair_lines(given_lines, asked),
        pair_packed(given_lines, asked),
        pair_piped(b"".join(given_lines), asked),
    ):
        for pair in outcome.rows:
            for side in ("chosen", "rejected"):
                place = pair[f"{side}_origin"].rpartition(":")[2]
                candidate = candidates[f"rows.jsonl:{place}"]
                assert _chat(pair[side], "assistant") == _chat(candidate["response"], "assistant")
                assert pair[f"{side}_score"] == candidate["score"]
                position = candidate.get("meta", {}).get(POSITION, candidate["index"])
                assert pair[f"{side}_index"] == position
                assert pair["group"] == candidate["group"]
            asked_for = candidates[_place(pair["chosen_origin"])]["prompt"]
            assert _chat(pair["prompt"], "user") == _chat(asked_for, "user")
            forms = {type(pair[field]) for field in ("prompt", "chosen", "rejected")}
            assert len(forms) == 1


def _chat(text: Any, role: str) -> Any:
    return [{"role": role, "content": text}] if isinstance(text, str) else text


def _place(origin: str) -> str:
    return f"rows.jsonl:{origin.rpartition(':')[2]}"


def test_a_line_that_holds_several_is_told_apart_by_place() -> None:
    """The second answer of a row is fetched as the second, even after one that was dropped."""
    rows: list[Row] = [
        {"prompt": "Q", "responses": ["", "A", "B", "C"], "rewards": [9.0, 0.0, 2.0, 1.0]}
    ]
    (pair,) = pair_lines(lines_of(*rows), Asked()).rows
    assert (pair["chosen"], pair["rejected"]) == ("B", "A")
    assert (pair["chosen_origin"], pair["rejected_origin"]) == ("rows.jsonl:1#3", "rows.jsonl:1#2")
