"""Rows with a prompt, a response and a score under any names."""

import json
from itertools import product
from typing import Any

import pytest

from prefpairs.errors import BadField, NotJson, OtherRows, TwoReadings
from prefpairs.fields import training_logs
from prefpairs.fields.cross_row_facts import CrossRowFacts
from prefpairs.fields.guess_fields import find_fields
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import Unclear
from prefpairs.model.pair import POSITION
from prefpairs.model.tool_calls import tool_call
from prefpairs.sources.base import RecordReader
from prefpairs.sources.generic import looks_like, open_reader

GROUP_OF_Q = "prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9"
CHAT = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]


def _open(*rows: Any, **options: Any) -> RecordReader:
    sample = [json.dumps(row).encode() for row in rows]
    return open_reader(sample, ReadOptions(**options), "f.jsonl")


def _shown(*rows: Any, **options: Any) -> CrossRowFacts:
    """What rows show about how to read them."""
    shown = CrossRowFacts()
    for row in rows:
        shown.add(_read(row, **options).facts)
    return shown


def _notes(*rows: Any, **options: Any) -> list[str]:
    return list(_shown(*rows, **options).notes())


def _read(row: Any, **options: Any) -> RowOutcome:
    return _open(row, **options).read(json.dumps(row).encode())


def _kept(row: Any, **options: Any) -> list[Candidate]:
    reading = _read(row, **options)
    assert reading.lost == []
    return reading.kept


def _refusal(*rows: Any, **options: Any) -> OtherRows:
    with pytest.raises(OtherRows) as caught:
        _shown(*rows, **options).refuse(())
    return caught.value


def _choices(*rows: Any, **options: Any) -> list[tuple[str, ...]]:
    """The options that decide between two readings."""
    with pytest.raises(TwoReadings) as caught:
        _shown(*rows, **options)
    return list(map(tuple, caught.value.choices))


@pytest.mark.parametrize(
    ("line", "known"),
    [(b'{"a": 1}', True), (b"{}", True), (b"[]", False), (b"1", False), (b"{", False)],
)
def test_looks_like(line: bytes, known: bool) -> None:
    """Any JSON object is accepted, since paths can name its fields."""
    assert looks_like(line) is known


def test_one_answer_a_row() -> None:
    """Fields are guessed by name, with a note."""
    row = {"question": "Q", "answer": "A", "reward": 0.5}
    assert _kept(row) == [Candidate(GROUP_OF_Q, "Q", "A", 0.5)]
    assert _notes(row) == ['guessed: prompt is "question", response is "answer", score is "reward"']


def test_names_that_are_guessed() -> None:
    """Every combination of the usual names is found."""
    for prompt, response, score in product(
        ("prompt", "question", "instruction", "input", "query"),
        ("response", "completion", "answer", "output", "generation"),
        ("reward", "score", "rating"),
    ):
        found = _kept({score: 1, response: "A", prompt: "Q"})
        assert found == [Candidate(GROUP_OF_Q, "Q", "A", 1.0)], (prompt, response, score)


ROW = {"prompt": "Q", "response": "A", "score": 1}


@pytest.mark.parametrize(
    ("more", "choices"),
    [
        ({"reward": 0}, [("--score", "reward"), ("--score", "score")]),
        ({"rating": 5}, [("--score", "score"), ("--score", "rating")]),
        ({"output": "B"}, [("--response", "response"), ("--response", "output")]),
        ({"responses": ["B"]}, [("--response", "response"), ("--response", "responses")]),
        ({"question": "R"}, [("--prompt", "prompt"), ("--prompt", "question")]),
        (
            {"input": "R"},
            [
                ("--prompt", "prompt", "--context", "input"),
                ("--prompt", "prompt", "--ignore", "input"),
                ("--prompt", "input"),
            ],
        ),
        (
            {"messages": [{"role": "user", "content": "R"}]},
            [("--prompt", "prompt"), ("--prompt", "messages")],
        ),
    ],
)
def test_two_fields_of_a_kind(more: dict[str, Any], choices: list[tuple[str, ...]]) -> None:
    """With two candidates for a field, the run stops; key order decides nothing."""
    assert _choices({**ROW, **more}) == _choices({**more, **ROW}) == choices


