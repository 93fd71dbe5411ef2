"""JSON text to values and back."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from prefpairs.errors import NotJson
from prefpairs.model.json_codec import decode, decode_counting, encode, encode_pretty, encode_sorted


def _code_of(line: bytes) -> str:
    with pytest.raises(NotJson) as caught:
        decode(line)
    return caught.value.code


def _nested(depth: int, inside: bytes) -> bytes:
    return b"[" * depth + inside + b"]" * depth


@pytest.mark.parametrize(
    "number", [2**63 - 1, 2**63, 2**64, 2**64 + 1, -(2**63) - 1, 12345678901234567890123]
)
def test_integers_above_64_bits_are_exact(number: int) -> None:
    """Integers of any size are read and written exactly."""
    text = b'{"a":%d}' % number
    assert (decode(text), encode({"a": number})) == ({"a": number}, text)


def test_long_digits_inside_text_stay_text() -> None:
    """Long numbers inside strings do not change how the string is read."""
    assert decode(b'{"id": "1234567890123456789012"}') == {"id": "1234567890123456789012"}


def test_floats_are_correctly_rounded() -> None:
    """A float with many digits becomes the nearest double."""
    assert decode(b"[0.1234567890123456789, 0.30000000000000004]") == [
        0.12345678901234568,
        0.30000000000000004,
    ]


def test_nan_and_infinities_are_read() -> None:
    """NaN and infinities, as Python's json writes them, are read."""
    nan, above, below = decode(b"[NaN, Infinity, -Infinity]")
    assert (math.isnan(nan), above, below) == (True, math.inf, -math.inf)


def test_nan_is_written_as_null() -> None:
    """No written line contains a bare NaN."""
    assert encode({"a": math.nan, "b": -math.inf}) == b'{"a":null,"b":null}'


def test_nan_is_written_as_null_beside_a_big_integer() -> None:
    """The slow writer treats NaN like the fast one."""
    assert encode([math.nan, {"b": [math.inf]}, 2**64]) == b'[null,{"b":[null]},%d]' % 2**64


@pytest.mark.parametrize(
    ("line", "value", "count"),
    [
        (b'["a\\ud83d"]', ["a\ufffd"], 1),
        (b'["\\ude00b"]', ["\ufffdb"], 1),
        (b'{"\\ud83d": ["\\udc00\\udc00"]}', {"\ufffd": ["\ufffd\ufffd"]}, 3),
        (b'["\\ud83d\\ude00"]', ["\U0001f600"], 0),
        (b'["\\ud83d\\ude00", NaN, "\\ud800"]', None, 1),
    ],
)
def test_lone_surrogates_are_replaced_and_counted(line: bytes, value: object, count: int) -> None:
    """A lone surrogate becomes U+FFFD; a pair stays."""
    read, replaced = decode_counting(line)
    assert replaced == count
    assert value is None or read == value


def test_carriage_return_before_the_newline_is_white_space() -> None:
    """Lines that end in CRLF are read."""
    assert decode(b'{"a": 1}\r\n') == {"a": 1}


def test_line_separators_inside_text_are_kept() -> None:
    """U+2028, U+2029 and U+0085 do not end lines."""
    line = '{"a":"x\u2028y\u2029z\u0085"}'.encode()
    assert (decode(line), encode(decode(line))) == ({"a": "x\u2028y\u2029z\u0085"}, line)


@pytest.mark.parametrize("line", [b'{"a": 1, "a": 2}', b'{"a": NaN, "a": 2}'])
def test_last_of_duplicate_keys_wins(line: bytes) -> None:
    """All parsers use the last value of a duplicate key."""
    assert decode(line) == {"a": 2}


@pytest.mark.parametrize("depth", [1100, 5000, 200_000])
def test_deep_nesting_is_a_bad_line(depth: int) -> None:
    """A line nested too deeply is rejected, without a crash."""
    assert _code_of(_nested(depth, b"1")) == "too_deep"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize(("inside", "written"), [(b"1", b"1"), (b"NaN", b"null")])
