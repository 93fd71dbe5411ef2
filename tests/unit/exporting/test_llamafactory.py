"""LLaMA-Factory in its sharegpt format."""

import json
from typing import Any

import pytest
from target_rows import (
    CALLED,
    DEEP,
    PLAIN,
    call,
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
from prefpairs.model.pair import pair_of
from prefpairs.targets.base import CannotExport
from prefpairs.targets.llamafactory import read


def _turn(speaker: str, value: str) -> Any:
    return {"from": speaker, "value": value}


CALL = '{"name":"add","arguments":{"a":1}}'


def test_row() -> None:
    """LLaMA-Factory has its own names for roles, and answers are objects."""
    assert rows_of("llamafactory", PLAIN) == [
        {
            "conversations": [_turn("human", "Q")],
            "chosen": _turn("gpt", "Aye"),
            "rejected": _turn("gpt", "Nay"),
            "pair_id": PLAIN.id,
            "score_chosen": 1.0,
            "score_rejected": 0.25,
            "score_gap": 0.75,
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Calls and results are turns of their own kinds."""
    (row,) = rows_of("llamafactory", DEEP)
    assert row["conversations"] == [
        _turn("system", "S"),
        _turn("human", "Q"),
        _turn("function_call", CALL),
        _turn("observation", "1"),
    ]
    assert row["chosen"] == _turn("gpt", "<think>\nhm\n</think>\n\nAye")
    assert json.loads(row["tools"])[0]["function"]["name"] == "add"


def test_calls_at_once() -> None:
    """Several calls are a list, and their results one turn."""
    two = model("", tool_calls=[call(), call('{"b":2}', 2)])
    prompt = [user("Q"), two, told("1"), told("2", "call_2")]
    (row,) = rows_of("llamafactory", pair(prompt, "A", "B"))
    assert row["conversations"][1:] == [
        _turn("function_call", f'[{CALL},{{"name":"add","arguments":{{"b":2}}}}]'),
        _turn("observation", "1\n</tool_response>\n<tool_response>\n2"),
    ]


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (calling(content="Hm"), f"Hm\n{CALLED}"),
        (
            calling('{"a'),
            '<tool_call>\n{"name": "add", "arguments": "{\\"a"}\n</tool_call>',
        ),
    ],
)
def test_calls_that_cannot_stand_alone(answer: Any, value: str) -> None:
    """A call next to text, or with invalid arguments, becomes text completely."""
    (row,) = rows_of("llamafactory", pair("Q", [answer], "B"))
    assert row["chosen"] == _turn("gpt", value)


@pytest.mark.parametrize(
    "prompt",
    [
        [model("Hi"), user("Q")],
        [user("Q"), calling(), told("1"), user("R")],
        [user("Q"), system("S")],
        [user("Q"), model("A"), system("S"), user("R")],
        [system("S")],
    ],
    ids=["greeting", "result and user", "system last", "system between", "nobody asks"],
)
def test_turns_that_do_not_alternate(prompt: Any) -> None:
    """Such pairs are dropped, since the loader would drop the rows."""
    with pytest.raises(CannotExport) as caught:
        rows_of("llamafactory", pair(prompt, "A", "B"))
    assert caught.value.reason == "turns_do_not_alternate"


def test_reading() -> None:
    """Every kind of turn is read, and an empty tools column."""
    (row,) = rows_of("llamafactory", DEEP)
    called = model("", tool_calls=[{"name": "add", "arguments": {"a": 1}}])
    pair = read({**row, "tools": ""})
    assert pair["prompt"] == [
        system("S"),
        user("Q"),
        called,
        {"role": "tool", "content": "1"},
    ]
    assert pair["rejected"] == [model("Nay")]
    assert pair_of(pair)[0].tools is None
    assert read(row)["tools"] == row["tools"]


def test_reading_of_calls() -> None:
    """Several calls at once; invalid JSON stays text."""
    turns = [_turn("human", "Q"), _turn("function_call", f"[{CALL},{CALL}]")]
    one = {"name": "add", "arguments": {"a": 1}}
    torn = _turn("function_call", '{"na')
    row = read({"conversations": turns, "chosen": torn, "rejected": "B", "system": "S"})
    assert row == {
        "prompt": [system("S"), user("Q"), model("", tool_calls=[one, one])],
        "chosen": [model('{"na')],
        "rejected": "B",
    }


def test_reading_the_alpaca_form() -> None:
    """With a system message, earlier turns and an input."""
    row = {
        "instruction": "Q",
        "input": "in",
        "history": [["U", "A"]],
        "system": "S",
        "chosen": "yes",
        "rejected": "no",
        "k": 1,
    }
    assert read(row) == {
        "prompt": [system("S"), user("U"), model("A"), user("Q\nin")],
        "chosen": "yes",
        "rejected": "no",
        "k": 1,
    }
    bare = read({"instruction": "Q", "chosen": "yes", "rejected": "no"})
    assert bare["prompt"] == [user("Q")]


@pytest.mark.parametrize(
    ("turns", "field"),
    [
        (None, "conversations"),
        ("Q", "conversations"),
        (["Q"], "conversations.0"),
        ([_turn("human", "Q"), _turn("robot", "A")], "conversations.1"),
    ],
)
def test_turns_that_cannot_be_read(turns: Any, field: str) -> None:
    """The error has the position."""
    with pytest.raises(BadField) as caught:
        read({"conversations": turns, "chosen": "A", "rejected": "B"})
    assert caught.value.field == field


def test_list_of_data_sets() -> None:
    """Lists each split by name; the tools column only if it exists."""
    shape = frozenset({"tools: string"})
    info = json.loads(extras_of("llamafactory", "train", "val", shape=shape)["dataset_info.json"])
    columns = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}
    assert list(info) == ["prefpairs_train", "prefpairs_val"]
    assert info["prefpairs_val"] == {
        "file_name": "val.jsonl",
        "formatting": "sharegpt",
        "ranking": True,
        "columns": {**columns, "tools": "tools"},
    }
    bare = json.loads(extras_of("llamafactory", "train")["dataset_info.json"])
    assert bare["prefpairs_train"]["columns"] == columns


def test_configuration() -> None:
    """The configuration names the existing splits."""
    assert "eval_dataset" not in extras_of("llamafactory", "train")["dpo.yaml"]
    both = extras_of("llamafactory", "train", "val")["dpo.yaml"]
    assert "dataset: prefpairs_train\neval_dataset: prefpairs_val\n" in both
