"""Two answers to one prompt."""

from typing import Any

import pytest

from prefpairs.records.candidate import Candidate
from prefpairs.records.identity import digest_prompt, digest_response, digest_tools, pair_id
from prefpairs.records.pair import make_pair, pair_line

CHOSEN = Candidate("g", "Q", "yes", 0.9, 1, "a.jsonl:1", meta={"model": "m", "seed": 1})
REJECTED = Candidate("g", "Q", "no", 0.8, 0, "a.jsonl:2", meta={"model": "m", "seed": 2})


def _meta(chosen: dict[str, Any] | None, rejected: dict[str, Any] | None) -> Any:
    return make_pair(CHOSEN._replace(meta=chosen), REJECTED._replace(meta=rejected)).meta


def test_line_has_all_fields_in_their_order() -> None:
    """The order of keys is fixed, the gap is decimal, shared meta stands once."""
    pair = make_pair(CHOSEN, REJECTED)
    assert pair_line(pair).decode() == (
        f'{{"id":"{pair.id}","group":"g","prompt":"Q","chosen":"yes","rejected":"no",'
        '"chosen_score":0.9,"rejected_score":0.8,"gap":0.1,"chosen_index":1,"rejected_index":0,'
        '"chosen_origin":"a.jsonl:1","rejected_origin":"a.jsonl:2",'
        '"meta":{"model":"m","chosen_seed":1,"rejected_seed":2}}\n'
    )


def test_line_holds_tools_and_tokens_where_there_are_any() -> None:
    """The tools are the chosen one's, the tokens are a side's own."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    chosen = CHOSEN._replace(tools=tools, tokens={"ids": [1]}, meta=None)
    line = pair_line(make_pair(chosen, REJECTED._replace(tools=tools, meta=None)))
    assert line.endswith(
        b'"tools":[{"type":"function","function":{"name":"f"}}],"chosen_tokens":{"ids":[1]}}\n'
    )


def test_id_is_the_digest_of_the_contents() -> None:
    """Prompt, tools, chosen and rejected make the name, nothing else does."""
    elsewhere = CHOSEN._replace(group="h", origin="b.jsonl:9", index=None, score=7.0, meta=None)
    expected = pair_id(
        digest_prompt("Q"), digest_tools(None), digest_response("yes"), digest_response("no")
    )
    assert make_pair(CHOSEN, REJECTED).id == make_pair(elsewhere, REJECTED).id == expected


def test_prompt_as_text_or_chat_gives_one_id() -> None:
    """The same question in another dress is the same pair."""
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
    """What both sides share stands once, what differs once a side."""
    assert _meta(chosen, rejected) == joined


def test_meta_names_the_other_group() -> None:
    """A pair across prompts says what the rejected answer was an answer to."""
    pair = make_pair(CHOSEN, REJECTED._replace(group="h", meta=CHOSEN.meta))
    assert (pair.group, pair.meta) == ("g", {"model": "m", "seed": 1, "rejected_group": "h"})