@pytest.mark.parametrize(
    "more",
    [
        {"reward": 1.0},
        {"reward": True},
        {"reward": None},
        {"reward": "high"},
        {"rewards": [0, 1]},
        {"completion": "A"},
        {"completion": None},
        {"generation": " "},
        {"question": "Q"},
        {"query": ""},
        {"input": None},
        {"messages": CHAT},
        {"messages": CHAT[:1]},
        {"conversation": []},
    ],
)
def test_two_fields_that_are_no_two_readings(more: dict[str, Any]) -> None:
    """Equal, empty and unreadable alternatives are not ambiguous."""
    expected = [Candidate(GROUP_OF_Q, "Q", "A", 1.0)]
    assert _kept({**ROW, **more}) == _kept({**more, **ROW}) == expected


@pytest.mark.parametrize("name", ["prompt", "response", "score"])
def test_named_field_is_the_one_that_is_meant(name: str) -> None:
    """Each printed choice resolves the ambiguity."""
    other = {"prompt": "question", "response": "completion", "score": "reward"}[name]
    row = {**ROW, other: 0 if name == "score" else "other"}
    for choice in _choices(row):
        path = choice[1]
        options: dict[str, Any] = {name: path} if name != "score" else {"scores": ((path, 1.0),)}
        assert len(_kept(row, **options)) == 1


def test_references_are_no_answers() -> None:
    """An `answer` next to the model's output is the reference."""
    assert _kept({**ROW, "answer": "42"})[0].response == "A"
    assert _kept({**ROW, "response": None, "output": "A", "answer": "42"})[0].response == "A"
    assert _read({**ROW, "response": None, "answer": "42"}).lost == ["no_response"]


def test_reference_that_stands_alone_in_another_row() -> None:
    """A row that lost its response is not read with the reference instead, in any order."""
    beside = {**ROW, "answer": "42"}
    alone = {"prompt": "Q", "answer": "42", "score": 1}
    choices = [("--response", "response"), ("--response", "answer")]
    assert _choices(beside, alone) == _choices(alone, beside) == choices
    assert _shown(beside, {**alone, "answer": None}).has("guessed", "response", "response")


@pytest.mark.parametrize("key", ["messages", "conversation", "conversations"])
def test_conversation_as_json_text(key: str) -> None:
    """A conversation as JSON text, as tables store it, is read like the list itself."""
    asked = [{"role": "user", "content": "Q"}]
    said = {"role": "assistant", "content": "A"}
    for row in ({key: [*asked, said], "score": 1}, {key: asked, "response": "A", "score": 1}):
        plain = _read(row)
        assert plain.kept
        for text in (json.dumps(row[key]), f" {json.dumps(row[key], indent=1)} "):
            assert _read({**row, key: text}) == plain


@pytest.mark.parametrize("text", ["[1, 2]", "[x", "[]", '[{"a": 1}]', "Human: Q"])
def test_text_in_a_column_of_chats(text: str) -> None:
    """Plain text in a `messages` column is the prompt."""
    assert _read({"messages": text, "response": "A", "score": 1}).kept[0].prompt == text


def test_conversation_that_may_have_lost_its_response() -> None:
    """A chat that ends in an answer is ambiguous if other rows have a separate response."""
    answered = {"messages": CHAT[:1], "response": "A", "score": 1}
    talk = {"messages": CHAT, "score": 1}
    choices = [("--response", "response"), ("--ignore", "response")]
    assert _choices(answered, talk) == _choices(talk, answered) == choices
    assert _read(answered, ignore=("response",)).lost == ["no_response"]
    assert _read(talk, response="response").lost == ["no_response"]


def test_fields_are_looked_for_in_the_whole_sample() -> None:
    """If the first row has no score, the other rows' scores are still found."""
    rows = [{"prompt": "Q", "response": "A"}, {"prompt": "Q", "response": "B", "score": 1}]
    opened = _open(*rows)
    assert opened.read(json.dumps(rows[0]).encode()).lost == ["no_score"]
    assert opened.read(json.dumps(rows[1]).encode()).kept[0].score == 1.0


