"""The fast reader of pairs finds what the general reader finds."""

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_rows import pair_lines_mixed
from run_in_process import Row

from hypothesis_examples import examples
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.errors import BadRecord
from prefpairs.fields.pair_row import PairRowOutcome, read_pair, read_pair_fast
from prefpairs.model.pair import pair_line

_ODD: list[Any] = [
    None,
    True,
    0,
    1.5,
    -0.0,
    2**64,
    "",
    " ",
    "x",
    "9" * 32,
    [],
    {},
    [None],
    {"a": [1]},
]
_ODD += [{"prompt_of_rejected": "0" * 32}, {"prompt_of_rejected": "x"}, {"a": 1, "b": "c"}]
_ODD += [[{"role": "user", "content": "Q"}], [{"role": "assistant", "content": " "}]]
_ODD += [[{"role": "assistant", "content": "A", "reasoning_content": "hm"}]]
_ODD += [[{"role": "developer", "content": "A"}], [{"role": "assistant", "content": None}]]
_ODD += [[{"role": "assistant", "content": "A"}, {"role": "user", "content": "B"}]]
Path = tuple[str | int, ...]
_PATHS: list[Path] = [
    ("tools",),
    ("meta",),
    ("gap",),
    ("id",),
    ("group",),
    ("prompt",),
    ("chosen",),
]
_PATHS += [("rejected",), ("chosen_score",), ("rejected_score",), ("chosen_index",), ("other",)]
_PATHS += [("chosen_origin",), ("chosen_tokens",), ("chosen", 0, "content"), ("prompt", 0, "role")]
_PATHS += [("rejected", 0, "reasoning_content"), ("chosen", 0, "name"), ("prompt", 0, "content")]


def _in_full(line: bytes) -> PairRowOutcome:
    return read_pair(line, lambda row: unwrap(row, "auto"))


def _written(line: bytes) -> Row:
    """The pair of a line as prefpairs writes it, or any pair if it is none."""
    try:
        pair = _in_full(line).pair
    except BadRecord:
        return {"prompt": "Q", "chosen": "A", "rejected": "B"}
    return dict(json.loads(pair_line(pair)))


def _change(row: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        if not isinstance(row, dict | list) or (isinstance(row, list) and not row):
            return
        row = row[0] if isinstance(row, list) else row.get(step)
    if isinstance(row, dict):
        row[path[-1]] = value


def _expect_the_same(line: bytes) -> bool:
    try:
        short = read_pair_fast(line)
    except BadRecord as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            _in_full(line)
        return True
    if short is not None:
        full = _in_full(line)
        assert short == full
        assert json.dumps(short.pair) == json.dumps(full.pair)  # also compares types and key order
    return short is not None


@examples(150)
@given(lines=pair_lines_mixed(), chance=st.randoms(use_true_random=False))
def test_short_is_full(lines: list[bytes], chance: Random) -> None:
    """The same for rows as given, as written, with one byte changed, and with one field changed."""
    for line in lines:
        _expect_the_same(line)
        row = _written(line)
        data = json.dumps(row, ensure_ascii=chance.random() < 0.5).encode()
        _expect_the_same(data)
        place = chance.randrange(len(data))
        _expect_the_same(data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :])
        for _ in range(4):
            other = json.loads(data)
            _change(other, chance.choice(_PATHS), chance.choice(_ODD))
            changed = json.dumps(other).encode()
            _expect_the_same(changed)
            _expect_the_same(json.dumps(_written(changed)).encode())  # with the ID of its content


def test_our_own_pairs_are_plain() -> None:
    """The fast reader reads what `pair` writes."""
    chat = {
        "prompt": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}],
        "chosen": [{"role": "assistant", "content": "A", "reasoning_content": "hm"}],
        "rejected": [{"role": "assistant", "content": "B"}],
    }
    texts = {"prompt": "Q", "chosen": "A", "rejected": "B", "meta": {"step": 1}}
    tied = {**texts, "chosen_score": 0.5, "rejected_score": 0.5}
    for row in (chat, texts, tied):
        assert _expect_the_same(json.dumps(_written(json.dumps(row).encode())).encode())
