"""How much longer a tokenizer may make a text at worst, and whether its time is unbounded."""

from base64 import b64decode
from collections.abc import Callable
from math import prod
from typing import Any

from prefpairs.model.json_codec import decode

_KEEPING = frozenset({"ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Strip"})
"""Decoders that never make text longer. Others make it twice as long at most."""

_LONGEST_WORD, _LONGEST_TOKEN, _LONGEST_MARK = 200, 256, 64
"""What usual models need for each character: BERT has words of 100, and marks of 2."""

_MOST_STEPS, _USUAL_GROWTH = 64, 18
"""Usual models have about ten steps; NFKC in SentencePiece makes 18 characters of one."""

_TIMES_EACH = {"ByteLevel": 4, "BertNormalizer": 3}
"""Normalizers that make text longer each time. Those of Unicode do so once, 18 times at most."""


def growth_of_decoder(tokenizer: Any) -> int:
    """How many characters the decoder may make from one, from the end of a token, or from none."""
    return _growth(tokenizer.decoder, _decoded)


def growth_of_normalizer(tokenizer: Any) -> int:
    """How many characters the normalizer may make from one, not counting regular expressions."""
    return _growth(tokenizer.normalizer, _normalized)


def encoder_runs_away(tokenizer: Any) -> bool:
    """Whether encoding may take unbounded time, or make text far longer than usual."""
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer)
    long = growth_of_normalizer(tokenizer) > _USUAL_GROWTH
    return long or any(map(_is_unbounded, parts)) or _is_slow(tokenizer)


def decoder_runs_away(tokenizer: Any) -> bool:
    """Whether decoding may take unbounded time."""
    return _is_unbounded(tokenizer.decoder)


def _is_unbounded(part: Any) -> bool:
    """Whether there is a regular expression, or an unusual number of steps."""
    if part is None:
        return False
    state = part.__getstate__()
    return b'"Regex":' in state or state.count(b'"type":') > _MOST_STEPS


def _is_slow(tokenizer: Any) -> bool:
    """Whether the model may take far longer for a character than usual models."""
    model = tokenizer.model
    match type(model).__name__:
        case "WordLevel":
            return False
        case "WordPiece":
            long = model.max_input_chars_per_word > _LONGEST_WORD
            return long or len(model.continuing_subword_prefix) > _LONGEST_MARK
        case "BPE":
            marks = model.continuing_subword_prefix or "", model.end_of_word_suffix or ""
            return any(len(mark) > _LONGEST_MARK for mark in marks)
        case "Unigram":
            tokens = tokenizer.get_vocab(with_added_tokens=False)
            return any(len(token) > _LONGEST_TOKEN for token in tokens)
    return True


def _growth(part: Any, of_one: Callable[[dict[str, Any]], int]) -> int:
    return 1 if part is None else _growth_by(decode(part.__getstate__()), of_one)


def _growth_by(part: dict[str, Any], of_one: Callable[[dict[str, Any]], int]) -> int:
    if part.get("type") == "Sequence":
        parts = part.get("decoders") or part.get("normalizers") or ()
        return prod(_growth_by(one, of_one) for one in parts)
    return of_one(part)


def _decoded(part: dict[str, Any]) -> int:
    if part.get("type") == "Replace":
        # A regular expression may match the empty string, between any two characters.
        return _replaced(part, part["pattern"].get("String", ""))
    return 1 if part.get("type") in _KEEPING else 2


def _normalized(part: dict[str, Any]) -> int:
    match part.get("type"):
        case "Replace":
            pattern = part["pattern"].get("String")
            return 1 if pattern is None else _replaced(part, pattern)
        case "Prepend":
            return 1 + len(part["prepend"])  # a text of one character, between two added tokens
        case "Precompiled":
            return _longest_written(b64decode(part["precompiled_charsmap"]))
    return _TIMES_EACH.get(part.get("type", ""), 1)


def _replaced(part: dict[str, Any], pattern: str) -> int:
    content = len(part["content"])
    return max(1, -(-content // len(pattern))) if pattern else content + 1


def _longest_written(charsmap: bytes) -> int:
    """The longest replacement: a size, a tree of that size, then texts that end in NUL."""
    texts = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].split(b"\0")
    return max(1, *(len(text.decode("utf-8", "replace")) for text in texts))