def test_sample_that_holds_no_rows() -> None:
    """Bad rows in the sample are reported when they are read."""
    sample = [b"{", b"[1]", b'{"prompt": "Q", "response": "A", "score": 1}']
    opened = open_reader(sample, ReadOptions(), "f.jsonl")
    assert opened.read(sample[2]).kept[0].response == "A"
    with pytest.raises(NotJson):
        opened.read(sample[0])
    with pytest.raises(BadField, match="row"):
        opened.read(sample[1])


def test_no_rows_at_all() -> None:
    """In an empty file, no field is missing."""
    assert _notes() == []
    _shown().refuse(())


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"a": "Q", "response": "A", "score": 1}, "prompt"),
        ({"prompt": "Q", "a": "A", "score": 1}, "response"),
        ({"prompt": "Q", "response": "A", "a": 1}, "score"),
    ],
)
def test_field_that_cannot_be_guessed(row: dict[str, Any], what: str) -> None:
    """The error names the option and the existing keys."""
    refusal = _refusal(row)
    assert (refusal.problem, refusal.hint) == (
        f"cannot tell which field holds the {what}",
        f"name it with --{what} PATH; the rows have: {', '.join(row)}",
    )


def test_paths_name_the_fields() -> None:
    """If all fields are named, nothing is guessed."""
    row = {"task": {"text": "Q"}, "choices": [{"text": "A"}], "eval": {"accuracy": 0.5}}
    options = {
        "prompt": "task.text",
        "response": "choices.0.text",
        "scores": (("eval.accuracy", 1.0),),
    }
    assert _kept(row, **options) == [Candidate(GROUP_OF_Q, "Q", "A", 0.5)]
    assert _notes(row, **options) == []


def test_path_next_to_guesses() -> None:
    """Only guessed fields are noted."""
    row = {"prompt": "Q", "response": "A", "judge": {"score": 3}}
    notes = _notes(row, scores=(("judge.score", 1.0),))
    assert notes == ['guessed: prompt is "prompt", response is "response"']


@pytest.mark.parametrize("key", ["prompt", "response", "score"])
@pytest.mark.parametrize("value", [None, ...])
def test_missing_field(key: str, value: Any) -> None:
    """A null field is dropped like a missing one."""
    row = {"prompt": "Q", "response": "A", "score": 1}
    opened = _open(row)
    broken = {**row, key: value} if value is None else {k: v for k, v in row.items() if k != key}
    assert opened.read(json.dumps(broken).encode()).lost == [f"no_{key}"]


@pytest.mark.parametrize(("key", "reason"), [("prompt", "no_prompt"), ("response", "empty_answer")])
@pytest.mark.parametrize("value", ["", " \n", []])
def test_empty_field(key: str, reason: str, value: Any) -> None:
    """White space and an empty list of messages count as empty."""
    row = {"prompt": "Q", "response": "A", "score": 1}
    opened = _open(row)
    assert opened.read(json.dumps({**row, key: value}).encode()).lost == [reason]


@pytest.mark.parametrize(
    ("key", "value"),
    [("prompt", 1), ("prompt", {"text": "Q"}), ("prompt", ["Q"]), ("response", 1), ("score", "1")],
)
def test_field_of_the_wrong_type(key: str, value: Any) -> None:
    """The error names the field."""
    row = {"prompt": "Q", "response": "A", "score": 1}
    with pytest.raises(BadField) as caught:
        _open(row).read(json.dumps({**row, key: value}).encode())
    assert caught.value.field.startswith(key)


@pytest.mark.parametrize(("score", "read"), [(True, 1.0), (False, 0.0), (3, 3.0), (-1.5, -1.5)])
def test_scores(score: Any, read: float) -> None:
    """Booleans are scores."""
    assert _kept({"prompt": "Q", "response": "A", "score": score})[0].score == read


def test_score_written_as_text() -> None:
    """--cast-score reads scores written as text."""
    row = {"prompt": "Q", "response": "A", "score": "0.7"}
    assert _kept(row, cast_score=True)[0].score == 0.7


def test_score_that_is_not_finite() -> None:
    """NaN has a reason of its own."""
    row = {"prompt": "Q", "response": "A", "score": float("nan")}
    assert _read(row).lost == ["score_not_finite"]


