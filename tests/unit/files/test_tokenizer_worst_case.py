"""The maximum length of a tokenizer's text, and whether its time is bounded."""

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from prefpairs.files.tokenizer_worst_case import (
    decoder_runs_away,
    encoder_runs_away,
    growth_of_decoder,
    growth_of_normalizer,
)

WORDS = {"a": 0, "##a": 1}


def _tokenizer(model: Any = None, **parts: Any) -> Tokenizer:
    made = Tokenizer(model or models.WordLevel(WORDS, unk_token="a"))  # noqa: S106 - no password
    for name, part in parts.items():
        setattr(made, name, part)
    return made


NORMALIZERS = st.recursive(
    st.one_of(
        st.builds(
            normalizers.Replace,
            st.sampled_from(["a", "ab", "\u00e9"]),
            st.text("ab\u00e9", max_size=4),
        ),
        st.builds(normalizers.Prepend, st.text("ab", max_size=3)),
        st.sampled_from([normalizers.ByteLevel(), normalizers.BertNormalizer()]),
        st.sampled_from([normalizers.Lowercase(), normalizers.NFKC(), normalizers.NFD()]),
    ),
    lambda parts: st.lists(parts, max_size=3).map(normalizers.Sequence),
    max_leaves=4,
)


@given(NORMALIZERS, st.text("ab\u00e9\ufdfa\u4e16 ", min_size=1, max_size=5))
def test_no_normalizer_exceeds_the_estimate(normalizer: Any, text: str) -> None:
    """The estimate holds, except for Unicode normalization: at most 18 times, once."""
    try:
        made = normalizer.normalize_str(text)
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # the library cannot combine some of these
            return
        raise
    assert len(made) <= 18 * len(text) * growth_of_normalizer(_tokenizer(normalizer=normalizer))


@given(st.text("ab", min_size=1, max_size=3), st.integers(1, 100), st.integers(1, 100))
def test_growth_is_that_of_all_parts(pattern: str, one: int, other: int) -> None:
    """The factors of successive parts are multiplied."""
    assume(one >= len(pattern))
    parts = [
        normalizers.Replace(pattern, "x" * one * len(pattern)),
        normalizers.Replace("x", "y" * other),
    ]
    assert growth_of_normalizer(_tokenizer(normalizer=normalizers.Sequence(parts))) == one * other


def test_growth_by_a_table_of_sentencepiece() -> None:
    """The longest text in a sentencepiece table is the factor."""
    table = (4).to_bytes(4, "little") + bytes(4) + b"ab\0" + "\u00e9".encode() * 500 + b"\0c\0"

    class Part:
        def __getstate__(self) -> bytes:
            told = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()}
            return json.dumps(told).encode()

    class Of:
        normalizer = Part()

    assert growth_of_normalizer(Of()) == 500


LONG = "a" * 300


@pytest.mark.parametrize(
    ("model", "slow"),
    [
        (models.WordLevel({LONG: 0}, unk_token=LONG), False),
        (models.WordPiece(WORDS, unk_token="a"), False),  # noqa: S106 - no password
        (models.WordPiece(WORDS, unk_token="a", max_input_chars_per_word=10**9), True),  # noqa: S106
        (models.WordPiece(WORDS, unk_token="a", continuing_subword_prefix=LONG), True),  # noqa: S106
        (models.BPE({LONG: 0, "a": 1}, []), False),
        (models.BPE({"a": 0}, [], continuing_subword_prefix=LONG), True),
        (models.BPE({"a": 0}, [], end_of_word_suffix=LONG), True),
        (models.Unigram([("a", 0.0), ("aa", -1.0)], 0), False),
        (models.Unigram([("a", 0.0), (LONG, -1.0)], 0), True),
    ],
)
def test_models_that_may_be_slow(model: Any, slow: bool) -> None:
    """Models with unusually long words, tokens or special tokens may be slow."""
    assert encoder_runs_away(_tokenizer(model)) is slow


def test_regular_expressions() -> None:
    """Regular expressions have unbounded time, wherever they are."""
    plain, regex = decoders.Replace("a", "b"), decoders.Replace(Regex("a+"), "b")
    assert not decoder_runs_away(_tokenizer(decoder=plain))
    assert decoder_runs_away(_tokenizer(decoder=decoders.Sequence([plain, regex])))
    assert growth_of_decoder(_tokenizer(decoder=regex)) == 2
    replacing = normalizers.Replace(Regex("a+"), "b" * 9999)
    assert encoder_runs_away(_tokenizer(normalizer=replacing))


@pytest.mark.parametrize("count", [10, 1000])
def test_steps_beyond_number(count: int) -> None:
    """Too many steps are unbounded, since each scans the whole text."""
    steps = normalizers.Sequence([normalizers.NFC()] * count)
    splits = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()] * count)
    joined = decoders.Sequence([decoders.Fuse()] * count)
    assert encoder_runs_away(_tokenizer(normalizer=steps)) is (count > 100)
    assert encoder_runs_away(_tokenizer(pre_tokenizer=splits)) is (count > 100)
    assert decoder_runs_away(_tokenizer(decoder=joined)) is (count > 100)


def test_texts_that_become_far_longer() -> None:
    """A large growth factor is rejected, since a few megabytes would become gigabytes."""
    for times, apart in ((18, False), (19, True)):
        longer = normalizers.Replace("z", "z" * times)
        assert encoder_runs_away(_tokenizer(normalizer=longer)) is apart
