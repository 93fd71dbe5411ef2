"""The native core reads pairs as Python does, or not at all: columns, bytes, counts, losses."""

import json
import os
from collections.abc import Sequence
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from chats_with_calls import TURNS, turns
from hypothesis import given
from hypothesis import strategies as st
from pair_rows import pair_lines_mixed, pair_rows
from run_in_process import Row, lines_of
from stages_in_process import (
    staged_array,
    staged_large,
    staged_lines,
    staged_packed,
    staged_piped,
)

from hypothesis_examples import examples
from native_and_python import needs_core, pair_known, written_pair
from prefpairs.engine.native import VARIABLE
from prefpairs.errors import PrefpairsError
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split

pytestmark = needs_core

ODD: list[Any] = [None, True, 0, -0.0, 1e300, 1e-7, 2**64, "", " ", "x", "0" * 32, "9" * 32, [], {}]
ODD += [[{"type": "function", "function": {"name": "g", "parameters": {"b": 1e22, "a": 1.5}}}]]
ODD += [{"prompt_of_rejected": "0" * 31 + "1"}, {"prompt_of_rejected": "+1" * 16}, {"error": True}]
ODD += [{"chosen_finish_reason": "length", "b": [1.50, 1e5]}, {"a": {"b": [None, 0.1 + 0.2]}}]
KEYS = ["id", "group", "gap", "tools", "meta", "chosen_score", "rejected_score", "chosen_index"]
KEYS += ["chosen_origin", "chosen_tokens", "other", "prompt", "chosen"]


def written(row: Row) -> bytes:
    """The line that prefpairs writes for a row, or the row itself if it is no pair."""
    return written_pair(json.dumps(row).encode() + b"\n")


@examples(1500)
@given(
    prompt=turns(4),
    chosen=turns(4),
    rejected=turns(3),
    more=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(ODD), max_size=3),
    chance=st.randoms(use_true_random=False),
)
def test_chats_with_calls_and_results(
    prompt: list[Row], chosen: list[Row], rejected: list[Row], more: Row, chance: Random
) -> None:
    """The same as given and as written, and with other IDs, spaces and key orders."""
    said = {"role": "assistant", "content": "C"}
    row = {"prompt": [TURNS[0], *prompt], "chosen": [said, *chosen], "rejected": [said, *rejected]}
    line = written({**row, **more})
    pair_known(line)
    again = json.loads(line)
    pair_known(json.dumps(again).encode() + b"\n")
    mixed = list(again.items())
    chance.shuffle(mixed)
    pair_known(json.dumps({**dict(mixed), **more}, ensure_ascii=False).encode() + b"\n")
    place = chance.randrange(len(line))
    pair_known(line[:place] + bytes([chance.randrange(256)]) + line[place + 1 :])


@examples(300)
@given(lines=pair_lines_mixed())
def test_rows_of_every_kind(lines: list[bytes]) -> None:
    """Rows of any kind, as given and as written."""
    for line in lines:
        pair_known(line)
        pair_known(written(json.loads(line)))


@examples(1000)
@given(better=st.floats(-1e308, 1e308), worse=st.floats(-1e308, 1e308), digits=st.integers(0, 20))
def test_scores_and_gaps(better: float, worse: float, digits: int) -> None:
    """Scores and gaps are rounded, and subtracted as decimals, however they are written."""
    row = {"prompt": "Q", "chosen": "A", "rejected": "B"}
    for one, other in ((better, worse), (round(better % 10, digits), round(worse % 1, digits))):
        pair_known(written({**row, "chosen_score": one, "rejected_score": other}))
        given_row = {**row, "chosen_score": one, "rejected_score": other}
        pair_known(written({**given_row, "gap": 3.0}).replace(b'"gap":', b'"gap": '))


@pytest.mark.parametrize("number", range(2, 30))
def test_shares_as_scores(number: int) -> None:
    """The core subtracts shares, such as of tests that passed, whose digits never end."""
    for passed in range(number):
        for better, worse in ((1.0, passed / number), (passed + 0.25, 1 / number - 1e-6)):
            scores = {"chosen_score": better, "rejected_score": worse}
            row = {"prompt": "Q", "chosen": "A", "rejected": "B", **scores}
            assert pair_known(written(row)) or better < worse


def test_what_prefpairs_writes_is_known() -> None:
    """The core reads and copies everything prefpairs writes: texts, chats, calls, tools, meta."""
    called = [TURNS[4], TURNS[6], {"role": "assistant", "content": "B"}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    for row in (
        {"prompt": "Q", "chosen": "A", "rejected": "B\x1f/\u2028", "meta": {"a": 1, "b": [0.5]}},
        {"prompt": TURNS[:2], "chosen": [TURNS[3]], "rejected": [TURNS[2]], "tools": tools},
        {"prompt": TURNS[:1], "chosen": called, "rejected": [TURNS[2]], "group": "g"},
        {"prompt": [TURNS[0], *called[:2]], "chosen": called, "rejected": [TURNS[2]]},
    ):
        scores = {"chosen_score": 0.30000000000000004, "rejected_score": -1, "rejected_index": 3}
        assert pair_known(written({**row, **scores})) == "as written"


STAGES = [
    Dedupe(),
    Dedupe(by=("prompt",), conflicts="drop"),
    Sample(fraction=0.6),
    Sample(max_pairs=4),
    Sample(per_group=1, order="shuffle"),
    Filter(min_gap=0.2),
]


@examples(150)
@given(
    rows=pair_rows(),
    more=pair_lines_mixed(),
    stage=st.sampled_from(STAGES),
    split=st.sampled_from([None, Split(), Split(exact=True)]),
    run=st.sampled_from([staged_lines, staged_large, staged_array, staged_packed, staged_piped]),
    doubled=st.booleans(),
)
def test_stages(  # noqa: PLR0913 - what is asked of them
    rows: list[Row],
    more: list[bytes],
    stage: Any,
    split: Split | None,
    run: Any,
    *,
    doubled: bool,
) -> None:
    """Lines, counts and reasons of every stage are the same, in any container."""
    lines = [*map(written, rows), *more, *lines_of(*rows)] * (1 + doubled)
    assert _told(run, "require", lines, stage, split) == _told(run, "0", lines, stage, split)


def _told(run: Any, word: str, lines: Sequence[bytes], stage: Any, split: Split | None) -> object:
    with patch.dict(os.environ, {VARIABLE: word}):
        try:
            staged = run(lines, stage, split=split)
        except PrefpairsError as error:
            return repr(error)
    ledger = staged.ledger
    sides = {side: outcome.lines for side, outcome in staged.sides.items()}
    return sides, staged.counts(), ledger.noticed, ledger.marked, ledger.rows_by_input


def test_all_marks_are_counted() -> None:
    """Marks are counted for all pairs, also those whose lines are copied."""
    marked = {"chosen": "A", "rejected": "B", "meta": {"chosen_error": True}}
    lines = [written({"prompt": f"Q{place}", **marked}) for place in range(4)]
    for word in ("0", "require"):
        with patch.dict(os.environ, {VARIABLE: word}):
            for run in (staged_lines, staged_piped):
                assert run(lines, Dedupe()).ledger.marked == {"chosen_failed": 4}


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"[" * 100_000 + b"\n", b'"\xff"\n', b"{"])
def test_what_is_no_pair_is_handed_up(line: bytes) -> None:
    """Rows that are no pair go to Python, which reports the fault."""
    assert not pair_known(line)
