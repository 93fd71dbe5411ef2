"""Pair: two answers to one prompt, of which one is preferred."""

import re
from typing import Any, NamedTuple

from prefpairs.errors import BadField
from prefpairs.model.candidate import Candidate, read_index, read_text, read_tools
from prefpairs.model.identity import (
    digest_prompt,
    digest_response,
    digest_tools,
    group_of_prompt,
    pair_id,
)
from prefpairs.model.json_codec import decode, encode, encode_line, encode_sorted, finite
from prefpairs.model.message import Text, as_chat
from prefpairs.model.number import LARGEST_SCORE, gap_between, read_score, round_score
from prefpairs.model.tool_calls import number_calls

OTHER_GROUP = "group_of_rejected"
"""The key in meta for the group of the rejected answer, if it is another one."""

POSITION = "answer_position"
"""The key in the meta of a candidate for its position among the answers of a row, from 0.

That is not its index: rows may repeat a question, and equal answers at the same position of two
rows are two rollouts.
"""

OTHER_PROMPT = "prompt_of_rejected"
"""The key in meta for the digest of the rejected answer's prompt, if it is another one."""

THEIR_ID = "source_id"
"""The key in meta for an id that another program gave."""

OF_PAIRS = ("rejected", "rejected_response", "rejected_messages", "preferred_output")
_RANKED = frozenset({"context", "completions"})
"""Columns that only pairs have, in any format: one of OF_PAIRS, or both of _RANKED."""

_DIGEST = re.compile("[0-9a-f]{32}")
_LEFT_OUT_IF_EMPTY = ("tools", "chosen_tokens", "rejected_tokens", "meta")


class Pair(NamedTuple):
    """Two answers to one prompt. The order of the fields is the order of keys in a line."""

    id: str
    group: str
    prompt: Text
    chosen: Text
    rejected: Text
    chosen_score: float | None
    rejected_score: float | None
    gap: float | None
    chosen_index: int | None
    rejected_index: int | None
    chosen_origin: str
    rejected_origin: str
    tools: list[Any] | None = None
    chosen_tokens: dict[str, Any] | None = None
    rejected_tokens: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None


_ALWAYS_THERE = Pair._fields[: -len(_LEFT_OUT_IF_EMPTY)]


def holds_pair(row: dict[str, Any]) -> bool:
    """Whether a row is a pair, in any format that can be read.

    >>> holds_pair({"chosen": "a", "rejected": "b"}), holds_pair({"prompt": "Q", "score": 1})
    (True, False)
    """
    return any(name in row for name in OF_PAIRS) or row.keys() >= _RANKED


class Digests(NamedTuple):
    """The digests of a pair's contents."""

    prompt: bytes
    tools: bytes
    chosen: bytes
    rejected: bytes


def digests_of(prompt: Text, tools: list[Any] | None, chosen: Text, rejected: Text) -> Digests:
    """The digests of the contents of a pair."""
    return Digests(
        digest_prompt(prompt),
        digest_tools(tools),
        digest_response(chosen),
        digest_response(rejected),
    )


def make_pair(
    chosen: Candidate, rejected: Candidate, digests: Digests | None = None, other: bytes = b""
) -> Pair:
    """The pair of two candidates, with the prompt of the chosen one; all text or all chat.

    If the `digests` of its contents are known, `other` is the digest of the rejected answer's
    prompt, if that is another one.

    >>> pair = make_pair(Candidate("g", "Q", "yes", 0.9), Candidate("g", "Q", "no", 0.8))
    >>> pair.chosen, pair.rejected, pair.gap
    ('yes', 'no', 0.1)
    """
    if digests is None:
        digests = digests_of(chosen.prompt, chosen.tools, chosen.response, rejected.response)
        other = digest_prompt(rejected.prompt)
    prompt, better, worse = one_form(chosen.prompt, chosen.response, rejected.response)
    return Pair(
        pair_id(*digests),
        chosen.group,
        prompt,
        better,
        worse,
        chosen.score,
        rejected.score,
        gap_between(chosen.score, rejected.score),
        _index_of(chosen),
        _index_of(rejected),
        chosen.origin,
        rejected.origin,
        chosen.tools,
        chosen.tokens,
        rejected.tokens,
        _joined_meta(chosen, rejected, b"" if other == digests.prompt else other),
    )


