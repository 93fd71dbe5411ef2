"""Pairs as lines."""

import json
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_prompt, digest_response, digest_tools, pair_id
from prefpairs.model.message import Text
from prefpairs.model.pair import (
    Pair,
    make_pair,
    one_form,
    other_prompt,
    pair_line,
    pair_of,
    without_origins,
)

CHOSEN = Candidate("g", "Q", "yes", 0.9, 1, "a.jsonl:1", meta={"model": "m", "seed": 1})
REJECTED = Candidate("g", "Q", "no", 0.8, 0, "a.jsonl:2", meta={"model": "m", "seed": 2})


def _meta(chosen: dict[str, Any] | None, rejected: dict[str, Any] | None) -> Any:
    return make_pair(CHOSEN._replace(meta=chosen), REJECTED._replace(meta=rejected)).meta


def test_line_has_all_fields_in_their_order() -> None:
    """Keys are in a fixed order, the gap is decimal, shared meta is written once."""
    pair = make_pair(CHOSEN, REJECTED)
    assert pair_line(pair).decode() == (
        f'{{"id":"{pair.id}","group":"g","prompt":"Q","chosen":"yes","rejected":"no",'
        '"chosen_score":0.9,"rejected_score":0.8,"gap":0.1,"chosen_index":1,"rejected_index":0,'
        '"chosen_origin":"a.jsonl:1","rejected_origin":"a.jsonl:2",'
        '"meta":{"model":"m","chosen_seed":1,"rejected_seed":2}}\n'
    )


def test_line_holds_tools_and_tokens_where_there_are_any() -> None:
    """Tools are the chosen candidate's; each side has its own tokens."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    chosen = CHOSEN._replace(tools=tools, tokens={"ids": [1]}, meta=None)
    line = pair_line(make_pair(chosen, REJECTED._replace(tools=tools, meta=None)))
    assert line.endswith(
        b'"tools":[{"type":"function","function":{"name":"f"}}],"chosen_tokens":{"ids":[1]}}\n'
    )


def test_id_is_the_digest_of_the_contents() -> None:
    """The ID depends on prompt, tools, chosen and rejected only."""
    elsewhere = CHOSEN._replace(group="h", origin="b.jsonl:9", index=None, score=7.0, meta=None)
    expected = pair_id(
        digest_prompt("Q"), digest_tools(None), digest_response("yes"), digest_response("no")
    )
    assert make_pair(CHOSEN, REJECTED).id == make_pair(elsewhere, REJECTED).id == expected


def test_prompt_as_text_or_chat_gives_one_id() -> None:
    """A prompt as text or as chat gives the same ID."""
    chat = [{"role": "user", "content": "Q"}]
    assert make_pair(CHOSEN._replace(prompt=chat), REJECTED).id == make_pair(CHOSEN, REJECTED).id


@pytest.mark.parametrize(
    ("chosen", "rejected", "joined"),
    [
        (None, None, None),
        ({}, {}, None),
        ({"a": 1}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"chosen_a": 1, "rejected_a": 2}),
        ({"a": 1}, None, {"chosen_a": 1, "rejected_a": None}),
        (None, {"b": 2}, {"chosen_b": None, "rejected_b": 2}),
        ({"a": 1, "b": 2}, {"b": 2}, {"chosen_a": 1, "rejected_a": None, "b": 2}),
    ],
)
def test_joined_meta(
    chosen: dict[str, Any] | None, rejected: dict[str, Any] | None, joined: dict[str, Any] | None
) -> None:
    """Shared values are written once, different ones per side."""
    assert _meta(chosen, rejected) == joined


def test_meta_names_the_other_group() -> None:
    """A pair across prompts has the group of the rejected answer."""
    pair = make_pair(CHOSEN, REJECTED._replace(group="h", meta=CHOSEN.meta))
    assert (pair.group, pair.meta) == ("g", {"model": "m", "seed": 1, "group_of_rejected": "h"})


ROW: dict[str, Any] = {"prompt": "Q", "chosen": "yes", "rejected": "no"}


def _pair(**more: Any) -> Pair:
    return pair_of({**ROW, **more})[0]


def test_pair_of_a_line() -> None:
    """All fields of a written pair are read back."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    chosen = CHOSEN._replace(tools=tools, tokens={"ids": [1]})
    for rejected in (REJECTED, REJECTED._replace(prompt="R", group="h", tokens={"ids": [2]})):
        pair = make_pair(chosen, rejected)
        assert pair_of(json.loads(pair_line(pair)))[0] == pair


