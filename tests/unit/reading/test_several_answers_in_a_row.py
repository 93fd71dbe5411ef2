"""Several answers in one row, and the columns next to an answer."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField, NotOneEach, TwoReadings
from prefpairs.fields.answers_in_row import several_answers_at
from prefpairs.fields.field_names import THOUGHTS
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.pair import POSITION
from prefpairs.sources import nemo_gym
from prefpairs.sources.generic import open_reader

LENGTH = {"finish_reason": "length"}
A = {"role": "assistant", "content": "A"}
B = {"role": "assistant", "content": "B", "reasoning_content": "hm"}


def _read(row: Any, **options: Any) -> RowOutcome:
    line = json.dumps({"prompt": "Q", **row}).encode()
    return open_reader([line], ReadOptions(**options), "f.jsonl").read(line)


def _kept(row: Any, response: str, score: str, **options: Any) -> list[Candidate]:
    reading = _read(row, response=response, scores=((score, 1.0),), **options)
    assert reading.lost == []
    return reading.kept


@pytest.mark.parametrize(
    ("row", "path", "found"),
    [
        ({"choices": [{"message": A}, {"message": B}]}, "choices[].message", 2),
        ({"choices": [{"message": A}]}, "choices[].message", 1),
        ({"choices": []}, "choices[].message", 0),
        ({"choices[].message": [A, B]}, "choices[].message", None),
        ({"choices": {"message": A}}, "choices[].message", None),
        ({"completion": [A, B]}, "completion", None),
        ({"completion": [A, B]}, "completion[]", 2),
        ({"responses": [A, B]}, "responses", 2),
        ({"responses": [A]}, "responses", None),
        ({"responses": [A, {"role": "tool", "content": "T"}, B]}, "responses", None),
        ({"model": {"outputs": [A, B]}}, "model.outputs", 2),
        ({"completion": ["A", "B"]}, "completion", 2),
        ({"completion": "A"}, "completion", None),
        ({"a": [{"b": [{"c": "A"}, {"c": "B"}]}, {"b": [{"c": "C"}]}]}, "a[].b[].c", 3),
    ],
)
def test_what_is_several_answers(row: Any, path: str, found: int | None) -> None:
    """A path through a list, a list of answers, and a plural column of assistant messages."""
    several = several_answers_at(row, path)
    assert (None if several is None else len(several.items)) == found


def test_lists_in_lists() -> None:
    """Answers and scores in nested lists belong together by item."""
    row: Any = {
        "a": [{"m": "x", "b": [{"c": "A", "s": 1}, {"c": "B", "s": 2}]}, {"b": [{"c": "C"}]}],
        "s": [1, 2, 3],
    }
    kept = _read(row, response="a[].b[].c", scores=(("a[].b[].s", 1.0),), keep=("a[].m",))
    assert [(one.response, one.score) for one in kept.kept] == [("A", 1), ("B", 2)]
    assert [one.meta for one in kept.kept] == [{POSITION: at, "a[].m": "x"} for at in (0, 1)]
    assert kept.lost == ["no_score"]
    with pytest.raises(NotOneEach):  # it is unknown which of them belongs to which
        _read(row, response="a[].b[].c", scores=(("s[]", 1.0),))
    with pytest.raises(NotOneEach):  # only the outer items have scores
        _read(
            {"a": [{"s": 1, **one} for one in row["a"]]},
            response="a[].b[].c",
            scores=(("a[].s", 1.0),),
        )


@pytest.mark.parametrize("scores", [[1], [1, 2, 3], 0.5, True, "high", {"a": 1}])
def test_scores_that_do_not_fit(scores: Any) -> None:
    """The row is bad unless there are as many scores as answers."""
    row = {"choices": [{"message": A}, {"message": B}], "s": scores, "ratings": [1, 0]}
    with pytest.raises(NotOneEach) as caught:
        _read(row, response="choices[].message", scores=(("s", 1.0),))
    assert caught.value.expected == "a list of 2 scores, one for each answer"
    first = ("--response", "choices[].message", "choices.0.message")
    alone = [] if isinstance(scores, list) else [first]
    assert caught.value.instead == [("--score", "s", "ratings"), *alone]


def test_only_scores_are_offered_instead() -> None:
    """Lists of ranks or lengths are not offered as scores."""
    row = {"responses": [A, B], "score": 0.5, "ranks": [1, 2], "lengths": [3, 4], "acc": [1, 0]}
    with pytest.raises(NotOneEach) as caught:
        _read(row)
    first = ("--response", "responses", "responses.0")
    assert caught.value.instead == [("--score", "score", "acc"), first]


def test_lists_in_the_score_are_offered_instead() -> None:
    """Each list inside the score object is offered, one per reward function."""
    with pytest.raises(NotOneEach) as caught:
        _read({"responses": [A, B], "rewards": {"exact": [1, 0], "form": [0, 1], "n": 2}})
    assert caught.value.instead == [
        ("--score", "rewards", "rewards.exact"),
        ("--score", "rewards", "rewards.form"),
    ]


@pytest.mark.parametrize("one_for_all", [{"score": 0.5}, {"correct": True}, {"reward": 1}])
def test_steps_are_no_answers(one_for_all: dict[str, Any]) -> None:
    """A list under a singular name with scores per item and in total may be answers or steps."""
    row = {"response": ["First", "Then"], "rewards": [1, 0], **one_for_all}
    with pytest.raises(TwoReadings, match="are the items several answers") as caught:
        _read(row)
    assert caught.value.choices == [("--score", "rewards")]
    assert len(_kept(row, "response", "rewards")) == 2
    answers = {"responses": row["response"], "rewards": [1, 0], **one_for_all}
    assert len(_read(answers).kept) == 2


def test_the_first_step_is_no_answer() -> None:
    """For a singular name with one score, reading only the first item is not offered."""
    with pytest.raises(NotOneEach) as caught:
        _read({"response": ["First", "Then"], "score": 1})
    assert caught.value.instead == []


@pytest.mark.parametrize(
    ("row", "path", "mends"),
    [
        ({"responses": ["A", "B"]}, "responses.0", ["items_left_out"]),
        ({"choices": [{"message": A}, {"message": B}]}, "choices.0.message", ["items_left_out"]),
        ({"choices": [{"message": A}]}, "choices.0.message", []),
        ({"talk": [{"role": "user", "content": "Q"}, A]}, "talk.1.content", []),
    ],
)
def test_items_that_a_path_passes_by_are_counted(row: Any, path: str, mends: list[str]) -> None:
    """If a path has an index, the skipped items are counted."""
    assert _read({**row, "score": 1}, response=path, scores=(("score", 1.0),)).noticed == mends


def test_answers_that_never_came() -> None:
    """Null among several answers is a loss by itself; the others are read."""
    reading = _read({"responses": ["A", None, "C"], "rewards": [1, 0, 0.5]})
    assert [one.response for one in reading.kept] == ["A", "C"]
    assert (reading.lost, reading.places) == (["no_response"], [1, 3])


def test_one_answer_has_one_score() -> None:
    """A list of one answer may have a single number as its score."""
    row = {"choices": [{"message": A}], "score": 0.5}
    (only,) = _kept(row, "choices[].message", "score")
    assert (only.response, only.score, only.meta) == ([A], 0.5, None)


@pytest.mark.parametrize(
    ("keep", "found"),
    [
        ("samples[].model", ["m", "n"]),
        ("samples[]", [{"text": "A", "model": "m"}, {"text": "B", "model": "n"}]),
        ("names[]", ["x", "y"]),
        ("names", [["x", "y"]] * 2),
        ("names.1", ["y"] * 2),
        ("others[].model", [["o", "p", "q"]] * 2),
        ("samples.0.model", ["m"] * 2),
    ],
)
def test_keep_by_position(keep: str, found: list[Any]) -> None:
    """--keep through the answers' list gives each its own value; so does a parallel list."""
    row: Any = {
        "samples": [{"text": "A", "model": "m"}, {"text": "B", "model": "n"}],
        "names": ["x", "y"],
        "others": [{"model": "o"}, {"model": "p"}, {"model": "q"}],
        "scores": [1, 0],
    }
    kept = _kept(row, "samples[].text", "scores", keep=(keep,))
    assert [one.meta for one in kept] == [
        {POSITION: at, keep: value} for at, value in enumerate(found)
    ]


