"""Test vectors of identity for every implementation. They never change alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.model.identity import (
    IDENTITY_VERSION,
    canonical,
    canonical_json,
    digest_group,
    digest_prompt,
    digest_response,
    digest_tools,
    draw,
    group_of_prompt,
    pair_id,
)
from prefpairs.model.json_codec import decode

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "identity.json").read_text(encoding="utf-8")
)


def test_vectors_are_of_this_version() -> None:
    """A change of identity needs new vectors and a new version."""
    assert VECTORS["identity"] == IDENTITY_VERSION == 2


@pytest.mark.parametrize("vector", VECTORS["texts"], ids=lambda vector: vector["name"])
def test_texts(vector: dict[str, Any]) -> None:
    """The bytes of each message, and the digest of the text."""
    prompt = vector["as"] == "prompt"
    messages = canonical(vector["text"], "user" if prompt else "assistant")
    assert [message.decode() for message in messages] == vector["messages"]
    digest = (digest_prompt if prompt else digest_response)(vector["text"])
    assert digest.hex() == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS["json"], ids=lambda vector: vector["json"])
def test_canonical_json(vector: dict[str, str]) -> None:
    """Each value has one canonical text."""
    assert canonical_json(decode(vector["json"].encode())).decode() == vector["canonical"]


def test_tools_groups_pairs_and_draws() -> None:
    """Digests of tools, groups and pairs, and draws."""
    of = bytes.fromhex
    for one in VECTORS["tools"]:
        assert digest_tools(one["tools"]).hex() == one["digest"]
    for one in VECTORS["groups"]:
        found = digest_group(one["key"], of(one["prompt"]), of(one["tools"]))
        assert found.hex() == one["digest"]
    for one in VECTORS["pairs"]:
        contents = (of(one[name]) for name in ("prompt", "tools", "chosen", "rejected"))
        assert pair_id(*contents) == one["id"]
    for one in VECTORS["names"]:
        assert group_of_prompt(digest_prompt(one["prompt"])) == one["group"]
    for one in VECTORS["draws"]:
        assert str(draw(one["seed"], one["purpose"], of(one["identity"]))) == one["draw"]
