"""What each trainer does with rows: its rules, target by target."""

from itertools import product
from typing import Any

import pytest
from target_rows import DEEP, PLAIN, TOOLS, calling, model, rows_of, system, told, user

from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row, Rules
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.openai import check_strictly

AYE, NAY = model("Aye, 7."), model("No, 8.")
ROW: Row = {"prompt": [user("Q")], "chosen": [AYE], "rejected": [NAY]}
TEXTS: Row = {"prompt": [user("Q")], "chosen": "Aye", "rejected": "Nay"}
Told = tuple[str, str, str]


def _rules(name: str) -> Rules:
    return target_named(name).rules


def _told(found: Any) -> list[Told]:
    return [(str(effect), code, field) for effect, code, field in found]


def _judged(name: str, row: Row, **columns: Any) -> list[Told]:
    """All findings in a row with some columns changed."""
    return _told(check_row({**row, **columns}, _rules(name)))


def _checked(name: str, row: Row, **columns: Any) -> list[Told]:
    """The findings of a target's own rules."""
    return _told(_rules(name).check({**row, **columns}))


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


# All targets ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("given", [PLAIN, DEEP])
def test_rows_that_were_written(name: str, given: Any) -> None:
    """Exported rows have no findings of loss."""
    rows = rows_of(name, given)
    found = [each for row in rows for each in _judged(name, row) if each[0] != "warning"]
    assert found == []


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("row", [{}, {"text": "x"}, {"prompt": None}])
def test_rows_of_something_else(name: str, row: Row) -> None:
    """Rows of another format are reported as unusable, and never crash our code."""
    found = _judged(name, row)
    assert [effect for effect, _, _ in found if effect != "warning"] != []


@pytest.mark.parametrize("name", TARGETS)
def test_columns_of_any_type(name: str) -> None:
    """Any value in any exported column gets a verdict."""
    (row, *_) = rows_of(name, DEEP)
    values: list[Any] = [None, True, 7, 0.5, "x", "", [], ["x"], [None], {}, {"a": 1}]
    for column, value in product(row, values):
        assert isinstance(_judged(name, row, **{column: value}), list)


@pytest.mark.parametrize(
    ("name", "batch", "least", "together"),
    [
        ("trl", 0, 0, True),
        ("trl-kto", 0, 0, True),
        ("ultrafeedback", 0, 0, True),
        ("nemo-rl", 128, 0, False),
        ("nemo-rl-ranked", 128, 0, False),
        ("openrlhf", 128, 0, False),
        ("customizer", 0, 0, False),
        ("customizer-rl", 0, 0, False),
        ("openai", 0, 10, False),
        ("llamafactory", 0, 0, False),
        ("ms-swift", 0, 0, False),
        ("axolotl", 0, 0, False),
    ],
)
def test_rules_about_files(name: str, batch: int, least: int, together: bool) -> None:
    """The minimum number of rows, and whether the files of a folder are loaded as one."""
    rules = _rules(name)
    assert (rules.batch, rules.least, rules.together) == (batch, least, together)


def test_files_that_no_arrow_reads() -> None:
    """Hosts, NAT and Trinity read one experience at a time."""
    assert [name for name in TARGETS if not target_named(name).typed] == [
        *("nat", "openai", "trinity-experience"),
    ]


# TRL --------------------------------------------------------------------------------------


REPEATED = ("trains on the wrong thing", "prompt_repeated", "chosen")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"prompt": "Q", "chosen": " Aye", "rejected": " Nay"}, []),
        ({"prompt": "Q"}, [("crashes", "forms_differ", "")]),
        ({"rejected": "Nay"}, [("crashes", "forms_differ", "")]),
        (
            {"chosen": [user("Q"), AYE]},
            [REPEATED, ("trains on the wrong thing", "environment_trained", "chosen")],
        ),
        (
            {"rejected": [user("Q"), NAY]},
            [REPEATED, ("trains on the wrong thing", "environment_trained", "rejected")],
        ),
        (
            {"chosen": [user("Well?"), AYE]},
            [("trains on the wrong thing", "environment_trained", "chosen")],
        ),
        (
            {"prompt": "Q: ", "chosen": "Aye", "rejected": "Nay"},
            [("warning", "space_at_end", "prompt")],
        ),
        ({"prompt": "Q:\n", "chosen": "Aye", "rejected": "Nay"}, []),
    ],
)
def test_trl_texts(columns: Row, expected: list[Told]) -> None:
    """All sides are chats or all are texts, with a separate prompt."""
    assert _judged("trl", ROW, **columns) == expected