def test_kept_list_of_another_length() -> None:
    """A parallel list of another length makes the row bad."""
    with pytest.raises(NotOneEach, match=r"names\[\]: expected a list of 2, one for each answer"):
        _read({"responses": ["A", "B"], "rewards": [1, 0], "names": ["x"]}, keep=("names[]",))


def test_group_by_position() -> None:
    """Answers compete if a field of their own items is equal."""
    row = {"samples": [{"text": "A", "by": "x"}, {"text": "B", "by": "y"}], "scores": [1, 0]}
    kept = _kept(row, "samples[].text", "scores", group_by=("samples[].by",))
    assert [one.group for one in kept] == ['["x"]', '["y"]']


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_words_bring_their_thinking(key: str) -> None:
    """The text of messages comes with its reasoning, unless --reasoning drop is given."""
    said = {"role": "assistant", "content": "A", key: "hm"}
    whole = [{"role": "assistant", "content": "A", "reasoning_content": "hm"}]
    row = {"choices": [{"message": said}], "score": 1}
    for path in ("choices.0.message.content", "choices[].message.content", "choices.0.message"):
        (one,) = _kept(row, path, "score")
        assert one.response == whole
        (bare,) = _kept(row, path, "score", reasoning="drop")
        assert bare.response in ("A", [{"role": "assistant", "content": "A"}])


