"""A recipe is a pipe: one process gives the same output as the commands one by one."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pair_rows import filters, samples
from rollouts_of_any_format import (
    asked_across,
    asked_within,
    candidate_rows,
    contest_rows,
    rollout_lines,
)
from run_in_process import Asked, Row, lines_of, pair_lines
from stages_in_process import Staged, staged_lines, staged_rollouts

from hypothesis_examples import examples
from prefpairs.ledger import StageCounts
from prefpairs.stages.base import Stage
from prefpairs.stages.contamination import ReferencePrompts
from prefpairs.stages.dedupe import SAME_IN, Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split

PATHS = ("prompt", "group", "meta.k", "meta.task", "chosen_score", "chosen.0.role", "nothing")
USER = {"role": "user", "content": "2+2?"}
SCORES = st.sampled_from([0.0, 0.1, 0.3, 0.8, 0.9, 1.0])


# Options ----------------------------------------------------------------------------------


def plans() -> st.SearchStrategy[Asked]:
    """Every strategy within and across prompts, with groups as they are or by key."""
    asked = st.one_of(asked_within(), asked_within(), asked_across())
    orders: st.SearchStrategy[Any] = st.sampled_from(["input", "key"])
    return st.tuples(asked, orders).map(lambda both: replace(both[0], order=both[1]))


def reference() -> ReferencePrompts:
    """A reference that contains one of the prompts."""
    asked = ReferencePrompts(None)
    asked.add("3+3?")
    return asked


def dedupes() -> st.SearchStrategy[Dedupe]:
    """All options of `dedupe`."""
    fields = st.lists(st.sampled_from(SAME_IN), min_size=1, max_size=2, unique=True).map(tuple)
    return st.builds(
        Dedupe,
        by=st.one_of(st.just(("content",)), fields),
        conflicts=st.sampled_from(["keep", "drop", "strongest"]),
        near=st.sampled_from([None, None, None, 0.5]),
        near_on=st.sampled_from(["prompt", "chosen", "both"]),
        reference=st.sampled_from([None, None, None, reference()]),
    )


def maybe_splits() -> st.SearchStrategy[Split | None]:
    """No split, or any split."""
    split = st.builds(
        Split,
        val_fraction=st.sampled_from([0.2, 0.5, 0.0]),
        test_fraction=st.sampled_from([0.0, 0.3]),
        by=st.sampled_from(PATHS),
        seed=st.integers(0, 9),
        exact=st.booleans(),
    )
    return st.one_of(st.none(), split, split)


def chains() -> st.SearchStrategy[list[Stage]]:
    """Up to four commands, any of which may sort the pairs."""
    stages: st.SearchStrategy[Stage] = st.one_of(dedupes(), samples(), filters())
    return st.lists(stages, max_size=4)


@st.composite
def many_candidates(draw: st.DrawFn) -> list[Row]:
    """Answers to several questions in several groups, so that there are many different pairs."""
    prompts = st.sampled_from(["2+2?", "3+3?", "4+4?", "5+5?", "What is it?", [USER]])
    row = st.fixed_dictionaries(
        {
            "group": st.sampled_from(["g", "h"]),
            "prompt": prompts,
            "response": st.sampled_from([*"ABCDEFGH", [{"role": "assistant", "content": "A"}]]),
            "score": SCORES,
            "origin": st.sampled_from(["", "there.jsonl:7"]),
        },
        optional={"meta": st.fixed_dictionaries({"k": st.integers(0, 3)})},
    )
    return draw(st.lists(row, min_size=12, max_size=40))


def any_lines() -> st.SearchStrategy[list[bytes]]:
    """Lines of every format; often candidates in groups, or rows that compete."""
    rows = st.one_of(
        many_candidates(),
        many_candidates(),
        candidate_rows(),
        contest_rows(SCORES, least=2, most=16),
    )
    return st.one_of(rows.map(lambda given: lines_of(*given)), rollout_lines())


# The comparison ---------------------------------------------------------------------------


def in_a_pipe(
    lines: list[bytes], asked: Asked, chain: Sequence[Stage], split: Split | None
) -> tuple[Staged, list[StageCounts]]:
    """Run `pair` to bytes, then each command by itself on the previous output."""
    made = pair_lines(lines, asked)
    left: Sequence[bytes] = made.lines
    stages = [*made.ledger.stages]
    for command in chain:
        found = staged_lines(left, command)
        assert found.ledger.rows_used == len(left)
        stages.append(found.stage)
        left = found.lines
    last = staged_lines(left, split=split)
    return last, [*stages, *last.ledger.stages]


def expect_same(
    lines: list[bytes], asked: Asked, chain: Sequence[Stage], split: Split | None
) -> Staged:
    """One process writes the same bytes for each split, and has the same counts."""
    whole = staged_rollouts(lines, asked, *chain, split=split)
    piped, stages = in_a_pipe(lines, asked, chain, split)
    assert {name: side.lines for name, side in whole.sides.items()} == {
        name: side.lines for name, side in piped.sides.items()
    }
    assert whole.ledger.stages == stages
    told = {**whole.counts(), "rows": None, "noticed": None, "stages": None}
    assert told == {**piped.counts(), "rows": None, "noticed": None, "stages": None}
    return whole


@examples(500)
@given(lines=any_lines(), asked=plans(), chain=chains(), split=maybe_splits())
def test_a_recipe_writes_what_a_pipe_writes(
    lines: list[bytes], asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """Any plan, commands and split give the same bytes, including origins, and the same counts."""
    expect_same(lines, asked, chain, split)


# Cases that could break it -----------------------------------------------------------------


def rollouts(count: int, **more: Any) -> list[bytes]:
    """Two answers to each of this many questions, with varied gaps, in three groups."""
    rows: list[Row] = [
        {
            "group": f"g{number % 3}",
            "prompt": f"Q{number * 7 % count}",
            "response": answer,
            "score": score,
            "origin": "",
            **more,
        }
        for number in range(count)
        for answer, score in (("A", 1.0), (f"B{number}", round(number / count, 3)))
    ]
    return lines_of(*rows)


@pytest.mark.parametrize(
    "chain",
    [
        [],
        [Dedupe(by=("rejected",)), Filter(min_gap=0.2), Sample(per_group=3)],
        [Sample(max_pairs=9, order="shuffle"), Filter(min_gap=0.2), Dedupe()],
        [Sample(fraction=0.8, order="easy-first")],
        [Filter(max_gap=0.9), Sample(per_group=5, order="hard-first", seed=2)],
    ],
    ids=["none", "one after the other", "shuffle", "easy first", "hard first"],
)
@pytest.mark.parametrize(
    "split",
    [
        None,
        Split(val_fraction=0.4),
        Split(val_fraction=0.4, exact=True),
        Split(val_fraction=0.3, test_fraction=0.3, by="group", exact=True),
        Split(val_fraction=0.5, by="meta.k"),
    ],
    ids=["whole", "split", "exact", "by group", "by meta"],
)
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Asked(), id="input"),
        pytest.param(Asked(order="key"), id="key", marks=pytest.mark.full),
        pytest.param(
            Asked(strategy="stratified", across_prompts=True), id="across", marks=pytest.mark.full
        ),
    ],
)
def test_every_kind_of_recipe_gives_something(
    asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """On a large enough input, each kind of recipe drops some pairs and keeps some."""
    lines = [
        line.replace(b'"k": 0', f'"k": {number // 2 % 6}'.encode())
        for number, line in enumerate(rollouts(30, meta={"k": 0}))
    ]
    whole = expect_same(lines, asked, chain, split)
    assert whole.lines
    if chain:
        assert sum(stage.dropped.total() for stage in whole.ledger.stages) or asked.across_prompts


@examples(100)
@given(chain=chains(), split=maybe_splits())
@example(chain=[Sample(order="shuffle"), Dedupe()], split=None)
@example(chain=[Sample(order="easy-first"), Sample(max_pairs=5)], split=None)
@example(chain=[Sample(order="shuffle"), Sample(per_group=2)], split=Split(exact=True))
@example(chain=[Sample(order="shuffle"), Sample(order="easy-first")], split=None)
def test_sorted_pairs_stay_sorted(chain: list[Stage], split: Split | None) -> None:
    """The output stays in order even if another command follows `sample --order`."""
    expect_same(rollouts(12), Asked(), chain, split)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("odd", [nan, inf, -inf])
def test_numbers_that_json_does_not_have(odd: float, exact: bool) -> None:
    """NaN, which is written as null, is no key, neither in a pipe nor in one process."""
    expect_same(rollouts(8, meta={"k": odd}), Asked(), [], Split(by="meta.k", exact=exact))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("field", ["tokens", "tools", "meta"])
def test_fields_that_say_nothing(field: str, exact: bool) -> None:
    """Empty fields are not written, so they are no key."""
    path = "chosen_tokens" if field == "tokens" else field
    empty: Any = [] if field == "tools" else {}
    expect_same(rollouts(8, **{field: empty}), Asked(), [], Split(by=path, exact=exact))