def test_trl_without_a_prompt() -> None:
    """The prompt is the common beginning, which works unless one side is a prefix of the other."""
    warning = ("warning", "prompt_in_both", "")
    row = {"chosen": [user("Q"), AYE], "rejected": [user("Q"), NAY]}
    assert _judged("trl", row) == [warning]
    apart = {"chosen": [user("Q"), AYE], "rejected": [user("R"), NAY]}
    assert _judged("trl", apart) == [warning, ("crashes", "wrong_type", "")]
    assert _judged("trl", {"chosen": "Q Aye", "rejected": "Q Nay"}) == [warning]


def test_trl_trace() -> None:
    """Five columns together make an agent trace, fewer do not."""
    trace = dict.fromkeys(("id", "source", "model", "system_prompt", "messages"), "x")
    found = ("fails to load", "trace_columns", "")
    assert _checked("trl", ROW, **trace) == [found]
    assert _checked("trl", ROW, **_without(trace, "model")) == []
    assert _checked("trl-kto", {**ROW, **trace}) == [found]


@pytest.mark.parametrize("kwargs", [None, "", [], "{}"])
def test_trl_words_for_the_template(kwargs: Any) -> None:
    """chat_template_kwargs must be an object; null crashes."""
    found = [("crashes", "kwargs_missing", "chat_template_kwargs")]
    assert _checked("trl", ROW, chat_template_kwargs=kwargs) == found
    assert _checked("trl", ROW, chat_template_kwargs={}) == []


@pytest.mark.parametrize(
    ("tools", "fine"),
    [
        (None, True),
        ([], True),
        ("[]", True),
        ("null", True),
        (TOOLS, True),
        ('[{"type": "function"}]', True),
        ("", False),
        (TOOLS[0], False),
        ('{"type": "function"}', False),
        ("[", False),
        (["add"], False),
    ],
)
def test_trl_tools(tools: Any, fine: bool) -> None:
    """Tools are a list of objects, its JSON text, or missing."""
    expected = [] if fine else [("crashes", "tools_not_a_list", "tools")]
    assert _checked("trl", ROW, tools=tools) == expected


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("image", "crashes"),
        ("images", "crashes"),
        ("messages", "crashes"),
        ("completion", "crashes"),
        ("label", "crashes"),
        ("ref_chosen_logps", "trains on the wrong thing"),
        ("ref_rejected_logps", "trains on the wrong thing"),
        ("margin", "warning"),
    ],
)
def test_trl_reserved_columns(name: str, effect: str) -> None:
    """A reserved name counts, even if the value is null."""
    assert _judged("trl", ROW, **{name: None}) == [(effect, "reserved_column", name)]


@pytest.mark.parametrize("name", ["score_chosen", "score_gap", "pair_id", "group_id", "source"])
def test_trl_columns_that_are_left_alone(name: str) -> None:
    """Columns with other names are ignored."""
    assert _judged("trl", ROW, **{name: 1}) == []


# TRL, KTO ---------------------------------------------------------------------------------

SINGLE: Row = {"prompt": [user("Q")], "completion": [AYE], "label": True}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"label": False}, []),
        ({"label": 0}, []),
        ({"prompt": "Q", "completion": " Aye"}, []),
        ({"label": "true"}, [("crashes", "wrong_type", "label")]),
        ({"label": None}, [("crashes", "missing_column", "label")]),
        ({"completion": []}, [("trains on nothing", "empty_side", "completion")]),
        ({"completion": [model("")]}, [("trains on nothing", "empty_side", "completion")]),
        (
            {"completion": [user("Q"), AYE]},
            [
                ("trains on the wrong thing", "prompt_repeated", "completion"),
                ("trains on the wrong thing", "environment_trained", "completion"),
            ],
        ),
        ({"completion": " Aye"}, [("crashes", "forms_differ", "")]),
        ({"margin": 1.0}, [("warning", "reserved_column", "margin")]),
        ({"tools": ""}, [("crashes", "tools_not_a_list", "tools")]),
    ],
)
def test_kto(columns: Row, expected: list[Told]) -> None:
    """KTO needs a prompt, one answer and its label."""
    assert _judged("trl-kto", SINGLE, **columns) == expected


