"""A tokenizer out of a tokenizer.json."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import BadInput, FileTrouble, UsageError


def open_tokenizer(path: str) -> Callable[[str], int]:
    """What counts the tokens of a text."""
    encode = open_encoder(path)
    return lambda text: len(encode(text))


@dataclass(frozen=True)
class TokenizerDecoder:
    """What makes text of tokens."""

    path: str
    tokenizer: Any
    special: frozenset[int]
    size: int

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens, the special ones spelt out."""
        try:
            return str(self.tokenizer.decode(ids, skip_special_tokens=False))
        except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
            raise BadInput(self.path, f"it makes no text of tokens ({error})") from None


def open_decoder(path: str) -> TokenizerDecoder:
    """What makes text of tokens."""
    tokenizer = _opened(path)
    added = tokenizer.get_added_tokens_decoder()
    special = frozenset(number for number, token in added.items() if token.special)
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    return TokenizerDecoder(path, tokenizer, special, size)


def open_encoder(path: str) -> Callable[[str], list[int]]:
    """What makes tokens of a text."""
    tokenizer = _opened(path)

    def encode(text: str) -> list[int]:
        try:
            return list(tokenizer.encode(text, add_special_tokens=False).ids)
        except Exception as error:  # noqa: BLE001 - as above
            raise BadInput(path, f"it makes no tokens of a text ({error})") from None

    return encode


def _opened(path: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError(
            "--tokenizer needs a library that is not installed",
            "pip install 'prefpairs[tokens]'",
        ) from None
    if not os.path.isfile(path):
        raise FileTrouble(path, "is a directory" if os.path.isdir(path) else "no such file")
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise BadInput(path, f"no tokenizer.json ({error})") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