def test_weighted_scores() -> None:
    """Several scores are multiplied by their weights and added, in decimal."""
    row = {"prompt": "Q", "response": "A", "a": 0.1, "b": 0.2, "c": 1}
    scores = (("a", 1.0), ("b", 1.0), ("c", -0.5))
    assert _kept(row, scores=scores)[0].score == -0.2


def test_order_of_weighted_scores_does_not_count() -> None:
    """The sum is exact before it is rounded, so order does not matter."""
    row = {"prompt": "Q", "response": "A", "a": 1e16, "b": 1.0, "c": -1e16}
    orders = [("a", "b", "c"), ("a", "c", "b"), ("b", "c", "a")]
    scores = [_kept(row, scores=tuple((key, 1.0) for key in order)) for order in orders]
    assert [kept[0].score for kept in scores] == [1.0, 1.0, 1.0]


def test_sum_of_scores_beyond_all_floats() -> None:
    """Two huge scores do not crash."""
    row = {"prompt": "Q", "response": "A", "a": 1.7e308, "b": 1.7e308}
    assert _read(row, scores=(("a", 1.0), ("b", 1.0))).lost == ["score_not_finite"]


def test_one_of_several_scores_missing() -> None:
    """If one score is missing, there is no sum."""
    row = {"prompt": "Q", "response": "A", "a": 1, "b": None}
    assert _read(row, scores=(("a", 1.0), ("b", 1.0))).lost == ["no_score"]


def test_lower_is_better() -> None:
    """--lower-is-better negates losses and error counts."""
    row = {"prompt": "Q", "response": "A", "score": 0.25}
    assert _kept(row, lower_is_better=True)[0].score == -0.25


def test_keep_rows_without_a_score() -> None:
    """--keep-rows no_score needs no score field at all."""
    row = {"prompt": "Q", "response": "A"}
    assert _kept(row, keep_rows=frozenset({"no_score"}))[0].score == 0.0


@pytest.mark.parametrize(
    ("responses", "rewards"),
    [
        ("responses", "rewards"),
        ("completions", "scores"),
        ("answers", "ratings"),
        ("outputs", "rewards"),
        ("generations", "scores"),
    ],
)
def test_several_answers_a_row(responses: str, rewards: str) -> None:
    """Answers and scores in two lists give a candidate per position, which is recorded."""
    row = {"prompt": "Q", responses: ["A", "B"], rewards: [1, 0.5]}
    reading = _read(row)
    assert reading.kept == [
        Candidate(GROUP_OF_Q, "Q", "A", 1.0, meta={POSITION: 0}),
        Candidate(GROUP_OF_Q, "Q", "B", 0.5, meta={POSITION: 1}),
    ]
    assert reading.places == [1, 2]


def test_list_of_scores_is_preferred_for_several_answers() -> None:
    """With several answers, a list of scores is used instead of a single score."""
    row = {"prompt": "Q", "responses": ["A", "B"], "score": 7, "scores": [1, 0]}
    assert [candidate.score for candidate in _kept(row)] == [1.0, 0.0]


def test_loss_among_several_answers() -> None:
    """Each of several answers may be lost by itself."""
    row = {"prompt": "Q", "responses": ["A", " ", "C", "D"], "rewards": [None, 1, 2, 3]}
    reading = _read(row)
    assert [candidate.response for candidate in reading.kept] == ["C", "D"]
    assert (reading.places, reading.lost) == ([3, 4], ["no_score", "empty_answer"])


def test_several_answers_that_are_chats() -> None:
    """A list of lists of messages is several answers, a list of messages is one."""
    turn = [{"role": "assistant", "content": "A"}]
    several = {"prompt": "Q", "completions": [turn, turn], "rewards": [1, 0]}
    one = {"prompt": "Q", "completion": turn, "reward": 1}
    assert [candidate.response for candidate in _kept(several)] == [turn, turn]
    assert [candidate.response for candidate in _kept(one)] == [turn]


def test_several_weighted_scores_for_several_answers() -> None:
    """Each weighted list contributes to each answer."""
    row = {"prompt": "Q", "responses": ["A", "B"], "right": [1, 0], "short": [0.5, 1]}
    scores = (("right", 1.0), ("short", 0.1))
    assert [candidate.score for candidate in _kept(row, scores=scores)] == [1.05, 0.1]


