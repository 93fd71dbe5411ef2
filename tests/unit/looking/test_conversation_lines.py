"""Prompts and answers as lines."""

from typing import Any

import pytest

from prefpairs.render.conversation_lines import Line, beginning, is_plain, plain_lines, turn_lines


def _call(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _says(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def _drawn(*messages: dict[str, Any]) -> list[str]:
    return [" " * line.indent + line.text for line in turn_lines(list(messages), "assistant")]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("words", True),
        ([_says("words")], True),
        ([_says("words", reasoning_content="hm")], False),
        ([_says("", tool_calls=[_call("f", "{}")])], False),
        ([_says([{"type": "image_url"}])], False),
        ([_says("a"), _says("b")], False),
        ([], False),
    ],
)
def test_is_plain(text: Any, plain: bool) -> None:
    """Plain text needs no headings."""
    assert is_plain(text) is plain


def test_plain_lines() -> None:
    """Text and a one-message chat give the same lines; a final newline gives an empty line."""
    lines = [Line("one"), Line(""), Line("two\\x07"), Line("")]
    assert plain_lines("one\n\ntwo\x07\n") == plain_lines([_says("one\n\ntwo\x07\n")]) == lines


def test_a_whole_turn() -> None:
    """Thinking, calls, results under their call's name, text."""
    assert _drawn(
        _says("", reasoning_content="hm\nso", tool_calls=[_call("add", '{"a": 1, "b": "x"}')]),
        {"role": "tool", "content": "3", "tool_call_id": "call_1"},
        _says("It is 3."),
        {"role": "user", "content": "Sure?"},
    ) == [
        "thinking",
        "  hm",
        "  so",
        "call add",
        "  a: 1",
        '  b: "x"',
        "result of add",
        "  3",
        "assistant",
        "  It is 3.",
        "user",
        "  Sure?",
    ]


def test_kinds() -> None:
    """Each line has the kind of what it belongs to."""
    lines = turn_lines(
        [
            _says("w", reasoning_content="t", tool_calls=[_call("f", "{")]),
            {"role": "tool", "content": "r"},
        ],
        "assistant",
    )
    kinds = ["thinking", "text", "call", "result"]
    assert [line.kind for line in lines] == [k for kind in kinds for k in ("heading", kind)]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("{}", []),
        ("{not json", ["  {not json"]),
        ("[1, 2]", ["  [1, 2]"]),
        ('{"code": "a\\n\\tb"}', ["  code:", "    a", "        b"]),
        ('{"a\\nb": {"c": [1, null]}}', ['  a\\nb: {"c":[1,null]}']),
        ('{"s": "\\u001b"}', ['  s: "\\u001b"']),
        ('{"s": "\\u202e"}', ['  s: "\\u202e"']),
    ],
)
def test_arguments(arguments: str, lines: list[str]) -> None:
    """One line per argument; multi-line text and values that are not objects stay as they are."""
    assert _drawn(_says("", tool_calls=[_call("f", arguments)])) == ["call f", *lines]


def test_headings_are_one_line() -> None:
    """A tool's name cannot contain a line break that draws another heading."""
    forged = _call("f\nassistant\n  said", "{}")
    assert _drawn(_says("", tool_calls=[forged])) == ["call f\\nassistant\\n  said"]


def test_texts_cannot_pass_for_headings() -> None:
    """Bodies are indented, so text cannot look like a heading."""
    assert _drawn(_says("thinking\nassistant", reasoning_content="x"))[2:] == [
        "assistant",
        "  thinking",
        "  assistant",
    ]


def test_parts_and_empty_messages() -> None:
    """Parts that are not text are named; empty messages are shown, too."""
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert _drawn(_says(parts)) == ["assistant", "  look", "  [image_url]"]
    assert _drawn(_says("")) == ["assistant", "  "]
    assert _drawn({"role": "tool", "content": "", "name": "f"}) == ["result of f", "  "]
    assert _drawn({"role": "tool", "content": "1"}) == ["result", "  1"]


def test_text_is_one_message() -> None:
    """Text is one message with the given role."""
    assert turn_lines("Hi", "user") == [Line("user", "heading"), Line("Hi", "text", 2)]


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("one\n  two", "one two"),
        ([_says("so", reasoning_content="hm")], "so"),
        ([_says("", tool_calls=[_call("f", '{"a": 1}')]), _says("then")], "call f a: 1 then"),
    ],
)
def test_beginning(response: Any, words: str) -> None:
    """The first text or call, not reasoning."""
    assert beginning(response, 100).removeprefix("assistant ") == words


def test_beginning_ends() -> None:
    """No more text is read than needed."""
    assert len(beginning("word \n" * 1000, 20)) < 40
