"""The steps from a row's content to a candidate that all sources share."""

from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, expect_object
from prefpairs.model.message import Message, Text
from prefpairs.model.tool_calls import tool_call
from prefpairs.sources.generic import read_any_shape

Q: list[Message] = [{"role": "user", "content": "Q"}]
_OPENED = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"
KEPT_BY_PATH = {"model": "m", "seed": 7, "judge": {"note": None}}


def _refine(
    prompt: Text | None = "Q", response: Text | None = "A", *, row: Any = None, **options: Any
) -> RowOutcome:
    reading = RowOutcome()
    answer = Answer(row=row or {}, prompt=prompt, response=response, scores=[("s", 1.0, 0.5)])
    add_candidate(answer, ReadOptions(**options), "f.jsonl", reading)
    return reading


def _said(content: Any, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def _group(row: Any = None, task: Any = None, **options: Any) -> str:
    reading = RowOutcome()
    answer = Answer(row=row or {}, prompt="Q", response="A", scores=[("s", 1.0, 1)], task=task)
    add_candidate(answer, ReadOptions(**options), "runs/f.jsonl", reading)
    return reading.kept[0].group


@pytest.mark.parametrize(
    ("score", "options", "expected"),
    [
        ("C", {}, 3.0),
        (1, {}, -1.0),
        (1.0, {}, -1.0),
        (True, {}, -1.0),
        (False, {}, 7.0),
        (0, {}, 7.0),
        (0.5, {}, 0.5),
        ("1", {}, -1.0),
        ("1.0", {"cast_score": True}, -1.0),
        ("False", {"cast_score": True}, 7.0),
        ("0.25", {"cast_score": True}, 0.25),
    ],
)
def test_score_map_names_texts_numbers_and_booleans(
    score: Any, options: dict[str, Any], expected: float
) -> None:
    """A number is what it is, however it is written. What the map does not name is kept."""
    grades = (("C", 3.0), ("1", -1.0), ("false", 7.0))
    reading = RowOutcome()
    answer = Answer(row={}, prompt="Q", response="A", scores=[("s", 1.0, score)])
    add_candidate(answer, ReadOptions(score_map=grades, **options), "f.jsonl", reading)
    assert reading.kept[0].score == expected


def test_places_count_losses_too() -> None:
    """Positions count lost answers, too."""
    reading = RowOutcome()
    for value in (None, 1.0, None, 2.0):
        answer = Answer(row={}, prompt="Q", response="A", scores=[("s", 1.0, value)])
        add_candidate(answer, ReadOptions(), "f.jsonl", reading)
    assert (reading.places, reading.lost) == ([2, 4], ["no_score", "no_score"])


@pytest.mark.parametrize(
    ("prompt", "response", "reason"),
    [
        (None, "A", "no_prompt"),
        (" ", "A", "no_prompt"),
        ([], "A", "no_prompt"),
        ("Q", None, "no_response"),
        ("Q", "", "empty_answer"),
        ("Q", [], "empty_answer"),
        ("Q", [{"role": "user", "content": "x"}], "empty_answer"),
        ("Q", [_said(""), _said(" ")], "empty_answer"),
        ("Q", "<think>hm</think> ", "empty_answer"),
        ("Q", [_said("", reasoning_content="hm")], "empty_answer"),
        ("Q", "<think>hm", "unfinished_thinking"),
        ("Q", " <think>", "unfinished_thinking"),
        ("Q", "<think>a</think> <think>b", "unfinished_thinking"),
        ("Q", [_said("<think>hm")], "unfinished_thinking"),
        (_OPENED, "hm", "unfinished_thinking"),
        ([{"role": "user", "content": _OPENED}], "hm", "unfinished_thinking"),
        (_OPENED, "hm</think>", "empty_answer"),
    ],
)
def test_reasons(prompt: Text | None, response: Text | None, reason: str) -> None:
    """An empty prompt or answer drops the candidate."""
    assert _refine(prompt, response).lost == [reason]


def test_thinking_that_the_prompt_begins() -> None:
    """An answer that ends it, or follows thinking in another column, is an answer."""
    assert _refine(_OPENED, "hm</think>A").kept[0].response == [_said("A", reasoning_content="hm")]
    assert _refine("What is <think>", "A tag.").kept[0].response == "A tag."
    kept = _refine(_OPENED, "hm", keep_rows=frozenset({"unfinished_thinking"})).kept[0]
    assert (kept.prompt, kept.response) == (_OPENED, "hm")
    row = b'{"prompt": "user\\nHi\\nassistant\\n<think>\\n", "score": 1, "response": "A"'
    for more, lost in ((b"}", ["unfinished_thinking"]), (b', "thinking": "hm"}', [])):
        assert read_any_shape(row + more, ReadOptions(), "f.jsonl").lost == lost


def test_unfinished_thinking_is_kept_as_it_was_written() -> None:
    """With --keep-rows it is the text of the answer, since reasoning alone would be empty."""
    for said in ("<think>hm", [_said("<think>hm")], [_said("<think>hm", reasoning_content="a")]):
        kept = _refine("Q", said, keep_rows=frozenset({"unfinished_thinking"})).kept[0]
        assert kept.response == said
    whole = _refine("Q", "<think>hm</think>A", keep_rows=frozenset({"unfinished_thinking"}))
    assert whole.kept[0].response == [_said("A", reasoning_content="hm")]
    empty = _refine("Q", "<think></think>", keep_rows=frozenset({"unfinished_thinking"}))
    assert empty.lost == ["empty_answer"]


def test_unfinished_thinking_behind_calls() -> None:
    """If calls come before it, they are the answer; for --response-part final there is none."""
    turns = [_said("", tool_calls=[tool_call("f", "{}", "call_0")]), _said("<think>hm")]
    assert _refine("Q", turns).kept[0].response[-1] == _said("", reasoning_content="hm")
    assert _refine("Q", turns, response_part="final").lost == ["unfinished_thinking"]
    both = {"response_part": "final", "keep_rows": frozenset({"unfinished_thinking"})}
    assert _refine("Q", turns, **both).kept[0].response == [_said("<think>hm")]
    assert _refine("Q", turns[:1], **both).lost == ["empty_answer"]


def test_unfinished_thinking_without_its_reasoning() -> None:
    """With --reasoning drop, nothing is left of it."""
    assert _refine("Q", "<think>hm", reasoning="drop").lost == ["unfinished_thinking"]


def test_leading_turn_moves_behind_a_text_prompt() -> None:
    """A text prompt becomes a chat then."""
    turn = {"role": "user", "content": "More."}
    reading = _refine("Q", [turn, _said("A")])
    assert (reading.kept[0].prompt, reading.kept[0].response) == ([*Q, turn], [_said("A")])
    assert reading.noticed == ["leading_turn_moved"]


@pytest.mark.parametrize("earlier", [[], [{"role": "user", "content": "a"}, _said("b")]])
@pytest.mark.parametrize("told", [[], [{"role": "system", "content": "S"}]])
def test_response_that_is_the_whole_conversation(earlier: Any, told: Any) -> None:
    """A prompt repeated in the response is removed."""
    for prompt in ([*earlier, *Q], [*told, *earlier, *Q]):
        reading = _refine(prompt, [*told, *earlier, *Q, _said("A")])
        kept = reading.kept[0]
        assert (kept.prompt, kept.response) == ([*told, *earlier, *Q], [_said("A")])
        assert reading.noticed == ["prompt_in_response"]
    assert _refine("Q", [*Q, _said("A")]).kept[0].prompt == Q
    assert _refine([*earlier, *Q], [*earlier, *Q]).lost == ["empty_answer"]


def test_text_prompt_stays_text_before_a_chat() -> None:
    """A text prompt stays text if nothing requires a chat."""
    assert _refine("Q", [_said("A")]).kept[0].prompt == "Q"


def test_calls_of_a_text_prompt_are_numbered_from_one() -> None:
    """A text prompt has no calls, so the response's start at one."""
    calls = [tool_call("f", "{}", "x"), tool_call("f", "{}", "y")]
    response = _refine("Q", [_said("", tool_calls=calls)]).kept[0].response
    assert response == [
        _said("", tool_calls=[tool_call("f", "{}", "call_1"), tool_call("f", "{}", "call_2")])
    ]


def test_reasoning_of_the_prompt_is_left_alone() -> None:
    """Only reasoning in the answer is processed."""
    asked = [_said("Hi", reasoning_content="hm"), *Q]
    assert _refine(asked, [_said("A")], reasoning="drop").kept[0].prompt == asked


def test_thinking_in_a_turn_of_the_environment_stays() -> None:
    """Inline thinking in other roles' turns is not split off."""
    told = {"role": "user", "content": "<think>x</think>go"}
    response = _refine("Q", [_said("A"), told, _said("B")]).kept[0].response
    assert response == [_said("A"), told, _said("B")]


def test_final_part_of_several_turns() -> None:
    """The final part is the last text, without tool use."""
    told = {"role": "user", "content": "go"}
    reading = _refine("Q", [_said("A"), told, _said("B")], response_part="final")
    assert (reading.kept[0].response, reading.noticed) == ([_said("B")], [])


def test_final_part_skips_turns_without_words() -> None:
    """A last turn with only calls is skipped."""
    calls = [tool_call("f", "{}", "x")]
    reading = _refine("Q", [_said("A", tool_calls=calls), _said("")], response_part="final")
    assert reading.kept[0].response == [_said("A")]


def test_final_part_of_a_text_is_the_text() -> None:
    """A plain text is its own final part."""
    assert _refine("Q", "A", response_part="final").kept[0].response == "A"


def test_paths_replace_what_the_source_found() -> None:
    """--prompt and --response override the source, for every source."""
    row = {"p": "Other", "r": [_said("B")]}
    candidate = _refine(row=row, prompt="Q").kept[0]
    assert candidate.prompt == "Q"
    reading = RowOutcome()
    add_candidate(
        Answer(row=row, prompt="Q", response="A", scores=[("s", 1.0, 1)]),
        ReadOptions(prompt="p", response="r"),
        "f.jsonl",
        reading,
    )
    assert (reading.kept[0].prompt, reading.kept[0].response) == ("Other", [_said("B")])


@pytest.mark.parametrize("row", [{}, {"p": None}])
def test_path_that_finds_nothing(row: dict[str, Any]) -> None:
    """If --prompt finds nothing, the row is dropped; the source's prompt is not used."""
    reading = RowOutcome()
    answer = Answer(row=row, prompt="Q", response="A", scores=[("s", 1.0, 1)])
    add_candidate(answer, ReadOptions(prompt="p"), "f.jsonl", reading)
    assert reading.lost == ["no_prompt"]


def test_path_to_another_type() -> None:
    """A number is no prompt."""
    answer = Answer(row={"p": 7}, prompt="Q", response="A", scores=[("s", 1.0, 1)])
    with pytest.raises(BadField, match="p: expected text or a list of messages"):
        add_candidate(answer, ReadOptions(prompt="p"), "f.jsonl", RowOutcome())


@pytest.mark.parametrize(
    ("score", "kept"), [(8e307, True), (-8e307, True), (8.1e307, False), (-1.7e308, False)]
)
def test_scores_whose_gap_would_be_no_number(score: float, kept: bool) -> None:
    """Scores so large that a gap could overflow are dropped."""
    reading = RowOutcome()
    answer = Answer(row={}, prompt="Q", response="A", scores=[("s", 1.0, score)])
    add_candidate(answer, ReadOptions(), "f.jsonl", reading)
    assert (bool(reading.kept), reading.lost) == (kept, [] if kept else ["score_not_finite"])


@pytest.mark.parametrize(
    "prompt",
    [
        [{"role": "user", "content": " "}],
        [{"role": "system", "content": ""}, {"role": "user", "content": ""}],
    ],
)
def test_prompt_of_empty_messages(prompt: Text) -> None:
    """Messages without text are no prompt."""
    assert _refine(prompt).lost == ["no_prompt"]


def test_group_is_the_task() -> None:
    """The group is the source's identity of the task, as JSON."""
    assert _group(task=["math", 0]) == '["math",0]'


def test_group_without_a_task_is_the_prompt() -> None:
    """Without a task, the group is the prompt's digest."""
    assert _group() == "prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9"


@pytest.mark.parametrize(
    ("word", "row", "group"),
    [
        ("uid~(.+)_[0-9]+_[0-9]+$", {"uid": "a_b_3_0"}, '["a_b"]'),
        ("uid~^[a-z]+", {"uid": "ab_3"}, '["ab"]'),
        ("uid~(x)?b", {"uid": "ab"}, None),
        ("uid~c", {"uid": "ab"}, None),
        ("uid~a", {}, None),
        ("n//4", {"n": 7}, "[1]"),
        ("n//4", {"n": None}, None),
    ],
)
def test_group_by_a_part_of_a_field(word: str, row: dict[str, Any], group: str | None) -> None:
    """The first group of the pattern, or all that it matches; else the candidate is dropped."""
    reading = RowOutcome()
    answer = Answer(row=row, prompt="Q", response="A", scores=[("s", 1.0, 1)])
    add_candidate(answer, ReadOptions(group_by=(word,)), "f.jsonl", reading)
    assert [candidate.group for candidate in reading.kept] == ([] if group is None else [group])
    assert reading.lost == (["no_group"] if group is None else [])


@pytest.mark.parametrize(("word", "value"), [("x~a", 1), ("x//2", "1"), ("x//2", 1.0)])
def test_parts_of_fields_of_other_types(word: str, value: Any) -> None:
    """Patterns are for text, and runs for whole numbers."""
    answer = Answer(row={"x": value}, prompt="Q", response="A", scores=[("s", 1.0, 1)])
    with pytest.raises(BadField):
        add_candidate(answer, ReadOptions(group_by=(word,)), "f.jsonl", RowOutcome())


def test_group_by_prompt_remembers_the_task() -> None:
    """Tasks with the same prompt compete; meta records each candidate's task."""
    reading = RowOutcome()
    for task in (["math", 0], ["math", 1]):
        answer = Answer(row={}, prompt="Q", response="A", scores=[("s", 1.0, 1)], task=task)
        add_candidate(answer, ReadOptions(group_by="prompt"), "f.jsonl", reading)
    assert {candidate.group for candidate in reading.kept} == {
        "prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9"
    }
    assert [candidate.meta for candidate in reading.kept] == [
        {"source_task": '["math",0]'},
        {"source_task": '["math",1]'},
    ]


@pytest.mark.parametrize("group_by", ["auto", "file"])
def test_group_that_names_the_task_is_enough(group_by: Any) -> None:
    """If the group includes the task, meta does not repeat it."""
    reading = RowOutcome()
    answer = Answer(row={}, prompt="Q", response="A", scores=[("s", 1.0, 1)], task=["math", 0])
    add_candidate(answer, ReadOptions(group_by=group_by), "f.jsonl", reading)
    assert reading.kept[0].meta is None


def test_group_by_file_adds_the_file() -> None:
    """The same task in different files makes different groups."""
    assert _group(task=["math", 0], group_by="file") == '["runs/f.jsonl","[\\"math\\",0]"]'


def test_group_by_paths() -> None:
    """The group is the values of the fields, with their types."""
    row = {"id": 7, "model": {"name": "m"}}
    assert _group(row, group_by=("id", "model.name")) == '[7,"m"]'
    assert _group({"id": "7"}, group_by=("id",)) == '["7"]'


@pytest.mark.parametrize("row", [{"id": 7}, {"id": 7, "model": None}])
def test_group_by_a_missing_field(row: dict[str, Any]) -> None:
    """A row without the field is dropped with a reason."""
    assert _refine(row=row, group_by=("id", "model")).lost == ["no_group"]


def test_kept_fields() -> None:
    """--keep fields are in meta under their path; null is kept, a missing value is not."""
    keep = ("model", "judge.note", "nothing")
    assert _refine(row=KEPT_BY_PATH, keep=keep).kept[0].meta == {"model": "m", "judge.note": None}


def test_kept_fields_that_are_not_there() -> None:
    """Without any kept value, there is no meta."""
    assert _refine(row=KEPT_BY_PATH, keep=("nothing",)).kept[0].meta is None


@pytest.mark.parametrize("row", [[], None, "text", 1])
def test_row_that_is_no_object(row: Any) -> None:
    """Rows must be objects."""
    with pytest.raises(BadField, match="row: expected a JSON object"):
        expect_object(row)
