"""What makes two records the same, and the draws that depend on it.

The forms below are public interface, specified in docs/concepts.md and held by test vectors:
pair ids, samples and splits rest on them, so a change to any of them is a new identity version.
Digests are SHA-256 cut to 128 bits. What is hashed begins with its kind and a NUL, so no two
kinds of content have the same bytes.
"""

import re
from hashlib import sha256
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.model.canonical_json import canonical_json, is_deeper
from prefpairs.model.json_codec import DEEPEST, decode_counting, finite
from prefpairs.model.memory_guard import dumps
from prefpairs.model.message import Message, Text
from prefpairs.model.tool_calls import answered_calls, without_ids

IDENTITY_VERSION = 2
"""Version 1 (prefpairs 0.1) was xxh3, and did not know parts of content or results of calls."""

DIGEST = 16
"""The length of a digest, in bytes."""

NO_TOOLS = b""
BY_PROMPT = "prompt:"
"""How the group of candidates begins that nothing but their prompt holds together."""

_ROLE_AND_CONTENT = 2
_ODD_NUMBER = re.compile("NaN|Infinity|[0-9][eE]|[0-9]{300}")
"""How numbers are written that may be too large for a double."""
_ABSENT = bytes(DIGEST)


def digest(kind: str, content: bytes) -> bytes:
    """The digest of some bytes, unlike that of the same bytes of another kind."""
    return sha256(b"%b\0%b" % (kind.encode(), content)).digest()[:DIGEST]


def digest_prompt(prompt: Text) -> bytes:
    """The digest of a prompt; plain text counts as one user message.

    >>> digest_prompt("Hi") == digest_prompt([{"role": "user", "content": "Hi"}])
    True
    """
    if isinstance(prompt, str):
        return _digest(_said("user", prompt))
    return _digest_chat(prompt)


def digest_response(response: Text) -> bytes:
    """The digest of a response; plain text counts as one assistant message."""
    if isinstance(response, str):
        return _digest(_said("assistant", response))
    return _digest_chat(response)


def digest_turn(words: str, thoughts: str) -> bytes:
    """The digest of a response that is one turn of the model, without tools.

    >>> turn = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    >>> digest_turn("Hi", "hm") == digest_response([turn])
    True
    """
    if thoughts:
        return _digest(_thought("assistant", words, thoughts))
    return _digest(_said("assistant", words))


def digest_tools(tools: list[Any] | None) -> bytes:
    """The digest of tool schemas; no tools and an empty list are the same."""
    return digest("tools", canonical_json(tools)) if tools else NO_TOOLS


def digest_group(key: str, prompt: bytes, tools: bytes) -> bytes:
    """What candidates must share to compete: the prompt, the tools and the key."""
    return digest("group", b"%b%b%b" % (prompt, tools or _ABSENT, key.encode()))


def group_of_prompt(prompt: bytes) -> str:
    """The group of candidates whose source has no name for their task."""
    return f"{BY_PROMPT}{prompt.hex()}"


def pair_id(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> str:
    """The name of a pair: the same four contents, the same name, wherever they came from."""
    return digest_pair(prompt, tools, chosen, rejected).hex()


def digest_pair(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> bytes:
    """What the name of a pair spells out."""
    return digest("pair", b"%b%b%b%b" % (prompt, tools or _ABSENT, chosen, rejected))


def draw(seed: int, purpose: str, identity: bytes) -> int:
    """A uniform number below 2**64 that depends on what is drawn, and never on when.

    The purpose keeps one use of chance from steering another: a sample drawn with seed 0
    says nothing about a split with seed 0.

    >>> draw(0, "random", b"a") == draw(0, "random", b"a") != draw(0, "split", b"a")
    True
    """
    drawn = digest("draw", b"%d\0%b\0%b" % (seed, purpose.encode(), identity))
    return int.from_bytes(drawn[:8], "big")


def canonical(text: Text, plain_role: str) -> list[bytes]:
    """The bytes of each message that a digest sees: what makes two texts the same content.

    The order of keys, the white space in arguments and the ids of calls do not count.
    """
    if isinstance(text, str):
        return [_said(plain_role, text)]
    if not any(map(_binds_calls, text)):
        return [_canonical_message(message, message["content"], 0) for message in text]
    contents = without_ids([message["content"] for message in text])
    return list(map(_canonical_message, text, contents, answered_calls(text, keep_numbered=True)))


def _binds_calls(message: Message) -> bool:
    """Whether a message may have the id of a call that counts by its number."""
    return message["role"] == "tool" or type(message["content"]) is list


def _digest_chat(messages: list[Message]) -> bytes:
    """The digest of one message is that of the chat; of several, the digests are digested."""
    parts = canonical(messages, "")
    if len(parts) == 1:
        return _digest(parts[0])
    return digest("chat", b"".join(map(_digest, parts)))


def _digest(tagged: bytes) -> bytes:
    return sha256(tagged).digest()[:DIGEST]


def _said(role: str, words: str) -> bytes:
    """A message that is words alone."""
    return f"text\0{role}\0{words}".encode()


def _thought(role: str, words: str, thoughts: str) -> bytes:
    """A message of words and thinking."""
    return b"message\0" + dumps({"content": words, "reasoning": thoughts, "role": role})


def _canonical_message(message: Message, content: str | list[Any], answers: int | str) -> bytes:
    """A message of words alone as text; any other as an object that holds what it has."""
    if isinstance(content, str) and not answers and len(message) == _ROLE_AND_CONTENT:
        return _said(message["role"], content)
    told = {
        "answers": answers,
        "calls": [_called(call) for call in message.get("tool_calls") or ()],
        "name": message.get("name"),
        "reasoning": message.get("reasoning_content"),
    }
    told = {key: value for key, value in told.items() if value}
    if isinstance(content, str) and not told:
        return _said(message["role"], content)
    return b"message\0" + canonical_json({**told, "content": content, "role": message["role"]})


def _called(call: dict[str, Any]) -> list[Any]:
    """The name of a called function and its arguments; and the type, where it is another one."""
    called = [call["function"]["name"], _arguments(call["function"]["arguments"])]
    return called if call["type"] == "function" else [*called, call["type"]]


def _arguments(text: str) -> Any:
    """Arguments in a list as the JSON that they are, or the text itself where they are none.

    Text that cannot be read exactly is none: half an emoji, a number that no double holds.
    """
    try:
        value, replaced = decode_counting(text.encode())
    except NotJson:
        return text
    if replaced or (_ODD_NUMBER.search(text) and finite(value) != value):
        return text
    if text.count("[") + text.count("{") > DEEPEST and is_deeper(value, DEEPEST):
        return text
    return [value]
