"""NeMo Agent Toolkit steps to candidates: one test per rule and known fault."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.tool_calls import tool_call
from prefpairs.sources.nat import looks_like, open_reader

ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]


def _read(row: Any, **options: Any) -> RowOutcome:
    reader = open_reader([], ReadOptions(**options), "workflow_output.json")
    return reader.read(json.dumps(row).encode())


def _payload(name: Any = "dpo_candidate_move", **data: Any) -> dict[str, Any]:
    given = {"input": ASKED, "output": "A", "chunk": None, "payload": None}
    turn = {"turn_id": "t", "turn_index": 0, "candidate_index": 0, "score": 0.9}
    return {
        "event_type": "TTC_END",
        "event_timestamp": 1767225600.125,
        "name": name,
        "metadata": {"is_selected": True},
        "data": {**given, **turn, **data},
        "UUID": "c0000000",
    }


def _step(payload: Any) -> dict[str, Any]:
    return {"parent_id": "a1b2", "function_ancestry": {"function_id": "f"}, "payload": payload}


def _item(*payloads: Any, **more: Any) -> dict[str, Any]:
    steps = [_step(payload) for payload in payloads]
    return {"id": 1, "question": "Play.", "intermediate_steps": steps, **more}


def _kept(**data: Any) -> Candidate:
    reading = _read(_item(_payload(**data)))
    assert reading.lost == []
    return reading.kept[0]


def _lost(**data: Any) -> list[str]:
    reading = _read(_item(_payload(**data)))
    assert reading.kept == []
    return reading.lost


def test_step_of_an_item() -> None:
    """Steps of an item are candidates of its example and their turn."""
    assert _read(_item(_payload())).kept == [
        Candidate(
            group='[1,"t"]',
            prompt=[{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}],
            response="A",
            score=0.9,
            index=0,
            meta={"example_id": 1, "turn_id": "t"},
        )
    ]


@pytest.mark.parametrize("key", ["intermediate_steps", "trajectory"])
def test_names_of_the_list_of_steps(key: str) -> None:
    """The list has different names in the file and in the toolkit's model."""
    assert len(_read({"id": 1, key: [_step(_payload()), _step(_payload(score=0.1))]}).kept) == 2


@pytest.mark.parametrize("row", [_step(_payload()), _payload()])
def test_bare_steps_and_payloads(row: dict[str, Any]) -> None:
    """Steps without an item have a turn, but no example."""
    reading = _read(row)
    assert (reading.kept[0].group, reading.kept[0].meta) == ('[null,"t"]', {"turn_id": "t"})


def test_item_whose_steps_are_bare_payloads() -> None:
    """Steps that are only payloads are read, too."""
    assert _read({"id": 1, "intermediate_steps": [_payload()]}).kept[0].response == "A"


def test_places_number_the_steps_that_were_looked_at() -> None:
    """Positions count all steps, including lost ones."""
    steps = [_payload(), _payload(score=None), _payload(output="B")]
    reading = _read(_item(*steps))
    assert (reading.places, reading.lost) == ([1, 3], ["no_score"])


@pytest.mark.parametrize("row", [[], "bare output", None, 1])
def test_row_that_is_no_object(row: Any) -> None:
    """With structure.disable, the file has bare outputs, which are rejected."""
    with pytest.raises(BadField, match="row"):
        _read(row)


@pytest.mark.parametrize(
    ("row", "known"),
    [
        (_item(), True),
        (_item(_payload()), True),
        ({"id": 1, "trajectory": [_step(_payload())]}, True),
        ({"id": 1, "trajectory": [{"action": "ls"}, _payload()]}, True),
        ({"id": 1, "trajectory": [{"action": "ls"}]}, False),
        ({"id": 1, "event_type": 7}, False),
        (_step(_payload()), True),
        (_payload(), True),
        ({"event_type": "LLM_END"}, True),
        ({"id": 1, "intermediate_steps": None}, False),
        ({"prompt": "Q", "response": "A", "score": 1}, False),
        (["text"], False),
    ],
)
def test_looks_like(row: Any, known: bool) -> None:
    """Recognizes an item with steps, a step, or a payload."""
    assert looks_like(json.dumps(row).encode()) is known


def test_no_json_is_not_known() -> None:
    """Torn bytes belong to no format."""
    assert looks_like(b'{"event_type"') is False


@pytest.mark.parametrize("event", ["TTC_START", "LLM_END", "TOOL_END", None, ["TTC_END"]])
def test_other_events_are_passed_over(event: Any) -> None:
    """Only the end of a TTC step has a score; other events are ignored."""
    reading = _read(_item({**_payload(), "event_type": event}, _payload(output="B")))
    assert [candidate.response for candidate in reading.kept] == ["B"]
    assert reading.lost == []


@pytest.mark.parametrize(
    "row",
    [
        _item(),
        _item({"event_type": "LLM_END", "name": "dpo_candidate_move", "data": {}}),
        _item({**_payload(), "event_type": "TTC_START"}),
        {"id": 1, "intermediate_steps": ["text", None, {"payload": None}]},
    ],
)
def test_row_without_ttc_steps(row: dict[str, Any]) -> None:
    """The toolkit's default file has no such steps; its rows are dropped."""
    assert _read(row).row_lost == "no_ttc_steps"