@pytest.mark.parametrize("depth", [100, 200, 300, 600, 900])
def test_what_is_not_too_deep_to_be_read_can_be_written(
    opening: bytes, closing: bytes, inside: bytes, written: bytes, depth: int
) -> None:
    """A line that is read can also be written."""
    before, behind = opening * depth, closing * depth
    try:
        value = decode(before + inside + behind)
    except NotJson as error:
        assert (error.code, depth > 200) == ("too_deep", True)  # noqa: PT017 - both are right
    else:
        assert encode(value) == encode_sorted(value) == before + written + behind


def test_wide_lines_are_not_deep() -> None:
    """Thousands of adjacent brackets are not deep."""
    line = b"[" + b",".join([b'{"a":[1]}'] * 5000) + b"]"
    assert encode(decode(line)) == line


def test_invalid_utf8_names_the_byte() -> None:
    """Latin-1 text is rejected with the position of its first invalid byte."""
    with pytest.raises(NotJson) as caught:
        decode(b'{"a": "caf\xe9"}')
    assert (caught.value.code, caught.value.problem) == (
        "invalid_utf8",
        "invalid UTF-8 at byte 11",
    )


def test_lfs_pointer_is_recognised() -> None:
    """The first line of a Git LFS pointer has its own error code."""
    assert _code_of(b"version https://git-lfs.github.com/spec/v1\n") == "lfs_pointer"


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b'{"a"',
        b'{"a": ',
        b'{"a": 1',
        b'{"a": "x',
        b'{"a": "x\\',
        b'[{"a": 1}, ',
        b'{"a": [\n',
    ],
)
def test_torn_line_is_unfinished(line: bytes) -> None:
    """A line cut between two tokens or inside a string is unfinished, unlike plain text."""
    assert _code_of(line) == "unfinished"


@pytest.mark.parametrize(
    "line",
    [b'{"a": tru', b'{"a": nul', b'{"a": -', b'{"a": 1.', b'{"a": "\\u12', b'{"a": "caf\xc3'],
)
def test_line_torn_inside_a_token_is_unfinished(line: bytes) -> None:
    """A line may be cut anywhere: in a word, a number, an escape or a character."""
    assert _code_of(line) == "unfinished"


@pytest.mark.parametrize("line", [b"{\n", b" {\r\n"])
def test_pretty_printed_value_is_recognised(line: bytes) -> None:
    """A complete line that only opens an object is formatted JSON, not a torn line."""
    assert _code_of(line) == "pretty_printed"


@pytest.mark.parametrize("line", [b"hello", b"{'a': 1}", b"{a: 1}", b'{"a": 1} {"b": 2}', b"}"])
def test_text_that_is_no_json(line: bytes) -> None:
    """Text that is not the beginning of JSON is not called unfinished."""
    assert _code_of(line) == "not_json"


def test_problem_says_where() -> None:
    """The error has the column."""
    with pytest.raises(NotJson, match=r"not JSON: .* at column 7"):
        decode(b'{"a": hello}')


def test_number_of_too_many_digits_is_a_bad_line() -> None:
    """More than 4300 digits, which Python refuses to convert, do not crash."""
    assert _code_of(b'{"a": ' + b"9" * 5000 + b"}") == "number_too_long"


@pytest.mark.parametrize("write", [encode, encode_sorted])
def test_text_that_is_no_unicode_is_written_all_the_same(write: Callable[[Any], bytes]) -> None:
    """A lone surrogate from elsewhere does not crash the writer."""
    line = write({"a": "odd\udcff", "b": 1})
    assert (line[:9], decode(line)["b"]) == (b'{"a":"odd', 1)


def test_encode_keeps_the_order_of_keys_and_the_alphabet() -> None:
    """Keys stay in order, text stays readable, floats stay floats."""
    assert encode({"b": 1.0, "a": "é"}) == '{"b":1.0,"a":"é"}'.encode()


@pytest.mark.parametrize("big", [1, 2**70])
def test_encode_sorted_orders_keys_at_every_depth(big: int) -> None:
    """Equal values have equal bytes, with the fast writer and with the slow one."""
    value = {"b": big, "a": [{"d": 1, "c": "é"}]}
    assert encode_sorted(value) == f'{{"a":[{{"c":"é","d":1}}],"b":{big}}}'.encode()


def test_encode_pretty_ends_with_a_newline() -> None:
    """Indented JSON ends with a newline."""
    assert encode_pretty({"a": [1]}) == b'{\n  "a": [\n    1\n  ]\n}\n'
