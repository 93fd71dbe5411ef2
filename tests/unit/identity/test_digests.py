"""What makes two records the same. The literal digests are public interface."""

import re
from pathlib import Path
from typing import Any

import pytest

import prefpairs
from prefpairs.model.identity import (
    canonical,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
    draw,
    group_of_prompt,
    pair_id,
)
from prefpairs.model.message import Message
from prefpairs.model.tool_calls import tool_call


def _call(arguments: str, name: str = "f", call_id: str = "call_1") -> list[Message]:
    calls = [tool_call(name, arguments, call_id)]
    return [{"role": "assistant", "content": "", "tool_calls": calls}]


def test_text_is_one_message() -> None:
    """Plain text counts as one message of the role it has by its place."""
    assert digest_prompt("Hi") == digest_prompt([{"role": "user", "content": "Hi"}])
    assert digest_response("Hi") == digest_response([{"role": "assistant", "content": "Hi"}])


def test_prompt_and_response_of_one_text_differ() -> None:
    """Who speaks counts."""
    assert digest_prompt("Hi") != digest_response("Hi")


def test_digests_keep_their_form() -> None:
    """A change of any of these literals is a new identity version."""
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
    assert digest_prompt("What is 2+2?").hex() == "50b1a181856461bd0fbe1d0cbc82ef1c"
    assert digest_response("4").hex() == "85949d9e82d48d37f155543582b91f73"
    assert digest_prompt(chat).hex() == "fa9e0acc26b0f92e5bc251f62fcad6d8"
    assert (
        digest_tools([{"type": "function", "function": {"name": "f"}}]).hex()
        == "975e90d1bcc5bbaa037697926e0f117f"
    )
    assert digest_response(_call('{"a": 1}')).hex() == "c1ae467742316b420c1f1ea8dee6bf52"


def test_pair_ids_and_draws_keep_their_form() -> None:
    """A change of any of these literals is a new identity version."""
    prompt, tools, chosen, rejected = (letter * 16 for letter in (b"p", b"t", b"c", b"r"))
    assert pair_id(prompt, tools, chosen, rejected) == "0eb2289341335743f8f810b3be3035bd"
    assert digest_group("g", prompt, tools).hex() == "d64519b119de5c03431b2de8e333c9b5"
    assert draw(0, "random 0", b"group") == 18375763035467657844


def test_canonical_form_of_a_plain_message() -> None:
    """The kind, the role and the words, with NUL between."""
    assert canonical([{"role": "user", "content": "Hi"}], "user") == [b"text\0user\0Hi"]


def test_canonical_form_of_a_message_with_calls() -> None:
    """The kind, and JSON of what the message holds, without the ids of calls."""
    assert canonical(_call('{"b": 1, "a": 2}'), "assistant") == [
        b'message\0{"calls":[["f",[{"a":2,"b":1}]]],"content":"","role":"assistant"}'
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_call('{"a": 1, "b": 2}'), _call('{"b":2,"a":1}')),
        (_call("{}", call_id="call_1"), _call("{}", call_id="x7")),
        (
            [{"role": "assistant", "content": "Hi", "reasoning_content": ""}],
            [{"role": "assistant", "content": "Hi"}],
        ),
        (
            [{"role": "tool", "content": "42", "tool_call_id": "a"}],
            [{"role": "tool", "content": "42", "tool_call_id": "b"}],
        ),
    ],
)
def test_same_content(one: list[Message], other: list[Message]) -> None:
    """Order of keys, white space in arguments and call ids do not count."""
    assert digest_response(one) == digest_response(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_call('{"a": 1}'), _call('{"a": 2}')),
        (_call('{"a": 1}'), _call('{"a": "1"}')),
        (_call('{"a": [1, 2]}'), _call('{"a": [2, 1]}')),
        (_call("{}", name="f"), _call("{}", name="g")),
        (_call("not json"), _call("no json")),
        (_call('"x"'), _call("x")),
        ([{"role": "assistant", "content": "Hi", "reasoning_content": "hm"}], "Hi"),
        ("Hi", "Hi "),
        ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], "ab"),
        ([{"role": "user", "content": "a", "name": "Al"}], [{"role": "user", "content": "a"}]),
        (
            [{"role": "tool", "content": "a", "name": "f"}],
            [{"role": "tool", "content": "a", "name": "g"}],
        ),
    ],
)
def test_different_content(one: Any, other: Any) -> None:
    """Values, their types and order, names, reasoning and the cut into messages count."""
    assert digest_response(one) != digest_response(other)