def test_kto_without_its_columns() -> None:
    """Each missing column is reported."""
    assert _judged("trl-kto", _without(SINGLE, "label")) == [("crashes", "missing_column", "label")]
    found = _judged("trl-kto", _without(SINGLE, "completion"))
    assert found[0] == ("crashes", "missing_column", "completion")


def test_kto_of_pairs() -> None:
    """KTO accepts pairs, too, under the rules of pairs."""
    assert _judged("trl-kto", ROW) == []
    assert _judged("trl-kto", ROW, rejected="Nay") == [("crashes", "forms_differ", "")]
    assert _judged("trl-kto", ROW, rejected=[AYE]) == [("trains on nothing", "equal_sides", "")]


# NeMo RL ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"prompt": "Q"}, []),
        ({"prompt": [system("S"), user("Q"), calling({"a": 1}), told("1")]}, []),
        ({"chosen": [AYE]}, [("crashes", "wrong_type", "chosen")]),
        ({"chosen": None}, [("trains on nothing", "missing_column", "chosen")]),
        ({"rejected": ""}, [("trains on nothing", "empty_side", "rejected")]),
        ({"rejected": "Aye"}, [("trains on nothing", "equal_sides", "")]),
        ({"tools": TOOLS}, [("warning", "tools_unseen", "tools")]),
        ({"tools": []}, []),
        (
            {"prompt": [user("Q"), model("<think>\nhm\n</think>\n\nA"), user("R")]},
            [("warning", "thinking_in_prompt", "prompt.1")],
        ),
        ({"prompt": [user("What is </think>?")]}, []),
        (
            {"prompt": [{"role": "developer", "content": "S"}, user("Q")]},
            [("trains on the wrong thing", "wrong_role", "prompt.0.role")],
        ),
    ],
)
def test_nemo_rl(columns: Row, expected: list[Told]) -> None:
    """A prompt in either form, and text answers."""
    assert _judged("nemo-rl", TEXTS, **columns) == expected


def test_nemo_rl_without_columns() -> None:
    """A missing one crashes, null is an empty turn, and old names are reported."""
    assert _judged("nemo-rl", _without(TEXTS, "prompt")) == [
        ("crashes", "missing_column", "prompt")
    ]
    old = {"prompt": "Q", "chosen_response": "Aye", "rejected_response": "Nay"}
    assert _judged("nemo-rl", old) == [
        ("crashes", "missing_column", "chosen"),
        ("crashes", "missing_column", "rejected"),
        ("crashes", "old_keys", "chosen_response"),
    ]
    assert _checked("nemo-rl", {**TEXTS, **old}) == []


@pytest.mark.parametrize("name", ["nemo-rl", "nemo-rl-ranked"])
def test_nemo_rl_file_names(name: str) -> None:
    """These extensions are local files; other names are data sets."""
    endings = (".jsonl", ".json", ".parquet", ".arrow", ".csv", ".txt")
    assert _rules(name).suffixes == endings


def _completion(rank: Any, *messages: Any) -> Row:
    return {"rank": rank, "completion": list(messages)}


RANKED: Row = {"context": [user("Q")], "completions": [_completion(0, AYE), _completion(1, NAY)]}
WRONG_FIRST = ("crashes", "wrong_type", "completions.0")


