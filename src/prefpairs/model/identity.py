"""What makes two records the same, and random draws that depend on it.

The byte formats below are public interface, specified in docs/concepts.md and fixed by test
vectors. Pair ids, samples and splits depend on them, so any change is a new identity version.
Digests are SHA-256, truncated to 128 bits. Hashed bytes begin with their kind and a NUL, so that
contents of different kinds never have the same bytes.
"""

import re
import sys
from array import array
from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec
import orjson

from prefpairs.errors import NotJson
from prefpairs.model.json_codec import DEEPEST, decode_counting, finite
from prefpairs.model.memory_guard import CHECKED_FROM, dumps
from prefpairs.model.message import Message, Text
from prefpairs.model.tool_calls import answered_calls, without_ids

IDENTITY_VERSION = 2
"""Version 1 (prefpairs 0.1) used xxh3, and ignored parts of content and results of calls."""

DIGEST = 16
"""The length of a digest, in bytes."""

_DRAW = 8
"""The bytes of a digest that make a draw."""

NO_TOOLS = b""
BY_PROMPT = "prompt:"
"""How a group key begins if the candidates have only their prompt in common."""

_ROLE_AND_CONTENT = 2
_TURN = {"role", "content", "reasoning_content"}
"""The keys of most answers, whose digest takes half the time."""
_ODD_NUMBER = re.compile("NaN|Infinity|[0-9][eE]|[0-9]{300}")
"""What numbers that may be too large for a double contain."""
_ABSENT = bytes(DIGEST)

_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16
"""Numbers whose absolute value is between these are written without an exponent."""


def digest(kind: str, content: bytes) -> bytes:
    """The digest of bytes of some kind; the same bytes of another kind have another digest."""
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
    if len(response) == 1 and response[0].keys() <= _TURN and response[0]["role"] == "assistant":
        words = response[0]["content"]
        if isinstance(words, str):
            return digest_turn(words, response[0].get("reasoning_content") or "")
    return _digest_chat(response)


def digest_turn(words: str, thoughts: str) -> bytes:
    """The digest of a response of one assistant message without tool calls.

    >>> turn = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    >>> digest_turn("Hi", "hm") == digest_response([turn])
    True
    """
    if thoughts:
        turn = {"content": words, "reasoning": thoughts, "role": "assistant"}
        return _digest(b"message\0" + dumps(turn))
    return _digest(_said("assistant", words))


def digest_tools(tools: list[Any] | None) -> bytes:
    """The digest of tool schemas. No tools and an empty list are the same."""
    return digest("tools", canonical_json(tools)) if tools else NO_TOOLS


def digest_group(key: str, prompt: bytes, tools: bytes) -> bytes:
    """What candidates must have in common to be paired: prompt, tools and key."""
    return digest("group", b"%b%b%b" % (prompt, tools or _ABSENT, key.encode()))


def group_of_prompt(prompt: bytes) -> str:
    """The group of candidates whose source does not name their task."""
    return f"{BY_PROMPT}{prompt.hex()}"