@pytest.mark.parametrize("rewards", [[1], [1, 2, 3], 1, "12", {"a": 1, "b": 2}])
def test_scores_that_do_not_match_the_answers(rewards: Any) -> None:
    """The row is bad unless there is one score per answer."""
    with pytest.raises(BadField) as caught:
        _read({"prompt": "Q", "responses": ["A", "B"], "rewards": rewards})
    assert (caught.value.field, caught.value.expected) == (
        "rewards",
        "a list of 2 scores, one for each answer",
    )


def test_several_answers_without_scores() -> None:
    """A null instead of the list is a missing score for each answer."""
    rows = [
        {"prompt": "Q", "responses": ["A", "B"], "rewards": None},
        {"prompt": "Q", "responses": ["A"], "rewards": [1]},
    ]
    assert _open(*rows).read(json.dumps(rows[0]).encode()).lost == ["no_score"] * 2


def test_answer_of_the_wrong_type_among_several() -> None:
    """The error has the position of the answer."""
    with pytest.raises(BadField) as caught:
        _read({"prompt": "Q", "responses": ["A", 7], "rewards": [1, 0]})
    assert caught.value.field == "responses.1"


@pytest.mark.parametrize("key", ["messages", "conversation", "conversations"])
def test_conversation(key: str) -> None:
    """The last assistant turn is the response, everything before it the prompt."""
    row = {key: [{"role": "system", "content": "S"}, *CHAT], "score": 1}
    candidate = _kept(row)[0]
    assert candidate.prompt == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Q"},
    ]
    assert candidate.response == [{"role": "assistant", "content": "A"}]
    turn = f'the model\'s last turn in "{key}"'
    note = f'guessed: prompt is "{key}", response is {turn}, score is "score"'
    assert _notes(row) == [note]


def test_last_turn_holds_calls_and_results() -> None:
    """The answer is everything after the last user message, including calls and results."""
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        *CHAT,
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "x"},
        {"role": "assistant", "content": "42"},
        {"role": "user", "content": "Thanks."},
    ]
    candidate = _kept({"messages": messages, "score": 1})[0]
    assert candidate.prompt == [*CHAT, {"role": "user", "content": "And?"}]
    assert candidate.response == [
        {"role": "assistant", "content": "", "tool_calls": [tool_call("f", "{}", "call_1")]},
        {"role": "tool", "content": "42", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "42"},
    ]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"role": "user", "content": "Q"}], "no_response"),
        ([], "no_response"),
        ([{"role": "assistant", "content": "A"}], "no_prompt"),
        ([*CHAT[:1], {"role": "assistant", "content": " "}], "empty_answer"),
        ("text", "no_response"),
    ],
)
def test_conversation_without_a_turn(messages: Any, reason: str) -> None:
    """A conversation needs a question and an answer."""
    opened = _open({"messages": CHAT, "score": 1})
    assert opened.read(json.dumps({"messages": messages, "score": 1}).encode()).lost == [reason]


def test_prompt_of_messages_next_to_a_response() -> None:
    """A chat prompt may have its response in another field."""
    row = {"prompt": CHAT[:1], "response": "A", "score": 1}
    assert _kept(row) == [Candidate(GROUP_OF_Q, CHAT[:1], "A", 1.0)]


