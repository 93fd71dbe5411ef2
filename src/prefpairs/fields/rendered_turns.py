"""Turns in the logs of trainers, as a chat template rendered them: whose they are, their ends."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prefpairs.fields.read_options import ReadOptions, Unrender
from prefpairs.model.message import Message, Text, Unclear, generation_prompt

_END = re.compile(
    r"(?:<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|call|END_OF_TURN_TOKEN)\|>"
    r"|<end_of_turn>|<turn\|>|<eos>|</s>|<\|end_of_role\|>|<\uff5cend\u2581of\u2581sentence\uff5c>)"
)
"""The special tokens with which a model ends its turn, in the families of common templates."""
_AT_END = re.compile(rf"(?:{_END.pattern}\n?)+\Z")


class Conversation(NamedTuple):
    """A prompt and its answer; rendered if the prompt is still text."""

    prompt: Text
    response: Text
    rendered: bool = True


def without_end(text: str) -> str:
    """What a model said, without the tokens that end its turn, which templates add again.

    >>> without_end("4<|im_end|>"), without_end("4")
    ('4', '4')
    """
    return _AT_END.sub("", text)


def ends_turn(text: str) -> bool:
    """Whether a text ends in a token that ends a turn.

    >>> ends_turn("4<|im_end|>"), ends_turn("4")
    (True, False)
    """
    return _AT_END.search(text) is not None


def turns_in(asked: str, said: str) -> list[str]:
    r"""The turns in a rendered answer, which are the model's and the environment's in turn.

    >>> turns_in("Q<|im_start|>assistant\n", "A<|im_end|>\nB<|im_start|>assistant\nC")
    ['A<|im_end|>', '\nB<|im_start|>assistant\n', 'C']
    """
    asking = generation_prompt(asked)
    if not asking or asking not in said:
        return [said]
    *parts, last = said.split(asking)
    turns: list[str] = []
    for part in parts:
        end = _END.search(part)
        if end is None:
            return [said]
        turns += [part[: end.end()], part[end.end() :] + asking]
    return [*turns, last]


def conversation(
    texts: Sequence[str], spoken: Sequence[int], options: ReadOptions, noticed: list[str]
) -> Conversation:
    """Prompt and answer from all turns of a rollout, and the places of those that the model wrote.

    A prompt is one text, and so is an answer of one turn. Of several turns, those of the
    environment are messages as well: with the template of --prompt-template as they were before
    it rendered them, else as they are.
    """
    asked = "".join(texts[: spoken[0]])
    if len(spoken) == 1:
        return Conversation(asked, without_end(texts[spoken[0]]))
    found = None if options.unrender is None else _messages(texts, spoken, options.unrender)
    if isinstance(found, str):
        noticed.append(found)
    elif found is not None:
        return found
    own = {*spoken}
    return Conversation(
        asked,
        [
            _said(texts[place]) if place in own else {"role": "user", "content": texts[place]}
            for place in range(spoken[0], spoken[-1] + 1)
        ],
    )


def _messages(
    texts: Sequence[str], spoken: Sequence[int], unrender: Unrender
) -> Conversation | str:
    """Prompt and answer as messages if a template makes just these texts, or what to notice."""
    try:
        asked = unrender.messages("".join(texts[: spoken[0]]))
        whole = unrender.messages("".join(texts[: spoken[-1]]))
    except Unclear:
        return "template_unclear"
    if asked is None or whole is None or whole[: len(asked)] != asked:
        return "template_differs"
    said = [*whole[len(asked) :], _said(texts[spoken[-1]])]
    return Conversation(asked, said, rendered=False)


def _said(text: str) -> Message:
    return {"role": "assistant", "content": without_end(text)}


def note_on_prompts(framework: str, options: ReadOptions) -> Iterator[str]:
    """A note that prompts are kept as text, unless a template turns them into messages."""
    if options.unrender is None:
        yield (
            f"{framework}'s prompts are text that a chat template rendered; "
            "--prompt-template FILE turns them into messages"
        )
