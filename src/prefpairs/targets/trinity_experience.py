"""Trinity-RFT: experiences, in a frame (TRXP), a SQLite buffer, or as lines of JSON.

An experience for DPO has the tokens of the prompt and of both answers. It has no masks: its
trainer learns every token of an answer. With --single-turn each answer is an experience of its
own, with a mask of the tokens that the model wrote.
"""

from collections.abc import Iterator
from typing import Any

from prefpairs.chat.token_ids import TokenSide, are_ids, is_mask
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import Text, as_chat
from prefpairs.model.pair import Pair
from prefpairs.targets import tokens
from prefpairs.targets.base import CannotExport, Example, Target
from prefpairs.targets.export_options import ExportOptions

_SCORES = ("score_chosen", "score_rejected", "score_gap")


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The experience of an example, or one for each of its answers."""
    made = tokens.tokens_of_sides(example, options)
    scores = _scores(example.pair)
    if options.custom_fields and len(scores) < len(_SCORES):
        raise CannotExport("score_unknown")
    begin = _begin(example, made, scores, options)
    sides = [
        ("chosen", made.chosen, _messages(example, example.chosen)),
        ("rejected", made.rejected, _messages(example, example.rejected)),
    ]
    if options.single_turn:
        return [
            _answer(begin, name, side, messages, scores.get(f"score_{name}"))
            for name, side, messages in sides
        ]
    row: Row = {**begin, "tokens": made.chosen.prompt}
    for name, side, messages in sides:
        if sorted(side.mask, reverse=True) != side.mask:
            raise CannotExport("mask_inside")
        row |= {name: side.ids, f"{name}_messages": messages}
    return [row]


def _answer(
    begin: Row, name: str, side: TokenSide, messages: list[Any], score: float | None
) -> Row:
    """The experience of one answer: another run of the task, with its own score as reward."""
    eid = begin["eid"]
    return {
        **begin,
        "eid": {**eid, "run": int(name == "rejected"), "suffix": f"{eid['suffix']}-{name}"},
        "reward": score,
        "tokens": [*side.prompt, *side.ids],
        "action_mask": side.mask,
        "messages": messages,
    }


def _begin(
    example: Example, made: tokens.Tokens, scores: dict[str, float], options: ExportOptions
) -> Row:
    """What all experiences of an example have."""
    pair = example.pair
    cuts = {name: count for name in tokens.CUTS if (count := getattr(made, name))}
    return {
        "eid": {"batch": "", "task": pair.group, "run": 0, "step": 0, "suffix": pair.id},
        "prompt_length": len(made.chosen.prompt),
        "info": {"pair_id": pair.id, **scores, **cuts},
        "metrics": scores,
        "tools": example.tools,
        "custom_fields": [
            {"source_field": each, "destination_field": each, "data_type": "torch.float32"}
            for each in (_SCORES if options.custom_fields else ())
        ],
    }


def changes(written: list[Row]) -> frozenset[str]:
    """The reason codes of what was changed when these experiences were made."""
    return frozenset(
        code for name, code in tokens.CUTS.items() if any(name in row["info"] for row in written)
    )


def _scores(pair: Pair) -> dict[str, float]:
    values = pair.chosen_score, pair.rejected_score, pair.gap
    return {
        name: float(value) for name, value in zip(_SCORES, values, strict=True) if value is not None
    }


def _messages(example: Example, answer: Text) -> list[Any]:
    return [*as_chat(example.prompt, "user"), *as_chat(answer, "assistant")]


def read(row: Row) -> Row:
    """The one or two answers of an experience with their ids as words, as these are trained on."""
    parts = {"prompt": row["tokens"], "chosen": row.get("chosen"), "rejected": row.get("rejected")}
    if _is_single(row):
        length = row.get("prompt_length") or 0
        parts = {"prompt": row["tokens"][:length], "chosen": row["tokens"][length:]}
    return {name: " ".join(map(str, ids)) for name, ids in parts.items() if ids is not None}


def _is_single(row: Row) -> bool:
    return row.get("chosen") is None and row.get("rejected") is None


def check(row: Row) -> Iterator[Finding]:
    """What is wrong with the tokens of an experience."""
    for name in ("tokens", "chosen", "rejected"):
        if isinstance(row.get(name), list) and not are_ids(row[name]):
            yield Finding(Effect.CRASH, "not_ids", name)
        if row.get(name) is None and name != "tokens" and not _is_single(row):
            yield Finding(Effect.CRASH, "missing_column", name)
    mask = row.get("action_mask")
    if mask is not None and not is_mask(mask):
        yield Finding(Effect.CRASH, "mask_wrong", "action_mask")
    elif mask is not None and not any(mask):
        yield Finding(Effect.NOTHING, "mask_empty", "action_mask")


TARGET = Target(
    name="trinity-experience",
    rows=rows,
    changes=changes,
    keeps=tokens.keeps,
    columns=dict.fromkeys(
        (
            *("eid", "prompt_length", "info", "metrics", "tools", "custom_fields", "tokens"),
            *("chosen", "chosen_messages", "rejected", "rejected_messages"),
            *("reward", "action_mask", "messages"),
        )
    ),
    supports=tokens.TARGET.supports,
    tool_args="dict",
    containers=(".trxp", ".db"),
    words=frozenset(
        {"tokenizer", "max_tokens", "keep_end", "truncate", "single_turn", "custom_fields"}
    ),
    rules=Rules(
        needs=dict.fromkeys(("tokens", "chosen", "rejected"), frozenset({"list"})),
        optional=frozenset({"chosen", "rejected"}),
        read=read,
        check=check,
    ),
    typed=False,
)