def test_tools_of_the_row() -> None:
    """Tools may be a list of schemas or its JSON text; an empty list equals none."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    row = {"prompt": "Q", "response": "A", "score": 1}
    given: list[Any] = [tools, json.dumps(tools), [], None, "[]", "null"]
    read = [_kept({**row, "tools": value})[0].tools for value in given]
    assert read == [tools, tools, None, None, None, None]


@pytest.mark.parametrize("tools", ["f", {}, ["f"], 7, '{"name": "f"}'])
def test_tools_of_another_type(tools: Any) -> None:
    """Tools must be a list of objects."""
    with pytest.raises(BadField, match="tools"):
        _read({"prompt": "Q", "response": "A", "score": 1, "tools": tools})


def test_a_conversation_is_among_prompts_that_differ() -> None:
    """Each column that could be the prompt is offered, including the conversation."""
    asked = {"prompt": "P", "question": "Q", "messages": [{"role": "user", "content": "R"}]}
    with pytest.raises(TwoReadings) as caught:
        _read({**asked, "response": "A", "score": 1})
    assert [name for _, name in caught.value.choices] == ["prompt", "question", "messages"]


def test_turns_marked_as_the_models() -> None:
    """Rows that were scored for several turns are not read with only the last as the answer."""
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A", "trainable": True},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "B", "trainable": True},
    ]
    with pytest.raises(BadField, match=r"messages\.1\.trainable: expected no mark"):
        _read({"messages": turns, "score": 1})
    turns[1]["trainable"] = False
    assert _kept({"messages": turns, "score": 1})[0].response == [
        {"role": "assistant", "content": "B"}
    ]


def test_thinking_is_split_off() -> None:
    """Inline thinking in a text becomes reasoning_content."""
    row = {"prompt": "Q", "response": "<think>hm</think>A", "score": 1}
    assert _kept(row)[0].response == [
        {"role": "assistant", "content": "A", "reasoning_content": "hm"}
    ]
    assert _kept(row, reasoning="drop")[0].response == "A"


TRL = {
    "step": 10,
    "prompt": "<|im_start|>user\nQ<|im_end|>\n",
    "completion": "<think>hm</think>A",
    "accuracy_reward": 1.0,
    "format_reward": 0.5,
    "advantage": 0.3,
}


def test_log_of_trl() -> None:
    """The advantage is the score within a step, whatever else was logged; text stays as it is."""
    candidate = _kept({**TRL, "completion_length": 900, "solution": "A"})[0]
    assert (candidate.group, candidate.prompt, candidate.response, candidate.score) == (
        "[10]",
        "<|im_start|>user\nQ<|im_end|>\n",
        "<think>hm</think>A",
        0.3,
    )
    assert _notes(TRL) == [
        "read as TRL's completions: score is advantage",
        (
            "prompts that are text are kept: TRL before 1.15 writes them rendered; "
            "--prompt-template FILE turns those into messages"
        ),
    ]
    assert _notes({**TRL, "prompt": CHAT[:1]}) == ["read as TRL's completions: score is advantage"]


@pytest.mark.parametrize(
    "other", [{"system": "S"}, {"context": "C"}, {"question": "Other?"}, {"response": "B"}]
)
def test_rows_with_more_than_a_log(other: dict[str, Any]) -> None:
    """With another question or answer next to a log's, it is a row of the user's own format."""
    options = ReadOptions()
    assert find_fields(TRL, options).log is training_logs.TRL
    assert find_fields(VERL, options).log is training_logs.VERL
    for row in (TRL, VERL):
        try:
            found = find_fields({**row, **other}, options).log
        except TwoReadings:
            found = None
        assert found is None


def test_log_of_trl_with_images() -> None:
    """The rendered prompt lacks the images that the model saw."""
    assert _read({**TRL, "images": ["a.png"]}).lost == ["multi_modal"]


def test_log_of_trl_with_a_score_by_path() -> None:
    """--score replaces the other reward functions."""
    assert _kept(TRL, scores=(("format_reward", 2.0),))[0].score == 1.0


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_log_of_trl_sums_the_rewards_that_there_are(nothing: float | None) -> None:
    """--score with several rewards adds those that exist, as TRL does; none give no score."""
    row = {**TRL, "format_reward": nothing}
    scores = (("accuracy_reward", 2.0), ("format_reward", 1.0))
    assert _kept(row, scores=scores)[0].score == 2.0
    (lost,) = _read({**row, "accuracy_reward": nothing}, scores=scores).lost
    assert lost == ("no_score" if nothing is None else "score_not_finite")


def test_log_of_trl_without_thinking() -> None:
    """--reasoning drop also applies to rendered text."""
    assert _kept(TRL, reasoning="drop")[0].response == "A"


def test_log_of_trl_with_a_missing_reward() -> None:
    """TRL skips functions without a value; if none has one, there is no score."""
    row = {**TRL, "format_reward": None}
    _shown(TRL, row)
    assert _kept(row)[0].score == 0.3
    assert _read({**row, "accuracy_reward": None}).lost == ["no_score"]
    assert _read({**row, "accuracy_reward": None, "solution": "A"}).lost == ["no_score"]


VERL = {
    "input": "user\nQ\nassistant\n",
    "output": "A",
    "gts": "A",
    "score": 1.0,
    "step": 3,
    "acc": True,
}


def test_dump_of_verl() -> None:
    """The prompt is rendered, the score has its own column."""
    candidate = _kept(VERL)[0]
    assert (candidate.prompt, candidate.response, candidate.score) == (
        "user\nQ\nassistant\n",
        "A",
        1.0,
    )
    assert candidate.meta == {"prompt_rendered": True}
    assert _notes(VERL) == [
        "read as verl's rollouts: score is score",
        (
            "their prompts are text that a chat template rendered; "
            "--prompt-template FILE turns them into messages"
        ),
    ]


class Turned:
    """A template parser for prompts without special tokens."""

    def messages(self, text: str) -> list[dict[str, Any]] | None:
        """The user's message, if it can be determined."""
        said = text.removeprefix("user\n").removesuffix("\nassistant\n")
        if "\nuser\n" in said:
            raise Unclear
        return None if said == text else [{"role": "user", "content": said}]


