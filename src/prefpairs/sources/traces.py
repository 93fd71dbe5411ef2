"""Traces of agents: the turns of one run, its reward, and pairs found in it.

A trace is one candidate of its task. It may also contain pairs of two kinds: embedded pairs
(`dpo_pairs`), and recoveries, where an assistant turn corrects the error of the one before it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.ready_pair import add_pair
from prefpairs.fields.row_outcome import RowOutcome, begin_row, expect_object
from prefpairs.model.candidate import ToolError, Trace, read_text, read_tools
from prefpairs.model.content import MEDIA, parts_of
from prefpairs.model.identity import canonical_json, digest_prompt, group_of_prompt
from prefpairs.model.json_codec import decode_counting, decode_object, encode, finite
from prefpairs.model.message import Message, Text, as_chat, read_message
from prefpairs.model.number import read_score, round_score
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.question_columns import HISTORY, SYSTEM, UNCERTAIN
from prefpairs.model.tool_calls import number_calls
from prefpairs.sources.base import RecordReader, Source

_BESIDE = tuple(dict.fromkeys((*SYSTEM, *HISTORY, *UNCERTAIN, *MEDIA)))
"""The fields of a trace, in addition to its turns, that are part of the question."""

_OF_TRACES = frozenset({"final_reward", "dpo_pairs", "trace_id"})


def looks_like(record: bytes) -> bool:
    """Whether a record is a trace: it has turns, and a field that only traces have."""
    row = decode_object(record)
    if row is None or not isinstance(row.get("turns"), list):
        return False
    turns = [turn for turn in row["turns"] if isinstance(turn, dict)]
    return not _OF_TRACES.isdisjoint(row) or any("tool_error" in turn for turn in turns)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the traces of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def turns_of(row: dict[str, Any]) -> list[Message]:
    """The turns of a trace as messages; `tool_call` becomes `tool_calls`."""
    given = row.get("turns")
    if not isinstance(given, list):
        raise BadField("turns", given, "a list of turns")
    return [_message(turn, f"turns.{place}") for place, turn in enumerate(given)]


def recoveries(row: dict[str, Any], turns: list[Message]) -> Iterator[tuple[int, int | None]]:
    """The place of each `tool_error`, and of the turn that recovers from it, if one does.

    On an assistant turn, the field marks the recovery itself; on any other turn, the model's next
    turn recovers. Several errors may share a recovery, which is listed once.
    """
    told: set[int] = set()
    for place, turn in enumerate(row["turns"]):
        error = turn.get("tool_error")
        if not error or (isinstance(error, str) and not error.strip()):
            continue
        mending = _spoken(turns, range(place, len(turns)))
        if mending not in told:
            yield place, mending
        if mending is not None:
            told.add(mending)


def read_trace(record: bytes, score: str | None, with_pairs: bool) -> Trace:
    """The trace of a row, with its reward in a field, and with the pairs that it holds."""
    value, replaced = decode_counting(record)
    row = expect_object(value)
    turns = turns_of(row)
    given = row["turns"]
    told = as_chat(whole(row, turns), "user")
    before = len(told) - len(turns)
    errors = [
        ToolError(
            given[place]["tool_error"],
            given[place].get("error_meta"),
            None if mending is None else before + mending,
        )
        for place, mending in recoveries(row, turns)
    ]
    field = score or "final_reward"
    found = look_up(row, field)
    reward = None if found is MISSING else found
    if isinstance(reward, str):
        raise BadField(field, reward, "a JSON number")
    held = RowOutcome()
    for place, pair in enumerate(_pairs_of(row) if with_pairs else []):
        sides = _sides(_trace(row, turns), _embedded(row, pair, place))
        add_pair(*sides, ReadOptions(), "", held)
    return Trace(
        told,
        read_tools(row.get("tools"), "tools"),
        errors,
        None if reward is None else round_score(read_score(reward, field)),
        row.get("trace_id"),
        replaced,
        held.pairs,
        held.pairs_lost,
    )


def _spoken(turns: list[Message], places: range) -> int | None:
    """The first of these places at which the model speaks."""
    return next((place for place in places if turns[place]["role"] == "assistant"), None)


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    turns = turns_of(row)
    trace = _trace(row, turns)
    add_candidate(trace, options, label, reading)
    embedded = [_embedded(row, pair, place) for place, pair in enumerate(_pairs_of(row))]
    known = []
    for given in embedded:
        kept = len(reading.pairs)
        add_pair(*_sides(trace, given), options, label, reading)
        if len(reading.pairs) > kept:
            known.append(tuple(map(_words, given[1:])))
    for found in _recovered(row, turns):
        if found is None:
            reading.pairs_lost.append("no_recovery")
            continue
        if tuple(map(_words, found[1:])) in known:
            reading.pairs_lost.append("ready_twice")
        else:
            add_pair(*_sides(trace, found), options, label, reading)
    return reading


Ready = tuple[dict[str, Any], Text, Text | None, Text | None]
"""A pair found in a trace: its meta, the state before it, and both answers."""


def _trace(row: dict[str, Any], turns: list[Message]) -> Answer:
    """The whole trace as one answer to its first question."""
    spoken = _spoken(turns, range(len(turns)))
    start = len(turns) if spoken is None else spoken
    prompt, _ = number_calls(whole(row, turns[:start]), "")
    task = row.get("task_id")
    known = group_of_prompt(digest_prompt(prompt)) if task is None else None
    return Answer(
        row=row,
        prompt=prompt,
        response=turns[start:],
        scores=[("final_reward", 1.0, row.get("final_reward"))],
        group=known or canonical_json([task]).decode(),
        tools=read_tools(row.get("tools"), "tools"),
        meta=None if row.get("trace_id") is None else {"trace_id": _plain(row["trace_id"])},
    )


def whole(row: dict[str, Any], asked: Text) -> Text:
    """The prompt, after a system message made from the other fields of the question.

    A system message with which the turns begin is not repeated.
    """
    turns = as_chat(asked, "user")
    begins = turns[0]["content"] if turns and turns[0]["role"] == "system" else ""
    beside = {key: row[key] for key in _BESIDE if row.get(key) and row[key] != begins}
    if not (turns and beside):
        return asked
    words = [value for key, value in beside.items() if key in SYSTEM and isinstance(value, str)]
    if not begins and len(words) == len(beside) and len(set(words)) == 1:
        return [{"role": "system", "content": words[0]}, *turns]
    parts = [part for key, value in beside.items() for part in parts_of(key, value)]
    return [{"role": "system", "content": parts}, *turns]


def _sides(trace: Answer, pair: Ready) -> tuple[Answer, Answer]:
    """Both answers of a pair, as answers of their trace."""
    meta, state, chosen, rejected = pair
    better = trace._replace(prompt=state, response=chosen, meta={**(trace.meta or {}), **meta})
    return better, better._replace(response=rejected)


def _pairs_of(row: dict[str, Any]) -> list[Any]:
    pairs = row.get("dpo_pairs")
    if pairs is None:
        return []
    if not isinstance(pairs, list):
        raise BadField("dpo_pairs", pairs, "a list of pairs")
    return pairs


def _embedded(row: dict[str, Any], pair: Any, place: int) -> Ready:
    field = f"dpo_pairs.{place}"
    if not isinstance(pair, dict):
        raise BadField(field, pair, "a pair")
    state, chosen, rejected = (
        None if pair.get(name) is None else read_text(pair[name], f"{field}.{name}")
        for name in ("state_messages", "chosen", "rejected")
    )
    return {"dpo_pair": place + 1}, whole(row, state or []), chosen, rejected


def _recovered(row: dict[str, Any], turns: list[Message]) -> Iterator[Ready | None]:
    """The recoveries of a trace, each paired with the model's turn before it; None without one."""
    for place, mending in recoveries(row, turns):
        wrong = None if mending is None else _spoken(turns, range(mending - 1, -1, -1))
        if mending is None or wrong is None:
            yield None
            continue
        error = _plain(row["turns"][place]["tool_error"])
        meta = {"recovery_turn": mending + 1, "tool_error": error}
        yield meta, whole(row, turns[:wrong]), [turns[mending]], [turns[wrong]]


def _plain(value: Any) -> Any:
    """A plain value as it is, anything else as JSON."""
    return encode(value).decode() if isinstance(value, (dict, list)) else finite(value)


def _words(text: Text | None) -> list[Any]:
    """Roles and contents alone: embedded pairs have no tool calls that could differ."""
    return [(turn["role"], turn["content"]) for turn in as_chat(text or "", "assistant")]


def _message(turn: Any, field: str) -> Message:
    if not isinstance(turn, dict):
        raise BadField(field, turn, "a turn")
    turn = {"role": "assistant", **turn}  # as the collator reads a turn without a role
    call = turn.get("tool_call")
    if call and not turn.get("tool_calls"):
        turn["tool_calls"] = [call]
    return read_message(turn, field)


SOURCE = Source(looks_like=looks_like, open_reader=open_reader, read_trace=read_trace)
