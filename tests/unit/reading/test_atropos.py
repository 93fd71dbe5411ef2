"""Groups of Atropos to candidates: one test per rule."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.atropos import open_reader
from prefpairs.sources.detect import source_of

Row = dict[str, Any]
ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
NOT = -100


class _Letters:
    """A tokenizer with a token for each letter; 0 ends a turn."""

    special = (0,)
    size = 27

    def text(self, ids: Sequence[int]) -> str:
        return "".join("." if number == 0 else chr(96 + number) for number in ids)


def _group(*said: str, **more: Any) -> Row:
    answers = said or ("A",)
    chats = [[*ASKED, {"role": "assistant", "content": words}] for words in answers]
    tokens = [[1, 2, 3 + place] for place in range(len(answers))]
    masks = [[NOT, NOT, 3 + place] for place in range(len(answers))]
    row: Row = {"tokens": tokens, "masks": masks, "messages": chats, "overrides": None}
    return {**row, "scores": [1.0 - place for place in range(len(answers))], **more}


def _read(row: Row, **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "g.jsonl").read(json.dumps(row).encode())


def test_a_line_is_a_group() -> None:
    """Rollouts compete only within their line, even if other lines have the same prompt."""
    found = _read(_group("A", "B")).kept
    assert [(one.response[0]["content"], one.score, one.index) for one in found] == [  # type: ignore[index]
        ("A", 1.0, 0),
        ("B", 0.0, 1),
    ]
    assert found[1].tokens == {"ids": [1, 2, 4], "prompt_length": 2, "mask": [1]}
    assert found[0].group == found[1].group != _read(_group("A", "C")).kept[0].group
    assert source_of(json.dumps(_group()).encode()) == "atropos"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"overrides": [{"set_advantage_to_zero": True}]}, "masked"),
        ({"masks": [[NOT, NOT, NOT]]}, "masked"),
        ({"scores": [None]}, "no_score"),
        ({"messages": None}, "only_tokens"),
        ({"messages": [[{"role": "user", "content": "Q A"}]]}, "only_tokens"),
        ({"tokens": [[1, 2, 3, 4]], "masks": [[NOT, 2, NOT, 4]]}, "turns_unclear"),
    ],
)
def test_rollouts_that_are_dropped(more: Row, reason: str) -> None:
    """Rollouts to which the trainer gives no advantage are dropped as masked."""
    reading = _read(_group(**more))
    assert (reading.kept, reading.lost) == ([], [reason])


def test_keep_rows() -> None:
    """--keep-rows uses masked rollouts."""
    row = _group(overrides=[{"set_advantage_to_zero": True}])
    assert _read(row, keep_rows=frozenset({"masked"})).kept


def test_examples_in_the_prompt() -> None:
    """The mask shows how many of the last turns are the model's."""
    example = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "Q2"}]
    chat = [*ASKED, *example, {"role": "assistant", "content": "A"}]
    (found,) = _read(_group(messages=[chat])).kept
    assert len(found.prompt) == 4
    both = {"tokens": [[1, 2, 3, 4]], "masks": [[NOT, 2, NOT, 4]]}
    (found,) = _read(_group(messages=[chat], **both)).kept
    assert (len(found.prompt), len(found.response)) == (2, 3)


@pytest.mark.parametrize(
    ("ids", "mask", "prompt", "said"),
    [
        ([1, 2, 3], "001", "ab", ["c"]),
        ([1, 2, 3, 4, 5], "00101", "ab", ["c", "d", "e"]),
        ([1, 2, 3, 4], "0010", "ab", ["c"]),
    ],
)
def test_tokenizer(ids: list[int], mask: str, prompt: str, said: list[str]) -> None:
    """Groups without messages are decoded."""
    masks = [number if own == "1" else NOT for number, own in zip(ids, mask, strict=True)]
    row = _group(tokens=[ids], masks=[masks], messages=None)
    (found,) = _read(row, decoder=_Letters()).kept
    turns = found.response
    told = [turns] if isinstance(turns, str) else [turn["content"] for turn in turns]
    asked = found.prompt if isinstance(found.prompt, str) else found.prompt[0]["content"]
    assert (asked, told) == (prompt, said)
    assert found.meta == {"prompt_rendered": True}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"scores": 1.0}, "scores"),
        ({"masks": [[NOT, 3.5]]}, "masks.0"),
        ({"masks": [[NOT], [NOT]]}, "masks"),
        ({"tokens": [["a", 2, 3]]}, "tokens.0"),
        ({"messages": [[{"role": "x"}]]}, "messages.0.0.role"),
    ],
)
def test_groups_of_another_shape_are_bad_rows(more: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(_group(**more))
    assert caught.value.field == field


def test_tokens_beyond_the_tokenizer() -> None:
    """Unknown token IDs are rejected, since they indicate another model's tokenizer."""
    row = _group(tokens=[[1, 2, 40]], masks=[[NOT, NOT, 40]], messages=None)
    with pytest.raises(BadField, match="less than 27: --tokenizer"):
        _read(row, decoder=_Letters())
