"""Rows of trainers' files with arbitrary changes: read or rejected, and judged."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.dataset.column_types import FIRST_BLOCK, InferredColumns
from prefpairs.dataset.row_checks import LengthLimit, check_row
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.errors import BadRecord
from prefpairs.fields.pair_row import read_pair
from prefpairs.targets import PAIR_FORMATS, TARGETS, target_named

CASES = Path(__file__).parents[1] / "cases" / "export"
ROWS = [
    (name, json.loads(line))
    for name in TARGETS
    for line in (CASES / name.replace("-", "_") / "out").read_bytes().splitlines()
]
"""What `export` writes, by target."""

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(allow_nan=False),
    st.sampled_from(["", " ", "a", "2024-01-01", "null", '{"a":1}', "assistant", "tool_call"]),
    st.sampled_from([[], [[]], [{}], ["a"], [None], {}, {"role": "user"}, {"from": []}]),
)


@st.composite
def broken_rows(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A row of a target in which one or two values are replaced or missing."""
    name, row = draw(st.sampled_from(ROWS))
    row = json.loads(json.dumps(row))
    for _ in range(draw(st.integers(1, 2))):
        at: Any = row
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], (dict, list)) and draw(st.booleans()):
                at = at[key]
                continue
            if draw(st.booleans()):
                at[key] = deepcopy(draw(VALUES))
            else:
                del at[key]
            break
    return name, row


@given(broken_rows(), st.sampled_from(["auto", *PAIR_FORMATS]))
@examples(600)
def test_a_row_is_read_or_bad(given_row: tuple[str, dict[str, Any]], dialect: str) -> None:
    """Any row is a pair, a loss with a reason, or bad."""
    data = json.dumps(given_row[1]).encode()
    try:
        reading = read_pair(data, lambda row: unwrap(row, dialect))
    except BadRecord:
        return
    assert reading.pair.id


@given(broken_rows(), st.sampled_from(list(TARGETS)), st.booleans())
@examples(600)
def test_a_row_is_judged(given_row: tuple[str, dict[str, Any]], target: str, another: bool) -> None:
    """Any row gets a verdict by the rules of its own trainer, another one, and each host."""
    name, row = given_row
    held = target_named(target if another else name)
    for rules in (held.rules, *(host.rules for host in held.hosts.values())):
        for finding in check_row(row, rules, LengthLimit(20)):
            assert finding.sentence
    for offset in (0, FIRST_BLOCK):
        columns = InferredColumns()
        assert all(finding.sentence for finding in columns.see(row, offset))
