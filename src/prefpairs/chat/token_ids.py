"""A conversation as token ids, and which of them the model wrote."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from prefpairs.chat.model_spans import ChatRenderer, RenderedChat, Span
from prefpairs.model.candidate import TOKENS_END
from prefpairs.targets.base import CannotExport
from prefpairs.targets.export_options import ExportOptions

Encoded = tuple[Sequence[int], Sequence[Span]]
"""The ids of a text, and the span of characters of each."""


_NOWHERE = (1 << 62, 1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenization:
    """How conversations are rendered and tokenized, and the id that pads them."""

    encode: Callable[[str], Encoded]
    chat: ChatRenderer
    pad_id: int = 0


class TokenSide(NamedTuple):
    """The ids of prompt and answer, and a mask of those ids of the answer that the model wrote."""

    prompt: list[int]
    ids: list[int]
    mask: list[int]


def tokens_to_remove(prompt: int, answer: int, options: ExportOptions) -> int:
    """How many tokens must be removed from the prompt; answers are never cut here."""
    most = min(most for most in (options.max_tokens, options.pad_to, prompt + answer) if most)
    cut = max(prompt + answer - most, 0)
    if options.pad_prompt_to is not None and options.pad_to is not None:
        if answer > options.pad_to - options.pad_prompt_to:
            raise CannotExport("too_many_tokens")
        cut = max(cut, prompt - options.pad_prompt_to)
    if cut and (cut >= prompt or not options.keep_end):
        raise CannotExport("too_many_tokens")
    return cut


def padded(
    name: str, side: TokenSide, length: int, pad: int, prompt_length: int | None = None
) -> dict[str, list[int]]:
    """One side, padded to a length; the attention mask, not the padding id, marks the padding.

    With `prompt_length`, the prompt is padded on the left to that length, so that all answers
    begin at one place.
    """
    before = [0] * ((prompt_length or len(side.prompt)) - len(side.prompt))
    real = len(side.prompt) + len(side.ids)
    rest = [0] * (length - len(before) - real)
    return {
        f"{name}_input_ids": [*[pad] * len(before), *side.prompt, *side.ids, *[pad] * len(rest)],
        f"{name}_attention_mask": [*before, *[1] * real, *rest],
        f"{name}_response_mask": [*before, *[0] * len(side.prompt), *side.mask, *rest],
    }


IGNORED = -100
"""The label of tokens that are not trained on, as losses of PyTorch ignore it by default."""


def labels_of(ids: Sequence[int], mask: Sequence[int]) -> list[int]:
    """The ids that are trained on, and IGNORED for all others.

    >>> labels_of([5, 6, 7], [0, 1, 1])
    [-100, 6, 7]
    """
    return [one if own else IGNORED for one, own in zip(ids, mask, strict=True)]


def tokens_given(tokens: Mapping[str, Any]) -> TokenSide:
    """The ids that came with a rollout; its mask may be of the answer, or of prompt and answer."""
    ids: Any = tokens.get("ids")
    start, mask = tokens.get("prompt_length"), tokens.get("mask")
    if not (are_ids(ids) and isinstance(start, int) and 0 <= start <= len(ids)):
        raise CannotExport("tokens_malformed")
    answer = ids[start:]
    if mask is None:
        return TokenSide(ids[:start], answer, [1] * len(answer))
    mask = mask[start:] if isinstance(mask, list) and len(mask) == len(ids) else mask
    if not isinstance(mask, list) or len(mask) != len(answer) or not is_mask(mask):
        raise CannotExport("tokens_malformed")
    return TokenSide(ids[:start], answer, [*map(int, mask)])


def tokens_of(chat: RenderedChat, encode: Callable[[str], Encoded]) -> TokenSide:
    """A conversation as tokens; raises CannotExport if a token crosses the boundary of a span.

    >>> letters = lambda text: ([*map(ord, text)], [(at, at + 1) for at in range(len(text))])
    >>> tokens_of(RenderedChat("Q:a.", 2, [(2, 3)]), letters)
    TokenSide(prompt=[81, 58], ids=[97, 46], mask=[1, 0])
    """
    ids, offsets = encode(chat.text)
    _check_all_covered(chat.text, offsets)
    start = bisect_right(offsets, chat.prompt_end, key=lambda offset: offset[1])
    return TokenSide([*ids[:start]], [*ids[start:]], list(_mask(offsets[start:], chat.spans)))


def refuse_unknown(
    encode: Callable[[str], Encoded], unknown: tuple[int, str]
) -> Callable[[str], Encoded]:
    """Encode as before, but raise CannotExport if characters become the unknown token.

    `unknown` is its id and its text. A text that spells it out does not lose anything.

    >>> refuse_unknown(lambda text: ([0], [(0, 5)]), (0, "<unk>"))("<unk>")
    ([0], [(0, 5)])
    """

    def refusing(text: str) -> Encoded:
        ids, offsets = encode(text)
        number, spelled = unknown
        for one, (start, stop) in zip(ids, offsets, strict=True):
            if one == number and text[start:stop] != spelled:
                raise CannotExport("characters_lost")
        return ids, offsets

    return refusing


def _mask(offsets: Sequence[Span], spans: Sequence[Span]) -> Iterator[int]:
    """1 for each token inside a span, 0 for each other token.

    The first span begins at the end of the prompt, so no token may cross that boundary either.
    """
    coming = iter([*spans, _NOWHERE])
    begin, end = next(coming)
    for start, stop in offsets:
        while start >= end:
            begin, end = next(coming)
        inside = begin <= start and stop <= end
        if not inside and stop > begin:
            raise CannotExport("token_across_border")
        yield int(inside)


def _check_all_covered(text: str, offsets: Sequence[Span]) -> None:
    """Raise if a character has no token: some tokenizers skip what they do not know."""
    place = 0
    for start, stop in offsets:
        if start > place and text[place:start].strip():
            raise CannotExport("characters_lost")
        place = max(place, stop)
    if text[place:].strip():
        raise CannotExport("characters_lost")


def are_ids(ids: Any) -> bool:
    """Whether a value is a list of token ids."""
    return isinstance(ids, list) and all(type(one) is int and 0 <= one < TOKENS_END for one in ids)


def is_mask(mask: Any) -> bool:
    """Whether a value is a list of 0 and 1."""
    return isinstance(mask, list) and all(one in (0, 1) for one in mask)
