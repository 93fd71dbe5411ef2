"""The prompt of a row as its trainer sees it: what must not be on two sides of a split.

Export changes prompts: shared turns move into them, thinking and history may go. So rows are
compared as they are written, in the target's own form. Where nothing was changed, the digest is
that of the pair's own prompt.
"""

from typing import Any

from prefpairs.dataset.example import example_of
from prefpairs.model.candidate import read_text
from prefpairs.model.content import MEDIA
from prefpairs.model.identity import digest_prompt
from prefpairs.model.json_codec import encode_sorted
from prefpairs.model.pair import Pair
from prefpairs.targets.base import ExportOptions, Row, Rules, Target, Unfit


def seen_prompt(row: Row, rules: Rules) -> bytes:
    """The digest of a row's prompt. Raises BadRecord where no prompt can be read."""
    prompt: Any = read_text(rules.read(row).get("prompt"), "prompt")
    shown = {name: row[name] for name in MEDIA if row.get(name)}
    if shown:
        prompt = f"{digest_prompt(prompt).hex()} {encode_sorted(shown).decode()}"
    return digest_prompt(prompt)


def prompt_seen_of(pair: Pair, target: Target, options: ExportOptions) -> bytes | None:
    """The digest of the prompt that a pair is written with; None where it cannot be written."""
    try:
        example, _ = example_of(pair, target, options)
        return seen_prompt(target.rows(example, options)[0], target.rules)
    except Unfit:
        return None
