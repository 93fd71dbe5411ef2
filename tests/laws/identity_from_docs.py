"""Identity implemented only from docs/concepts.md.

It shares no code with prefpairs.
"""

import hashlib
import json
import re
from math import isfinite
from typing import Any

Row = dict[str, Any]

SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
DEEPEST = 250


def hashed(tagged: bytes) -> bytes:
    """The first 16 bytes of the SHA-256."""
    return hashlib.sha256(tagged).digest()[:16]


def digest_of(text: str | list[Row], role: str) -> bytes:
    """The digest of a prompt or a response."""
    messages = [{"role": role, "content": text}] if isinstance(text, str) else text
    digests = list(map(hashed, messages_of(messages)))
    return digests[0] if len(digests) == 1 else hashed(b"chat\0" + b"".join(digests))


def messages_of(messages: list[Row]) -> list[bytes]:
    """The bytes of each message."""
    calls: list[Row] = []
    waiting: list[int] = []
    written = []
    used: list[Row] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = [part_of(part, used) for part in content]
        called = message.get("tool_calls") or []
        waiting += range(len(calls) + 1, len(calls) + len(called) + 1)
        calls += called
        answers = None
        if message["role"] == "tool" and not called:
            answers = answered(message, calls, waiting)
            waiting = [number for number in waiting if number != answers]
        written.append(message_of({**message, "content": content}, called, answers))
    return written


def part_of(part: Row, used: list[Row]) -> Row:
    """A part with numbers as IDs; `used` are the calls in parts so far, open or not."""
    if part["type"].endswith("tool_use"):
        used.append({"id": part.get("id"), "open": True})
        return {key: value for key, value in part.items() if key != "id"}
    given = part.get("tool_use_id")
    if given and isinstance(given, str):
        same = [call for call in used if call["id"] == given]
        still = [call for call in used if call["open"]]
        found = [*(call for call in same if call["open"]), *same[-1:], *still][:1]
        part = {key: value for key, value in part.items() if key != "tool_use_id"}
        for call in found:
            call["open"] = False
            part["tool_use_id"] = next(n for n, one in enumerate(used, 1) if one is call)
    return part


def answered(message: Row, calls: list[Row], waiting: list[int]) -> int | str | None:
    """The number of the call that a result answers."""
    given, name = message.get("tool_call_id") or "", message.get("name")
    if not given and name:
        for number in waiting:
            if calls[number - 1]["function"]["name"] == name:
                return number
    for number in waiting:
        if calls[number - 1]["id"] == given:
            return number
    for number in range(len(calls), 0, -1):
        if given and calls[number - 1]["id"] == given:
            return number
    if re.fullmatch("call_[1-9][0-9]{0,5}", given):
        return str(given)
    return waiting[0] if waiting else None


def message_of(message: Row, called: list[Row], answers: int | str | None) -> bytes:
    """The bytes of one message."""
    others = {
        "reasoning": message.get("reasoning_content"),
        "name": message.get("name"),
        "calls": [call_of(call) for call in called],
        "answers": answers,
    }
    others = {key: value for key, value in others.items() if value}
    role, content = message["role"], message["content"]
    if isinstance(content, str) and not others:
        return f"text\0{role}\0{content}".encode()
    return b"message\0" + canonical({**others, "role": role, "content": content}).encode()


def call_of(call: Row) -> list[Any]:
    """A call as the list that represents it."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    kind = [] if call["type"] == "function" else [call["type"]]
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return [name, arguments, *kind]
    return [name, [value] if is_exact(value, 0) else arguments, *kind]


def is_exact(value: Any, depth: int) -> bool:
    """Whether a value is within the limits."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, str):
        return not re.search("[\ud800-\udfff]", value)
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        return depth < DEEPEST and all(is_exact(item, depth + 1) for item in value)
    return True


def canonical(value: Any) -> str:
    """Canonical JSON."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{"".join(map(escaped, value))}"'
    if isinstance(value, list):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value))
            + "}"
        )
    digits, exponent, power = repr(value).partition("e")
    return f"{digits}e{int(power)}" if exponent else digits


def escaped(character: str) -> str:
    """A character as written in a JSON string."""
    if character in SHORT:
        return SHORT[character]
    return f"\\u{ord(character):04x}" if character < " " else character
