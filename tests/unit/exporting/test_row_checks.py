"""The rules that all formats share."""

from typing import Any

import pytest
from target_rows import call, calling, model, system, told, user

from prefpairs.dataset.row_checks import LengthLimit, check_row, repeats
from prefpairs.dataset.row_prompt import starts_with_other_role
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.targets import target_named

BOTH = frozenset({"chat", "text"})
ROW: Row = {"prompt": [user("Q")], "chosen": [model("Aye")], "rejected": [model("Nay")]}
CALLED = calling({"a": 1})


def _as_it_is(row: Row) -> Row:
    return row


def _judged(row: Row, length: Any = None, **words: Any) -> list[tuple[str, str, str]]:
    """The findings in a row, by rules with some changes."""
    rules = {
        "needs": dict.fromkeys(("prompt", "chosen", "rejected"), BOTH),
        "read": _as_it_is,
        **words,
    }
    found = check_row(row, Rules(**rules), length)
    return [(str(effect), code, field) for effect, code, field in found]


def _prompted(*messages: Any, **words: Any) -> list[tuple[str, str, str]]:
    """The findings in a row with this prompt."""
    return _judged({**ROW, "prompt": list(messages)}, **words)


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        {"prompt": "Q", "chosen": " Aye", "rejected": " Nay"},
        {**ROW, "prompt": [system("S"), user("Q"), CALLED, told("1")]},
        {**ROW, "chosen": [CALLED]},
        {**ROW, "id": "1", "score": 0.5},
    ],
)
def test_sound_rows(row: Row) -> None:
    """A sound row has no findings."""
    assert _judged(row) == []


# Columns ----------------------------------------------------------------------------------


def test_missing_column() -> None:
    """The rules decide the effect; null may have another one."""
    row = {"prompt": [user("Q")], "chosen": [model("A")]}
    assert _judged(row) == [("crashes", "missing_column", "rejected")]
    assert _judged(row, on_missing=Effect.DROP) == [("is dropped", "missing_column", "rejected")]
    null = {**row, "rejected": None}
    assert _judged(null) == [("crashes", "missing_column", "rejected")]
    words = {"on_missing": Effect.NO_LOAD, "on_null": Effect.NOTHING}
    assert _judged(row, **words) == [("fails to load", "missing_column", "rejected")]
    assert _judged(null, **words) == [("trains on nothing", "missing_column", "rejected")]


def test_optional_column() -> None:
    """An optional column may be missing or null, but not of another type."""
    needs = {"label": frozenset({"flag"}), "prompt": BOTH, "chosen": BOTH, "rejected": BOTH}
    words = {"needs": needs, "optional": frozenset({"label"})}
    assert _judged(ROW, **words) == _judged({**ROW, "label": None}, **words) == []
    found = [("crashes", "wrong_type", "label")]
    assert _judged({**ROW, "label": "yes"}, **words) == found


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("text", {"text"}),
        ([1], {"list"}),
        ({"a": 1}, {"object"}),
        (True, {"flag"}),
        (0, {"flag"}),
        (0.5, set()),
    ],
)
def test_kinds(value: Any, kinds: set[str]) -> None:
    """A list may be a chat or any list, 0 and 1 are flags, and a fraction fits no kind."""
    fits = {
        kind
        for kind in ("text", "list", "object", "flag")
        if not _judged({**ROW, "c": value}, needs={"c": frozenset({kind})})
    }
    assert fits == kinds


@pytest.mark.parametrize("value", [7, 0.5, {"role": "user"}, True])
def test_wrong_type(value: Any) -> None:
    """A wrong type stops the trainer, so nothing else is checked."""
    assert _judged({**ROW, "chosen": value}) == [("crashes", "wrong_type", "chosen")]


def test_reserved_columns() -> None:
    """A reserved name counts, even if the value is null."""
    reserved = {"images": Effect.CRASH, "margin": Effect.WARNING}
    row = {**ROW, "margin": None}
    assert _judged(row, reserved=reserved) == [("warning", "reserved_column", "margin")]
    row = {**ROW, "images": []}
    assert _judged(row, reserved=reserved) == [("crashes", "reserved_column", "images")]


# Chats ------------------------------------------------------------------------------------


