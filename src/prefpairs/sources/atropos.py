"""Atropos: a line is a group, which is all rollouts of one task with their scores.

Rollouts have tokens, whose mask is -100 where the model did not write, and often messages.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.rendered_turns import Conversation, conversation
from prefpairs.fields.rollout_tokens import Decoder, RolloutTokens, read_masked
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model.identity import digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import RENDERED, read_messages
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_NOT_OWN = -100
_RUN = re.compile("1+")


def looks_like(record: bytes) -> bool:
    """Whether a record is a group: tokens, masks and scores of its rollouts."""
    row = decode_object(record)
    columns = ("tokens", "masks", "scores")
    return row is not None and all(isinstance(row.get(name), list) for name in columns)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the groups of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    scores = row.get("scores")
    if not isinstance(scores, list):
        raise BadField("scores", scores, "a list of scores")
    task = [digest("group", record.strip()).hex()]
    for place in range(len(scores)):
        try:
            answer = _answer(row, place, options, reading.noticed)
        except Unusable as loss:
            reading.lost.append(loss.reason)
        else:
            add_candidate(answer._replace(task=task), options, label, reading)
    return reading


def _answer(row: Row, place: int, options: ReadOptions, noticed: list[str]) -> Answer:
    own = {name: _of(row, name, place) for name in ("scores", "messages", "overrides")}
    ids, mask = _of(row, "tokens", place), _mask(_of(row, "masks", place), f"masks.{place}")
    ignored = isinstance(own["overrides"], dict) and own["overrides"].get("set_advantage_to_zero")
    drop_unless_kept(options, masked=ignored or 1 not in mask)
    tokens = read_masked(ids, mask, f"tokens.{place}")
    told = _spoken(own["messages"], mask, f"messages.{place}")
    told = told or _decoded(tokens, options.decoder, options, noticed)
    return Answer(
        row={**row, **own, "score": own["scores"]},
        prompt=told.prompt,
        response=told.response,
        scores=[(f"scores.{place}", 1.0, own["scores"])],
        index=place,
        tokens=None if tokens is None else tokens.field,
        meta={RENDERED: True} if told.rendered else None,
        inline_reasoning=not told.rendered,
    )


def _of(row: Row, name: str, place: int) -> Any:
    """What a list of the group has for one rollout; None without such a list."""
    values = row.get(name)
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != len(row["scores"]):
        raise BadField(name, values, "a list with as many items as scores")
    return values[place]


def _mask(values: Any, field: str) -> list[int]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise BadField(field, values, "a list of token ids, or -100")
    return [int(value != _NOT_OWN) for value in values]


def _spoken(messages: Any, mask: list[int], field: str) -> Conversation | None:
    """Prompt and answer as messages: the mask tells how many of the last turns are the model's.

    None if there are no messages, or if these are the whole rollout as one text of the user, as
    Atropos writes it for environments without messages of their own.
    """
    chat = read_messages(messages, field) if messages else []
    told = [place for place, message in enumerate(chat) if message["role"] == "assistant"]
    if not told:
        return None
    turns = len(_RUN.findall("".join(map(str, mask))))
    if turns > len(told):
        raise Unusable("turns_unclear")
    first = told[-turns] if turns else told[0]
    return Conversation(chat[:first], chat[first:], rendered=False)


def _decoded(
    tokens: RolloutTokens | None,
    decoder: Decoder | None,
    options: ReadOptions,
    noticed: list[str],
) -> Conversation:
    """Prompt and answer from the tokens alone."""
    if tokens is None or decoder is None:
        raise Unusable("only_tokens")
    if max(tokens.ids) >= decoder.size:
        raise BadField("tokens", max(tokens.ids), f"less than {decoder.size}: --tokenizer")
    texts = [*_texts(tokens, decoder)]
    return conversation(texts, range(1, len(texts), 2), options, noticed)


def _texts(tokens: RolloutTokens, decoder: Decoder) -> Iterator[str]:
    """The text of the prompt, and then of each turn, which are the model's and others' in turn."""
    mask = "".join(map(str, tokens.mask or ()))
    ends = [match.end() for match in re.finditer("1+|0+", mask)]
    before = ""
    for end in (0, *ends):
        text = decoder.text(tokens.ids[: tokens.prompt_length + end])
        if not text.startswith(before):  # a character's tokens are in both turns
            raise Unusable("turns_unclear")
        yield text.removeprefix(before)
        before = text


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "only_tokens": "the groups have no messages, which include_messages in the environment's "
        "config would add",
    },
)
