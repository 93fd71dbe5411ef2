"""Batches of the Composer collator: for GRPO, hint distillation and DPO, of several traces each.

All lists of a batch have one length, so each column becomes a tensor as it is. Attention masks
come from lengths, never from the padding id.
"""

from collections.abc import Sequence
from typing import Any

from prefpairs.chat.token_ids import IGNORED
from prefpairs.dataset.convert_pair import convert_pair
from prefpairs.dataset.row_rules import Row
from prefpairs.model.candidate import Trace
from prefpairs.targets import sdpo
from prefpairs.targets.base import CannotExport, TraceForm, TraceRow, TraceTarget

_PAIRS = "pairs"
_NOWHERE = -1
"""What pads lists of indexes."""


def row_of(trace: Trace, options: TraceForm) -> TraceRow:
    """The row of a trace, and the rows of the pairs that it holds."""
    made = sdpo.row_of(trace, options)
    pairs: list[Row] = []
    lost, noticed = [*trace.pairs_lost], [*made.noticed]
    assert options.pairs is not None
    target, form = options.pairs
    for pair in trace.pairs:
        try:
            example, changes = convert_pair(pair, target, form)
            rows = target.rows(example, form)
        except CannotExport as error:
            lost.append(error.reason)
        else:
            pairs += rows
            noticed += sorted(changes | target.changes(rows))
    row = {**made.row, _PAIRS: pairs}
    return made._replace(row=row, pairs_lost=lost, noticed=noticed)


def batch_of(rows: Sequence[Row], options: TraceForm) -> Row:
    """The batch of some rows. Columns of hints and of pairs are there if a row has any."""
    # losses of distillation compare student and teacher at one shape
    width = options.pad_to or max(max(row["length"], row["teacher_length"]) for row in rows)
    rewards = [row["reward"] for row in rows]
    batch: Row = _tokens("", [row["input_ids"] for row in rows], width, options.pad_id)
    batch["response_mask"] = _padded([row["response_mask"] for row in rows], width, 0)
    if options.labels:
        batch["labels"] = _padded([row["labels"] for row in rows], width, IGNORED)
    batch["rewards"] = [0.0 if reward is None else float(reward) for reward in rewards]
    batch["rewards_valid"] = [reward is not None for reward in rewards]
    if any(row["teacher_index"] for row in rows):
        batch |= _hinted(rows, width, options)
    pairs = [(place, pair) for place, row in enumerate(rows) for pair in row[_PAIRS]]
    if pairs:
        batch |= _of_pairs([pair for _, pair in pairs], options)
    return {
        **batch,
        **{name: [row[name] for row in rows] for name in ("trace_id", "origin")},
        "pair_id": [pair["pair_id"] for _, pair in pairs],
        "pair_trace": [place for place, _ in pairs],
    }


def _hinted(rows: Sequence[Row], width: int, options: TraceForm) -> Row:
    """What the teacher sees, which tokens count, and where both sides have them.

    The teacher of a trace without hints sees what its student sees, and none of it counts.
    """
    ids = [row["teacher_input_ids"] or row["input_ids"] for row in rows]
    loss = []
    for row in rows:
        counted = {*row["teacher_index"]}
        loss.append([1 if at in counted else IGNORED for at in range(width)])
    return {
        **_tokens("ctx_teacher_", ids, width, options.pad_id),
        "sdpo_loss_mask": loss,
        **_indexes("student", [row["student_index"] for row in rows]),
        **_indexes("teacher", [row["teacher_index"] for row in rows]),
    }


def _of_pairs(pairs: Sequence[Row], options: TraceForm) -> Row:
    """Both sides of all pairs, with one width."""
    sides = "chosen", "rejected"
    width = options.pad_to or max(pair[f"{side}_length"] for pair in pairs for side in sides)
    columns: Row = {}
    for side in sides:
        ids = [pair["prompt_ids"] + pair[f"{side}_ids"] for pair in pairs]
        masks = [[0] * len(pair["prompt_ids"]) + pair[f"{side}_mask"] for pair in pairs]
        columns |= _tokens(f"dpo_{side}_", ids, width, options.pad_id)
        columns[f"dpo_{side}_response_mask"] = _padded(masks, width, 0)
        if options.labels:
            labels = [pair[f"{side}_labels"] for pair in pairs]
            columns[f"dpo_{side}_labels"] = _padded(labels, width, IGNORED)
    return columns


def _tokens(prefix: str, ids: Sequence[list[int]], width: int, pad_id: int) -> Row:
    ones = [[1] * len(each) for each in ids]
    return {
        f"{prefix}input_ids": _padded(ids, width, pad_id),
        f"{prefix}attention_mask": _padded(ones, width, 0),
    }


def _indexes(who: str, indexes: Sequence[list[int]]) -> Row:
    """Lists of indexes with one length, and which entries are indexes."""
    width = max(map(len, indexes))
    return {
        f"{who}_response_idx": _padded(indexes, width, _NOWHERE),
        f"{who}_response_valid": [[at < len(each) for at in range(width)] for each in indexes],
    }


def _padded(lists: Sequence[list[int]], width: int, filler: int) -> list[Any]:
    return [[*each, *[filler] * (width - len(each))] for each in lists]


TARGET = TraceTarget(
    name="composer",
    row=row_of,
    batch=batch_of,
    pairs_as="tokens",
    words=sdpo.WORDS | {"pad_to", "batch_size", "max_dpo_tokens"},
)
