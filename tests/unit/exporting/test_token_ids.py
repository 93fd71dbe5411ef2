"""Rows of token IDs: one test per rule."""

from dataclasses import replace
from typing import Any

import pytest
from target_rows import TOKENS, calling, letters, model, pair, rows_of, told, user

from prefpairs.chat.model_spans import RenderedChat, Span
from prefpairs.chat.token_ids import refuse_unknown, tokens_of
from prefpairs.dataset.convert_pair import convert_pair
from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row
from prefpairs.model.pair import Pair
from prefpairs.targets.base import CannotExport
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.tokens import TARGET, changes

PROMPT = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
PAIR = pair("Q", "Aye", "No")


def _row(given: Pair = PAIR, **words: Any) -> Row:
    (row,) = rows_of("tokens", given, **words)
    return row


def _reason(given: Pair = PAIR, **words: Any) -> str:
    with pytest.raises(CannotExport) as caught:
        _row(given, **words)
    return caught.value.reason


def _text(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_row() -> None:
    """The prompt once, both answers with their end of turn, and masks of the assistant's text."""
    row = _row()
    assert _text(row["prompt_ids"]) == PROMPT
    assert _text(row["chosen_ids"]) == "Aye<|im_end|>\n"
    assert _text(row["rejected_ids"]) == "No<|im_end|>\n"
    assert row["chosen_mask"] == [1] * 13 + [0]
    assert row["rejected_mask"] == [1] * 12 + [0]
    assert (row["chosen_length"], row["rejected_length"]) == (len(PROMPT) + 14, len(PROMPT) + 13)
    assert (row["pair_id"], row["score_chosen"], row["score_gap"]) == (PAIR.id, 1.0, 0.75)


def test_results_of_tools_are_masked() -> None:
    """The answer has all turns; the mask excludes what the model did not write."""
    given = pair([user("Q")], [calling(content="x"), told("1"), model("yes")], [model("no")])
    row = _row(given)
    kept = [token for token, own in zip(row["chosen_ids"], row["chosen_mask"], strict=True) if own]
    call = '\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call><|im_end|>'
    assert _text(kept) == f"x{call}yes<|im_end|>"
    assert "\n1<|im_end|>" in _text(row["chosen_ids"])


def test_own_tokens_are_taken_as_they_are() -> None:
    """No template or tokenizer is used; a mask may cover the answer or everything."""
    chosen = {"ids": [7, 8, 9, 5], "prompt_length": 2, "mask": [1, 0]}
    rejected = {"ids": [7, 8, 4], "prompt_length": 2, "mask": [0, 0, 1]}
    given = PAIR._replace(chosen_tokens=chosen, rejected_tokens=rejected)
    row = _row(given, tokenization=None)
    assert (row["prompt_ids"], row["chosen_ids"], row["rejected_ids"]) == ([7, 8], [9, 5], [4])
    assert (row["chosen_mask"], row["rejected_mask"]) == ([1, 0], [1])
    without = given._replace(chosen_tokens={"ids": [7, 8, 9], "prompt_length": 2})
    assert _row(without)["chosen_mask"] == [1]
    rendered = given._replace(prompt=PROMPT)
    assert _row(rendered, tokenization=None)["prompt_ids"] == [7, 8]


@pytest.mark.parametrize("words", [{"turns": "first"}, {"reasoning_as": "nothing"}])
def test_own_tokens_are_of_whole_answers(words: dict[str, Any]) -> None:
    """For less than whole answers a tokenizer is needed; notes list only what happened."""
    thought = {**model("yes"), "reasoning_content": "hm"}
    answer = [{**calling(content="x"), "reasoning_content": "hm"}, told("1"), thought]
    field = {"ids": [7, 8, 9], "prompt_length": 2}
    given = pair([user("Q")], answer, [model("no")])
    own = given._replace(chosen_tokens=field, rejected_tokens={**field, "ids": [7, 8, 5]})
    with pytest.raises(CannotExport) as caught:
        rows_of("tokens", own, tokenization=None, **words)
    assert caught.value.reason == "own_tokens"
    (anew,) = rows_of("tokens", own, **words)
    assert anew["chosen_ids"] != [9]
    _, told_of = convert_pair(own, TARGET, ExportOptions(tokenization=TOKENS))
    assert told_of == {"environment_in_answer"}


def test_sides_that_differ_in_what_the_model_did_not_write() -> None:
    """If only tool results differ, the pair is dropped."""
    chosen = {"ids": [7, 1, 9], "prompt_length": 1, "mask": [0, 1]}
    rejected = {"ids": [7, 2, 9], "prompt_length": 1, "mask": [0, 1]}
    assert _reason(PAIR._replace(chosen_tokens=chosen, rejected_tokens=rejected)) == "sides_equal"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ids": None}, "tokens_malformed"),
        ({"ids": [1, -1, 2]}, "tokens_malformed"),
        ({"ids": [1, 2, 1 << 31]}, "tokens_malformed"),
        ({"prompt_length": 4}, "tokens_malformed"),
        ({"mask": [1, 2]}, "tokens_malformed"),
        ({"mask": [1]}, "tokens_malformed"),
        ({"mask": [0, 0]}, "empty_answer"),
        ({"ids": [7, 4, 4]}, "sides_equal"),
        ({"ids": [6, 4, 5]}, "prompt_ids_differ"),
    ],
)
def test_own_tokens_that_do_not_fit(changed: Row, reason: str) -> None:
    """Tokens that do not match their text are rejected, each with its reason."""
    chosen = {"ids": [7, 4, 5], "prompt_length": 1, "mask": [1, 1], **changed}
    rejected = {"ids": [7, 4, 4], "prompt_length": 1}
    assert _reason(PAIR._replace(chosen_tokens=chosen, rejected_tokens=rejected)) == reason


