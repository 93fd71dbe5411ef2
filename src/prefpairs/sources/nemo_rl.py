"""NeMo RL: `train_data_step*.jsonl` and `val_data_step*.jsonl`, a rollout a line.

Every value is a list of one. The turns of training logs are texts without roles, so the mask of
the loss tells which are the model's; those of validation are messages. No row names its task.
"""

import re
from collections.abc import Sequence
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.cross_row_facts import LOG_OF
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.rendered_turns import conversation, ends_turn, note_on_prompts
from prefpairs.fields.rollout_tokens import RolloutTokens, read_mask, read_masked
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model.candidate import read_index
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import RENDERED, asks_by_template
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_NO_TASK = (
    "NeMo RL's logs name no task: rollouts with equal prompts compete; where one prompt can be "
    "several tasks, --group-by file,idx//N compares only the N generations of each"
)
_FILE = "file"
"""What --group-by calls the file, in each of which `idx` begins anew."""
_TURN_OF_MODEL = re.compile("1+")


def looks_like(record: bytes) -> bool:
    """Whether a record is a rollout: its turns and its reward or length, each in a list of one."""
    row = decode_object(record)
    if row is None or not row.keys() >= {"content", "idx"}:
        return False
    content = row["content"]
    return (
        isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], list)
        and any(isinstance(row.get(name), list) for name in ("rewards", "input_lengths"))
    )


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rollouts of one file are read."""
    notes = [_NO_TASK] if sample and options.group_by == "auto" else []
    notes += note_on_prompts("NeMo RL", options) if sample else []
    return RecordReader(lambda record: _read(record, options, label), (*notes,))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    given, reading = begin_row(record)
    row = {_FILE: label} | {key: _alone(value) for key, value in given.items()}
    try:
        add_candidate(_answer(row, options, reading.noticed), options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
        return reading
    if options.group_by == "auto":
        reading.facts = ((LOG_OF, "training" if _is_training(row) else "validation"),)
    return reading


def _is_training(row: Row) -> bool:
    """Whether the turns have no roles."""
    return not any(isinstance(turn, dict) for turn in row["content"])


def _alone(value: Any) -> Any:
    """The only value of a list; any other value is kept."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _answer(row: Row, options: ReadOptions, noticed: list[str]) -> Answer:
    drop_unless_kept(options, masked=row.get("sample_loss_mask") == 0)
    texts, spoken, tokens = _turns(row)
    _check_end(texts, spoken, tokens, options, noticed)
    score = "filtered_rewards" if "filtered_rewards" in row else "rewards"
    agent = row.get("agent_ref")
    asked, said, rendered = conversation(texts, spoken, options, noticed)
    return Answer(
        row=row,
        prompt=asked,
        response=said,
        scores=[(score, 1.0, row.get(score))],
        task=None if agent is None else ["agent_ref", agent],
        index=read_index(row.get("idx"), "idx"),
        tokens=None if tokens is None else tokens.field,
        meta={RENDERED: True} if rendered else None,
        inline_reasoning=not rendered,
    )


def _turns(row: Row) -> tuple[list[str], Sequence[int], RolloutTokens | None]:
    """The texts of a rollout, the places of the model's own, and its tokens up to the last one."""
    turns = row.get("content")
    if not isinstance(turns, list):
        raise BadField("content", turns, "a list of one list of turns")
    if turns and all(isinstance(turn, dict) for turn in turns):
        texts = [_text(turn.get("content"), place) for place, turn in enumerate(turns)]
        own = [place for place, turn in enumerate(turns) if turn.get("role") == "assistant"]
        if not own:
            raise Unusable("no_response")
        asking = (place for place in own if place and asks_by_template(texts[place - 1]))
        first = next(asking, own[0])  # those before are examples in the prompt
        return texts, own[own.index(first) :], None
    texts = [_text(turn, place) for place, turn in enumerate(turns)]
    if row.get("token_loss_mask") is None:
        return texts, _without_mask(texts), None
    mask, length = read_mask(row["token_loss_mask"], "token_loss_mask"), row.get("input_lengths")
    if type(length) is not int or not 0 < length <= len(mask):
        raise BadField("input_lengths", length, f"a number from 1 to {len(mask)}")
    mask = mask[:length]
    if not any(mask):
        raise Unusable("empty_answer")
    return texts, _spoken(texts, mask), read_masked(row.get("token_ids"), mask, "token_ids")


def _check_end(
    texts: list[str],
    spoken: Sequence[int],
    tokens: RolloutTokens | None,
    options: ReadOptions,
    noticed: list[str],
) -> None:
    """Raise if the model did not end its last turn, which its tokens tell, or other turns of it.

    NeMo RL leaves special tokens out of the texts of most rollouts.
    """
    if ends_turn(texts[spoken[-1]]):
        return
    if tokens is not None and options.decoder is not None:
        cut_off = tokens.ids[-1] not in options.decoder.special
    else:
        cut_off = any(ends_turn(texts[place]) for place in spoken)
        if not cut_off:
            noticed.append("end_not_recorded")
    drop_unless_kept(options, incomplete=cut_off)


def _text(value: Any, place: int) -> str:
    if not isinstance(value, str):
        raise BadField(f"content.0.{place}", value, "text")
    return value


def _spoken(texts: list[str], mask: Sequence[int]) -> Sequence[int]:
    """The model's turns, by the mask of all tokens.

    Model and environment alternate after the prompt, which may be several texts. So the number of
    the model's turns, and whether the environment has the last word, tell where the prompt ends.
    """
    turns = len(_TURN_OF_MODEL.findall("".join(map(str, mask))))
    first = len(texts) - 2 * turns + bool(mask[-1])
    asking = [asks_by_template(text) for text in texts[: max(first, 0)]]
    if not asking or not all(texts) or (any(asking) and not asking[-1]):
        raise Unusable("turns_unclear")
    return range(first, len(texts), 2)


def _without_mask(texts: list[str]) -> Sequence[int]:
    """The model's turns in logs without a mask: each text after one that asks for it."""
    own = [place for place in range(1, len(texts)) if asks_by_template(texts[place - 1])]
    if not own:
        raise Unusable("turns_unclear")
    return own


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_score": "logs of distillation and supervised training have no rewards; "
        "those of GRPO and PPO have",
    },
)
