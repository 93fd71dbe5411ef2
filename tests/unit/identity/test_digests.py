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
    """Text equals one message of the role implied by its field."""
    assert digest_prompt("Hi") == digest_prompt([{"role": "user", "content": "Hi"}])
    assert digest_response("Hi") == digest_response([{"role": "assistant", "content": "Hi"}])


def test_prompt_and_response_of_one_text_differ() -> None:
    """The role counts."""
    assert digest_prompt("Hi") != digest_response("Hi")


def test_digests_keep_their_form() -> None:
    """These digests never change without a new identity version."""
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
    """These IDs and draws never change without a new identity version."""
    prompt, tools, chosen, rejected = (letter * 16 for letter in (b"p", b"t", b"c", b"r"))
    assert pair_id(prompt, tools, chosen, rejected) == "0eb2289341335743f8f810b3be3035bd"
    assert digest_group("g", prompt, tools).hex() == "d64519b119de5c03431b2de8e333c9b5"
    assert draw(0, "random 0", b"group") == 18375763035467657844


def test_canonical_form_of_a_plain_message() -> None:
    """The kind, the role and the text, separated by NUL."""
    assert canonical([{"role": "user", "content": "Hi"}], "user") == [b"text\0user\0Hi"]


def test_canonical_form_of_a_message_with_calls() -> None:
    """The kind, and the message's content as JSON without call IDs."""
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
    """Key order, white space in arguments and call IDs do not count."""
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
    """Values, types, order, names, reasoning and the division into messages count."""
    assert digest_response(one) != digest_response(other)


def test_order_of_messages_counts() -> None:
    """A chat in reverse order is another chat."""
    chat = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert digest_prompt(chat) != digest_prompt(chat[::-1])


def test_plain_text_does_not_imitate_a_structured_message() -> None:
    """Text that looks like the canonical form of a call is not equal to that call."""
    text = canonical(_call("{}"), "assistant")[0].decode()
    assert digest_response(text) != digest_response(_call("{}"))


def test_arguments_nested_deeply_have_a_digest() -> None:
    """Arguments with hundreds of brackets have a digest."""
    deep = "[" * 600 + "]" * 600
    assert len(digest_response(_call(deep))) == 16


def test_no_tools_and_an_empty_list_are_the_same() -> None:
    """Empty tools equal missing ones."""
    assert digest_tools(None) == digest_tools([]) == b""


def test_order_of_keys_in_tools_does_not_count() -> None:
    """Tool schemas are compared as values."""
    assert digest_tools([{"a": 1, "b": 2}]) == digest_tools([{"b": 2, "a": 1}])


def test_group_needs_equal_key_prompt_and_tools() -> None:
    """Candidates compete only if all three are equal."""
    same = digest_group("g", b"p", b"t")
    others = [
        digest_group("h", b"p", b"t"),
        digest_group("g", b"q", b"t"),
        digest_group("g", b"p", b"u"),
    ]
    assert same not in others


def test_id_tells_the_sides_apart() -> None:
    """A pair with chosen and rejected swapped has another ID."""
    assert pair_id(b"p", b"", b"a", b"b") != pair_id(b"p", b"", b"b", b"a")


def test_draws_depend_on_seed_purpose_and_identity() -> None:
    """A draw depends on seed, purpose and identity, and on nothing else."""
    drawn = draw(0, "random", b"a")
    others = [draw(1, "random", b"a"), draw(0, "split", b"a"), draw(0, "random", b"b")]
    assert drawn == draw(0, "random", b"a")
    assert drawn not in others


def test_draws_are_spread_evenly() -> None:
    """Of 4000 draws, about a quarter fall into each quarter of the range."""
    quarters = [draw(0, "random", b"%d" % n) >> 62 for n in range(4000)]
    assert all(900 < quarters.count(quarter) < 1100 for quarter in range(4))


def test_group_of_a_prompt() -> None:
    """A prefix and the prompt's digest, the same for text and chat."""
    group = "prompt:50b1a181856461bd0fbe1d0cbc82ef1c"
    assert group_of_prompt(digest_prompt("What is 2+2?")) == group
    chat = [{"role": "user", "content": "What is 2+2?"}]
    assert group_of_prompt(digest_prompt(chat)) == group


def test_nothing_else_is_a_digest() -> None:
    """Content is digested in one module only, with SHA-256; other uses of hashes are listed."""
    package = Path(prefpairs.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"xxhash|hashlib|crc32|\bmd5\b|\bhash\(", path.read_text(encoding="utf-8"))
    }
    assert users == {
        "engine/pairs/pairs_from_files.py",  # to find lines that changed since they were read
        "engine/runners/step_plan.py",  # the folder of a plan's steps
        "files/file_stamps.py",  # whole files
        "files/zip_reader.py",  # to check members of an archive
        "files/uploaded_file.py",  # to check uploads
        "files/staged_file.py",  # outputs, for the manifest
        "render/page/document.py",  # the page's content security policy
        "model/identity.py",
        "stages/digest_table.py",  # slots of a table that compares the whole digests
        "sources/generic_fast.py",  # the previous row's question, by SHA-256
        "sources/nemo_gym.py",
        "submit/platform_service.py",  # the same, for the other service
        "targets/ultrafeedback.py",  # the ID of a prompt, as in that data set
    }