@pytest.mark.parametrize(
    ("completions", "expected"),
    [
        ([_completion(1, AYE), _completion(0, NAY)], []),
        ([_completion(0.5, AYE), _completion(-1, NAY)], []),
        ([_completion(0, calling({"a": 1})), _completion(1, NAY)], []),
        ([], [("crashes", "not_two_answers", "completions")]),
        ([_completion(0, AYE)], [("crashes", "not_two_answers", "completions")]),
        (
            [_completion(0, AYE), _completion(1, NAY), _completion(2, NAY)],
            [("crashes", "not_two_answers", "completions")],
        ),
        (
            [_completion(1, AYE), _completion(1.0, NAY)],
            [("crashes", "tied_ranks", "completions")],
        ),
        ([{"rank": 0, "completion": "Aye"}, _completion(1, NAY)], [WRONG_FIRST]),
        ([_completion("0", AYE), _completion(1, NAY)], [WRONG_FIRST]),
        ([_completion(False, AYE), _completion(1, NAY)], [WRONG_FIRST]),
        (["Aye", _completion(1, NAY)], [WRONG_FIRST]),
        (
            [_completion(0, calling({"a": 1}), told("1"), AYE), _completion(1, NAY)],
            [("trains on the wrong thing", "last_turn_alone", "chosen")],
        ),
        (
            [_completion(0, NAY), _completion(1, calling({"a": 1}), told("1"))],
            [("trains on the wrong thing", "environment_last", "rejected")],
        ),
        (
            [_completion(1, model("")), _completion(0, AYE)],
            [("trains on nothing", "empty_side", "rejected")],
        ),
    ],
)
def test_ranked_completions(completions: list[Any], expected: list[Told]) -> None:
    """There must be two, with different ranks; the lower rank is chosen."""
    assert _judged("nemo-rl-ranked", RANKED, completions=completions) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"context": []}, [("warning", "empty_chat", "context")]),
        ({"context": "Q"}, [("crashes", "wrong_type", "context")]),
        ({"task_name": "mine"}, [("fails to load", "own_task_name", "task_name")]),
        ({"tools": TOOLS}, [("warning", "tools_unseen", "tools")]),
        (
            {"context": [user("Q"), model("hm</think>A"), user("R")]},
            [("warning", "thinking_in_prompt", "context.1")],
        ),
        (
            {"context": [user("Q"), model("A")]},
            [("trains on the wrong thing", "prompt_ends_with_answer", "prompt")],
        ),
    ],
)
def test_ranked_contexts(columns: Row, expected: list[Told]) -> None:
    """The context must be a chat; a task_name column breaks the loader."""
    assert _judged("nemo-rl-ranked", RANKED, **columns) == expected


def test_ranked_rows_of_another_format() -> None:
    """Both columns are reported as missing."""
    found = _judged("nemo-rl-ranked", ROW)
    assert found[:2] == [
        ("crashes", "missing_column", "context"),
        ("crashes", "missing_column", "completions"),
    ]


# NeMo Customizer --------------------------------------------------------------------------


def test_customizer() -> None:
    """The old names, with texts."""
    row = {"prompt": "Q", "chosen_response": "Aye", "rejected_response": "Nay"}
    assert _judged("customizer", row) == []
    assert _judged("customizer", row, prompt=[system("S"), user("Q")]) == []
    found = [("crashes", "wrong_type", "chosen_response")]
    assert _judged("customizer", row, chosen_response=[AYE]) == found
    found = [("trains on nothing", "equal_sides", "")]
    assert _judged("customizer", row, rejected_response="Aye") == found


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"prompt": "Q"}, []),
        ({"chosen": None}, [("fails to load", "missing_column", "chosen")]),
        ({"prompt": [user("Q"), "Q"]}, "prompt.1.content"),
        ({"prompt": [user(["Q"])]}, "prompt.0.content"),
        ({"prompt": [user("Q"), {**calling({}), "content": None}, told("1")]}, "prompt.1.content"),
        ({"tools": TOOLS}, [("warning", "tools_unseen", "tools")]),
    ],
)
def test_customizer_rl(columns: Row, expected: Any) -> None:
    """Every message must have a text, or the whole file is rejected."""
    found = _judged("customizer-rl", TEXTS, **columns)
    if isinstance(expected, str):
        assert ("fails to load", "wrong_type", expected) in found
    else:
        assert found == expected


def test_customizer_rl_of_another_generation() -> None:
    """The old names fail to load."""
    old = {"prompt": "Q", "chosen_response": "Aye", "rejected_response": "Nay"}
    assert _checked("customizer-rl", old) == [("fails to load", "old_keys", "chosen_response")]
    assert _checked("customizer-rl", {**TEXTS, **old}) == []


# OpenAI and compatible hosts --------------------------------------------------------------

OWN: Row = {
    "input": {"messages": [user("Q")], "tools": [], "parallel_tool_calls": True},
    "preferred_output": [AYE],
    "non_preferred_output": [NAY],
}