def test_pair_of_three_fields() -> None:
    """A row with only prompt, chosen and rejected is a pair."""
    pair, digests = pair_of(ROW)
    assert pair == Pair(
        id=pair_id(*digests),
        group="prompt:a3c7b2cc00e5ce45cc7511a032ee4eb9",
        prompt="Q",
        chosen="yes",
        rejected="no",
        chosen_score=None,
        rejected_score=None,
        gap=None,
        chosen_index=None,
        rejected_index=None,
        chosen_origin="",
        rejected_origin="",
    )
    assert digests == (digest_prompt("Q"), b"", digest_response("yes"), digest_response("no"))


def test_nulls_are_as_good_as_nothing() -> None:
    """Nulls, empty texts and empty objects equal missing fields."""
    empty = {"group": "", "chosen_origin": "", "meta": {}, "tools": [], "chosen_tokens": {}}
    nulls = dict.fromkeys(Pair._fields[5:])
    assert _pair(**empty) == _pair(**nulls, id=None, group=None) == _pair()


@pytest.mark.parametrize(
    ("given", "gap"),
    [
        ({"chosen_score": 0.9, "rejected_score": 0.8}, 0.1),
        ({"chosen_score": 0.9, "rejected_score": 0.8, "gap": 7}, 0.1),
        ({"chosen_score": 1, "rejected_score": True}, 0.0),
        ({"chosen_score": 0.1 + 0.2, "rejected_score": 0.3}, 0.0),
        ({"chosen_score": 0, "rejected_score": 0.5}, -0.5),
        ({"chosen_score": 0.9, "gap": 0.25}, 0.25),
        ({"rejected_score": 0.9}, None),
        ({"gap": 0}, 0.0),
        ({"gap": 0.1 + 0.2}, 0.3),
        ({"gap": -8e307}, -8e307),
    ],
)
def test_gap_of_a_row(given: dict[str, Any], gap: float | None) -> None:
    """The gap is recomputed if both scores are known, else taken from the row."""
    assert _pair(**given).gap == gap


def test_id_of_a_row_is_recomputed() -> None:
    """The ID is recomputed, so an edited row is another pair."""
    pair = make_pair(CHOSEN, REJECTED)
    edited = pair_of({**pair._asdict(), "chosen": "well, yes"})[0]
    assert (_pair(id=pair.id).id, edited.id == pair.id) == (pair.id, False)


def test_fields_that_a_pair_does_not_have() -> None:
    """Unknown fields are added to meta; a name that is already there is no conflict."""
    pair = _pair(meta={"a": 1, "b": 2}, model="m", b=2, nothing=None)
    assert list((pair.meta or {}).items()) == [
        ("a", 1),
        ("b", 2),
        ("model", "m"),
        ("nothing", None),
    ]
    with pytest.raises(BadField) as caught:
        _pair(meta={"a": 1}, a=2)
    assert (caught.value.field, caught.value.expected) == ("a", "what meta.a says")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", None),
        ("chosen", 7),
        ("rejected", {}),
        ("group", 7),
        ("chosen_score", "0.7"),
        ("rejected_score", float("nan")),
        ("gap", float("inf")),
        ("gap", 1e308),
        ("chosen_score", 10**400),
        ("chosen_index", "1"),
        ("rejected_index", 1.5),
        ("chosen_index", True),
        ("chosen_origin", 7),
        ("tools", [1]),
        ("tools", {}),
        ("chosen_tokens", [1]),
        ("rejected_tokens", "x"),
        ("meta", []),
        ("meta", [1]),
        ("meta", "x"),
    ],
)
def test_field_of_the_wrong_type(field: str, value: Any) -> None:
    """The error has the field and its value."""
    with pytest.raises(BadField) as caught:
        _pair(**{field: value})
    assert (caught.value.field, caught.value.value) == (field, value)