def test_without_a_tokenizer() -> None:
    """Pairs without tokens of their own are dropped."""
    assert _reason(tokenization=None) == "no_tokens"


def test_length() -> None:
    """No answer is cut: long pairs are dropped, or the start of the prompt is cut."""
    whole = len(PROMPT) + 14
    assert "prompt_cut" not in _row(max_tokens=whole)
    assert _reason(max_tokens=whole - 1) == "too_many_tokens"
    row = _row(max_tokens=whole - 3, keep_end=True)
    assert _text(row["prompt_ids"]) == PROMPT[3:]
    assert (row["prompt_cut"], row["chosen_length"], len(row["chosen_ids"])) == (3, whole - 3, 14)
    assert _reason(max_tokens=14, keep_end=True) == "too_many_tokens"
    assert len(_row(max_tokens=15, keep_end=True)["prompt_ids"]) == 1
    assert changes([row]) == {"prompt_head_cut"}
    assert changes([_row()]) == set()


def test_padding() -> None:
    """The attention mask excludes padding, whatever its token ID is."""
    whole = len(PROMPT) + 14
    row = _row(pad_to=whole + 2, tokenization=replace(TOKENS, pad_id=ord("A")))
    assert _text(row["chosen_input_ids"]) == f"{PROMPT}Aye<|im_end|>\nAA"
    assert row["chosen_attention_mask"] == [1] * whole + [0, 0]
    assert row["rejected_attention_mask"] == [1] * (whole - 1) + [0, 0, 0]
    assert row["chosen_response_mask"] == [0] * len(PROMPT) + [1] * 13 + [0, 0, 0]
    assert _reason(pad_to=whole - 1) == "too_many_tokens"


def _spoken(text: str, border: int, *spans: Span) -> RenderedChat:
    return RenderedChat(text, border, list(spans))


def _in_twos(text: str) -> tuple[list[int], list[Span]]:
    """A token for every two characters."""
    starts = range(0, len(text), 2)
    return [*starts], [(start, min(start + 2, len(text))) for start in starts]


@pytest.mark.parametrize(
    ("spoken", "reason"),
    [
        (_spoken("QQaa", 1, (1, 4)), "token_across_border"),
        (_spoken("QQabcd", 2, (2, 3)), "token_across_border"),
        (_spoken("QQabcdef", 2, (2, 4), (5, 8)), "token_across_border"),
    ],
)
def test_tokens_across_a_border(spoken: RenderedChat, reason: str) -> None:
    """Rejects a token that crosses the border of an assistant span."""
    with pytest.raises(CannotExport) as caught:
        tokens_of(spoken, _in_twos)
    assert caught.value.reason == reason


def test_masks_follow_spans() -> None:
    """Several spans, with tokens between and after them."""
    side = tokens_of(_spoken("QQaabbccdd", 2, (2, 4), (6, 8)), _in_twos)
    assert (side.prompt, side.ids, side.mask) == ([0], [2, 4, 6, 8], [1, 0, 1, 0])


def test_lost_characters() -> None:
    """Rejects tokenizers that drop characters, except spaces."""

    def without(lost: str) -> Any:
        def encode(text: str) -> Any:
            ids, offsets = letters(text)
            kept = [place for place, letter in enumerate(text) if letter not in lost]
            return [ids[place] for place in kept], [offsets[place] for place in kept]

        return encode

    assert _reason(tokenization=replace(TOKENS, encode=without("y"))) == "characters_lost"
    assert _reason(tokenization=replace(TOKENS, encode=without(">"))) == "characters_lost"
    assert tokens_of(_spoken("Q a", 1, (1, 3)), without(" ")).ids == [ord("a")]