def _given(*messages: Any, **more: Any) -> Row:
    return {"input": {"messages": list(messages), **more}}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        (_given(user("Q"), calling(), told("1"), tools=TOOLS), []),
        ({"preferred_output": [calling()]}, []),
        ({"pair_id": "1"}, [("fails to load", "unknown_column", "pair_id")]),
        (
            {"input": [user("Q")]},
            [
                ("crashes", "wrong_type", "input"),
                ("fails to load", "wrong_type", "input.messages"),
            ],
        ),
        (_given(), [("fails to load", "wrong_type", "input.messages")]),
        ({"input": {}}, [("fails to load", "wrong_type", "input.messages")]),
        (_given(user("Q"), tools=TOOLS[0]), [("fails to load", "tools_not_a_list", "input.tools")]),
        (
            {"preferred_output": [AYE, AYE]},
            [("fails to load", "not_one_message", "preferred_output")],
        ),
        (
            {"non_preferred_output": None},
            [("fails to load", "missing_column", "non_preferred_output")],
        ),
        (
            {"preferred_output": [calling({"a": 1})]},
            [("fails to load", "wrong_type", "preferred_output.0.tool_calls")],
        ),
        (
            {"preferred_output": [user("Aye")]},
            [("trains on the wrong thing", "environment_last", "chosen")],
        ),
    ],
)
def test_openai(columns: Row, expected: list[Told]) -> None:
    """An object, two answers with one message each, and no other column."""
    assert _judged("openai", OWN, **columns) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        (_given(system("S"), user("Q"), model("A"), user("R")), []),
        (_given(user("Q"), user("R")), [("uneven_turns", "input.messages")]),
        (
            _given(user("Q"), user(None)),
            [("content_null", "message 2"), ("uneven_turns", "input.messages")],
        ),
        (_given(user("Q"), told("1")), [("wrong_role", "message 2")]),
        (_given({"role": "developer", "content": "S"}, user("Q")), [("wrong_role", "message 1")]),
        (
            {"preferred_output": [{**calling(), "content": None}]},
            [("content_null", "message 2")],
        ),
        ({"non_preferred_output": [user(["x"])]}, [("content_null", "message 3")]),
        ({"extra": 1}, [("unknown_column", "extra")]),
        ({"input": None}, [("wrong_type", "input.messages")]),
    ],
)
def test_together(columns: Row, expected: list[tuple[str, str]]) -> None:
    """Together accepts only alternating roles and texts; one violation rejects the file."""
    found = [("fails to load", code, field) for code, field in expected]
    assert _told(check_strictly({**OWN, **columns})) == found


def test_hosts() -> None:
    """Which hosts are strict, and their minimum number of rows."""
    hosts = target_named("openai").hosts
    assert {name: host.rules.check is check_strictly for name, host in hosts.items()} == {
        "openai": False,
        "azure": False,
        "together": True,
        "fireworks": True,
    }
    assert {name: host.rules.least for name, host in hosts.items()} == {
        "openai": 10,
        "azure": 10,
        "together": 3,
        "fireworks": 3,
    }


# LLaMA-Factory ----------------------------------------------------------------------------


def _turn(speaker: str, value: Any = "x") -> Row:
    return {"from": speaker, "value": value}


TURNS: Row = {
    "conversations": [_turn("human", "Q")],
    "chosen": _turn("gpt", "Aye"),
    "rejected": _turn("gpt", "Nay"),
}


@pytest.mark.parametrize(
    ("speakers", "even"),
    [
        ("human", True),
        ("observation", True),
        ("system human", True),
        ("human gpt human", True),
        ("system human function_call observation", True),
        ("human function_call observation gpt human", True),
        ("", False),
        ("system", False),
        ("human gpt", False),
        ("human human", False),
        ("human human human", False),
        ("gpt", False),
        ("gpt human", False),
        ("human gpt observation gpt", False),
        ("human gpt system", False),
    ],
)
def test_llamafactory_turns(speakers: str, even: bool) -> None:
    """Turns must alternate after a system message, and end with the user's."""
    values = {"function_call": '{"name": "add", "arguments": {}}'}
    turns = [_turn(name, values.get(name, "x")) for name in speakers.split()]
    expected = [] if even else [("is dropped", "uneven_turns", "conversations")]
    assert _judged("llamafactory", TURNS, conversations=turns) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"conversations": None}, [("crashes", "missing_column", "conversations")]),
        ({"chosen": [_turn("gpt")]}, [("is dropped", "wrong_type", "chosen")]),
        ({"rejected": "Nay"}, [("is dropped", "wrong_type", "rejected")]),
        ({"tools": ""}, []),
        ({"tools": None}, []),
        ({"tools": "[]"}, []),
        ({"tools": "{}"}, [("crashes", "tools_not_a_list", "tools")]),
        ({"tools": TOOLS}, [("crashes", "tools_not_a_list", "tools")]),
        ({"tools": "["}, [("crashes", "tools_not_a_list", "tools")]),
        ({"conversations": [_turn("human", None)]}, [("crashes", "content_null", "conversations")]),
        ({"chosen": _turn("gpt", "Nay")}, [("trains on nothing", "equal_sides", "")]),
    ],
)
def test_llamafactory_columns(columns: Row, expected: list[Told]) -> None:
    """Answers are objects, and tools are text."""
    assert _judged("llamafactory", TURNS, **columns) == expected


