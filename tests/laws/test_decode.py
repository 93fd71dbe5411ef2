"""A line of JSON is read as the standard library reads it, to the last digit."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import NotJson
from prefpairs.model.json_codec import DEEPEST, decode, decode_counting, encode

SURROGATE = re.compile("[\ud800-\udfff]")
PIECES = [b"-0", b"-0.0", b"0e5", b"1E+5", b"1e999", b"-1e-999", b"01", b"1.", b".5", b"+1", b"1e"]
PIECES += [b"9007199254740993.0", b"2.2250738585072011e-308", b"1.7976931348623159e308", b"NaN"]
PIECES += [
    b"-Infinity",
    b"nul",
    b"\\u0000",
    b"\\ud83d\\ude00",
    b"\\ud83d",
    b"\\udc00 .......",
    b"\\/",
]
PIECES += [
    b"\\x",
    b"\\u12g4",
    b'"a":1,"a":[2]',
    b",",
    b"\x00",
    b"\x1f",
    b"\x7f",
    b"\xff",
    b"\xc2\xa0",
]
PIECES += [b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x0b", b"\r", b"\t ", b"//", b"'", b'"', b"}", b"["]


def texts() -> st.SearchStrategy[str]:
    """Texts with everything that JSON must escape, and lone surrogates."""
    characters = st.sampled_from('aé☃😀"\\/\n\x00\x7f\u2028\ud83d\ude00')
    return st.text(characters, max_size=5)


def values() -> st.SearchStrategy[Any]:
    """JSON values: numbers of any size and kind, all texts, objects with duplicate keys."""
    integers = st.one_of(st.integers(), st.integers(-(2**70), 2**70), st.integers(2**63, 2**64))
    leaves = st.one_of(st.none(), st.booleans(), integers, st.floats(), texts())
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(texts(), inner, max_size=4)
        ),
        max_leaves=12,
    )


@st.composite
def texts_of_json(draw: st.DrawFn) -> bytes:
    """Values as lines, most of them with something that may be invalid."""
    text = json.dumps(draw(values()), ensure_ascii=draw(st.booleans()))
    line = text.encode("utf-8", draw(st.sampled_from(["replace", "surrogatepass"])))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        at = draw(st.integers(0, len(line)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=1)))
        line = line[:at] + piece + line[at + draw(st.integers(0, 2)) :]
    return line


def by_the_standard_library(line: bytes) -> tuple[Any, int] | None:
    """What it reads, with U+FFFD for each lone surrogate, and their number."""
    try:
        value = json.loads(line.decode())
    except ValueError:
        return None
    return mended(value)


def mended(value: Any) -> tuple[Any, int]:
    """A value with lone surrogates replaced, and how many there were."""
    if isinstance(value, str):
        return SURROGATE.subn("\ufffd", value)
    if isinstance(value, dict):
        pairs = [(mended(key), mended(item)) for key, item in value.items()]
        count = sum(key[1] + item[1] for key, item in pairs)
        return {key[0]: item[0] for key, item in pairs}, count
    if isinstance(value, list):
        items = [mended(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    return value, 0


@examples(800)
@given(line=texts_of_json())
@example(line=b'{"a":1,"b":2,"a":[NaN]}')
@example(line=b"9" * 4300)
@example(line=b"-" + b"9" * 4300)
@example(line=b"9" * 4301)
@example(line=b"1" * 400 + b".0")
@example(line=b"0." + b"1" * 5000)
@example(line=b'"\\ud83d\\ude00\\ud83d"')
def test_every_line_reads_as_the_standard_library_reads_it(line: bytes) -> None:
    """Types, digits, signed zeros, key order and replacements agree; both reject the same."""
    expected = by_the_standard_library(line)
    try:
        found = decode_counting(line)
    except NotJson:
        assert expected is None
    else:
        assert repr(found) == repr(expected)


@examples(300)
@given(value=values())
def test_what_is_written_reads_back(value: Any) -> None:
    """Numbers and texts survive a round trip, except lone surrogates, NaN and infinities."""
    bare, _ = mended(json.loads(json.dumps(value).replace("-Infinity", "null")))
    bare = json.loads(json.dumps(bare), parse_constant=lambda _: None)
    assert repr(decode(encode(bare))) == repr(bare)


@pytest.mark.parametrize("depth", [1, 100, DEEPEST - 1])
@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("leaf", [b"0", b"NaN", b'"\\ud83d"', b"1e999", b"18446744073709551616"])
def test_nesting_that_is_allowed(depth: int, before: bytes, after: bytes, leaf: bytes) -> None:
    """Nesting up to the limit is read, whichever parser handles it."""
    line = before * depth + leaf + after * depth
    assert repr(decode_counting(line)) == repr(by_the_standard_library(line))


@pytest.mark.parametrize("depth", [DEEPEST + 5, 1000, 100_000])
@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("leaf", [b"0", b"NaN", b'"\\ud83d"', b"1e999", b"18446744073709551616"])
def test_nesting_that_is_refused(depth: int, before: bytes, after: bytes, leaf: bytes) -> None:
    """Deeper nesting has the same error code, whichever parser finds it."""
    with pytest.raises(NotJson) as caught:
        decode(before * depth + leaf + after * depth)
    assert caught.value.code == "too_deep"


def test_whether_a_row_is_too_deep_does_not_depend_on_its_leaf() -> None:
    """The value at the deepest level does not change whether a row is too deep."""
    for leaf in (b"0", b"18446744073709551616", b'"\\ud83d"'):
        decode(b"[" * DEEPEST + leaf + b"]" * DEEPEST)


@pytest.mark.full
@pytest.mark.parametrize("beside", [b"1," * 40_000, b"1," * 600_000, b"[]," * 400_000])
def test_values_next_to_a_nested_value_do_not_count(beside: bytes) -> None:
    """Other values in the line do not change the limit, though long lines are checked otherwise."""
    begin, end = b"[" + beside, b"]"
    decode(begin + b"[" * (DEEPEST - 1) + b"0" + b"]" * (DEEPEST - 1) + end)
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        with pytest.raises(NotJson) as caught:
            decode(begin + opening * (DEEPEST + 5) + b"0" + closing * (DEEPEST + 5) + end)
        assert caught.value.code == "too_deep"
