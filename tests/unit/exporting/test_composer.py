"""Batches of traces: one test for each rule."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from target_rows import CHATML, letters, model, system, told, user

from prefpairs.chat.hints import hint_of
from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.template import TemplateFacts
from prefpairs.chat.token_ids import Tokenization
from prefpairs.dataset.row_rules import Row
from prefpairs.model.candidate import Candidate, ToolError, Trace
from prefpairs.model.pair import make_pair
from prefpairs.targets import target_named
from prefpairs.targets.base import TraceForm
from prefpairs.targets.composer import batch_of, row_of
from prefpairs.targets.export_options import ExportOptions

CHAT = ChatRenderer(CHATML, {})
PAIR = make_pair(
    Candidate("g", [user("Q")], [model("yes, that")], 1),
    Candidate("g", [user("Q")], [model("no")], 0),
)
PLAIN = Trace([user("Q"), model("a")], None, [], 0.5, "t1", 0)
TURNS = [system("S"), user("Q"), model("try a"), told("no a"), model("try b"), model("done")]
HINTED = Trace(TURNS, None, [ToolError("gone", {}, 4)], None, "t2", 0, [PAIR])


def _form(pairs: ExportOptions | None = None, **more: Any) -> TraceForm:
    options = replace(
        pairs or ExportOptions(labels=more.get("labels", False)),
        tokenization=Tokenization(encode=letters, chat=CHAT),
        reasoning_as="text",
        system="keep",
    )
    given = {
        "encode": letters,
        "chat": CHAT,
        "facts": TemplateFacts("dict", reasoning=True, system=True),
        "hint": partial(hint_of, hints={"gone": "Not a!"}),
        "pairs": (target_named("tokens"), options),
    }
    return TraceForm(**{**given, **more})


def _batch(*traces: Trace, **more: Any) -> Row:
    form = _form(**more)
    own = [{"reward": each.reward, "trace_id": each.trace_id, "origin": "o"} for each in traces]
    rows = [row_of(each, form).row for each in traces]
    return batch_of([{**row, **known} for row, known in zip(rows, own, strict=True)], form)


def _at(ids: list[int], places: list[int], valid: list[bool]) -> str:
    assert all(place == -1 for place, real in zip(places, valid, strict=True) if not real)
    return "".join(chr(ids[at]) for at, real in zip(places, valid, strict=True) if real)


def test_all_channels_have_one_shape() -> None:
    """Student and teacher are padded to the same length, and so are both sides of pairs."""
    batch = _batch(PLAIN, HINTED, labels=True)
    shapes = {
        name: {(len(lists), len(each)) for each in lists}
        for name, lists in batch.items()
        if isinstance(lists[0], list) and "_idx" not in name and "_valid" not in name
    }
    widths = {name: shapes[name] for name in shapes if not name.startswith("dpo_")}
    assert widths == dict.fromkeys(
        [
            *("input_ids", "attention_mask", "response_mask", "labels"),
            *("ctx_teacher_input_ids", "ctx_teacher_attention_mask", "sdpo_loss_mask"),
        ],
        frozenset({(2, len(batch["input_ids"][0]))}),
    )
    of_pairs = [
        f"dpo_{side}_{name}"
        for side in ("chosen", "rejected")
        for name in ("input_ids", "attention_mask", "response_mask", "labels")
    ]
    assert {name: shapes[name] for name in shapes.keys() - widths.keys()} == dict.fromkeys(
        of_pairs, frozenset({(1, len(batch["dpo_chosen_input_ids"][0]))})
    )
    assert batch["pair_trace"] == [1]
    assert batch["pair_id"] == [PAIR.id]


def test_both_lists_of_indexes_name_the_same_tokens() -> None:
    """Both lists name the tokens of the recovery; a trace without hints has no indexes."""
    batch = _batch(PLAIN, HINTED)
    for who, ids in (("student", "input_ids"), ("teacher", "ctx_teacher_input_ids")):
        places, valid = batch[f"{who}_response_idx"], batch[f"{who}_response_valid"]
        found = [_at(*each) for each in zip(batch[ids], places, valid, strict=True)]
        assert found == ["", "try b<|im_end|>"]
    marked = [[at for at, one in enumerate(row) if one == 1] for row in batch["sdpo_loss_mask"]]
    assert marked == [[], batch["teacher_response_idx"][1]]
    assert {one for row in batch["sdpo_loss_mask"] for one in row} == {1, -100}


def test_padding_is_marked_by_lengths() -> None:
    """Padding is masked by position, since a real token may have the padding id."""
    batch = _batch(PLAIN, HINTED, pad_id=ord("a"))
    row, attended = batch["input_ids"][0], batch["attention_mask"][0]
    real = sum(attended)
    assert attended == [1] * real + [0] * (len(row) - real)
    assert "".join(map(chr, row[:real])).endswith("<|im_start|>assistant\na<|im_end|>\n")
    assert set(row[real:]) == {ord("a")}


def test_labels() -> None:
    """Labels are the token ids where the mask is set, and -100 elsewhere, also for padding."""
    batch = _batch(PLAIN, HINTED, labels=True)
    for ids, masks, labels in (
        ("input_ids", "response_mask", "labels"),
        ("dpo_chosen_input_ids", "dpo_chosen_response_mask", "dpo_chosen_labels"),
        ("dpo_rejected_input_ids", "dpo_rejected_response_mask", "dpo_rejected_labels"),
    ):
        for row, mask, labelled in zip(batch[ids], batch[masks], batch[labels], strict=True):
            both = zip(row, mask, strict=True)
            assert labelled == [one if own else -100 for one, own in both]


def test_rewards_that_are_missing() -> None:
    """A missing reward is 0.0, and false in the column of valid rewards."""
    batch = _batch(PLAIN, HINTED)
    assert (batch["rewards"], batch["rewards_valid"]) == ([0.5, 0.0], [True, False])


def test_columns_without_use_are_left_out() -> None:
    """Without hints and pairs, a batch has no columns for them."""
    assert [*_batch(PLAIN)] == [
        *("input_ids", "attention_mask", "response_mask", "rewards", "rewards_valid"),
        *("trace_id", "origin", "pair_id", "pair_trace"),
    ]


def test_a_width_of_your_own() -> None:
    """pad_to sets the length of all sequences."""
    batch = _batch(HINTED, pad_to=300)
    assert len(batch["input_ids"][0]) == len(batch["dpo_rejected_input_ids"][0]) == 300


def test_pairs_that_cannot_be_written() -> None:
    """Pairs that are lost are counted by reason; the trace is kept."""
    trace = HINTED._replace(pairs_lost=["no_response"])
    short = _form(ExportOptions(max_tokens=3))
    made = row_of(trace, short)
    assert made.pairs_lost == ["no_response", "too_many_tokens"]
    assert made.row["pairs"] == []


@pytest.mark.parametrize("most", [51, 20])
def test_pairs_of_which_nothing_would_be_left(most: int) -> None:
    """A pair is dropped if truncation leaves only the prompt, or equal sides."""
    made = row_of(HINTED, _form(ExportOptions(max_tokens=most, truncate=True)))
    assert (made.row["pairs"], made.pairs_lost) == ([], ["too_many_tokens"])


@pytest.mark.parametrize(("most", "answer"), [(51 + 8, "yes, tha"), (51 + 3, "yes")])
def test_truncated_pairs(most: int, answer: str) -> None:
    """Pairs are truncated to the limit, and the number of tokens cut is recorded."""
    made = row_of(HINTED, _form(ExportOptions(max_tokens=most, truncate=True)))
    (row,) = made.row["pairs"]
    assert "".join(map(chr, row["chosen_ids"])) == answer
    assert len(row["prompt_ids"] + row["chosen_ids"]) == most
    assert "tokens_cut" in made.noticed
    assert row["tokens_cut"] > 0