def test_dump_of_verl_with_the_template() -> None:
    """The prompt becomes messages, and the answer's thinking is recognized."""
    (candidate,) = _kept({**VERL, "output": "<think>hm</think>A"}, unrender=Turned())
    assert candidate.prompt == [{"role": "user", "content": "Q"}]
    assert candidate.response == [{"role": "assistant", "content": "A", "reasoning_content": "hm"}]
    assert candidate.meta is None
    assert _notes(VERL, unrender=Turned()) == ["read as verl's rollouts: score is score"]


@pytest.mark.parametrize(
    ("prompt", "mend"),
    [("Q", "template_differs"), ("user\nQ\nuser\nR\nassistant\n", "template_unclear")],
)
def test_dump_of_verl_whose_prompts_stay(prompt: str, mend: str) -> None:
    """Prompts that cannot be parsed with certainty stay rendered, and are counted."""
    reading = _read({**VERL, "input": prompt}, unrender=Turned())
    assert (reading.kept[0].prompt, reading.noticed) == (prompt, [mend])
    assert reading.kept[0].meta == {"prompt_rendered": True}


def _tasks(*others: dict[str, Any]) -> list[str]:
    return [_kept({**VERL, **other})[0].group for other in others]


def test_dump_of_verl_tells_tasks_by_the_uid() -> None:
    """The uid ends in the numbers of rollout and output; without these it names the task."""
    assert _tasks({"uid": "a_b_0_0"}, {"uid": "a_b_11_2"}, {"uid": "a_b"}, {"uid": 7}) == [
        '["a_b"]',
        '["a_b"]',
        '["a_b"]',
        "[7]",
    ]


def test_logs_with_numbers_that_no_double_holds() -> None:
    """Huge numbers name a task like others."""
    assert _kept({**TRL, "step": 10**30})[0].group == f"[{10**30}]"
    assert _tasks({"uid": 10**30}) == [f"[{10**30}]"]


def test_dump_of_verl_without_uid_tells_tasks_by_the_right_answer() -> None:
    """Without a uid, one prompt with two references is two tasks."""
    one, same, other, none = _tasks({"gts": ["4"]}, {"gts": ["4"]}, {"gts": ["5"]}, {"gts": None})
    assert one == same != other
    assert none.startswith("prompt:")


def test_dump_of_verl_keeps_thinking_in_the_text() -> None:
    """With a rendered prompt, the answer is the raw text, including tags."""
    text = "hm</think>A"
    assert _kept({**VERL, "output": text})[0].response == text


def test_paths_are_stronger_than_a_log() -> None:
    """A named prompt overrides the guess that it is a log."""
    row = {**TRL, "question": "Q", "score": 4}
    assert _kept(row, prompt="question", scores=(("score", 1.0),))[0].prompt == "Q"


def test_lone_surrogate_is_replaced() -> None:
    """A lone surrogate becomes U+FFFD."""
    reading = _read({"prompt": "Q", "response": "cut \ud83d", "score": 1})
    assert (reading.kept[0].response, reading.noticed) == ("cut \ufffd", ["surrogate_replaced"])


# What only several rows show ----------------------------------------------------------------


