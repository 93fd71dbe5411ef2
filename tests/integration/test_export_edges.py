"""Edge cases of export on the command line that were wrong once."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import run_text

Row = dict[str, Any]
PLAIN: Row = {"prompt": "Q", "chosen": "Aye", "rejected": "Nay"}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {}}}]


def model(content: str, **more: Any) -> Row:
    """An assistant message."""
    return {"role": "assistant", "content": content, **more}


def user(content: str) -> Row:
    """A user message."""
    return {"role": "user", "content": content}


def calls(arguments: str, name: str = "x") -> list[Row]:
    """The tool calls of a message."""
    return [{"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}]


def told(content: str, name: str = "x") -> Row:
    """A tool result."""
    return {"role": "tool", "content": content, "tool_call_id": name}


def export(folder: Path, rows: list[Row], *words: str) -> tuple[int, list[Row], str]:
    """The exit code, rows and messages of an export of these rows."""
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    done = run_text("export", *words, "train.jsonl", cwd=folder)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_openrlhf_folder_without_val(tmp_path: Path) -> None:
    """Exports a folder that has only training data."""
    assert export(tmp_path, [PLAIN], "--to", "openrlhf", "--out-dir", "out")[0] == 0


def test_llamafactory_with_arguments_as_objects(tmp_path: Path) -> None:
    """LLaMA-Factory has its own format for calls."""
    rows = [{**PLAIN, "chosen": [model("", tool_calls=calls('{"a":1}'))]}]
    assert export(tmp_path, rows, "--to", "llamafactory", "--tool-args", "dict")[0] in (0, 2)


@pytest.mark.parametrize(
    "row",
    [
        {"messages": ["hi"], "rejected_response": "b"},
        {"instruction": "q", "history": [["a"]], "chosen": "a", "rejected": "b"},
        {"instruction": ["q"], "chosen": "a", "rejected": "b"},
        {"conversations": [{"from": [], "value": "q"}], "chosen": "a", "rejected": "b"},
    ],
)
def test_bad_rows_are_bad_data(tmp_path: Path, row: Row) -> None:
    """Rows that only look like those of a trainer are bad data, not a crash."""
    assert export(tmp_path, [row], "--to", "trl")[0] == 1


def test_kto_of_contradictions_alone(tmp_path: Path) -> None:
    """Contradictions alone leave nothing to write: exit 3."""
    rows = [PLAIN, {**PLAIN, "chosen": "Nay", "rejected": "Aye"}]
    assert export(tmp_path, rows, "--to", "trl-kto")[0] == 3


def test_kto_score_of_an_answer_in_several_pairs(tmp_path: Path) -> None:
    """The score of an answer in several pairs does not depend on their order."""
    one = {**PLAIN, "chosen_score": 1.0, "rejected_score": 0.0}
    other = {**PLAIN, "chosen_score": 0.9, "rejected": "No", "rejected_score": 0.0}
    assert (
        export(tmp_path, [one, other], "--to", "trl-kto")[1]
        == export(tmp_path, [other, one], "--to", "trl-kto")[1]
    )


@pytest.mark.parametrize("to", ["nemo-rl", "nemo-rl-ranked", "openrlhf", "customizer"])
def test_merged_system_and_tools(tmp_path: Path, to: str) -> None:
    """With --system merge, the system message with the tools is merged, too."""
    _, (row,), _ = export(tmp_path, [{**PLAIN, "tools": TOOLS}], "--to", to, "--system", "merge")
    assert all(turn["role"] != "system" for turn in row.get("prompt") or row["context"])


def test_merged_system_in_the_middle(tmp_path: Path) -> None:
    """--system merge leaves no system message."""
    prompt = [user("Q"), {"role": "system", "content": "S"}, user("R")]
    _, (row,), _ = export(
        tmp_path, [{**PLAIN, "prompt": prompt}], "--to", "trl", "--system", "merge"
    )
    assert all(turn["role"] != "system" for turn in row["prompt"])


def test_first_turn_of_thinking_alone(tmp_path: Path) -> None:
    """An answer whose first turn has only thinking is dropped."""
    answer = [model("", reasoning_content="hm"), user("go on"), model("Aye")]
    assert export(tmp_path, [{**PLAIN, "chosen": answer}], "--to", "nemo-rl")[0] == 3


def test_sides_equal_once_written_llamafactory(tmp_path: Path) -> None:
    """A call written next to text becomes text, and may equal another answer."""
    text = 'Hi\n<tool_call>\n{"name": "f", "arguments": {"a":1}}\n</tool_call>'
    rows = [{**PLAIN, "chosen": [model("Hi", tool_calls=calls('{"a":1}'))], "rejected": text}]
    assert export(tmp_path, rows, "--to", "llamafactory")[0] == 3


def test_sides_equal_once_written_trl(tmp_path: Path) -> None:
    """A broken call becomes text, and may equal another answer."""
    text = '<tool_call>\n{"name": "f", "arguments": "{\\"a"}\n</tool_call>'
    rows = [{**PLAIN, "chosen": [model("", tool_calls=calls('{"a'))], "rejected": text}]
    assert export(tmp_path, rows, "--to", "trl")[0] == 3


def test_llamafactory_refuses_what_it_writes_as_text(tmp_path: Path) -> None:
    """Text where a call should be is reported."""
    rows = [{**PLAIN, "chosen": [model("Let me see.", tool_calls=calls('{"a":1}'))]}]
    assert export(tmp_path, rows, "--to", "llamafactory", "--lossy", "refuse")[0] != 0


def test_results_of_calls_that_became_text(tmp_path: Path) -> None:
    """No result remains without its call."""
    turns = [model("", tool_calls=calls('{"a')), told("error")]
    rows = [{**PLAIN, "chosen": [*turns, model("yes")], "rejected": [*turns, model("no")]}]
    _, (row,), _ = export(tmp_path, rows, "--to", "trl")
    called = {call["id"] for turn in row["prompt"] for call in turn.get("tool_calls", [])}
    assert {turn["tool_call_id"] for turn in row["prompt"] if turn["role"] == "tool"} <= called


def test_difference_behind_thoughts_that_are_left_out(tmp_path: Path) -> None:
    """With --reasoning-as nothing, turns that differ only in reasoning are shared."""
    one, other = (
        [model("", reasoning_content=thought, tool_calls=calls("{}")), told("1"), model(text)]
        for thought, text in (("r1", "yes"), ("r2", "no"))
    )
    rows = [{**PLAIN, "chosen": one, "rejected": other}]
    code, found, _ = export(tmp_path, rows, "--to", "trl", "--reasoning-as", "nothing")
    assert (code, [row["chosen"] for row in found]) == (0, [[model("yes")]])


@pytest.mark.parametrize("to", ["ms-swift", "ultrafeedback"])
def test_greeting_there_and_back(tmp_path: Path, to: str) -> None:
    """A prompt that begins with an assistant message survives a round trip."""
    prompt = [model("Hello"), user("Q")]
    _, rows, _ = export(tmp_path, [{**PLAIN, "prompt": prompt}], "--to", to)
    code, found, _ = export(tmp_path, rows, "--to", "trl")
    assert (code, [row["prompt"] for row in found]) == (0, [prompt])


def test_results_that_answer_other_calls(tmp_path: Path) -> None:
    """Rows whose sides have tool results for different calls are dropped."""
    both = model("", tool_calls=[*calls('{"a":1}', "x"), *calls('{"a":2}', "y")])
    rows = [
        {
            **PLAIN,
            "chosen": [both, told("1", "x"), told("2", "y"), model("yes")],
            "rejected": [both, told("1", "y"), told("2", "x"), model("no")],
        }
    ]
    assert export(tmp_path, rows, "--to", "trl")[0] == 3


def test_ranked_of_a_release_without_it(tmp_path: Path) -> None:
    """Releases without this loader are rejected."""
    assert export(tmp_path, [PLAIN], "--to", "nemo-rl-ranked", "--release", "0.3")[0] == 2


def test_customizer_last_message_says_what_became_of_tools(tmp_path: Path) -> None:
    """With --last-message, tools are dropped with the history, and no note claims otherwise."""
    _, _, err = export(
        tmp_path, [{**PLAIN, "tools": TOOLS}], "--to", "customizer", "--last-message"
    )
    assert "tools are told in the system message" not in err


def test_names_of_users_that_are_joined(tmp_path: Path) -> None:
    """Messages of users with different names are not joined under one name."""
    prompt = [{**user("a"), "name": "Ann"}, {**user("b"), "name": "Bob"}]
    _, (row,), _ = export(tmp_path, [{**PLAIN, "prompt": prompt}], "--to", "trl")
    assert row["prompt"] != [{**user("a\nb"), "name": "Ann"}]


def test_files_called_eval(tmp_path: Path) -> None:
    """Files named eval are not training data."""
    (tmp_path / "eval.jsonl").write_text(json.dumps({**PLAIN, "prompt": "R"}))
    export(tmp_path, [PLAIN], "--to", "trl", "--out-dir", "out", "eval.jsonl")
    assert len((tmp_path / "out/train.jsonl").read_text().splitlines()) == 1