def test_indices_as_pandas_writes_them() -> None:
    """Whole numbers with a decimal point are accepted, as pandas writes them."""
    assert _pair(chosen_index=3.0, rejected_index=-1).chosen_index == 3


YES, NO = ([{"role": "assistant", "content": word}] for word in ("yes", "no"))
ASKED = [{"role": "user", "content": "Q"}]


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (("Q", "yes", "no"), ("Q", "yes", "no")),
        ((ASKED, "yes", "no"), (ASKED, YES, NO)),
        (("Q", YES, "no"), (ASKED, YES, NO)),
        (("Q", "yes", NO), (ASKED, YES, NO)),
        ((ASKED, YES, NO), (ASKED, YES, NO)),
    ],
)
def test_one_form(texts: tuple[Text, Text, Text], form: tuple[Text, Text, Text]) -> None:
    """All text or all chat; the ID is the same."""
    assert one_form(*texts) == form
    pair, _ = pair_of(dict(zip(("prompt", "chosen", "rejected"), texts, strict=True)))
    assert (pair.prompt, pair.chosen, pair.rejected, pair.id) == (*form, _pair().id)


@pytest.mark.parametrize("meta", [None, {}, {"prompt_of_rejected": None}, {"prompt": "R"}])
def test_pair_of_one_prompt(meta: dict[str, Any] | None) -> None:
    """A pair usually has one prompt."""
    assert other_prompt(_pair(meta=meta)) == b""


def test_pair_of_two_prompts() -> None:
    """The digest of the rejected answer's prompt is written and read back."""
    pair = make_pair(CHOSEN._replace(meta=None), REJECTED._replace(prompt="R", meta=None))
    assert pair.meta == {"prompt_of_rejected": digest_prompt("R").hex()}
    assert other_prompt(pair) == digest_prompt("R")
    chat = REJECTED._replace(prompt=ASKED, meta=None)
    assert make_pair(CHOSEN._replace(meta=None), chat).meta is None


@pytest.mark.parametrize(
    "value", ["", "R", "0" * 31, "0" * 33, "0" * 31 + "g", "A" * 32, "0" * 32 + "\n", 7, ["0" * 32]]
)
def test_invalid_digest(value: Any) -> None:
    """An invalid digest of the other prompt is a bad field."""
    with pytest.raises(BadField) as caught:
        other_prompt(_pair(meta={"prompt_of_rejected": value}))
    assert caught.value.field == "meta.prompt_of_rejected"


def test_without_origins() -> None:
    """Copies in two files are the same; any other difference counts."""
    pair = make_pair(CHOSEN, REJECTED)
    moved = pair._replace(chosen_origin="b.jsonl:7", rejected_origin="")
    assert without_origins(moved) == without_origins(pair)
    changes: dict[str, Any] = {"group": "h", "chosen_score": 1.0, "meta": None, "chosen_index": 7}
    others = [pair._replace(**{key: value}) for key, value in changes.items()]
    assert without_origins(pair) not in map(without_origins, others)


def test_order_of_keys_makes_no_other_copy() -> None:
    """Meta is compared as a value, whatever its key order."""
    one, other = _pair(meta={"a": 1, "b": 2}), _pair(meta={"b": 2, "a": 1})
    assert without_origins(one) == without_origins(other)


def test_meta_is_the_same_when_it_is_read_again() -> None:
    """NaN and infinities in meta become null at once, not only when written."""
    row = {"prompt": "Q", "chosen": "A", "rejected": "B", "meta": {"a": float("nan")}}
    assert pair_of({**row, "model": float("inf")})[0].meta == {"a": None, "model": None}