def test_chat_without_messages() -> None:
    """An empty answer trains nothing; the effect of an empty prompt depends on the rules."""
    assert _prompted() == [("crashes", "empty_chat", "prompt")]
    assert _prompted(on_empty_prompt=Effect.WARNING) == [("warning", "empty_chat", "prompt")]
    found = [("trains on nothing", "empty_side", "rejected")]
    assert _judged({**ROW, "rejected": []}) == found


def test_invalid_messages() -> None:
    """Rejects texts as messages, and ShareGPT keys."""
    assert _prompted(user("Q"), "Q") == [("crashes", "wrong_type", "prompt.1")]
    assert _prompted({"from": "human", "value": "Q"}) == [("crashes", "sharegpt_keys", "prompt.0")]
    both = {"from": "human", "value": "Q", "role": "user", "content": "Q"}
    assert _prompted(both) == []


@pytest.mark.parametrize("role", ["developer", "critic", None, 7])
def test_wrong_role(role: Any) -> None:
    """A role unknown to the rules is reported with the rules' effect."""
    message = {"role": role, "content": "x"}
    field = "prompt.0.role"
    found = [("trains on the wrong thing", "wrong_role", field)]
    assert _prompted(message, user("Q")) == found
    found = [("is dropped", "wrong_role", field)]
    assert _prompted(message, user("Q"), on_role=Effect.DROP) == found


def test_roles_of_the_rules() -> None:
    """Roles of the rules are accepted, and no others."""
    roles = ("user", "assistant", "developer")
    assert _prompted({"role": "developer", "content": "x"}, user("Q"), roles=roles) == []
    found = [("trains on the wrong thing", "wrong_role", "prompt.0.role")]
    assert _prompted(system("S"), user("Q"), roles=roles) == found


def test_message_without_content() -> None:
    """Null crashes, unless there is a tool call."""
    found = [("crashes", "content_null", "prompt.0.content")]
    assert _prompted(user(None)) == found
    assert _prompted({"role": "user"}) == found
    assert _prompted(user("Q"), {**CALLED, "content": None}, told("1")) == []
    assert _prompted(user("Q"), {**model(None), "tool_calls": []}, user("Q")) == [
        ("crashes", "content_null", "prompt.1.content")
    ]


def test_content_in_parts() -> None:
    """Many templates omit content in parts, so the answer is empty."""
    parts = [{"type": "text", "text": "Aye"}]
    assert _judged({**ROW, "chosen": [model(parts)]}) == [
        ("trains on nothing", "content_parts", "chosen.0.content")
    ]


def test_content_of_another_type() -> None:
    """A number as content is reported only if nothing else is wrong."""
    assert _prompted(user(7)) == [("crashes", "wrong_type", "")]


def test_thinking() -> None:
    """Reasoning gives a warning unless it is empty."""
    answer = [model("Aye", reasoning_content="hm")]
    assert _judged({**ROW, "chosen": answer}) == [
        ("warning", "reasoning_unseen", "chosen.0.reasoning_content")
    ]
    assert _judged({**ROW, "chosen": [model("Aye", reasoning_content="")]}) == []


@pytest.mark.parametrize(
    ("arguments", "rule", "expected"),
    [
        ({"a": 1}, False, []),
        ('{"a": 1}', False, [("warning", "arguments_as_text", "chosen.0.tool_calls")]),
        ({"a": 1}, True, []),
        ('{"a": 1}', True, []),
        ({"a": 1}, "only", [("fails to load", "wrong_type", "chosen.0.tool_calls")]),
        ('{"a": 1}', "only", []),
    ],
)
def test_form_of_arguments(arguments: Any, rule: Any, expected: Any) -> None:
    """Objects, texts or both are accepted, depending on the rules."""
    row = {**ROW, "chosen": [calling(arguments)]}
    assert _judged(row, text_arguments=rule) == expected


def test_invalid_calls() -> None:
    """A value that is no list crashes; one of two calls with text arguments is a warning."""
    assert _judged({**ROW, "chosen": [model("Aye", tool_calls={"a": 1})]}) == [
        ("crashes", "wrong_type", "chosen.0.tool_calls")
    ]
    mixed = model("", tool_calls=[call({"a": 1}), call("{}", 2)])
    assert _judged({**ROW, "chosen": [mixed]}) == [
        ("warning", "arguments_as_text", "chosen.0.tool_calls")
    ]
    flat = model("", tool_calls=[{"name": "add", "arguments": "{}"}])
    assert _judged({**ROW, "chosen": [flat]}) == [
        ("warning", "arguments_as_text", "chosen.0.tool_calls")
    ]
    assert _judged({**ROW, "chosen": [model("Aye", tool_calls=None)]}) == []


