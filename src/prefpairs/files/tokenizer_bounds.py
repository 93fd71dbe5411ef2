"""How long a tokenizer may make a text, and whether it may take any time, as its file tells."""

from base64 import b64decode
from collections.abc import Callable
from math import prod
from typing import Any

from prefpairs.model.json_codec import decode

_KEEPING = frozenset({"ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Strip"})
"""Decoders that make no text longer. What is not here makes it twice as long, at most."""

_LONGEST_WORD, _LONGEST_TOKEN, _LONGEST_MARK = 200, 256, 64
"""What a model of others looks at for each character: BERT has words of 100, and marks of 2."""

_MOST_STEPS, _USUAL_GROWTH = 64, 18
"""Steps of others are ten or so; NFKC, as SentencePiece writes it down, makes 18 signs of one."""

_TIMES_EACH = {"ByteLevel": 4, "BertNormalizer": 3}
"""Normalizers that make a text longer each time. Those of Unicode do so once, by 18 at most."""


def growth_of_decoder(tokenizer: Any) -> int:
    """How many characters the decoder may make of one, or of the end of a token."""
    return _growth(tokenizer.decoder, _decoded)


def growth_of_normalizer(tokenizer: Any) -> int:
    """How many characters the normalizer may make of one, but for its regular expressions."""
    return _growth(tokenizer.normalizer, _normalized)


def encoder_runs_away(tokenizer: Any) -> bool:
    """Whether a text may take any time, or become far longer than others make it."""
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer)
    long = growth_of_normalizer(tokenizer) > _USUAL_GROWTH
    return long or any(map(_takes_any_time, parts)) or _is_slow(tokenizer)


def decoder_runs_away(tokenizer: Any) -> bool:
    """Whether tokens may take any time to become text."""
    return _takes_any_time(tokenizer.decoder)


def _takes_any_time(part: Any) -> bool:
    """Whether there is a regular expression, or more steps than anybody needs."""
    if part is None:
        return False
    told = part.__getstate__()
    return b'"Regex":' in told or told.count(b'"type":') > _MOST_STEPS


def _is_slow(tokenizer: Any) -> bool:
    """Whether the model may take far longer for a character than models of others do."""
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
        # A regular expression may find nothing, between any two characters.
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
    """What stands behind a tree, whose size is told first: texts, each with a zero at its end."""
    texts = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].split(b"\0")
    return max(1, *(len(text.decode("utf-8", "replace")) for text in texts))