def test_field_that_is_empty_in_some_rows() -> None:
    """If rows differ in which field is empty, both are named; an always empty one is ignored."""
    one = {"prompt": "Q", "response": "A", "output": None, "score": 1}
    other = {"prompt": "Q", "response": None, "output": "B", "score": 0}
    choices = [("--response", "response"), ("--response", "output")]
    assert _choices(one, other) == _choices(other, one) == choices
    assert _notes(one) == ['guessed: prompt is "prompt", response is "response", score is "score"']
    judged = {"prompt": "Q", "response": "A", "reward": 0.5, "correct": None}
    choices = [("--score", "reward"), ("--score", "correct")]
    assert _choices(judged, {**judged, "reward": None, "correct": True}) == choices
    equal = {"prompt": "Q", "response": "A", "reward": 1, "correct": True}
    assert _choices(equal, {**equal, "correct": None, "reward": 0.5}) == choices


def test_answer_that_looks_like_the_reference() -> None:
    """A column that is the same in all rows of a prompt, next to another text, is ambiguous."""
    row = {"question": "Q", "answer": "G", "attempt": "A", "score": 1}
    shown = _shown(row, {**row, "attempt": "B", "score": 0})
    shown.check_answers(lambda: 0)
    with pytest.raises(TwoReadings) as caught:
        shown.check_answers(lambda: 2)
    assert caught.value.problem == (
        '"answer" is the same in all rows of 2 prompts whose scores differ: is it the reference?'
    )
    assert caught.value.choices == [("--response", "attempt"), ("--response", "answer")]


@pytest.mark.parametrize("name", ["id", "model", "response_id", "ground_truth", "judge_output"])
def test_columns_that_are_no_rivals_of_answer(name: str) -> None:
    """Names of models, references and judges' comments do not compete with the answer."""
    _shown({"question": "Q", "answer": "G", name: "A", "score": 1}).check_answers(lambda: 2)
    _shown({"question": "Q", "output": "G", "attempt": "A", "score": 1}).check_answers(lambda: 2)


@pytest.mark.parametrize(
    ("row", "choice"),
    [
        ({"prompt": "Q", "solution": "A", "score": 1}, ("--response", "solution")),
        ({"prompt": "Q", "response": "A", "accuracy": 1}, ("--score", "accuracy")),
        (
            {"user_text": "Q", "task": "Q", "llm_reply": "A", "quality": 1, "gold_reply": "G"},
            ("--prompt", "task", "--response", "llm_reply", "--score", "quality"),
        ),
        (
            {"task": "Q", "tries": [{"reply": "A", "grade": 1}, {"reply": "B", "grade": 0}]},
            ("--prompt", "task", "--response", "tries[].reply", "--score", "tries[].grade"),
        ),
        ({"dialog": CHAT, "passed": True}, ("--prompt", "dialog")),
    ],
)
def test_finished_commands(row: dict[str, Any], choice: tuple[str, ...]) -> None:
    """Every printed option reads the row."""
    assert choice in _refusal(row).choices
    for words in _refusal(row).choices:
        given = dict(zip(words[::2], words[1::2], strict=True))
        options: dict[str, Any] = {
            name: given[f"--{name}"] for name in ("prompt", "response") if f"--{name}" in given
        }
        if "--score" in given:
            options["scores"] = ((given["--score"], 1.0),)
        assert _kept(row, **options)


def test_nothing_is_suggested_that_reads_nothing() -> None:
    """A prompt is not suggested as its own response."""
    assert _refusal({"messages": "Q", "resolved": 1}).choices == []
    assert _refusal({"text": "x", "label": 1}).choices == []


def test_fast_reader_of_a_log_refuses_rows_of_none() -> None:
    """A row without one of the log's columns is passed on, whatever --score names."""
    row = {"input": "Q", "output": "A", "gts": "A", "score": 1, "step": 2, "uid": "u_1_0", "own": 1}
    options = ReadOptions(scores=(("own", 1.0),))
    fast = open_reader([json.dumps(row).encode()], options, "f.jsonl").fast_reader
    assert fast is not None
    assert fast.read(json.dumps(row).encode()) is not None
    for column in ("score", "step", "gts"):
        other = {name: value for name, value in row.items() if name != column}
        assert fast.read(json.dumps(other).encode()) is None
