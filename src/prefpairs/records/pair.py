"""Pair: two answers to one prompt, of which one is preferred."""

from typing import Any, NamedTuple

from prefpairs.records.candidate import Candidate
from prefpairs.records.identity import digest_prompt, digest_response, digest_tools, pair_id
from prefpairs.records.message import Text, as_chat
from prefpairs.records.number import gap_between
from prefpairs.records.wire import encode


class Pair(NamedTuple):
    """Two answers to one prompt. The order of the fields is the order on the wire."""

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


def make_pair(chosen: Candidate, rejected: Candidate) -> Pair:
    """The pair of two candidates; the prompt is the chosen one's; all text, or all chat.

    >>> pair = make_pair(Candidate("g", "Q", "yes", 0.9), Candidate("g", "Q", "no", 0.8))
    >>> pair.chosen, pair.rejected, pair.gap
    ('yes', 'no', 0.1)
    """
    identity = pair_id(
        digest_prompt(chosen.prompt),
        digest_tools(chosen.tools),
        digest_response(chosen.response),
        digest_response(rejected.response),
    )
    prompt, better, worse = chosen.prompt, chosen.response, rejected.response
    if not all(isinstance(text, str) for text in (prompt, better, worse)):
        prompt = as_chat(prompt, "user")
        better, worse = as_chat(better, "assistant"), as_chat(worse, "assistant")
    return Pair(
        id=identity,
        group=chosen.group,
        prompt=prompt,
        chosen=better,
        rejected=worse,
        chosen_score=chosen.score,
        rejected_score=rejected.score,
        gap=gap_between(chosen.score, rejected.score),
        chosen_index=chosen.index,
        rejected_index=rejected.index,
        chosen_origin=chosen.origin,
        rejected_origin=rejected.origin,
        tools=chosen.tools,
        chosen_tokens=chosen.tokens,
        rejected_tokens=rejected.tokens,
        meta=_joined_meta(chosen, rejected),
    )


def pair_line(pair: Pair) -> bytes:
    """The pair as its line, newline included; what it does not have is left out."""
    row = pair._asdict()
    for key in ("tools", "chosen_tokens", "rejected_tokens", "meta"):
        if not row[key]:
            del row[key]
    return encode(row) + b"\n"


def _joined_meta(chosen: Candidate, rejected: Candidate) -> dict[str, Any] | None:
    """What both sides share stands once, what differs once a side; other groups are named."""
    ours, theirs = chosen.meta or {}, rejected.meta or {}
    joined: dict[str, Any] = {}
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        if key in ours and key in theirs and ours[key] == theirs[key]:
            joined[key] = ours[key]
        else:
            joined[f"chosen_{key}"] = ours.get(key)
            joined[f"rejected_{key}"] = theirs.get(key)
    if chosen.group != rejected.group:
        joined["rejected_group"] = rejected.group
    return joined or None
