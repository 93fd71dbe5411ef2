"""SkyRL: a line of `dumped_evals/*/<data source>.jsonl` is a rollout of an evaluation.

Texts are rendered, with special tokens, and no row names its task: `env_extras` stands for it.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.rendered_turns import conversation, note_on_prompts, turns_in
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, check_end
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import RENDERED
from prefpairs.model.number import read_score
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_LIMITS = frozenset({"max_turns", "context_length", "timeout", "agent_timeout"})
"""Reasons to stop that are no finish reasons of a server."""


def looks_like(record: bytes) -> bool:
    """Whether a record is a rollout: its texts, its score and its environment."""
    row = decode_object(record)
    return row is not None and row.keys() >= {
        "env_class",
        "input_prompt",
        "output_response",
        "score",
    }


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rollouts of one file are read."""
    notes = (*note_on_prompts("SkyRL", options),) if sample else ()
    return RecordReader(lambda record: _read(record, options, label), notes)


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    try:
        reason = row.get("stop_reason")
        limited = isinstance(reason, str) and reason in _LIMITS
        check_end("length" if limited else reason, options, reading.noticed)
        add_candidate(_answer(row, options, reading.noticed), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    return reading


def _answer(row: Row, options: ReadOptions, noticed: list[str]) -> Answer:
    asked, said = _text(row, "input_prompt"), _text(row, "output_response")
    texts = [asked, *turns_in(asked, said)]
    prompt, response, rendered = conversation(texts, range(1, len(texts), 2), options, noticed)
    score = _score(row.get("score"))
    extras = digest("env_extras", canonical_json(row.get("env_extras"))).hex()
    return Answer(
        row={**row, "score": score},
        prompt=prompt,
        response=response,
        scores=[("score", 1.0, score)],
        task=[row.get("data_source"), row.get("env_class"), extras],
        meta={RENDERED: True} if rendered else None,
        inline_reasoning=not rendered,
    )


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    if value is None:
        raise Unusable("no_prompt" if field == "input_prompt" else "no_response")
    if not isinstance(value, str):
        raise BadField(field, value, "text")
    return value


def _score(value: Any) -> Any:
    """The score; where each token has a reward, it is their sum."""
    if not isinstance(value, list):
        return value
    parts = [read_score(part, f"score.{place}") for place, part in enumerate(value)]
    return fsum(parts) if parts else None


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
