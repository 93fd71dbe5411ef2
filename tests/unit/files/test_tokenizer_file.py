"""Reads a tokenizer from a tokenizer.json."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders
from tokenizers.models import BPE, Unigram, WordLevel, WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from hypothesis_examples import examples
from prefpairs.errors import BadInput, BadRecord, FileError, UsageError
from prefpairs.files.tokenizer import (
    Model,
    Tokens,
    model_at,
    open_decoder,
    open_tokenizer,
    special_tokens,
)
from prefpairs.optional_libraries import install_command


def _saved(folder: Path) -> str:
    words = {"[UNK]": 0, "[BOS]": 1, "a": 2, "b": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[BOS] $A", pair=None, special_tokens=[("[BOS]", 1)]
    )
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return str(path)


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("a b", 2), ("a, b!", 4), ("odd \U0001f600", 2)]
)
def test_count(tmp_path: Path, text: str, count: int) -> None:
    """Counts the tokens of the text alone, without special ones around it."""
    assert open_tokenizer(_saved(tmp_path))(text) == count


@pytest.mark.parametrize(
    ("model", "unknown"),
    [
        (WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"), (1, "<unk>")),  # noqa: S106
        (WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]"), (1, "[UNK]")),  # noqa: S106
        (BPE({"a": 0, "<unk>": 1}, [], unk_token="<unk>"), (1, "<unk>")),  # noqa: S106
        (BPE({"a": 0, "<unk>": 1}, []), None),
        (BPE({"a": 0}, [], unk_token="<unk>"), None),  # noqa: S106
        (Unigram([("<unk>", 0.0), ("a", -1.0)], unk_id=0), (0, "<unk>")),
        (Unigram([("a", -1.0)]), None),
    ],
)
def test_unknown_token(tmp_path: Path, model: Any, unknown: tuple[int, str] | None) -> None:
    """Each kind of model has its own way to name it."""
    path = tmp_path / "tokenizer.json"
    Tokenizer(model).save(str(path))
    assert Tokens(str(path), exact=True).unknown() == unknown


@pytest.mark.parametrize(
    ("name", "problem"), [("nothing.json", "no such file"), (".", "is a directory")]
)
def test_no_file(tmp_path: Path, name: str, problem: str) -> None:
    """The error has the name as typed."""
    with pytest.raises(FileError) as caught:
        open_tokenizer(f"{tmp_path}/{name}")
    assert (caught.value.path, caught.value.problem) == (f"{tmp_path}/{name}", problem)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"model": 7}'])
def test_another_file(tmp_path: Path, content: bytes) -> None:
    """An invalid file gives the library's message."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        open_tokenizer(str(path))
    assert caught.value.path == str(path)
    assert caught.value.problem.startswith("not a tokenizer.json (")


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    path = _saved(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError) as caught:
        open_tokenizer(path)
    assert caught.value.hint == install_command("tokens")


def test_a_tokenizer_that_fails_on_a_text(tmp_path: Path) -> None:
    """The library reports a missing unknown token only when it is needed."""
    path = tmp_path / "tokenizer.json"
    Tokenizer(WordLevel({"a": 0}, unk_token="[UNK]")).save(str(path))  # noqa: S106 - no password
    count = open_tokenizer(str(path))
    with pytest.raises(BadInput, match="cannot encode a text"):
        count("b")


def test_text_of_tokens(tmp_path: Path) -> None:
    """Special tokens are spelled out; the vocabulary size and the special IDs are known."""
    decoder = open_decoder(_saved(tmp_path))
    assert decoder.text([2, 3, 0]) == "a b [UNK]"
    assert (decoder.size, decoder.special) == (4, frozenset())
    tokenizer = Tokenizer.from_file(_saved(tmp_path))
    tokenizer.add_special_tokens(["[EOS]"])
    tokenizer.save(str(tmp_path / "other.json"))
    decoder = open_decoder(str(tmp_path / "other.json"))
    assert (decoder.size, decoder.special, decoder.text([4])) == (5, frozenset({4}), "[EOS]")


def test_no_text_of_tokens(tmp_path: Path) -> None:
    """A decoder's error is reported."""
    with pytest.raises(BadInput, match="cannot decode tokens"):
        open_decoder(_saved(tmp_path)).text([-1])


def test_more_text_than_a_row_may_have(tmp_path: Path) -> None:
    """The row is bad before the text is made, even with plain tokens only."""
    path = tmp_path / "tokenizer.json"
    Tokenizer(WordLevel({"a": 0, "b" * 1_000_000: 1}, unk_token="a")).save(str(path))  # noqa: S106
    decoder = open_decoder(str(path))
    assert len(decoder.text([1] * 3)) == 3_000_002
    assert decoder.text([0] * 100) == " ".join("a" * 100)
    for ids in ([1] * 100, [0] * 100 + [1] * 10**6):
        with pytest.raises(BadRecord, match=f"its {len(ids)} tokens represent more text"):
            decoder.text(ids)