def test_order_of_messages_counts() -> None:
    """A chat read backwards is another chat."""
    chat = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert digest_prompt(chat) != digest_prompt(chat[::-1])


def test_plain_text_does_not_imitate_a_structured_message() -> None:
    """Text that looks like the canonical form of a call is not that call."""
    text = canonical(_call("{}"), "assistant")[0].decode()
    assert digest_response(text) != digest_response(_call("{}"))


def test_arguments_nested_deeply_have_a_digest() -> None:
    """A model that writes hundreds of brackets does not crash the run."""
    deep = "[" * 600 + "]" * 600
    assert len(digest_response(_call(deep))) == 16


def test_no_tools_and_an_empty_list_are_the_same() -> None:
    """Whether a source writes [] or nothing does not keep answers apart."""
    assert digest_tools(None) == digest_tools([]) == b""


def test_order_of_keys_in_tools_does_not_count() -> None:
    """Schemas are compared as values."""
    assert digest_tools([{"a": 1, "b": 2}]) == digest_tools([{"b": 2, "a": 1}])


def test_group_needs_equal_key_prompt_and_tools() -> None:
    """Each of the three keeps candidates apart."""
    same = digest_group("g", b"p", b"t")
    others = [
        digest_group("h", b"p", b"t"),
        digest_group("g", b"q", b"t"),
        digest_group("g", b"p", b"u"),
    ]
    assert same not in others


def test_id_tells_the_sides_apart() -> None:
    """The pair with chosen and rejected swapped is another pair."""
    assert pair_id(b"p", b"", b"a", b"b") != pair_id(b"p", b"", b"b", b"a")


def test_draws_hang_on_seed_purpose_and_identity() -> None:
    """Each of the three changes the draw, and nothing else does."""
    drawn = draw(0, "random", b"a")
    others = [draw(1, "random", b"a"), draw(0, "split", b"a"), draw(0, "random", b"b")]
    assert drawn == draw(0, "random", b"a")
    assert drawn not in others


def test_draws_are_spread_evenly() -> None:
    """Of 4000 draws about a quarter falls into each quarter of the range."""
    quarters = [draw(0, "random", b"%d" % n) >> 62 for n in range(4000)]
    assert all(900 < quarters.count(quarter) < 1100 for quarter in range(4))


def test_group_of_a_prompt() -> None:
    """A word and the digest: equal prompts of others meet in it."""
    group = "prompt:50b1a181856461bd0fbe1d0cbc82ef1c"
    assert group_of_prompt(digest_prompt("What is 2+2?")) == group
    chat = [{"role": "user", "content": "What is 2+2?"}]
    assert group_of_prompt(digest_prompt(chat)) == group


def test_nothing_else_is_a_digest() -> None:
    """What can be forged decides nothing: there is one way to digest content, and SHA-256 in it."""
    package = Path(prefpairs.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"xxhash|hashlib|crc32|\bmd5\b|\bhash\(", path.read_text(encoding="utf-8"))
    }
    assert users == {
        "engine/pairs_from_files.py",  # whether a line changed since it was read
        "files/file_stamps.py",  # whole files
        "files/zip_reader.py",  # whether a member of an archive is whole
        "files/uploaded_file.py",  # what a server must have received
        "files/staged_file.py",  # what a run writes, for its manifest
        "render/page/document.py",  # the policy of a page
        "model/identity.py",
        "stages/digest_table.py",  # slots of a table that compares the digests themselves
        "sources/generic_fast.py",  # the question of the row before, by SHA-256
        "sources/nemo_gym.py",
        "submit/platform_service.py",  # the same, of the other service
        "targets/ultrafeedback.py",  # the id of a prompt, as that data set has it
    }