# Sides ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "rejected"),
    [
        ("Aye", "Aye"),
        ("Aye", [model("Aye")]),
        ([CALLED], [calling('{"a":1}')]),
        ([model("")], [model("")]),
    ],
)
def test_equal_sides(chosen: Any, rejected: Any) -> None:
    """Sides in different forms may be equal; then nothing else is reported."""
    row = {"prompt": [user("Q")], "chosen": chosen, "rejected": rejected}
    assert _judged(row, text_arguments=True) == [("trains on nothing", "equal_sides", "")]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        [model("")],
        [model(" ", reasoning_content="hm")],
        [model(""), told(" ")],
    ],
)
def test_empty_side(answer: Any) -> None:
    """White space and reasoning alone are empty."""
    found = _judged({**ROW, "rejected": answer})
    assert [each for each in found if each[0] != "warning"] == [
        ("trains on nothing", "empty_side", "rejected")
    ]


def test_prompt_that_ends_with_the_model() -> None:
    """A prompt must not end with an assistant turn, whatever comes before."""
    assert _prompted(user("Q"), model("A")) == [
        ("trains on the wrong thing", "prompt_ends_with_answer", "prompt")
    ]
    assert _prompted(user("Q"), CALLED, told("1")) == []


TURNS = [model("Let me see."), user("Well?"), model("Aye")]
TWICE = [model("Let me see."), model("Aye")]


@pytest.mark.parametrize(
    ("trains", "answer", "code"),
    [
        ("all", TURNS, "environment_trained"),
        ("all", TWICE, ""),
        ("all", [CALLED, told("1")], "environment_last"),
        ("last", TURNS, "last_turn_alone"),
        ("last", TWICE, "last_turn_alone"),
        ("last", [CALLED, told("1")], "environment_last"),
        ("turns", TURNS, ""),
        ("turns", TWICE, ""),
        ("turns", [CALLED, told("1")], "environment_last"),
    ],
)
def test_answers_of_several_messages(trains: str, answer: Any, code: str) -> None:
    """The effect depends on what the trainer accepts."""
    expected = [("trains on the wrong thing", code, "rejected")] if code else []
    assert _judged({**ROW, "rejected": answer}, trains=trains) == expected


def test_turns_that_both_share() -> None:
    """A warning if all turns are trained on."""
    row = {**ROW, "chosen": [model("Let me see."), model("Aye")], "rejected": TWICE[:1]}
    assert _judged(row) == [("warning", "shared_turns", "")]
    assert _judged(row, trains="turns") == []


def test_single_answer() -> None:
    """A single answer is not compared, and is named after its column."""
    row = {"prompt": [user("Q")], "chosen": [model("")]}
    needs = {"prompt": BOTH, "chosen": BOTH}
    assert _judged(row, needs=needs) == [("trains on nothing", "empty_side", "completion")]
    assert _judged({**row, "chosen": "A"}, needs=needs) == []


def test_order_of_what_is_found() -> None:
    """Columns, then the trainer's own rules, then sides; nothing after a loss of the row."""

    def check(_row: Row) -> list[Finding]:
        return [Finding(Effect.WARNING, "tools_unseen", "tools")]

    row = {**ROW, "margin": 1.0, "rejected": ""}
    words = {"reserved": {"margin": Effect.WARNING}, "check": check}
    first = [("warning", "reserved_column", "margin"), ("warning", "tools_unseen", "tools")]
    assert _judged(row, **words) == [*first, ("trains on nothing", "empty_side", "rejected")]
    words["reserved"] = {"margin": Effect.DROP}
    assert _judged(row, **words) == [("is dropped", "reserved_column", "margin"), *first[1:]]


def test_nothing_is_reported_twice() -> None:
    """A finding of the trainer's rules is not repeated by the common ones."""

    def check(_row: Row) -> list[Finding]:
        return [Finding(Effect.WRONG, "environment_trained", "chosen")]

    assert _judged({**ROW, "chosen": TURNS}, check=check) == [
        ("trains on the wrong thing", "environment_trained", "chosen")
    ]


