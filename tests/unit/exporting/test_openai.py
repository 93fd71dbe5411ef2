"""OpenAI's preference format."""

import json
from typing import Any

import pytest
from target_rows import (
    DEEP,
    PLAIN,
    TOOLS,
    calling,
    extras_of,
    model,
    pair,
    rows_of,
    system,
    told,
    user,
)

from prefpairs.errors import BadField
from prefpairs.targets.openai import read


def test_row() -> None:
    """Three columns, and `input` is an object."""
    assert rows_of("openai", PLAIN) == [
        {
            "input": {"messages": [user("Q")]},
            "preferred_output": [model("Aye")],
            "non_preferred_output": [model("Nay")],
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Arguments are text, and schemas are next to the messages."""
    (row,) = rows_of("openai", DEEP)
    assert row["input"] == {
        "messages": [system("S"), user("Q"), calling(), told("1")],
        "tools": TOOLS,
    }


def test_answer_of_several_messages() -> None:
    """The messages become one, with text and calls."""
    (row,) = rows_of("openai", pair("Q", [model("Hm"), calling()], "B"))
    assert row["preferred_output"] == [calling(content="Hm")]


def test_reading() -> None:
    """Tools are read from where they are written."""
    (row,) = rows_of("openai", DEEP)
    assert read({**row, "k": 1}) == {
        "prompt": row["input"]["messages"],
        "chosen": row["preferred_output"],
        "rejected": [model("Nay")],
        "tools": TOOLS,
        "k": 1,
    }
    assert "tools" not in read(rows_of("openai", PLAIN)[0])


@pytest.mark.parametrize("given", [None, [user("Q")], "Q"])
def test_input_that_is_no_object(given: Any) -> None:
    """A frequent mistake, which is reported."""
    with pytest.raises(BadField) as caught:
        read({"input": given, "preferred_output": [], "non_preferred_output": []})
    assert caught.value.field == "input"


def test_job() -> None:
    """The job has a validation file only if there is one."""
    alone, both = (
        json.loads(extras_of("openai", *sides)["job.json"])
        for sides in (("train",), ("train", "val"))
    )
    assert alone["method"]["type"] == "dpo"
    assert set(both) - set(alone) == {"validation_file"}