@pytest.mark.parametrize(
    ("value", "broken"),
    [
        ('{"name": "add", "arguments": {}}', False),
        ('[{"name": "add", "arguments": {}}, {"name": "sub", "arguments": {}}]', False),
        ('<think>hm</think>{"name": "add", "arguments": {}}', False),
        ('I will add. {"name": "add", "arguments": {}}', True),
        ('<think>a</think><think>b</think>{"name": "add", "arguments": {}}', True),
        ("", True),
    ],
)
def test_llamafactory_calls(value: str, broken: bool) -> None:
    """JSON, after at most one thought, or the whole run stops."""
    called = _turn("function_call", value)
    expected = [("crashes", "call_not_json", "function_call")] if broken else []
    assert _checked("llamafactory", TURNS, chosen=called) == expected
    turns = [_turn("human"), called, _turn("observation")]
    assert _checked("llamafactory", TURNS, conversations=turns) == expected


def test_llamafactory_speaker_of_an_answer() -> None:
    """Answers are from the model or are its calls."""
    found = ("trains on the wrong thing", "wrong_role", "rejected")
    assert _checked("llamafactory", TURNS, rejected=_turn("human")) == [found]
    assert _checked("llamafactory", TURNS, rejected=_turn("function_call", "{}")) == []


def test_llamafactory_alpaca() -> None:
    """In the alpaca format, answers are texts."""
    row = {"instruction": "Q", "input": "", "chosen": "Aye", "rejected": "Nay"}
    assert _judged("llamafactory", row) == []
    found = [("is dropped", "wrong_type", "chosen")]
    assert _judged("llamafactory", row, chosen=[AYE]) == found
    assert _judged("llamafactory", row, chosen=None) == found


# ms-swift ---------------------------------------------------------------------------------

WHOLE: Row = {"messages": [user("Q"), AYE], "rejected_messages": [user("Q"), NAY]}
SHORT: Row = {"messages": [user("Q"), AYE], "rejected_response": "No, 8."}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (WHOLE, []),
        (SHORT, []),
        ({**SHORT, "rejected_response": [NAY]}, []),
        ({**WHOLE, "tools": "[]", "rejected_tools": "[]"}, []),
        (
            {**WHOLE, "tools": "[]"},
            [("trains on the wrong thing", "prompts_differ", "rejected_tools")],
        ),
        (_without(SHORT, "rejected_response"), "rejected_response"),
        (ROW, "messages"),
        (
            {**SHORT, "rejected_response": "Aye, 7."},
            [("is dropped", "equal_sides", "rejected_response")],
        ),
        (
            {"messages": [{"role": "developer", "content": "S"}, *WHOLE["messages"]],
             "rejected_response": "Nay"},
            [("is dropped", "wrong_role", "messages.0.role")],
        ),
        ({**WHOLE, "margin": 1.0}, [("warning", "reserved_column", "margin")]),
        ({**WHOLE, "label": True}, [("warning", "reserved_column", "label")]),
        (
            {"messages": [user("Q"), AYE], "rejected_messages": [user("Q"), NAY, user("R")]},
            [("trains on the wrong thing", "environment_last", "rejected")],
        ),
    ],
)  # fmt: skip
def test_ms_swift(row: Row, expected: Any) -> None:
    """Whole conversations, or a rejected text that replaces the last answer."""
    found = _judged("ms-swift", row)
    if isinstance(expected, str):
        assert ("is dropped", "missing_column", expected) in found
    else:
        assert found == expected


