"""The excerpt of a pair that the page contains."""

from hypothesis import given
from hypothesis import strategies as st

from prefpairs.model.message import Message
from prefpairs.model.pair import pair_of
from prefpairs.model.tool_calls import tool_call
from prefpairs.render.page.gallery import (
    Piece,
    cut,
    excerpt_of,
    fair_limit,
    pieces_of,
    row_of,
)


def test_kinds_of_pieces() -> None:
    """Thinking, text, calls, results, and parts that are not text."""
    turns: list[Message] = [
        {
            "role": "assistant",
            "content": "Hi",
            "reasoning_content": "hm",
            "tool_calls": [tool_call("look", "{}", "call_1")],
        },
        {"role": "tool", "content": "3", "name": "look"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
    ]
    assert list(pieces_of(turns)) == [
        Piece("assistant", "thinking", "hm"),
        Piece("assistant", "text", "Hi"),
        Piece("assistant", "call", "{}", "look"),
        Piece("tool", "result", "3", "look"),
        Piece("assistant", "text", "a"),
        Piece("assistant", "part", '{"type":"image_url"}', "image_url"),
    ]


def test_an_empty_turn_is_seen() -> None:
    """A message without text is shown, unless it calls a tool."""
    call = tool_call("f", "{}")
    assert [piece.kind for piece in pieces_of([{"role": "user", "content": ""}])] == ["text"]
    turn: Message = {"role": "assistant", "content": "", "tool_calls": [call]}
    assert [piece.kind for piece in pieces_of([turn])] == ["call"]


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(0, 400))
def test_the_fair_limit_fills_the_room(lengths: list[int], room: int) -> None:
    """Texts cut to the limit fit; a limit of one more would not, unless nothing is cut."""
    most = fair_limit(lengths, room)
    assert sum(min(length, most) for length in lengths) <= max(room, 0)
    if most < max(lengths):
        assert sum(min(length, most + 1) for length in lengths) > room


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_cutting_twice_is_cutting_once(text: str, more: int, less: int) -> None:
    """Cutting twice equals cutting to the shorter length; omitted characters are counted."""
    piece = Piece("", "text", text)
    most, least = max(more, less), min(more, less)
    once = cut(piece, least)
    assert len(once.text) == min(least, len(text))
    assert cut(cut(piece, most), least) == once
    if once.cut is not None:
        place, number = once.cut
        assert text.startswith(once.text[:place])
        assert text.endswith(once.text[place:])
        assert place + number + len(once.text) - place == len(text)


def test_very_many_turns() -> None:
    """The first and last turns are kept, with the number of turns between them."""
    turns = [{"role": "user", "content": f"turn {number:4}"} for number in range(1000)]
    row = {"prompt": turns, "chosen": "a", "rejected": "b"}
    prompt = excerpt_of(pair_of(row)[0], 100_000).texts[0]
    assert len(prompt) == 201
    assert prompt[100] == Piece("", "gap", "", "800 parts", (0, 7200))
    assert (prompt[0].text, prompt[-1].text) == ("turn    0", "turn  999")


def test_facts_are_bounded() -> None:
    """Long names and meta are truncated."""
    long = "x" * 10_000
    meta = {f"{long}{number}": {long: long} for number in range(100)}
    row = {
        "prompt": "Q",
        "chosen": "a",
        "rejected": "b",
        "group": long,
        "meta": meta,
        "chosen_origin": long,
        "tools": [{"type": "function", "function": {"name": long}}, {"name": "plain"}, {}],
    }
    told = row_of(excerpt_of(pair_of(row)[0], 100), 100)
    assert len(str(told)) < 20_000
    assert told["tools"][1:] == ["plain", "?"]
    assert len(told["meta"]) == 20
    assert told["chars"] == [1, 1, 1]
