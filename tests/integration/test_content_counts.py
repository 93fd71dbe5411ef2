"""Which differences in content make prompts or answers different, in black-box runs.

Each case is a row with one place to fill and two values for it. As a prompt, two equal values pair
and two different ones do not; as an answer, it is the other way round.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main

Row = dict[str, Any]

CALLS = [
    {"id": name, "type": "function", "function": {"name": "f", "arguments": f'{{"of":"{name}"}}'}}
    for name in "AB"
]


def generic(*prompt: Row) -> Row:
    """A generic row with a chat as its prompt."""
    return {"prompt": [*prompt, {"role": "user", "content": "Well?"}]}


def gym(*items: Row, **params: Any) -> Row:
    """A rollout of NeMo Gym with these items in its prompt."""
    asked = [*items, {"role": "user", "content": "Well?"}]
    return {"responses_create_params": {"input": asked, **params}}


def told(first: str, second: str) -> list[Row]:
    """Two calls with their results."""
    return [
        {"role": "assistant", "content": None, "tool_calls": CALLS},
        {"role": "tool", "tool_call_id": first, "content": "10"},
        {"role": "tool", "tool_call_id": second, "content": "30"},
    ]


def user(**more: Any) -> Row:
    """A user message with a field besides its text."""
    return {"role": "user", "content": "Look.", **more}


def part(kind: str, **more: Any) -> Row:
    """A message with a part that is not text."""
    return {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": kind, **more}]}


def custom(text: str) -> Row:
    """A call of a tool that takes free text."""
    call = {"id": "x", "type": "custom", "custom": {"name": "sh", "input": text}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def numbered(first: int, second: int) -> list[Row]:
    """The same with numbers as IDs."""
    ids = {"A": 1, "B": 2, 1: first, 2: second}
    turns = told("A", "B")
    calls = [{**call, "id": ids[call["id"]]} for call in CALLS]
    results = [{**turn, "tool_call_id": ids[at]} for at, turn in enumerate(turns[1:], 1)]
    return [{**turns[0], "tool_calls": calls}, *results]


def legacy(arguments: str) -> list[Row]:
    """A call and its result in the format before tools."""
    called = {"name": "f", "arguments": arguments}
    return [
        {"role": "assistant", "content": None, "function_call": called},
        {"role": "function", "name": "f", "content": "10"},
    ]


QUESTIONS: dict[str, tuple[Callable[[Any], Row], Any, Any]] = {
    "images": (lambda it: generic(user(images=it)), ["a.png"], ["b.png"]),
    "audio": (lambda it: generic(user(audio=it)), {"data": "a"}, {"data": "b"}),
    "documents": (lambda it: generic(user(documents=it)), ["a"], ["b"]),
    "attachments": (lambda it: generic(user(attachments=it)), ["a"], None),
    "tools of a message": (lambda it: generic(user(tools=it)), [{"name": "a"}], [{"name": "b"}]),
    "thinking": (
        lambda it: generic({"role": "assistant", "content": "", "thinking": it}),
        "a",
        "b",
    ),
    "an audio part": (lambda it: generic(part("input_audio", input_audio=it)), {"a": 1}, {"a": 2}),
    "a file part": (lambda it: generic(part("input_file", file_id=it)), "file-1", "file-2"),
    "an image by its id": (lambda it: generic(part("input_image", file_id=it)), "f-1", "f-2"),
    "a part of an unknown type": (lambda it: generic(part("smell", of=it)), "rose", "fish"),
    "a legacy call": (lambda it: generic(*legacy(it)), '{"of":"A"}', '{"of":"B"}'),
    "a custom call": (lambda it: generic(custom(it)), "ls", "rm"),
    "results of calls": (lambda it: generic(*told(*it)), "AB", "BA"),
    "results of numbered calls": (lambda it: generic(*numbered(*it)), (1, 2), (2, 1)),
    "gym: results of calls": (
        lambda it: gym(
            *(
                {"type": "function_call", "name": "f", "arguments": "{}", "call_id": n}
                for n in "AB"
            ),
            {"type": "function_call_output", "call_id": it[0], "output": "10"},
            {"type": "function_call_output", "call_id": it[1], "output": "30"},
        ),
        "AB",
        "BA",
    ),
    "gym: an image by its id": (lambda it: gym(part("input_image", file_id=it)), "f-1", "f-2"),
    "gym: images": (lambda it: gym(user(images=it)), ["a.png"], ["b.png"]),
    "gym: previous_response_id": (lambda it: gym(previous_response_id=it), "resp_1", "resp_2"),
    "gym: one has a previous response": (lambda it: gym(previous_response_id=it), "resp_1", None),
    "gym: conversation": (lambda it: gym(conversation=it), {"id": "a"}, {"id": "b"}),
    "gym: a template's variables": (
        lambda it: gym(prompt={"id": "p", "variables": {"x": it}}),
        "a",
        "b",
    ),
    "gym: a tool": (
        lambda it: gym(tools=[{"type": "function", "name": "f", "output_schema": it}]),
        {"type": "string"},
        {"type": "number"},
    ),
    "gym: tool_choice": (lambda it: gym(tool_choice=it), "required", "auto"),
    "gym: text.format": (
        lambda it: gym(text={"format": it}),
        {"type": "json_schema", "schema": {"a": 1}},
        {"type": "text"},
    ),
}
ANSWERS: dict[str, tuple[Callable[[Any], Row], Any, Any]] = {
    "a legacy call": (lambda it: legacy(it)[0], '{"of":"A"}', '{"of":"B"}'),
    "arguments under another name": (
        lambda it: {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": it}]},
        {"of": "A"},
        {"of": "B"},
    ),
    "a custom call": (custom, "ls", "rm"),
    "audio": (lambda it: {"role": "assistant", "content": "", "audio": it}, {"d": 1}, {"d": 2}),
    "refusal": (lambda it: {"role": "assistant", "content": None, "refusal": it}, "No.", "Never."),
}
VOLATILE: dict[str, tuple[Callable[[Any], Row], Any, Any]] = {
    "gym: sampling": (lambda it: gym(temperature=it, user=str(it), metadata={"a": it}), 0.1, 0.9),
    "gym: ids": (lambda it: gym(user(id=it, status=it, type="message")), "a", "b"),
    "logprobs": (lambda it: generic(user(logprobs=[it], weight=it, name="Al")), 0, 1),
    "ids of calls": (
        lambda it: json.loads(json.dumps(generic(*told("A", "B"))).replace('"A"', f'"{it}"')),
        "call_9",
        "x",
    ),
    "an empty list": (lambda it: generic(user(images=it)), [], None),
    "gym: text.format": (lambda it: gym(text=it), {"format": {"type": "text"}}, None),
}


def answered(row: Row, said: Any, score: float) -> Row:
    """A row with an answer and a score."""
    if "prompt" in row:
        return {**row, "response": said, "score": score}
    output = [{"type": "message", "role": "assistant", "content": [_spoken(said)]}]
    return {**row, "response": {"output": output}, "reward": score}


def _spoken(text: str) -> Row:
    return {"type": "output_text", "text": text, "annotations": []}


def pairs_of(folder: Path, *rows: Row) -> int:
    """The number of pairs from some rows; none exits 3."""
    given, output = folder / "in.jsonl", folder / "out.jsonl"
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    output.unlink(missing_ok=True)
    code = main(["pair", "-q", str(given), "-o", str(output)])
    assert code in (0, 3)
    return len(output.read_bytes().splitlines()) if code == 0 else 0


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_that_differ_never_meet(tmp_path: Path, name: str) -> None:
    """Answers pair if their prompts are equal, and never if these differ."""
    row, one, other = QUESTIONS[name]
    best = answered(row(one), "A", 1.0)
    assert pairs_of(tmp_path, best, answered(row(one), "B", 0.0)) == 1
    assert pairs_of(tmp_path, best, answered(row(other), "B", 0.0)) == 0


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_differ_pair(tmp_path: Path, name: str) -> None:
    """Answers pair if they differ, and never if they are equal."""
    said, one, other = ANSWERS[name]
    best = answered(generic(), [said(one)], 1.0)
    assert pairs_of(tmp_path, best, answered(generic(), [said(one)], 0.0)) == 0
    assert pairs_of(tmp_path, best, answered(generic(), [said(other)], 0.0)) == 1


@pytest.mark.parametrize("name", VOLATILE)
def test_what_is_no_content_never_parts(tmp_path: Path, name: str) -> None:
    """IDs, sampling settings and empty values do not make prompts different."""
    row, one, other = VOLATILE[name]
    rows = answered(row(one), "A", 1.0), answered(row(other), "B", 0.0)
    assert pairs_of(tmp_path, *rows) == 1


@pytest.mark.parametrize("column", ["images", "image", "audio", "documents", "files", "attachment"])
def test_pairs_that_differ_in_a_column_are_two(tmp_path: Path, column: str) -> None:
    """Pairs that differ in a column are different; dedupe keeps both, with their content."""
    given, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"prompt": "Q", "chosen": "A", "rejected": "B", column: [value]}
        for value in ("x", "y", "x")
    ]
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["dedupe", "-q", str(given), "-o", str(output)]) == 0
    kept = [json.loads(line) for line in output.read_bytes().splitlines()]
    kind = column.removesuffix("s")
    assert [row["prompt"][-1]["content"] for row in kept] == [
        [{"type": kind, kind: value}, {"type": "text", "text": "Q"}] for value in ("x", "y")
    ]


@pytest.mark.parametrize(
    "target", ["trl", "openai", "nemo-rl", "axolotl", "llamafactory", "ms-swift", "openrlhf"]
)
def test_targets_refuse_what_they_cannot_hold(
    tmp_path: Path, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is not text is counted as not_text; the form of the answer is omitted and counted."""
    given, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        answered({**row, "_ng_task_index": task}, said, score)
        for task, row in enumerate(
            [
                gym(previous_response_id="resp_1"),
                gym(user(images=["a.png"])),
                gym(part("input_image", file_id="f-1")),
                gym(tool_choice="required"),
                gym(),
            ]
        )
        for said, score in (("Yes, of course.", 1.0), ("No, never.", 0.0))
    ]
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["pair", "-q", str(given), "-o", str(output)]) == 0
    assert len(output.read_bytes().splitlines()) == 5
    summary = tmp_path / "s.json"
    words = ["--out-dir", str(tmp_path / "d"), "--summary", str(summary), str(output)]
    assert main(["export", "-q", "--to", target, *words]) == 0
    stage = json.loads(summary.read_bytes())["stages"]["export"]
    assert (stage["found"], stage["kept"], stage["dropped"]) == (5, 2, {"not_text": 3})
    assert stage["noticed"].get("answer_form_left_out") == 1
    capfd.readouterr()
    words[1] = str(tmp_path / "e")
    assert main(["export", "-q", "--to", target, "--lossy", "drop", *words]) == 0
    stage = json.loads(summary.read_bytes())["stages"]["export"]
    assert (stage["kept"], stage["dropped"]) == (1, {"not_text": 3, "cannot_be_held": 1})