def pair_of(row: dict[str, Any]) -> tuple[Pair, Digests]:
    """The pair of a line's object, with the type of each field checked, and its digests.

    Only prompt, chosen and rejected are required: datasets of others have no more. The id and the
    gap are recomputed, since rows may have been edited. Fields that a pair does not have go into
    meta. Calls are numbered from the beginning of the prompt; an answer to another prompt keeps its
    ids, which refer to calls of that prompt.

    >>> pair, _ = pair_of({"prompt": "Q", "chosen": "yes", "rejected": "no", "model": "m"})
    >>> pair.gap, pair.meta
    (None, {'model': 'm'})
    """
    prompt = read_text(row.get("prompt"), "prompt")
    chosen, rejected = (_read_answer(row.get(side), side) for side in ("chosen", "rejected"))
    tools = read_tools(row.get("tools"), "tools")
    meta = _gathered_meta(row)
    if not (meta and meta.get(OTHER_PROMPT)):
        _, rejected = number_calls(prompt, rejected)
    prompt, chosen = number_calls(prompt, chosen)
    digests = digests_of(prompt, tools, chosen, rejected)
    prompt, chosen, rejected = one_form(prompt, chosen, rejected)
    better, worse = _number(row, "chosen_score"), _number(row, "rejected_score")
    known = better is not None and worse is not None
    pair = Pair(
        id=pair_id(*digests),
        group=_typed(row, "group", str, "text") or group_of_prompt(digests.prompt),
        prompt=prompt,
        chosen=chosen,
        rejected=rejected,
        chosen_score=better,
        rejected_score=worse,
        gap=gap_between(better, worse) if known else _number(row, "gap"),
        chosen_index=read_index(row.get("chosen_index"), "chosen_index"),
        rejected_index=read_index(row.get("rejected_index"), "rejected_index"),
        chosen_origin=_typed(row, "chosen_origin", str, "text") or "",
        rejected_origin=_typed(row, "rejected_origin", str, "text") or "",
        tools=tools,
        chosen_tokens=_typed(row, "chosen_tokens", dict, "an object"),
        rejected_tokens=_typed(row, "rejected_tokens", dict, "an object"),
        meta=meta,
    )
    return pair, digests


def pair_line(pair: Pair) -> bytes:
    """The pair as its line, newline included, without empty fields."""
    row = dict(zip(_ALWAYS_THERE, pair, strict=False))
    if any(others := pair[len(row) :]):
        named = zip(_LEFT_OUT_IF_EMPTY, others, strict=True)
        row |= {key: value for key, value in named if value}
    return encode_line(row)


def pair_of_line(line: bytes) -> Pair:
    """The pair of a line that is known to be what `pair_line` would write of it."""
    return Pair(**decode(line))


def without_scores(pair: Pair) -> Pair:
    """The pair of answers that have no scores."""
    return pair._replace(chosen_score=None, rejected_score=None, gap=None)


def fullest_first(pair: Pair) -> tuple[bool, bytes]:
    """A sort key for copies of a pair: those with tokens first, then by content."""
    return pair.chosen_tokens is None or pair.rejected_tokens is None, as_written(pair)


def without_origins(pair: Pair) -> bytes:
    """Everything in a pair except its origins, so that real copies are equal."""
    return encode_sorted(pair._replace(chosen_origin="", rejected_origin="")._asdict())


def as_written(pair: Pair) -> bytes:
    """A sort key for copies: their lines, since keys of meta may be in another order."""
    return encode(pair._replace(chosen_origin="", rejected_origin="")._asdict())


