"""A tokenizer out of a tokenizer.json."""

import os
from collections.abc import Callable

from prefpairs.errors import BadInput, FileTrouble, UsageError


def open_tokenizer(path: str) -> Callable[[str], int]:
    """What counts the tokens of a text."""
    encode = open_encoder(path)
    return lambda text: len(encode(text))


def open_encoder(path: str) -> Callable[[str], list[int]]:
    """What makes tokens of a text."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError(
            "counting tokens needs a library that is not installed",
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

    def encode(text: str) -> list[int]:
        try:
            return list(tokenizer.encode(text, add_special_tokens=False).ids)
        except Exception as error:  # noqa: BLE001 - as above
            raise BadInput(path, f"it makes no tokens of a text ({error})") from None

    return encode
