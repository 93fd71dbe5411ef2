"""Turns as a chat template rendered them, in the logs of trainers: where they end."""

import re
from collections.abc import Iterator

from prefpairs.fields.read_options import ReadOptions

_END = re.compile(
    r"(?:(?:<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|call|END_OF_TURN_TOKEN)\|>"
    r"|<end_of_turn>|<turn\|>|<eos>|</s>|<\|end_of_role\|>|<\uff5cend\u2581of\u2581sentence\uff5c>)"
    r"\n?)+\Z"
)
"""The special tokens with which a model ends its turn, in the families of common templates."""


def without_end(text: str) -> str:
    """What a model said, without the tokens that end its turn, which templates add again.

    >>> without_end("4<|im_end|>"), without_end("4")
    ('4', '4')
    """
    return _END.sub("", text)


def note_on_prompts(framework: str, options: ReadOptions) -> Iterator[str]:
    """A note that prompts are kept as text, unless a template turns them into messages."""
    if options.unrender is None:
        yield (
            f"{framework}'s prompts are text that a chat template rendered; "
            "--prompt-template FILE turns them into messages"
        )
