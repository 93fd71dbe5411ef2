"""The tokens of a rollout: as candidates contain them, and as text if there is no other text."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from prefpairs.errors import BadField
from prefpairs.model.candidate import TOKENS_END
from prefpairs.model.identity import digest


class Decoder(Protocol):
    """The part of a tokenizer that converts tokens to text."""

    @property
    def special(self) -> Collection[int]:
        """The special tokens, such as the one that ends a turn."""
        ...

    @property
    def size(self) -> int:
        """All token ids are below this number."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens, including special tokens."""
        ...


class RolloutTokens(NamedTuple):
    """The tokens of prompt and answer, and a mask of the answer's tokens that were trained on."""

    ids: list[int]
    prompt_length: int
    mask: list[int] | None

    @property
    def prompt(self) -> str:
        """A digest of the prompt's tokens."""
        ids = ",".join(map(str, self.ids[: self.prompt_length]))
        return digest("tokens", ids.encode()).hex()

    @property
    def field(self) -> dict[str, Any]:
        """The `tokens` field of the candidate."""
        field = {"ids": self.ids, "prompt_length": self.prompt_length}
        return field if self.mask is None else {**field, "mask": self.mask}

    def texts(self, decoder: Decoder) -> tuple[str, str]:
        """The prompt as the model saw it, and its answer without the tokens that end its turn."""
        end = len(self.ids)
        while end > self.prompt_length and self.ids[end - 1] in decoder.special:
            end -= 1
        if max(self.ids) >= decoder.size:
            raise BadField("tokens", max(self.ids), f"less than {decoder.size}: --tokenizer")
        prompt = decoder.text(self.ids[: self.prompt_length])
        whole = decoder.text(self.ids[:end])
        # Some tokenizers omit a leading space.
        if whole.startswith(prompt):
            return prompt, whole[len(prompt) :]
        return prompt, decoder.text(self.ids[self.prompt_length : end])


def read_tokens(ids: Any, prompt_length: Any, mask: Any) -> RolloutTokens | None:
    """The tokens of a row, if it has any. A mask may cover the answer or all tokens."""
    if ids is None:
        return None
    ids = _whole_numbers(ids, "tokens", TOKENS_END)
    if type(prompt_length) is not int or not 0 < prompt_length <= len(ids):
        raise BadField("prompt_length", prompt_length, f"a number from 1 to {len(ids)}")
    if mask is None:
        return RolloutTokens(ids, prompt_length, None)
    mask = _whole_numbers(mask, "action_mask", 2)
    if len(mask) == len(ids):
        mask = mask[prompt_length:]
    if len(mask) != len(ids) - prompt_length:
        expected = f"{len(ids) - prompt_length} numbers, as the answer has tokens"
        raise BadField("action_mask", mask, expected)
    return RolloutTokens(ids, prompt_length, mask)


def read_masked(ids: Any, mask: Sequence[int], field: str) -> RolloutTokens | None:
    """The tokens up to the model's last one, if there are any, by a mask of all tokens.

    >>> read_masked([7, 8, 9, 0], [0, 1, 1, 0], "tokens").field
    {'ids': [7, 8, 9], 'prompt_length': 1, 'mask': [1, 1]}
    """
    if ids is None or 1 not in mask:
        return None
    ids = _whole_numbers(ids, field, TOKENS_END)
    start, end = mask.index(1), len(mask) - mask[::-1].index(1)
    return read_tokens(ids[:end], start, mask[:end])


def read_mask(values: Any, field: str) -> list[int]:
    """A mask of ones and zeros."""
    return _whole_numbers(values, field, 2)


def read_appended(prompt: Any, answer: Any, field: str) -> dict[str, Any] | None:
    """The `tokens` field, if a row has the tokens of prompt and answer separately."""
    if prompt is None or answer is None:
        return None
    asked = _whole_numbers(prompt, "tokens", TOKENS_END)
    said = _whole_numbers(answer, field, TOKENS_END)
    return RolloutTokens([*asked, *said], len(asked), [1] * len(said)).field


def _whole_numbers(values: Any, field: str, end: int) -> list[int]:
    """Whole numbers below `end`; some tools write them as floats or booleans."""
    if not isinstance(values, list):
        raise BadField(field, values, "a list of numbers")
    kinds = set(map(type, values))
    if kinds <= {int} and (not values or (min(values) >= 0 and max(values) < end)):
        return values
    if not kinds <= {int, bool, float} or not all(0 <= value < end for value in values):
        raise BadField(field, values, f"a list of numbers from 0 to {end - 1}")
    numbers = [int(value) for value in values]
    if numbers != values:
        raise BadField(field, values, "a list of whole numbers")
    return numbers
