"""What makes two records the same, and the draws that hang on it.

The forms below are public interface: pair ids, samples and splits rest on them, so a change
to any of them is a new major version. xxh3 (128 bits) is fast and stable over platforms and
releases; it does not stop a forger, so whoever acts on equal digests compares the contents.
"""

from typing import Any

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from prefpairs.errors import NotJson
from prefpairs.records.message import Message, Text
from prefpairs.records.wire import decode, encode, encode_sorted

NO_TOOLS = b""
_ROLE_AND_CONTENT = ("role", "content")
BY_PROMPT = "prompt:"
"""How the group of candidates begins that nothing but their prompt holds together."""


def digest_prompt(prompt: Text) -> bytes:
    """The digest of a prompt; plain text counts as one user message.

    >>> digest_prompt("Hi") == digest_prompt([{"role": "user", "content": "Hi"}])
    True
    """
    if isinstance(prompt, str):
        return xxh3_128_digest(f"user\0{prompt}".encode())
    return _digest_chat(prompt)


def digest_response(response: Text) -> bytes:
    """The digest of a response; plain text counts as one assistant message."""
    if isinstance(response, str):
        return xxh3_128_digest(f"assistant\0{response}".encode())
    return _digest_chat(response)


def digest_turn(words: str, thoughts: str) -> bytes:
    """The digest of a response that is one turn of the model, without tools.

    >>> turn = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    >>> digest_turn("Hi", "hm") == digest_response([turn])
    True
    """
    if thoughts:
        return xxh3_128_digest(encode(["assistant", words, thoughts, "", []]))
    return xxh3_128_digest(f"assistant\0{words}".encode())


def digest_tools(tools: list[Any] | None) -> bytes:
    """The digest of tool schemas; no tools and an empty list are the same."""
    return xxh3_128_digest(encode_sorted(tools)) if tools else NO_TOOLS


def canonical(text: Text, plain_role: str) -> list[bytes]:
    """The bytes that a digest sees, a message each: what makes two texts the same content.

    Order of argument keys, call ids and white space inside arguments do not count.
    """
    if isinstance(text, str):
        return [f"{plain_role}\0{text}".encode()]
    return [_canonical_message(message) for message in text]


def digest_group(key: str, prompt: bytes, tools: bytes) -> bytes:
    """What candidates must share to compete: the key, the prompt and the tools."""
    return xxh3_128_digest(b"\0".join((key.encode(), prompt, tools)))


def group_of_prompt(prompt: bytes) -> str:
    """The group of candidates whose source has no name for their task."""
    return f"{BY_PROMPT}{prompt.hex()[:16]}"


def pair_id(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> str:
    """The name of a pair: the same four contents, the same name, wherever they came from."""
    return digest_pair(prompt, tools, chosen, rejected).hex()


def digest_pair(prompt: bytes, tools: bytes, chosen: bytes, rejected: bytes) -> bytes:
    """What the name of a pair spells out."""
    return xxh3_128_digest(b"\0".join((prompt, tools, chosen, rejected)))


def draw(seed: int, purpose: str, identity: bytes) -> int:
    """A uniform number below 2**64 that hangs on who is drawn, never on when.

    The purpose keeps one use of chance from steering another: a sample drawn with seed 0
    says nothing about a split with seed 0.

    >>> draw(0, "random", b"a") == draw(0, "random", b"a") != draw(0, "split", b"a")
    True
    """
    return xxh3_64_intdigest(b"\0".join((str(seed).encode(), purpose.encode(), identity)))


def _digest_chat(messages: list[Message]) -> bytes:
    """One message is digested as it is; of several, their digests are."""
    if len(messages) == 1:
        return xxh3_128_digest(_canonical_message(messages[0]))
    digests = [xxh3_128_digest(_canonical_message(message)) for message in messages]
    return xxh3_128_digest(b"".join(digests))


def _canonical_message(message: Message) -> bytes:
    """A plain message as role, NUL, text; any other as JSON, which never starts like a role."""
    content = message["content"]
    plain = isinstance(content, str)
    if plain and len(message) == len(_ROLE_AND_CONTENT):
        return f"{message['role']}\0{content}".encode()
    reasoning = message.get("reasoning_content") or ""
    if plain and reasoning and len(message) == len(_ROLE_AND_CONTENT) + 1:
        return encode([message["role"], content, reasoning, "", []])
    calls = message.get("tool_calls") or []
    name = message.get("name") or ""
    if not (reasoning or calls or name) and isinstance(content, str):
        return f"{message['role']}\0{content}".encode()
    called = [[call["function"]["name"], _arguments(call)] for call in calls]
    return encode_sorted([message["role"], content, reasoning, name, called])


def _arguments(call: dict[str, Any]) -> Any:
    """Arguments as the JSON they are, or the text itself where the model wrote no JSON."""
    text: str = call["function"]["arguments"]
    try:
        return [decode(text.encode())]
    except NotJson:
        return text