@pytest.mark.parametrize(
    ("row", "path", "response"),
    [
        ({"message": {"content": "A", "reasoning": "hm"}}, "message.content", True),
        (
            {"message": {"role": "user", "content": "A", "reasoning": "hm"}},
            "message.content",
            False,
        ),
        ({"content": "A", "reasoning": "hm"}, "content", False),
        ({"role": "assistant", "content": "A", "reasoning": "hm"}, "content", True),
        ({"message": A}, "message.content", False),
    ],
)
def test_whose_words_have_thinking(row: Any, path: str, *, response: bool) -> None:
    """Reasoning is that of assistant messages; a row is one only if its role says so."""
    (one,) = _kept({**row, "score": 1}, path, "score")
    assert isinstance(one.response, list) is response


def test_what_is_left_out_is_counted() -> None:
    """Calls and reasoning that a path omits are counted."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    row = {"message": {**A, "tool_calls": [call]}, "score": 1}
    assert _read(row, response="message.content").noticed == ["calls_left_out"]
    assert _read(row, response="message").noticed == []
    row = {"response": "A", "tool_calls": [call], "score": 1}
    assert _read(row).noticed == ["calls_left_out"]
    assert _read(row | {"tool_calls": 3}).noticed == []


@pytest.mark.parametrize("name", THOUGHTS)
def test_thinking_that_is_left_out_is_counted(name: str) -> None:
    """The same for reasoning in a column, an item, or a parallel list."""
    row = {"response": "A", name: "hm", "score": 1}
    assert _read(row).noticed == ["thinking_left_out"]
    assert _read(row | {name: [{"thinking": "hm"}]}).noticed == ["thinking_left_out"]
    nothings: list[Any] = ["", " ", None, [], {"effort": "high"}]
    for nothing in nothings:
        assert _read(row | {name: nothing}).noticed == []
    assert _read(row | {"response": "<think>hm</think>A"}).noticed == []
    items = [{"text": "A", name: "hm", "score": 1}, {"text": "B", name: "", "score": 0}]
    assert _read({"samples": items}).noticed == ["thinking_left_out"]
    lists = {"responses": ["A", "B"], "rewards": [1, 0]}
    assert _read({**lists, name: ["", "hm"]}).noticed == ["thinking_left_out"]
    assert _read({**lists, f"{name}s": ["hm", "hm"]}).noticed == ["thinking_left_out"] * 2
    assert _read({**lists, f"{name}s": ["hm"]}).noticed == []


def test_words_in_parts() -> None:
    """Content may be a list of parts."""
    row = {"message": {**A, "content": [{"type": "text", "text": "A"}]}, "score": 1}
    assert _kept(row, "message.content", "score")[0].response == [A]


def test_an_object_that_is_no_message() -> None:
    """An object that is no message is rejected."""
    with pytest.raises(BadField):
        _read({"message": {"text": "A"}, "score": 1}, response="message")


@pytest.mark.parametrize(
    ("row", "path", "meta"),
    [
        ({"finish_reason": "length"}, "response", {"finish_reason": "length"}),
        ({"finish_reason": "stop"}, "response", None),
        ({"stop_reason": "max_tokens"}, "response", {"stop_reason": "max_tokens"}),
        ({"is_truncated": True}, "response", {"truncated": True}),
        ({"status": "incomplete"}, "response", {"status": "incomplete"}),
        ({"truncated": False, "status": "ok", "error": 0.25}, "response", None),
        ({"error": "boom"}, "response", {"error": True}),
        ({"errors": []}, "response", None),
        ({"exception": {"type": "x"}}, "response", {"error": True}),
        ({"c": [{"m": A, "finish_reason": "length"}]}, "c.0.m", {"finish_reason": "length"}),
        (
            {"c": [{"m": A, "finish_reason": "length"}]},
            "c.0.m.content",
            {"finish_reason": "length"},
        ),
        ({"m": {**A, "stop_reason": "length"}}, "m.content", {"stop_reason": "length"}),
        ({"chat": [{**A, "finish_reason": "length"}]}, "chat", {"finish_reason": "length"}),
        ({"c": [{"m": A}, {"m": B, "finish_reason": "length"}]}, "c.0.m", None),
    ],
)
def test_marks_of_an_answer(row: Any, path: str, meta: Any) -> None:
    """Marks are read from each object that contains the answer, and from no other."""
    (one,) = _kept({"response": "A", "score": 1, **row}, path, "score")
    assert one.meta == meta


def test_marks_in_parallel_lists() -> None:
    """Each answer gets the mark at its position; a single mark applies to all."""
    row: Any = {
        "responses": ["A", "B"],
        "rewards": [1, 0],
        "finish_reasons": ["stop", "length"],
        "errors": ["boom", ""],
    }
    assert [one.meta for one in _read(row).kept] == [
        {"error": True, POSITION: 0},
        {"finish_reason": "length", POSITION: 1},
    ]
    row = {"responses": ["A", "B"], "rewards": [1, 0], "error": "boom"}
    assert [one.meta for one in _read(row).kept] == [{"error": True, POSITION: at} for at in (0, 1)]


def test_a_mark_of_the_last_turn_of_a_conversation() -> None:
    """Marks of the row and of its last message apply to the answer."""
    row = {"messages": [{"role": "user", "content": "Q"}, {**A, "finish_reason": "length"}]}
    line = json.dumps({**row, "score": 1}).encode()
    (one,) = open_reader([line], ReadOptions(), "f.jsonl").read(line).kept
    assert one.meta == {"finish_reason": "length"}


def test_paths_into_rows_of_other_sources() -> None:
    """In rollouts of other sources, a path selects one answer with its reasoning."""
    asked = {"input": [{"role": "user", "content": "Q"}]}
    row = {"responses_create_params": asked, "reward": 1, "r": {"choices": [{"m": A}, {"m": B}]}}
    line = json.dumps(row).encode()

    def read(path: str) -> RowOutcome:
        options = ReadOptions(response=path)
        return nemo_gym.open_reader([line], options, "f.jsonl").read(line)

    assert read("r.choices.1.m.content").kept[0].response == [B]
    assert read("r.choices.1.m").kept[0].response == [B]
    assert read("r.missing").lost == ["no_response"]
    with pytest.raises(BadField, match="one answer, for the row has one score"):
        read("r.choices[].m")


@pytest.mark.parametrize("name", ["error_type", "exception_info", "traceback", "timed_out"])
def test_other_names_of_errors(name: str) -> None:
    """Errors are found under several names, since a crash looks like a wrong answer."""
    row = {"response": "A", "score": 0}
    for error in ("TimeoutError", True, {"exception_type": "OSError"}):
        (one,) = _read({**row, name: error}).kept
        assert one.meta == {"error": True}
    nothings: list[Any] = [None, "", "None", False, {}]
    for nothing in nothings:
        (one,) = _read({**row, name: nothing}).kept
        assert one.meta is None
