"""What a source makes of a row: a candidate (one scored answer to one prompt) or a trace."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from prefpairs.errors import BadField, NotJson
from prefpairs.model.json_codec import decode, encode_line
from prefpairs.model.message import Message, Text, is_messages, read_messages
from prefpairs.model.number import read_score

LARGEST_INDEX = 2**63 - 1
TOKENS_END = 2**31
"""No vocabulary is that large, and smaller ids fit into a Parquet column."""


EXTRACTED = "candidate.reference"
"""What stands for the column of a reference that was read from a candidate's line."""

Reference = tuple[str, Any]
"""A reference answer, after the name of its column."""


class Candidate(NamedTuple):
    """One scored answer to one prompt. The order of the fields is the order of keys in a line."""

    group: str
    prompt: Text
    response: Text
    score: float
    index: int | None = None  # type: ignore[assignment]  # hides tuple.index, which is not needed
    origin: str = ""
    tools: list[Any] | None = None
    tokens: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    reference: Reference | None = None
    """The right answer of its row, if it could tell apart tasks with the same prompt."""


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """The candidate as the object of its line, without empty fields.

    >>> list(candidate_row(Candidate("g", "Hi", "Ho", 1.0)))
    ['group', 'prompt', 'response', 'score', 'index', 'origin']
    """
    row = candidate._asdict()
    for key in ("tools", "tokens", "meta", "reference"):
        if not row[key]:
            del row[key]
    if candidate.reference is not None:
        _, row["reference"] = candidate.reference
    return row


def candidate_line(candidate: Candidate) -> bytes:
    """The candidate as its line, newline included."""
    return encode_line(candidate_row(candidate))


def candidate_of(row: dict[str, Any], *, cast_score: bool = False) -> Candidate:
    """The candidate of a line's object, with the type of each field checked."""
    return Candidate(
        group=_typed(row, "group", str, "text"),
        prompt=read_text(row.get("prompt"), "prompt"),
        response=read_text(row.get("response"), "response"),
        score=read_score(row.get("score"), "score", cast=cast_score),
        index=read_index(row.get("index"), "index"),
        origin=_typed(row, "origin", str, "text") if row.get("origin") is not None else "",
        tools=read_tools(row.get("tools"), "tools"),
        tokens=_optional(row, "tokens", dict, "an object"),
        meta=_optional(row, "meta", dict, "an object"),
        reference=None if (known := row.get("reference")) is None else (EXTRACTED, known),
    )


def read_text(value: Any, field: str) -> Text:
    """A prompt or a response: plain text, or a chat."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return read_messages(value, field)
    raise BadField(field, value, "text or a list of messages")


def chat_in(value: Any) -> list[Any] | None:
    """The chat in a text of JSON, as tables often store it."""
    if not (isinstance(value, str) and value.lstrip().startswith("[")):
        return None
    try:
        chat = decode(value.encode())
    except (NotJson, UnicodeEncodeError):
        return None
    return chat if is_messages(chat) else None


def read_tools(value: Any, field: str) -> list[Any] | None:
    """Tool schemas: a list of objects, or its JSON text, as datasets often store it.

    Each schema may be JSON text, too. Empty text means no tools.
    """
    value = _from_text(value, field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise BadField(field, value, "a list of tool schemas")
    tools = [_from_text(tool, field) for tool in value]
    if not all(isinstance(tool, dict) for tool in tools):
        raise BadField(field, value, "a list of tool schemas")
    return tools or None


def _from_text(value: Any, field: str) -> Any:
    """A value, or what its text says if it is JSON text."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return decode(value.encode())
    except (NotJson, UnicodeEncodeError):
        raise BadField(field, value, "a list of tool schemas") from None


def read_index(value: Any, field: str) -> int | None:
    """The source's own number for a candidate, if it has one."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():  # as pandas writes a column with gaps
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INDEX:
        return value
    raise BadField(field, value, "an integer of at most 64 bits")


def _typed(row: dict[str, Any], key: str, kind: type, expected: str) -> Any:
    value = row.get(key)
    if not isinstance(value, kind):
        raise BadField(key, value, expected)
    return value


def _optional(row: dict[str, Any], key: str, kind: type, expected: str) -> Any:
    return (_typed(row, key, kind, expected) or None) if row.get(key) is not None else None


class ToolError(NamedTuple):
    """An error of a tool call, and the turn in which the model recovers from it, if any."""

    error: Any
    details: Any
    recovery: int | None


class Trace(NamedTuple):
    """A trace as it was read. `replaced` counts broken characters that were replaced."""

    turns: list[Message]
    tools: list[Any] | None
    errors: list[ToolError]
    reward: float | None
    trace_id: Any
    replaced: int
    pairs: Sequence[Any] = ()
    """The pairs that it holds, if they were asked for, and why others cannot be used."""
    pairs_lost: Sequence[str] = ()
