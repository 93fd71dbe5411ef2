"""Rows that several steps have made: those that go first are those that one buffer puts first."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.dataset import row_forms
from prefpairs.dataset.row_forms import RowForms, RowsLeft
from prefpairs.engine.outputs.dataset_row_spool import RowBuffer

COLUMNS = {"text": None, "label": None, "score": None}

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.sampled_from(
                ["a", "2026-01-01", 1, [{"a": 1}], [{"b": "x" * 30}], ["x" * 99]]
            )
        },
        optional={"label": st.booleans(), "score": st.sampled_from([1, 0.5, None])},
    ),
    max_size=12,
)


def first_of_one(rows: Sequence[Any]) -> list[bytes]:
    """The rows that go first, if one buffer has all rows."""
    buffer = RowBuffer(COLUMNS, None)
    for row in rows:
        buffer.add(row)
    lines = [*buffer.as_they_came()]
    first = [lines[number] for number in buffer.first]
    buffer.close()
    return first


def first_of_several(steps: Sequence[Sequence[Sequence[Any]]]) -> list[bytes]:
    """The same, if each step has made some rows, in one buffer or several."""
    contents, forms = [], []
    for step, buffers in enumerate(steps):
        left, content = RowsLeft(step), b""
        for rows in buffers:
            buffer = RowBuffer(COLUMNS, None)
            for row in rows:
                buffer.add(row)
            left.add("train", buffer.forms(step, left.sizes.get("train", 0)), buffer.size)
            content += b"".join(buffer.as_they_came())
            buffer.close()
        contents.append(content)
        forms += left.forms["train"]
    known = RowForms(forms)
    return [contents[file][at : at + length] for file, at, length in known.first]


@examples(300)
@given(
    st.lists(st.lists(ROWS, min_size=1, max_size=3), min_size=1, max_size=4), st.integers(0, 300)
)
def test_steps_put_first_what_one_buffer_does(steps: list[list[list[Any]]], room: int) -> None:
    """However rows are divided, and whether the first rows of all shapes fit or not."""
    rows = [row for step in steps for buffer in step for row in buffer]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_forms, "_ROOM", room)
        assert first_of_several(steps) == first_of_one(rows)