def pair_id(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> str:
    """The id of a pair, which depends on these four contents only, not on where they came from."""
    return digest_pair(prompt, tools, chosen, rejected).hex()


def digest_pair(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> bytes:
    """The id of a pair as bytes."""
    return digest("pair", b"%b%b%b%b" % (prompt, tools or _ABSENT, chosen, rejected))


def digest_pairs(*contents: bytes | bytearray) -> bytes:
    """The ids of many pairs, whose prompts, tools, chosen and rejected follow each other."""
    slots = (slice(at, at + DIGEST) for at in range(0, len(contents[0]), DIGEST))
    pairs = (b"".join([content[slot] for content in contents]) for slot in slots)
    return b"".join([sha256(b"pair\0" + pair).digest()[:DIGEST] for pair in pairs])


def draw(seed: int, purpose: str, identity: bytes) -> int:
    """A uniform number below 2**64 that depends on what is drawn, never on when.

    The purpose makes draws independent: a sample drawn with seed 0 says nothing about a split
    with seed 0.

    >>> draw(0, "random", b"a") == draw(0, "random", b"a") != draw(0, "split", b"a")
    True
    """
    drawn = digest("draw", b"%d\0%b\0%b" % (seed, purpose.encode(), identity))
    return int.from_bytes(drawn[:_DRAW], "big")


def draws(seed: int, purpose: str, digests: bytes | bytearray) -> "array[int]":
    """The draws of many digests, which follow each other."""
    head = b"draw\0%d\0%b\0" % (seed, purpose.encode())
    each = [head + digests[at : at + DIGEST] for at in range(0, len(digests), DIGEST)]
    drawn = array("Q", b"".join([sha256(one).digest()[:_DRAW] for one in each]))
    if sys.byteorder == "little":
        drawn.byteswap()
    return drawn


def canonical(text: Text, plain_role: str) -> list[bytes]:
    """The bytes of each message from which digests are computed.

    The order of keys, whitespace in arguments and the ids of calls make no difference.
    """
    if isinstance(text, str):
        return [_said(plain_role, text)]
    if not any(map(_binds_calls, text)):
        return [_canonical_message(message, message["content"], 0) for message in text]
    contents: list[str | list[Any]] = [message["content"] for message in text]
    if any(type(content) is list for content in contents):
        contents = without_ids(contents)
    return list(map(_canonical_message, text, contents, answered_calls(text, keep_numbered=True)))


def _binds_calls(message: Message) -> bool:
    """Whether a message may refer to a call, which counts by its number and not by its id."""
    return message["role"] == "tool" or type(message["content"]) is list


def _digest_chat(messages: list[Message]) -> bytes:
    """The digest of a chat: of its only message, or of the digests of all its messages."""
    parts = canonical(messages, "")
    if len(parts) == 1:
        return _digest(parts[0])
    return digest("chat", b"".join(map(_digest, parts)))


def _digest(tagged: bytes) -> bytes:
    return sha256(tagged).digest()[:DIGEST]


def _said(role: str, words: str) -> bytes:
    """A message with text only."""
    return f"text\0{role}\0{words}".encode()


def _canonical_message(message: Message, content: str | list[Any], answers: int | str) -> bytes:
    """A message with text only as text, any other as an object of what it has."""
    if isinstance(content, str) and not answers and len(message) == _ROLE_AND_CONTENT:
        return _said(message["role"], content)
    write = _sorted_json if isinstance(content, str) else canonical_json
    calls = []
    for call in message.get("tool_calls") or ():
        function, kind = call["function"], call["type"]
        arguments, plain = _arguments(function["arguments"])
        calls.append([function["name"], arguments, *([] if kind == "function" else [kind])])
        write = write if plain else canonical_json
    others = {
        "answers": answers,
        "calls": calls,
        "name": message.get("name"),
        "reasoning": message.get("reasoning_content"),
    }
    others = {key: value for key, value in others.items() if value}
    if isinstance(content, str) and not others:
        return _said(message["role"], content)
    return b"message\0" + write({**others, "content": content, "role": message["role"]})


def _arguments(text: str) -> tuple[Any, bool]:
    """The arguments of a call, and whether none of their numbers needs an exponent.

    They are their value in a list, or the text itself if it is not JSON. Text that cannot be read
    exactly does not count as JSON: a lone surrogate, a number that is too large for a double.
    """
    shallow = text.count("[") + text.count("{") <= DEEPEST
    if shallow and len(text) <= CHECKED_FROM:
        try:
            return [_value_of(text)], True
        except (ValueError, msgspec.DecodeError):  # which is a ValueError in later releases
            pass
    try:
        value, replaced = decode_counting(text.encode())
    except NotJson:
        return text, True
    if replaced or (_ODD_NUMBER.search(text) and finite(value) != value):
        return text, True
    return (text, True) if not shallow and is_deeper(value, DEEPEST) else ([value], False)


def _plain_number(text: str) -> float:
    """The number of a text; ValueError if it needs an exponent."""
    number = float(text)
    if _is_exponent_needed(number):
        raise ValueError
    return number


_value_of = msgspec.json.Decoder(float_hook=_plain_number).decode


def canonical_json(value: Any) -> bytes:
    """A value as JSON: no whitespace, keys sorted by code point, shortest numbers.

    Digests of structures are computed from it. NaN and the infinities are null. orjson writes
    nearly all values this way. Its releases disagree about numbers with an exponent, and it rejects
    integers above 64 bits.

    >>> canonical_json({"b": [1e22, 2**70], "a": 1.50})
    b'{"a":1.5,"b":[1e22,1180591620717411303424]}'
    """
    return _canonical_text(value).encode() if _needs_exponent(value) else _sorted_json(value)


def _sorted_json(value: Any) -> bytes:
    """The canonical JSON of a value in which no number needs an exponent."""
    try:
        return dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a large integer, or deep nesting
        return _canonical_text(value).encode()


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested more than `levels` deep.

    >>> is_deeper([[{}]], 3), is_deeper([[{}]], 2)
    (False, True)
    """
    level = [value]
    for _ in range(levels + 1):
        nested = [one for one in level if isinstance(one, (dict, list))]
        if not nested:
            return False
        level = [child for one in nested for child in _children(one)]
    return True


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _needs_exponent(value: Any) -> bool:
    left = [value]
    while left:
        one = left.pop()
        kind = type(one)
        if kind is dict:
            left += one.values()
        elif kind is list:
            left += one
        elif kind is float and _is_exponent_needed(one):
            return True
    return False


def _is_exponent_needed(number: float) -> bool:
    return number != 0 and not _PLAIN_FROM <= abs(number) < _PLAIN_BELOW


def _canonical_text(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_canonical_text(key)}:{_canonical_text(value[key])}" for key in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_canonical_text, value))}]"
    if isinstance(value, float) and isfinite(value):
        digits, exponent, power = repr(value).partition("e")
        return f"{digits}e{int(power)}" if exponent else digits
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return dumps(value).decode()
