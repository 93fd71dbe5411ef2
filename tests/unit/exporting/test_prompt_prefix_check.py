"""Checks answers that a trainer cuts out of rendered conversations."""

from typing import Any

import pytest
from target_rows import model, user

from prefpairs.dataset.prompt_prefix_check import PromptPrefixCheck
from prefpairs.dataset.row_rules import Effect
from prefpairs.errors import UsageError

TURN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
ASKS = "{% if add_generation_prompt %}<assistant>THINK{% endif %}"


def _effects(template: str, chosen: str, rejected: str) -> list[Effect]:
    row = {"prompt": [user("Q")], "chosen": [model(chosen)], "rejected": [model(rejected)]}
    return [finding.effect for finding in PromptPrefixCheck(template).findings(row)]


@pytest.mark.parametrize(
    ("asks", "chosen", "rejected", "effects"),
    [
        (ASKS.replace("THINK", ""), "4", "5", []),
        ("", "4", "5", []),
        (ASKS, "a long answer", "another one", [Effect.WRONG]),
        (ASKS, "4", "5", [Effect.NOTHING]),
        (ASKS, "THINK 4", "THINK 5", []),
        (ASKS, "THINK 4", "a long answer", [Effect.WRONG]),
    ],
)
def test_effects(asks: str, chosen: str, rejected: str, effects: list[Effect]) -> None:
    """Correct if the turn begins as the generation prompt does; else part or all is lost."""
    assert _effects(TURN + asks, chosen, rejected) == effects


@pytest.mark.parametrize("row", [{}, {"prompt": "Q", "chosen": [], "rejected": []}])
def test_rows_that_are_no_chats(row: dict[str, Any]) -> None:
    """Rows that are not chats are left to other checks."""
    assert list(PromptPrefixCheck(TURN).findings(row)) == []


@pytest.mark.parametrize("source", ["Hello", "{% for", "{{ raise_exception('no') }}"])
def test_no_template(source: str) -> None:
    """A file without a template is rejected before anything is read."""
    with pytest.raises(UsageError):
        PromptPrefixCheck(source)