def other_prompt(pair: Pair) -> bytes:
    """The digest of the rejected answer's prompt if that is another one, else b""."""
    written = (pair.meta or {}).get(OTHER_PROMPT)
    if written is None:
        return b""
    if not isinstance(written, str) or not _DIGEST.fullmatch(written):
        raise BadField(f"meta.{OTHER_PROMPT}", written, "a digest of 32 hexadecimal digits")
    return bytes.fromhex(written)


def one_form(prompt: Text, chosen: Text, rejected: Text) -> tuple[Text, Text, Text]:
    """The three contents of a pair, all as text or all as chat."""
    if type(prompt) is type(chosen) is type(rejected):
        return prompt, chosen, rejected
    answers = as_chat(chosen, "assistant"), as_chat(rejected, "assistant")
    return as_chat(prompt, "user"), *answers


def _joined_meta(chosen: Candidate, rejected: Candidate, other: bytes) -> dict[str, Any] | None:
    """Values that both sides share once, others for each side; and another group or prompt."""
    if not (chosen.meta or rejected.meta or other) and chosen.group == rejected.group:
        return None
    ours, theirs = _own_meta(chosen), _own_meta(rejected)
    if ours == theirs and chosen.group == rejected.group and not other:
        return ours or None
    joined: dict[str, Any] = {}
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        if key in ours and key in theirs and ours[key] == theirs[key]:
            joined[key] = ours[key]
        else:
            joined[f"chosen_{key}"] = ours.get(key)
            joined[f"rejected_{key}"] = theirs.get(key)
    if chosen.group != rejected.group:
        joined[OTHER_GROUP] = rejected.group
    if other:
        joined[OTHER_PROMPT] = other.hex()
    return joined or None


def _index_of(candidate: Candidate) -> int | None:
    """The source's own number, or else the position among the answers of its row."""
    if candidate.index is not None or not candidate.meta:
        return candidate.index
    position = candidate.meta.get(POSITION)
    return position if isinstance(position, int) else None


def _own_meta(candidate: Candidate) -> dict[str, Any]:
    """The meta of a candidate, without keys that only pairs have."""
    if not candidate.meta:
        return {}
    meta = candidate.meta.items()
    return {key: value for key, value in meta if key not in (OTHER_GROUP, OTHER_PROMPT, POSITION)}


def _gathered_meta(row: dict[str, Any]) -> dict[str, Any] | None:
    """The row's meta, and every field of the row that pairs do not have."""
    meta = _typed(row, "meta", dict, "an object") or {}
    others = {key: value for key, value in row.items() if key not in Pair._fields}
    if row.get("id") is not None and not _DIGEST.fullmatch(str(row["id"])):
        others[THEIR_ID] = row["id"]
    if others:
        for key, value in others.items():
            if key in meta and meta[key] != value:
                raise BadField(key, value, f"what meta.{key} says")
        meta = {**meta, **others}
    return finite(meta) or None  # as it will be when it is read again


def _read_answer(value: Any, side: str) -> Text:
    """An answer, which must begin with the assistant: earlier messages belong in the prompt."""
    answer = read_text(value, side)
    if not isinstance(answer, str) and answer and answer[0]["role"] != "assistant":
        raise BadField(f"{side}.0.role", answer[0]["role"], "assistant: the answer alone")
    return answer


def _number(row: dict[str, Any], key: str) -> float | None:
    """A score or a gap, if there is one."""
    if row.get(key) is None:
        return None
    number = round_score(read_score(row[key], key))
    if not abs(number) <= LARGEST_SCORE:
        raise BadField(key, row[key], "a finite number")
    return number


def _typed(row: dict[str, Any], key: str, kind: type, expected: str) -> Any:
    value = row.get(key)
    if value is not None and not isinstance(value, kind):
        raise BadField(key, value, expected)
    return value or None
