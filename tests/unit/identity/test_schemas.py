"""Published schemas match what is written."""

from typing import Any

import pytest
from pydantic import ValidationError

from prefpairs.model.candidate import Candidate, candidate_line
from prefpairs.model.pair import make_pair, pair_line
from prefpairs.model.schema import CandidateModel, MessageModel, PairModel, json_schema

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
]
TURN: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "content": "42", "tool_call_id": "call_1"},
    {"role": "assistant", "content": "42"},
]
CANDIDATE = Candidate(
    "g", CHAT, TURN, 1.0, 3, "r.jsonl:1", [{"type": "function"}], {"ids": [1]}, {"model": "m"}
)


@pytest.mark.parametrize("candidate", [CANDIDATE, Candidate("g", "Q", "A", 0.0)])
def test_candidate_lines_pass_their_model(candidate: Candidate) -> None:
    """`extract` writes lines that match the schema."""
    read = CandidateModel.model_validate_json(candidate_line(candidate))
    assert (read.group, read.score, read.index) == (candidate.group, candidate.score, candidate[4])


def test_pair_lines_pass_their_model() -> None:
    """`pair` writes lines that match the schema."""
    rejected = Candidate("g", CHAT, "no", 0.5, origin="r.jsonl:2")
    read = PairModel.model_validate_json(pair_line(make_pair(CANDIDATE, rejected)))
    assert (read.gap, read.chosen_origin) == (0.5, "r.jsonl:1")
    assert read.rejected == [MessageModel(role="assistant", content="no")]


@pytest.mark.parametrize(
    "change",
    [
        {"score": None},
        {"score": "1"},
        {"score": float("nan")},
        {"score": float("inf")},
        {"more": 1},
        {"index": 1.5},
        {"prompt": 1},
    ],
)
def test_other_candidates_do_not_pass(change: dict[str, Any]) -> None:
    """Unknown keys and wrong types are rejected."""
    row = {"group": "g", "prompt": "Q", "response": "A", "score": 1.0, **change}
    with pytest.raises(ValidationError):
        CandidateModel.model_validate(row)


@pytest.mark.parametrize("role", ["developer", "function", ""])
def test_roles_are_the_four_of_chats(role: str) -> None:
    """Only the four chat roles are allowed, since others are translated before writing."""
    with pytest.raises(ValidationError):
        MessageModel.model_validate({"role": role, "content": ""})


@pytest.mark.parametrize("record", ["candidate", "pair"])
def test_schemas_are_named_and_closed(record: str) -> None:
    """Each schema has a name and allows no other keys."""
    schema = json_schema(record)
    assert (schema["$id"], schema["additionalProperties"], schema["type"]) == (
        f"urn:prefpairs:{record}:1",
        False,
        "object",
    )


def test_schema_lists_fields_in_the_order_of_the_wire() -> None:
    """A candidate and its schema have the same fields in the same order."""
    assert tuple(json_schema("candidate")["properties"]) == Candidate._fields