def test_row_that_cannot_be_read() -> None:
    """An unreadable row crashes, unless something worse than a warning was found."""

    def read(row: Row) -> Row:
        raise BadField("chosen", row, "something else")

    assert _judged(ROW, read=read) == [("crashes", "wrong_type", "")]
    warned = {"reserved": {"margin": Effect.WARNING}, "read": read}
    assert _judged({**ROW, "margin": 1.0}, **warned) == [
        ("warning", "reserved_column", "margin"),
        ("crashes", "wrong_type", ""),
    ]
    lost = {"reserved": {"margin": Effect.WRONG}, "read": read}
    assert _judged({**ROW, "margin": 1.0}, **lost) == [
        ("trains on the wrong thing", "reserved_column", "margin")
    ]


# Lengths ----------------------------------------------------------------------------------


def _words(text: str) -> list[int]:
    return [len(word) for word in text.split()]


@pytest.mark.parametrize(
    ("most", "left"),
    [(9, "abc"), (6, "abc"), (5, "ab"), (4, "a")],
)
def test_cut_by_characters(most: int, left: str) -> None:
    """The answer is cut to the length that the prompt leaves."""
    assert LengthLimit(most).cut("012", "abc") == (left, False)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_prompt_takes_all(most: int) -> None:
    """A prompt of the maximum length or more leaves nothing of the answer."""
    assert LengthLimit(most).cut("012", "abc") == ("", True)


def test_cut_by_tokens() -> None:
    """Tokens of prompt and answer are counted separately."""
    assert LengthLimit(3, _words).cut("a bb", "c dd eee") == ([1], False)
    assert LengthLimit(2, _words).cut("a bb", "c dd eee") == ([], True)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (8, []),
        (7, [("trains on nothing", "equal_when_cut", "")]),
        (4, [("trains on nothing", "equal_when_cut", "")]),
        (3, [("is dropped", "prompt_too_long", "prompt")]),
    ],
)
def test_sides_that_are_cut(most: int, expected: Any) -> None:
    """Sides are equal or empty after truncation."""
    row = {"prompt": "012", "chosen": "same+", "rejected": "same-"}
    assert _judged(row, LengthLimit(most)) == expected


def test_length_of_a_single_answer() -> None:
    """For a single answer, only the prompt can be too long."""
    row = {"prompt": "012", "chosen": "abc"}
    needs = {"prompt": BOTH, "chosen": BOTH}
    assert _judged(row, LengthLimit(4), needs=needs) == []
    assert _judged(row, LengthLimit(3), needs=needs) == [
        ("is dropped", "prompt_too_long", "prompt")
    ]


def test_length_counts_thinking_and_calls() -> None:
    """The length includes reasoning and calls, so sides that differ in a call differ."""
    row = {**ROW, "chosen": [CALLED], "rejected": [calling({"a": 2})]}
    assert _judged(row, LengthLimit(13)) == []
    assert _judged(row, LengthLimit(10)) == [("trains on nothing", "equal_when_cut", "")]


# Beginnings -------------------------------------------------------------------------------


def test_repeats() -> None:
    """Only whole messages of chats, from the first one, are compared."""
    prompt = [system("S"), user("Q")]
    assert repeats(prompt, [*prompt, model("A")])
    assert repeats(prompt, prompt)
    assert not repeats(prompt, [user("Q"), model("A")])
    assert not repeats([], [model("A")])
    assert not repeats("Q", "QA")
    assert not repeats(None, [user("Q")])


def test_begins_otherwise() -> None:
    """Recognizes chats that begin with another role than the assistant."""
    assert starts_with_other_role([user("Q"), model("A")])
    assert starts_with_other_role([told("1")])
    assert not starts_with_other_role([model("A"), user("Q")])
    assert not any(map(starts_with_other_role, ["Q", [], None, ["Q"], [{"content": "Q"}]]))


def test_messages_inside_of_other_columns() -> None:
    """Messages inside other columns are checked by the same rules."""
    theirs = {"from": "gpt", "value": "a"}
    answers = [{"rank": rank, "completion": [theirs]} for rank in (0, 1)]
    context = [{"role": "user", "content": "q"}]
    ranked = {"context": context, "completions": answers}
    codes = {found.code for found in check_row(ranked, target_named("nemo-rl-ranked").rules)}
    assert "sharegpt_keys" in codes
    pairs = {"prompt": context, "chosen": [theirs], "rejected": [theirs]}
    codes = {found.code for found in check_row(pairs, target_named("trl-kto").rules)}
    assert "sharegpt_keys" in codes
