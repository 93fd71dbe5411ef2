"""Tokens: for any texts, the IDs encode the whole text, and masks mark the assistant's."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from run_in_process import Row
from small_tokenizer import CHAT, END, TEXTS, TOKENS, decoded

from hypothesis_examples import examples
from prefpairs.dataset.convert_pair import convert_pair
from prefpairs.dataset.row_checks import check_row
from prefpairs.model.pair import pair_of
from prefpairs.targets.base import CannotExport
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.tokens import TARGET


def turn(role: str) -> st.SearchStrategy[Row]:
    """A turn with this role."""
    said = TEXTS.filter(str.strip) if role == "assistant" else TEXTS
    return st.builds(lambda content: {"role": role, "content": content}, said)


@st.composite
def conversations(draw: st.DrawFn) -> list[Row]:
    """Alternating turns of the assistant and its tools."""
    turns = [draw(turn("assistant"))]
    for _ in range(draw(st.integers(0, 2))):
        turns += [draw(turn("tool")), draw(turn("assistant"))]
    return turns


@st.composite
def pairs(draw: st.DrawFn) -> Row:
    """A prompt and two answers with some turns."""
    asked = [draw(turn("user").filter(lambda one: one["content"].strip()))]
    chosen, rejected = draw(conversations()), draw(conversations())
    return {"prompt": asked, "chosen": chosen, "rejected": rejected, "chosen_score": 1.0}


def row_of(given_pair: Row, **words: Any) -> tuple[Any, Row] | None:
    """The example and the row of a pair, if there is one."""
    options = ExportOptions(tool_args="dict", **{"tokenization": TOKENS, **words})
    try:
        example, _ = convert_pair(pair_of(given_pair)[0], TARGET, options)
        (row,) = TARGET.rows(example, options)
    except CannotExport:
        return None
    return example, row


@examples(300)
@given(given_pair=pairs())
def test_ids_and_masks_say_what_was_said(given_pair: Row) -> None:
    """IDs decode to the rendered text; the mask covers exactly the assistant's text."""
    made = row_of(given_pair)
    if made is None:
        return
    example, row = made
    asked = CHAT.text(example.prompt, None, go_on=True)
    assert decoded(row["prompt_ids"]) == asked
    for side in ("chosen", "rejected"):
        answer = getattr(example, side)
        ids, mask = row[f"{side}_ids"], row[f"{side}_mask"]
        assert asked + decoded(ids) == CHAT.text([*example.prompt, *answer], None)
        own = decoded([token for token, mine in zip(ids, mask, strict=True) if mine])
        said = (one["content"] + END for one in answer if one["role"] == "assistant")
        assert own == "".join(said)
    assert check_row(row, TARGET.rules) == []


@examples(100)
@given(given_pair=pairs(), room=st.integers(1, 120), keep_end=st.booleans())
def test_no_answer_is_cut(given_pair: Row, room: int, keep_end: bool) -> None:
    """A maximum length drops answers instead of cutting them; padding changes nothing."""
    whole = row_of(given_pair)
    padding = replace(TOKENS, pad_id=300)
    made = row_of(given_pair, pad_to=room, keep_end=keep_end, tokenization=padding)
    if made is None or whole is None:
        return
    (_, expected), (_, row) = whole, made
    cut = row.get("prompt_cut", 0)
    assert keep_end or not cut
    assert row["prompt_ids"] == expected["prompt_ids"][cut:] != []
    for side in ("chosen", "rejected"):
        assert row[f"{side}_ids"] == expected[f"{side}_ids"]
        assert sum(row[f"{side}_attention_mask"]) == row[f"{side}_length"] <= room
        assert {len(row[f"{side}_{name}"]) for name in ("input_ids", "response_mask")} == {room}
        assert sum(row[f"{side}_response_mask"]) == sum(expected[f"{side}_mask"])
    assert check_row(row, TARGET.rules) == []


def test_most_pairs_make_a_row() -> None:
    """A usual pair makes a row, so the properties above are not vacuous."""
    asked = [{"role": "user", "content": "Q"}]
    answer = [{"role": "assistant", "content": f"assistant {END}"}]
    other = [{"role": "assistant", "content": "\n\n first"}]
    assert row_of({"prompt": asked, "chosen": answer, "rejected": other}) is not None
