"""A tokenizer from a tokenizer.json, or from the folder of a model."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from prefpairs.errors import BadInput, BadRecord, FileError, NotJson
from prefpairs.files.file_stamps import read_small_input, record_input
from prefpairs.files.file_system import errors_named, is_file, is_folder
from prefpairs.files.input_file import Limits, within_memory
from prefpairs.files.tokenizer_worst_case import (
    decoder_runs_away,
    encoder_runs_away,
    growth_of_decoder,
    growth_of_normalizer,
)
from prefpairs.limited_process import SECONDS, Limited, OverBudget, Refusal
from prefpairs.model.json_codec import decode, encode
from prefpairs.optional_libraries import missing_library

_FILE, _CONFIG = "tokenizer.json", "tokenizer_config.json"

_SECONDS, _LONGER = 60, 64
"""Seconds a tokenizer may take to load and to be tried; how many times longer it may make text."""

_LONGEST, _TIMES_A_TEXT = 64_000_000, 4
"""The most characters that the tokens of a row may represent; their memory as lines."""

_PROBES = ("", "Hello, 7 \u00e9\u4e16\U0001f600\t\n<|x|>", "word " * 200, "a" * 200 + "!")


@dataclass(frozen=True, slots=True)
class Model:
    """The files of a model that define its tokens and its chat template."""

    tokenizer: str
    config: str | None = None
    template: str | None = None


_NO_TOKENS, _NO_TEXT = "it cannot encode a text", "it cannot decode tokens"
_encoding = msgspec.msgpack.Decoder(tuple[list[int], list[tuple[int, int]]]).decode
_ids = msgspec.msgpack.Decoder(list[int]).decode


def model_at(path: str) -> Model:
    """The files in a folder, or a tokenizer.json alone."""
    if not is_folder(path):
        return Model(path)
    there = {
        name: os.path.join(path, name)
        for name in (_CONFIG, "chat_template.jinja")
        if is_file(os.path.join(path, name))
    }
    config = there.get(_CONFIG)
    return Model(os.path.join(path, _FILE), config, there.get("chat_template.jinja", config))


def special_tokens(path: str) -> dict[str, str]:
    """The special tokens in a tokenizer_config.json: bos_token, eos_token and so on."""
    try:
        config = decode(read_small_input(path))
    except NotJson as error:
        raise BadInput(path, f"not a tokenizer_config.json: {error.problem}") from None
    if not isinstance(config, dict):
        raise BadInput(path, "not a tokenizer_config.json: it is not a JSON object")
    named = {key: _content(value) for key, value in config.items() if key.endswith("_token")}
    return {key: value for key, value in named.items() if isinstance(value, str)}


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token


def open_tokenizer(path: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text."""
    encode = open_encoder(path)
    return lambda text: len(encode(text))


