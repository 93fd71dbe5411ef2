"""Tokens: what trainers compute from a pair, computed once, exactly, and without a network.

A conversation is rendered once and tokenized once; offsets say which tokens the model wrote. Ids
that came with the rollouts are used unchanged.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from prefpairs.chat.token_ids import (
    IGNORED,
    TokenSide,
    are_ids,
    is_mask,
    labels_of,
    padded,
    tokens_given,
    tokens_of,
    tokens_to_remove,
)
from prefpairs.dataset.card import card
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.model.pair import Pair
from prefpairs.targets.base import CannotExport, ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trl import PROVENANCE, SPLITS, provenance

CUTS = {"prompt_cut": "prompt_head_cut", "tokens_cut": "tokens_cut"}
"""What counts tokens that were cut off, and the codes by which it is noticed."""


class Tokens(NamedTuple):
    """Both sides of an example, and how many tokens were cut off them."""

    chosen: TokenSide
    rejected: TokenSide
    prompt_cut: int
    tokens_cut: int


def tokens_of_sides(example: Example, options: ExportOptions) -> Tokens:
    """Both sides as tokens, with one prompt. Raises CannotExport if they teach nothing."""
    whole = _sides(example, options)
    chosen, rejected = (_truncated(side, options) for side in whole)
    if chosen.prompt != rejected.prompt:
        raise CannotExport("prompt_ids_differ")
    if chosen.ids == rejected.ids or _trained_ids(chosen) == _trained_ids(rejected):
        raise CannotExport("sides_equal")
    if not (any(chosen.mask) and any(rejected.mask)):
        raise CannotExport("empty_answer")
    longest = max(len(chosen.ids), len(rejected.ids))
    cut = tokens_to_remove(len(chosen.prompt), longest, options)
    prompt = chosen.prompt[cut:]
    left_out = sum(len(side.ids) for side in whole) - len(chosen.ids) - len(rejected.ids)
    return Tokens(chosen._replace(prompt=prompt), rejected._replace(prompt=prompt), cut, left_out)


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    made = tokens_of_sides(example, options)
    chosen, rejected = made.chosen, made.rejected
    row: Row = {
        "prompt_ids": chosen.prompt,
        "chosen_ids": chosen.ids,
        "rejected_ids": rejected.ids,
        "chosen_mask": chosen.mask,
        "rejected_mask": rejected.mask,
        "chosen_length": len(chosen.prompt) + len(chosen.ids),
        "rejected_length": len(rejected.prompt) + len(rejected.ids),
    }
    row |= {name: count for name in CUTS if (count := getattr(made, name))}
    for name, side in (("chosen", chosen), ("rejected", rejected)):
        if options.pad_to is not None:
            pad = 0 if options.tokenization is None else options.tokenization.pad_id
            row |= padded(name, side, options.pad_to, pad, options.pad_prompt_to)
        if options.labels:
            row[f"{name}_labels"] = _labels(side, options)
    return [row | provenance(example)]


def _truncated(side: TokenSide, options: ExportOptions) -> TokenSide:
    """A side without the tokens beyond --max-tokens, if they are to be cut off."""
    if not options.truncate or options.max_tokens is None:
        return side
    left = max(options.max_tokens - len(side.prompt), 0)
    if not left:
        raise CannotExport("too_many_tokens")
    return side._replace(ids=side.ids[:left], mask=side.mask[:left])


def _labels(side: TokenSide, options: ExportOptions) -> list[int]:
    """The labels of one side, as long as its padded columns, if there are any."""
    known = [*[IGNORED] * len(side.prompt), *labels_of(side.ids, side.mask)]
    if options.pad_prompt_to is not None:
        known = [IGNORED] * (options.pad_prompt_to - len(side.prompt)) + known
    return known + [IGNORED] * ((options.pad_to or 0) - len(known))


def keeps(pair: Pair, options: ExportOptions) -> bool:
    """Whether the tokens that came with a pair are written: no option changes them."""
    whole = options.turns != "first" and options.reasoning_as != "nothing"
    return whole and _has_tokens(pair)


def _has_tokens(pair: Pair) -> bool:
    return pair.chosen_tokens is not None and pair.rejected_tokens is not None


def _trained_ids(side: TokenSide) -> list[int]:
    """The ids of an answer that the model wrote."""
    return [one for one, own in zip(side.ids, side.mask, strict=True) if own]


def _sides(example: Example, options: ExportOptions) -> tuple[TokenSide, TokenSide]:
    pair, tokenization = example.pair, options.tokenization
    if keeps(pair, options):
        return tokens_given(pair.chosen_tokens or {}), tokens_given(pair.rejected_tokens or {})
    if tokenization is None:
        raise CannotExport("own_tokens" if _has_tokens(pair) else "no_tokens")
    prompt = as_chat(example.prompt, "user")
    answers = as_chat(example.chosen, "assistant"), as_chat(example.rejected, "assistant")
    chosen, rejected = (
        tokenization.chat.rendered(prompt, answer, example.tools) for answer in answers
    )
    return tokens_of(chosen, tokenization.encode), tokens_of(rejected, tokenization.encode)


def read(row: Row) -> Row:
    """The pair of a row with its ids as words: enough to detect equal and empty sides."""
    return {
        name: " ".join(map(str, row[f"{name}_ids"])) for name in ("prompt", "chosen", "rejected")
    }


def check(row: Row) -> Iterator[Finding]:
    """What is wrong with ids, masks and lengths, whichever program wrote them."""
    prompt = row.get("prompt_ids")
    for name in ("prompt", "chosen", "rejected"):
        if isinstance(row.get(f"{name}_ids"), list) and not are_ids(row[f"{name}_ids"]):
            yield Finding(Effect.CRASH, "not_ids", f"{name}_ids")
    for name in ("chosen", "rejected"):
        ids, mask = row.get(f"{name}_ids"), row.get(f"{name}_mask")
        if not (isinstance(ids, list) and isinstance(mask, list) and isinstance(prompt, list)):
            continue
        if len(mask) != len(ids) or not is_mask(mask):
            yield Finding(Effect.CRASH, "mask_wrong", f"{name}_mask")
        elif not any(mask):
            yield Finding(Effect.NOTHING, "mask_empty", f"{name}_mask")
        elif not _agrees(row, name, TokenSide(prompt, ids, mask)):
            yield Finding(Effect.WRONG, "padded_wrong", f"{name}_input_ids")
        if row.get(f"{name}_length", len(prompt) + len(ids)) != len(prompt) + len(ids):
            yield Finding(Effect.WRONG, "length_wrong", f"{name}_length")


def _agrees(row: Row, name: str, side: TokenSide) -> bool:
    """Whether the padded columns of a side agree with the others; any padding id is accepted."""
    given = row.get(f"{name}_input_ids")
    if given is None:
        return True
    real = len(side.prompt) + len(side.ids)
    if not isinstance(given, list) or len(given) < real or not are_ids(given):
        return False
    attended = row.get(f"{name}_attention_mask")
    if not (isinstance(attended, list) and 1 in attended):
        return False
    before = attended.index(1)
    own = padded(name, side, len(given), 0, before + len(side.prompt))
    end = before + real
    return given[before:end] == own[f"{name}_input_ids"][before:end] and all(
        row.get(column) == own[column]
        for column in (f"{name}_attention_mask", f"{name}_response_mask")
    )


def changes(written: list[Row]) -> frozenset[str]:
    """The reason codes of what was changed when these rows were made."""
    found = {column for row in written for column in row}
    return frozenset(code for column, code in CUTS.items() if column in found)


def extras(dataset: Dataset) -> Mapping[str, str]:
    """A card that types every column."""
    return {"README.md": card(dataset, COLUMNS, SPLITS)}


_IDS = ("prompt_ids", "chosen_ids", "rejected_ids", "chosen_mask", "rejected_mask")
_PADDED = [
    f"{side}_{name}"
    for side in ("chosen", "rejected")
    for name in ("input_ids", "attention_mask", "response_mask")
]
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(_IDS),
    **dict.fromkeys(("chosen_length", "rejected_length")),
    **dict.fromkeys(CUTS, 0),
    **dict.fromkeys(_PADDED),
    **dict.fromkeys(("chosen_labels", "rejected_labels")),
    **PROVENANCE,
}

TARGET = Target(
    name="tokens",
    rows=rows,
    changes=changes,
    keeps=keeps,
    columns=COLUMNS,
    extras=extras,
    extra_names=("README.md",),
    supports=ChatSupport(calls=True, results=True, tools=True, reasoning=True, later_turns=True),
    tool_args="dict",
    words=frozenset(
        {
            *("tokenizer", "max_tokens", "keep_end", "truncate"),
            *("pad_to", "pad_prompt_to", "labels"),
        }
    ),
    rules=Rules(needs=dict.fromkeys(_IDS, frozenset({"list"})), read=read, check=check),
)