def _replacing(pattern: str | Regex, content: str) -> Any:
    return decoders.Replace(pattern, content)


DECODERS = st.recursive(
    st.one_of(
        st.builds(
            _replacing,
            st.one_of(
                st.sampled_from(["", "a", "aa", "ab", " "]),
                st.sampled_from(["", "a*", "(?=b)", ".", "$"]).map(Regex),
            ),
            st.sampled_from(["", "a", "bb", "a b"]),
        ),
        st.builds(decoders.CTC, st.just("b"), st.sampled_from(["", "a"]), st.booleans()),
        st.builds(decoders.WordPiece, st.sampled_from(["", "a"]), st.booleans()),
        st.builds(decoders.BPEDecoder, st.sampled_from(["", "a"])),
        st.builds(decoders.Metaspace),
        st.builds(decoders.ByteLevel),
        st.builds(decoders.ByteFallback),
        st.builds(decoders.Fuse),
        st.builds(decoders.Strip, st.just("a"), st.integers(0, 2), st.just(0)),
    ),
    lambda parts: st.lists(parts, max_size=3).map(decoders.Sequence),
    max_leaves=4,
)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(decoder=DECODERS, ids=st.lists(st.integers(0, 5), max_size=12))
@example(decoder=decoders.Replace("", "a"), ids=[0, 0])
@example(decoder=decoders.Replace(Regex("(?=a)"), "bb"), ids=[1, 1])
@example(decoder=decoders.BPEDecoder(""), ids=[0, 0])
@example(decoder=decoders.Sequence([decoders.ByteLevel(), decoders.CTC("b", "", True)]), ids=[])
def test_no_decoder_exceeds_the_estimate(tmp_path: Path, decoder: Any, ids: list[int]) -> None:
    """The maximum length computed from the file is never exceeded."""
    words = {"a": 0, "aa": 1, "b": 2, "abab": 3, "<0xE4>": 4, "\u4e16": 5}
    tokenizer = Tokenizer(WordLevel(words, unk_token="a"))  # noqa: S106 - no password
    tokenizer.decoder = decoder
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    try:
        opened = open_decoder(str(path))
    except BadInput as error:
        if "its decoder may make" not in error.problem:
            raise
        return
    lengths = {number: len(word) for word, number in words.items()}
    most = opened.growth * max(1, sum(1 + lengths[number] for number in ids))
    assert len(opened.text(ids)) <= most <= max(1, len(ids)) * opened.widest


MODEL = Path(__file__).parents[3] / "sample_data" / "traces" / "model"


def test_exact_offsets_leave_out_no_space() -> None:
    """Offset trimming is disabled; the IDs are the same."""
    path = str(MODEL / "tokenizer.json")
    text = "a first line\n is"
    ids, offsets = Tokens(path, exact=True).encode(text)
    assert [text[start:end] for start, end in offsets] == ["a", " first", " line", "\n", " is"]
    trimmed_ids, trimmed = Tokens(path).encode(text)
    assert trimmed_ids == ids
    assert [text[start:end] for start, end in trimmed] == ["a", "first", "line", "\n", "is"]


def test_model_in_a_folder(tmp_path: Path) -> None:
    """The template file takes precedence; a single tokenizer file has no others next to it."""
    found = model_at(str(MODEL))
    assert (found.tokenizer, found.config) == (
        str(MODEL / "tokenizer.json"),
        str(MODEL / "tokenizer_config.json"),
    )
    assert found.template == str(MODEL / "chat_template.jinja")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert model_at(str(tmp_path)).template == str(tmp_path / "tokenizer_config.json")
    assert model_at("t.json") == Model("t.json")


def test_special_tokens(tmp_path: Path) -> None:
    """Special tokens may be text or objects; null ones are none."""
    assert special_tokens(str(MODEL / "tokenizer_config.json")) == {
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
    }
    for text, problem in (
        ("{", "not a tokenizer_config.json: "),
        ("[]", "it is not a JSON object"),
    ):
        (tmp_path / "c.json").write_text(text)
        with pytest.raises(BadInput) as caught:
            special_tokens(str(tmp_path / "c.json"))
        assert problem in caught.value.problem


def test_ids_of_names() -> None:
    """The IDs of names that are tokens."""
    tokens = Tokens(str(MODEL / "tokenizer.json"))
    assert tokens.id_of("<|im_end|>") == tokens.encode("<|im_end|>")[0][0]
    assert tokens.id_of("nobody") is None