def test_ms_swift_agents() -> None:
    """Calls and results have their own roles."""
    called = {"role": "tool_call", "content": '{"name": "add", "arguments": {}}'}
    prompt = [user("Q"), called, {"role": "tool_response", "content": "1"}]
    row = {"messages": [*prompt, AYE], "rejected_messages": [*prompt, NAY]}
    assert _judged("ms-swift", row) == []


# OpenRLHF ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"chosen": "Aye"}, [("crashes", "forms_differ", "")]),
        ({"prompt": "Q"}, [("crashes", "forms_differ", "")]),
        (
            {"chosen": [user("Q"), AYE], "rejected": [user("Q"), NAY]},
            [("trains on the wrong thing", "prompt_repeated", "chosen")],
        ),
        ({"tools": "[{}]"}, [("warning", "tools_unseen", "tools")]),
        ({"margin": 1.0}, [("warning", "reserved_column", "margin")]),
        ({"label": True}, []),
    ],
)
def test_openrlhf(columns: Row, expected: list[Told]) -> None:
    """All sides have the same form, and tools are ignored."""
    assert _judged("openrlhf", ROW, **columns) == expected


def test_openrlhf_without_a_prompt() -> None:
    """Without a prompt column, both sides include the prompt."""
    assert _judged("openrlhf", {"chosen": [user("Q"), AYE], "rejected": [user("Q"), NAY]}) == []


# Axolotl ----------------------------------------------------------------------------------

AXOLOTL: Row = {"messages": [user("Q")], "chosen": AYE, "rejected": NAY}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, []),
        ({"chosen": "Aye, 7.", "rejected": [NAY]}, []),
        ({"chosen": model("a")}, [("trains on the wrong thing", "miscut", "chosen")]),
        ({"rejected": "2"}, [("trains on the wrong thing", "miscut", "rejected")]),
        (
            {"chosen": model("Aye\n")},
            [("trains on the wrong thing", "space_around_answer", "chosen")],
        ),
        ({"chosen": model(None)}, [("crashes", "content_null", "chosen")]),
        ({"chosen": {"role": "assistant"}}, [("crashes", "content_null", "chosen")]),
        ({"chosen": NAY}, [("trains on nothing", "equal_sides", "")]),
        (
            {"chosen": [AYE, NAY]},
            [
                ("trains on nothing", "equal_sides", ""),
                ("trains on the wrong thing", "last_turn_alone", "chosen"),
            ],
        ),
        ({"chosen": model("")}, [("trains on nothing", "empty_side", "chosen")]),
        ({"chosen": [NAY, AYE]}, [("trains on the wrong thing", "last_turn_alone", "chosen")]),
        (
            {"messages": [user("Q"), calling({"a": 1}), told("1")]},
            [("trains on the wrong thing", "tools_unseen", "messages.1")],
        ),
        (
            {"chosen": calling({"a": 1}, "Aye, 7.")},
            [("trains on the wrong thing", "tools_unseen", "chosen")],
        ),
        (
            {"messages": [{"role": "developer", "content": "S"}, user("Q")]},
            [("crashes", "wrong_role", "messages.0.role")],
        ),
    ],
)
def test_axolotl(columns: Row, expected: list[Told]) -> None:
    """An answer is located by its text, and is the last of several messages."""
    assert _judged("axolotl", AXOLOTL, **columns) == expected


def test_axolotl_of_rows_for_trl() -> None:
    """The prompt has another column there."""
    found = _judged("axolotl", ROW)
    assert found == [("crashes", "missing_column", "messages")]


# The columns of ultrafeedback_binarized ---------------------------------------------------


def test_ultrafeedback() -> None:
    """Whole conversations with a common beginning; the prompt column is ignored."""
    row = {"prompt": "Q", "chosen": [user("Q"), AYE], "rejected": [user("Q"), NAY]}
    assert _judged("ultrafeedback", row) == []
    assert _judged("ultrafeedback", _without(row, "prompt")) == []
    apart = [("crashes", "wrong_type", "")]
    assert _judged("ultrafeedback", row, rejected=[user("R"), NAY]) == apart
    text = [("crashes", "wrong_type", "rejected")]
    assert _judged("ultrafeedback", row, rejected="No, 8.") == text
    several = [user("Q"), model("Let me see."), NAY]
    assert _judged("ultrafeedback", row, rejected=several) == [
        ("trains on the wrong thing", "last_turn_alone", "rejected")
    ]