@dataclass(frozen=True)
class TokenizerDecoder:
    """Decodes tokens to text."""

    path: str
    tokenizer: Any
    special: frozenset[int]
    size: int
    widest: int
    """The most characters that a token may represent, according to the file."""
    growth: int
    """The most characters that the decoder makes of one character, or of no tokens at all."""
    decode: Callable[[Sequence[int]], str]

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens, including special ones."""
        if len(ids) * self.widest > _most_text():
            self._refuse_long(ids)
        try:
            with _naming(self.path, _NO_TEXT, OverBudget):
                return self.decode(ids)
        except OverBudget as error:
            raise BadInput(self.path, f"{_NO_TEXT}: {error.problem}") from None

    def _refuse_long(self, ids: Sequence[int]) -> None:
        """Raise if the text would be longer than a row may be, before it is decoded."""
        left = _most_text()
        for number in ids:
            left -= self.growth * (1 + len(self.tokenizer.id_to_token(number) or ""))
            if left < 0:
                raise BadRecord(f"its {len(ids)} tokens represent more text than a row may have")


def _most_text() -> int:
    """How many characters the tokens of a row may represent, in the memory that is left."""
    return within_memory(Limits(_TIMES_A_TEXT * _LONGEST)).line // _TIMES_A_TEXT


def open_decoder(path: str) -> TokenizerDecoder:
    """A decoder of tokens."""
    path = model_at(path).tokenizer
    tokenizer = _opened(path, exact=False)
    added = tokenizer.get_added_tokens_decoder()
    special = frozenset(number for number, token in added.items() if token.special)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    size = 1 + max(vocabulary.values(), default=-1)
    growth = growth_of_decoder(tokenizer)
    widest = growth * (1 + max(map(len, vocabulary), default=0))
    decode_here = partial(tokenizer.decode, skip_special_tokens=False)
    limited = _decode_in_process(decode_here) if decoder_runs_away(tokenizer) else None
    return TokenizerDecoder(path, tokenizer, special, size, widest, growth, limited or decode_here)


def _decode_in_process(
    decode_here: Callable[[Sequence[int]], str],
) -> Callable[[Sequence[int]], str]:
    """The same in a separate process."""

    def answer(question: bytes) -> bytes:
        return decode_here(_ids(question)).encode()

    limited = Limited(lambda: answer, SECONDS)
    return lambda ids: limited(msgspec.msgpack.encode(ids)).decode()


def open_encoder(path: str) -> Callable[[str], list[int]]:
    """A function that encodes a text as token ids."""
    tokens = Tokens(path)
    return lambda text: tokens.encode(text)[0]


class Tokens:
    """Encodes text as tokens, with the characters that each represents."""

    def __init__(self, path: str, *, exact: bool = False) -> None:
        self._path = path
        self._tokenizer = _opened(path, exact=exact)
        runs_away = encoder_runs_away(self._tokenizer)
        self._limited = Limited(lambda: self._answer, SECONDS) if runs_away else None

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The token ids of a text, and the characters that each represents."""
        try:
            with _naming(self._path, _NO_TOKENS, OverBudget):
                if self._limited is None:
                    return self._encoded(text)
                return _encoding(self._limited(text.encode("utf-8", "surrogatepass")))
        except OverBudget as error:
            raise BadInput(self._path, f"{_NO_TOKENS}: {error.problem}") from None

    def _encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return list(encoding.ids), list(encoding.offsets)

    def _answer(self, question: bytes) -> bytes:
        """The answer to `encode`, in a separate process."""
        return msgspec.msgpack.encode(self._encoded(question.decode("utf-8", "surrogatepass")))

    def id_of(self, token: str) -> int | None:
        """The id of a token, if it exists."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found

    def unknown(self) -> tuple[int, str] | None:
        """The id and the text of the token for characters that are not in the vocabulary."""
        model = self._tokenizer.model
        token = getattr(model, "unk_token", None)
        number = None if token is None else self.id_of(token)
        if type(model).__name__ == "Unigram":  # it has the ID only in its state
            number = decode(model.__getstate__()).get("unk_id")
        return None if number is None else (number, self._tokenizer.id_to_token(number))

    def marks(self) -> list[str]:
        """The texts that are always one token, such as the end of a turn."""
        added = self._tokenizer.get_added_tokens_decoder()
        return [token.content for token in added.values()]


def _opened(path: str, *, exact: bool) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise missing_library("--tokenizer", "tokens") from None
    if not is_file(path):
        raise FileError(path, "is a directory" if is_folder(path) else "no such file")
    record_input(path)
    made = (Tokenizer.from_str, _exact(path)) if exact else (Tokenizer.from_file, path)
    make = partial(_whole_texts, *made)
    tried = Limited(lambda: lambda _: _try(make()), _SECONDS)
    try:
        tried(b"")
    except OverBudget as error:
        raise BadInput(path, f"not a usable tokenizer.json: {error.problem}") from None
    except Refusal as error:
        raise BadInput(path, f"not a tokenizer.json ({error})") from None
    finally:
        tried.close()
    with _naming(path, "not a tokenizer.json"):
        tokenizer = make()
    if getattr(tokenizer.model, "dropout", None):
        tokenizer.model.dropout = (
            None  # dropout is for training, and gives other tokens in each run
        )
    return tokenizer


def _whole_texts(make: Callable[[str], Any], given: str) -> Any:
    """A tokenizer without truncation and padding."""
    tokenizer = make(given)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _try(tokenizer: Any) -> bytes:
    """Use a tokenizer once, since some files crash it and its process."""
    parts = {"decoder": growth_of_decoder, "normalizer": growth_of_normalizer}
    for name, growth_of in parts.items():
        if (growth := growth_of(tokenizer)) > _LONGER:
            raise ValueError(f"its {name} may make {growth} characters of one")
    for text in _PROBES:
        with suppress(Exception):  # it need not know every character
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            tokenizer.decode(ids, skip_special_tokens=False)
    if tokenizer.normalizer is not None:
        for text in _PROBES:
            length = len(tokenizer.normalizer.normalize_str(text))
            if length > _LONGER * (len(text) + _LONGER):
                raise ValueError(f"it makes {length} characters of {len(text)}")
    return b""


@contextmanager
def _naming(path: str, problem: str, *others: type[Exception]) -> Iterator[None]:
    """Raise any error of the library as BadInput. A panic in Rust is not an Exception."""
    try:
        yield
    except others:
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise BadInput(path, f"{problem} ({error})") from None
        raise


def _exact(path: str) -> str:
    """The file, changed so that offsets include spaces, which some tokenizers trim."""
    with errors_named(path), open(path, "rb") as file:
        data = file.read()
    try:
        config = decode(data)
    except NotJson as error:
        raise BadInput(path, f"not a tokenizer.json: {error.problem}") from None
    if not isinstance(config, dict):
        raise BadInput(path, "not a tokenizer.json: it is not a JSON object")
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
