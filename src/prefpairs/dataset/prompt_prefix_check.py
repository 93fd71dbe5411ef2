"""Checks that the rendered prompt is a prefix of the rendered conversation, as trainers assume.

A trainer removes as many characters as the rendered prompt has, generation prompt included. Some
templates put the start of the reasoning into the generation prompt but not into the turn. The
answer then silently loses its beginning, or all of it.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from prefpairs.chat.template import compiled, render_or_empty
from prefpairs.dataset.row_rules import Effect, Finding, Row
from prefpairs.errors import UsageError


class PromptPrefixCheck:
    """Slices answers as a trainer does, with one chat template."""

    def __init__(self, source: str) -> None:
        self._source = source
        probe: Row = {"prompt": [{"role": "user", "content": "prefpairs-probe"}]}
        if "prefpairs-probe" not in self._rendered(probe["prompt"], ask=True):
            problem = "--template: it does not render a chat of a user and the model"
            raise UsageError(problem, "is this the chat template?")

    @cached_property
    def _template(self) -> Any:
        return compiled(self._source)

    def findings(self, row: Row) -> Iterator[Finding]:
        """What is wrong with the answers of a row once they are sliced."""
        prompt = row.get("prompt")
        sides = [row.get("chosen"), row.get("rejected")]
        if not isinstance(prompt, list) or not all(isinstance(side, list) for side in sides):
            return
        asked = self._rendered(prompt, ask=True)
        whole = [self._rendered([*prompt, *(side or [])], ask=False) for side in sides]
        if all(text.startswith(asked) for text in whole):
            return
        chosen, rejected = (text[len(asked) :] for text in whole)
        lost = chosen == rejected
        yield Finding(Effect.NOTHING if lost else Effect.WRONG, "sliced_by_template", "chosen")

    def _rendered(self, messages: list[Any], *, ask: bool) -> str:
        return render_or_empty(self._template, messages, add_generation_prompt=ask)