def test_row_whose_steps_have_another_name() -> None:
    """The row is dropped; --step-name selects it."""
    row = _item(_payload("my_move"))
    assert (_read(row).row_lost, _read(row).lost) == ("other_step_name", [])
    assert _read(row, step_name="my_move").kept[0].response == "A"


def test_steps_of_other_names_are_no_loss() -> None:
    """Steps with other names do not count as lost next to the wanted ones."""
    reading = _read(_item(_payload("other"), _payload()))
    assert (len(reading.kept), reading.lost, reading.row_lost) == (1, [], None)


@pytest.mark.parametrize("name", [None, ["a"], {"a": 1}, 7])
def test_step_name_of_another_type(name: Any) -> None:
    """A name that is not text is another name, and does not crash."""
    assert _read(_item(_payload(name))).row_lost == "other_step_name"


@pytest.mark.parametrize("data", [None, "text", []])
def test_step_without_data(data: Any) -> None:
    """A step without data, which the toolkit skips, is counted."""
    assert _read(_item({**_payload(), "data": data})).lost == ["no_step_data"]


@pytest.mark.parametrize(("turn_id", "read"), [("t", "t"), ("", ""), (7, "7"), (-1, "-1")])
def test_turn_id(turn_id: Any, read: str) -> None:
    """Text of any length; a whole number is read as text."""
    assert _kept(turn_id=turn_id).meta == {"example_id": 1, "turn_id": read}


@pytest.mark.parametrize("turn_id", [None, True, 1.5, [], {}])
def test_turn_id_of_another_type(turn_id: Any) -> None:
    """Without a turn, the group of a candidate is unknown, so it is dropped."""
    assert _lost(turn_id=turn_id) == ["no_turn_id"]


def test_example_ids_keep_their_type() -> None:
    """Example 1 and example "1" are two."""
    groups = [_read(_item(_payload(), id=own)).kept[0].group for own in (1, "1", None, [1])]
    assert groups == ['[1,"t"]', '["1","t"]', '[null,"t"]', '[[1],"t"]']


def test_nothing_is_joined_by_colons() -> None:
    """("a::b", "c") and ("a", "b::c") are two turns."""
    one = _read(_item(_payload(turn_id="c"), id="a::b")).kept[0].group
    other = _read(_item(_payload(turn_id="b::c"), id="a")).kept[0].group
    assert (one, other) == ('["a::b","c"]', '["a","b::c"]')


def test_item_ids_can_be_counted() -> None:
    """Equal IDs are recognizable; bare steps have none."""
    items = [_read(_item(id=own)).item for own in (1, 1, "1")]
    assert items[0] == items[1] != items[2]
    assert _read(_step(_payload())).item is None


@pytest.mark.parametrize(
    ("score", "read"),
    [(1, 1.0), (0.25, 0.25), (True, 1.0), ("0.7", 0.7), (-3, -3.0), (0.9 - 0.8, 0.1)],
)
def test_score(score: Any, read: float) -> None:
    """Numbers, booleans and numeric text are scores, to 15 digits."""
    assert _kept(score=score).score == read


@pytest.mark.parametrize("score", [None, "good", "", [], {}])
def test_score_that_is_no_number(score: Any) -> None:
    """Anything else is a missing score."""
    assert _lost(score=score) == ["no_score"]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "NaN", "-Infinity"])
def test_score_that_is_not_finite(score: Any) -> None:
    """The toolkit would pair it; prefpairs drops it with a reason."""
    assert _lost(score=score) == ["score_not_finite"]


def test_score_by_path() -> None:
    """Score paths start at the payload."""
    row = _item({**_payload(), "metadata": {"value": 7}})
    assert _read(row, scores=(("metadata.value", 2.0),)).kept[0].score == 14.0


@pytest.mark.parametrize(
    ("index", "read"), [(0, 0), (3, 3), (-1, -1), ("3", 3), (2.0, 2), (None, None), (True, 1)]
)
def test_candidate_index(index: Any, read: int | None) -> None:
    """A whole number in any spelling; a missing index stays missing."""
    assert _kept(candidate_index=index).index == read


@pytest.mark.parametrize("index", [1.5, "1.5", "x", "", [], {}, 2**63, 1e300, float("nan")])
def test_candidate_index_that_is_no_whole_number(index: Any) -> None:
    """The step is dropped and counted, as in the toolkit."""
    assert _lost(candidate_index=index) == ["bad_index"]


def test_candidate_index_may_be_left_out() -> None:
    """The key itself may be missing."""
    payload = _payload()
    del payload["data"]["candidate_index"]
    assert _read(_item(payload)).kept[0].index is None