def test_unknown_characters_are_lost() -> None:
    """Rejects unknown characters, unless the text spells out the unknown token."""

    def encode(text: str) -> Any:
        ids, offsets = letters(text)
        return [
            0 if text[start] == "y" else one for one, (start, _) in zip(ids, offsets, strict=True)
        ], offsets

    def with_unknown(spelled: str) -> Any:
        return replace(TOKENS, encode=refuse_unknown(encode, (0, spelled)))

    assert _reason(tokenization=with_unknown("<unk>")) == "characters_lost"
    assert _row(tokenization=with_unknown("y"))["chosen_ids"][1] == 0


# Findings of validate ---------------------------------------------------------------------


def _judged(**columns: Any) -> list[tuple[str, str]]:
    row = {**_row(pad_to=100), **columns}
    return [(finding.code, finding.field) for finding in check_row(row, TARGET.rules)]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({}, []),
        ({"chosen_ids": [1, "x"]}, ("not_ids", "chosen_ids")),
        ({"prompt_ids": [True]}, ("not_ids", "prompt_ids")),
        ({"chosen_mask": [1]}, ("mask_wrong", "chosen_mask")),
        ({"chosen_mask": [2] * 14}, ("mask_wrong", "chosen_mask")),
        ({"chosen_mask": [0] * 14}, ("mask_empty", "chosen_mask")),
        ({"chosen_length": 9}, ("length_wrong", "chosen_length")),
        ({"chosen_input_ids": [1] * 100}, ("padded_wrong", "chosen_input_ids")),
        ({"chosen_attention_mask": [1] * 100}, ("padded_wrong", "chosen_input_ids")),
        ({"rejected_input_ids": [7]}, ("padded_wrong", "rejected_input_ids")),
        ({"prompt_ids": None}, ("missing_column", "prompt_ids")),
        ({"chosen_mask": "x"}, ("wrong_type", "chosen_mask")),
    ],
)
def test_rules(columns: Row, found: Any) -> None:
    """IDs, masks and lengths must agree."""
    told_of = _judged(**columns)
    assert (told_of == []) if not found else found in told_of


def test_equal_and_empty_sides() -> None:
    """IDs are compared like text."""
    row = {**_row(), "chosen_length": None, "rejected_length": None}
    row = {key: value for key, value in row.items() if value is not None}
    same = {**row, "rejected_ids": row["chosen_ids"], "rejected_mask": row["chosen_mask"]}
    assert "equal_sides" in {finding.code for finding in check_row(same, TARGET.rules)}


@pytest.mark.parametrize("labels", [False, True])
def test_prompts_padded_on_the_left(labels: bool) -> None:
    """All answers begin at one place, as Trinity-RFT gathers them; the rules see that."""
    prompt, room = len(PROMPT) + 5, 20
    row = _row(pad_to=prompt + room, pad_prompt_to=prompt, labels=labels)
    for name in ("chosen", "rejected"):
        ids, attended = row[f"{name}_input_ids"], row[f"{name}_attention_mask"]
        own = row[f"{name}_ids"]
        assert ids == [0] * 5 + row["prompt_ids"] + own + [0] * (room - len(own))
        assert attended == [0] * 5 + [1] * (len(PROMPT) + len(own)) + [0] * (room - len(own))
        mask = row[f"{name}_mask"]
        assert row[f"{name}_response_mask"] == [0] * prompt + mask + [0] * (room - len(own))
        if labels:
            both = zip(ids, row[f"{name}_response_mask"], strict=True)
            assert row[f"{name}_labels"] == [one if mine else -100 for one, mine in both]
    assert list(check_row(row, TARGET.rules)) == []
    assert "padded_wrong" in {
        each.code
        for each in check_row(
            {**row, "chosen_input_ids": [1, *row["chosen_input_ids"]]}, TARGET.rules
        )
    }


def test_lengths_of_prompts_padded_on_the_left() -> None:
    """Neither part may exceed its length; only the start of a prompt may be cut."""
    prompt, answer = len(PROMPT), len(_row()["chosen_ids"])
    assert _row(pad_to=prompt + answer, pad_prompt_to=prompt)
    assert _reason(pad_to=prompt + answer, pad_prompt_to=prompt + 1) == "too_many_tokens"
    assert _reason(pad_to=prompt + answer, pad_prompt_to=prompt - 1) == "too_many_tokens"
    row = _row(pad_to=prompt + answer, pad_prompt_to=prompt - 1, keep_end=True)
    assert (row["prompt_cut"], len(row["chosen_input_ids"])) == (1, prompt + answer)
