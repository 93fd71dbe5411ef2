"""A tokenizer out of a tokenizer.json, or out of the folder of a model."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import BadInput, FileTrouble, NotJson
from prefpairs.extras import missing_library
from prefpairs.files.noted import note, read_noted
from prefpairs.records.wire import decode, encode

_FILE, _CONFIG = "tokenizer.json", "tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class Model:
    """The files of a model that say how it reads and writes."""

    tokenizer: str
    config: str | None = None
    template: str | None = None


def model_at(path: str) -> Model:
    """The files in a folder; or a tokenizer.json alone."""
    if not os.path.isdir(path):
        return Model(path)
    there = {
        name: os.path.join(path, name)
        for name in (_CONFIG, "chat_template.jinja")
        if os.path.isfile(os.path.join(path, name))
    }
    config = there.get(_CONFIG)
    return Model(os.path.join(path, _FILE), config, there.get("chat_template.jinja", config))


def special_tokens(path: str) -> dict[str, str]:
    """The special tokens that a tokenizer_config.json names: bos_token, eos_token and the like."""
    try:
        config = decode(read_noted(path))
    except NotJson as error:
        raise BadInput(path, f"no tokenizer_config.json: {error.problem}") from None
    if not isinstance(config, dict):
        raise BadInput(path, "no tokenizer_config.json: it holds no object")
    named = {key: _content(value) for key, value in config.items() if key.endswith("_token")}
    return {key: value for key, value in named.items() if isinstance(value, str)}


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token


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
    path = model_at(path).tokenizer
    tokenizer = _opened(path, exact=False)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added = tokenizer.get_added_tokens_decoder()
    special = frozenset(number for number, token in added.items() if token.special)
    size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    return TokenizerDecoder(path, tokenizer, special, size)


def open_encoder(path: str) -> Callable[[str], list[int]]:
    """What makes tokens of a text."""
    tokens = Tokens(path)
    return lambda text: tokens.encode(text)[0]


class Tokens:
    """What makes tokens of a text, and says for which characters each stands."""

    def __init__(self, path: str, *, exact: bool = False) -> None:
        self._path = path
        self._tokenizer = _opened(path, exact=exact)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of a text, and the characters that each stands for."""
        try:
            encoding = self._tokenizer.encode(text, add_special_tokens=False)
        except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
            raise BadInput(self._path, f"it makes no tokens of a text ({error})") from None
        return list(encoding.ids), list(encoding.offsets)

    def id_of(self, token: str) -> int | None:
        """The id of a token, if there is one of that name."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found

    def marks(self) -> list[str]:
        """The texts that are one token wherever they stand, such as the end of a turn."""
        added = self._tokenizer.get_added_tokens_decoder()
        return [token.content for token in added.values()]


def _opened(path: str, *, exact: bool) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise missing_library("--tokenizer", "tokens") from None
    if not os.path.isfile(path):
        raise FileTrouble(path, "is a directory" if os.path.isdir(path) else "no such file")
    note(path)
    try:
        return Tokenizer.from_str(_exact(path)) if exact else Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise BadInput(path, f"no tokenizer.json ({error})") from None


def _exact(path: str) -> str:
    """The file with offsets that leave out no space: some tokenizers trim them."""
    with open(path, "rb") as file:
        config = decode(file.read())
    _keep_spaces(config.get("pre_tokenizer"))
    _keep_spaces(config.get("post_processor"))
    return encode(config).decode()


def _keep_spaces(part: Any) -> None:
    if isinstance(part, list):
        for one in part:
            _keep_spaces(one)
    elif isinstance(part, dict):
        if "trim_offsets" in part:
            part["trim_offsets"] = False
        for one in part.values():
            _keep_spaces(one)