@pytest.mark.parametrize("output", [None, "", "  ", [], {}])
def test_empty_output(output: Any) -> None:
    """Steps with an empty output are dropped."""
    assert _lost(output=output) == ["empty_answer"]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"a": 1, "b": [True, None]}, '{"a":1,"b":[true,null]}'),
        ([1, "x"], '[1,"x"]'),
        (False, "false"),
        (0, "0"),
        (1.5, "1.5"),
        ("é", "é"),
    ],
)
def test_structures_are_json(output: Any, text: str) -> None:
    """Structures are written as JSON, never as a Python repr."""
    assert _kept(output=output).response == text


def test_output_of_messages_is_a_chat() -> None:
    """Messages stay a chat, including tool calls."""
    calls = [{"id": "x", "function": {"name": "f", "arguments": {"a": 1}}}]
    output = [
        {"role": "assistant", "content": None, "tool_calls": calls, "extra": 1},
        {"role": "tool", "content": "42", "tool_call_id": "x"},
        {"role": "assistant", "content": "42"},
    ]
    assert _kept(output=output).response == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [tool_call("f", '{"a":1}', "call_1")],
        },
        {"role": "tool", "content": "42", "tool_call_id": "call_1"},
        {"role": "assistant", "content": "42"},
    ]


@pytest.mark.parametrize("role", [["user"], {}])
def test_output_of_almost_messages_is_json(role: Any) -> None:
    """A list that only resembles a chat is a structure."""
    assert _kept(output=[{"role": role}]).response == f'[{{"role":{json.dumps(role)}}}]'


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ("Q", "Q"),
        ([{"role": "user", "content": "Q", "name": "Al"}],) * 2,
        ({"board": [1, None]}, '{"board":[1,null]}'),
        (["a", "b"], '["a","b"]'),
        (7, "7"),
        (
            [{"role": "system", "content": None}, {"role": "user", "content": "Q"}],
            [{"role": "system", "content": ""}, {"role": "user", "content": "Q"}],
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "Q"}]}],
            [{"role": "user", "content": "Q"}],
        ),
    ],
)
def test_prompt(given: Any, prompt: Any) -> None:
    """Text stays, messages are a chat, a structure is JSON."""
    assert _kept(input=given).prompt == prompt


@pytest.mark.parametrize("given", [None, "", " ", [], {}, [{"role": "user", "content": None}]])
def test_empty_prompt(given: Any) -> None:
    """Steps without a prompt are dropped."""
    assert _lost(input=given) == ["no_prompt"]


def test_prompts_of_one_turn_may_differ() -> None:
    """Each candidate keeps its own prompt; only equal prompts pair."""
    reading = _read(_item(_payload(input="P1"), _payload(input="P3")))
    assert [candidate.prompt for candidate in reading.kept] == ["P1", "P3"]
    assert reading.kept[0].group == reading.kept[1].group


@pytest.mark.parametrize("said", ["A", " A\n"])
def test_prompt_that_holds_the_answer_is_repaired(said: str) -> None:
    """The toolkit's own example ends its input with the answer, which is removed."""
    given = [*ASKED, {"role": "assistant", "content": said}]
    reading = _read(_item(_payload(input=given)))
    assert (reading.kept[0].prompt, reading.noticed) == (ASKED, ["prompt_held_answer"])


def test_prompt_that_holds_the_answer_of_a_chat() -> None:
    """An answer of messages is found by its last text."""
    given = [*ASKED, {"role": "assistant", "content": "A"}]
    reading = _read(_item(_payload(input=given, output=[{"role": "assistant", "content": "A"}])))
    assert reading.kept[0].prompt == ASKED


def test_prompt_that_ends_with_other_words_stays() -> None:
    """An assistant prefix in the prompt that is not the answer stays."""
    given = [*ASKED, {"role": "assistant", "content": "Well,"}]
    reading = _read(_item(_payload(input=given)))
    assert (reading.kept[0].prompt, reading.noticed) == (given, [])


def test_prompt_that_is_nothing_but_the_answer() -> None:
    """If nothing else is left, there is no prompt."""
    assert _lost(input=[{"role": "assistant", "content": "A"}]) == ["no_prompt"]


def test_kept_fields() -> None:
    """--keep paths start at the payload, and add to the source's meta."""
    reading = _read(_item(_payload()), keep=("metadata.is_selected", "nothing"))
    assert reading.kept[0].meta == {
        "example_id": 1,
        "turn_id": "t",
        "metadata.is_selected": True,
    }


def test_group_by_path() -> None:
    """--group-by paths start at the payload."""
    assert _read(_item(_payload()), group_by=("data.turn_index",)).kept[0].group == "[0]"


def test_lone_surrogate_is_replaced() -> None:
    """A lone surrogate becomes U+FFFD."""
    reading = _read(_item(_payload(output="cut \ud83d")))
    assert (reading.kept[0].response, reading.noticed) == ("cut \ufffd", ["surrogate_replaced"])


def test_an_id_that_is_no_number() -> None:
    """NaN as an ID becomes null, and is omitted from meta."""
    (candidate,) = _read(_item(_payload(), id=float("nan"))).kept
    assert candidate.meta == {"turn_id": "t"}
