"""The elements of a JSON array, read in chunks of any size."""

import io
import json
from typing import Any

import pytest

from prefpairs.errors import BadInput
from prefpairs.files.input_file import Input
from prefpairs.files.json_array import array_elements

ROWS: list[Any] = [
    {"text": 'brackets ]}[{ and \\" quotes \\\\'},
    {"deep": [[{"a": []}], {}], "": ""},
    {},
    {"unicode": "é\u2028\U0001f600"},
    ["a", ["list"]],
]
COMPACT = json.dumps(ROWS, ensure_ascii=False, separators=(",", ":")).encode()
PRETTY = json.dumps(ROWS, ensure_ascii=False, indent=2).encode()


@pytest.fixture(params=[1, 2, 3, 7, 64, 1 << 20], autouse=True)
def _chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefpairs.files.json_array._CHUNK", request.param)


def _elements(data: bytes, offset: int = 0) -> list[tuple[int, bytes]]:
    return list(array_elements(io.BytesIO(data), offset, Input("x.json", "x.json")))


def _problem(data: bytes) -> tuple[str, str]:
    with pytest.raises(BadInput) as caught:
        _elements(data)
    return caught.value.path, caught.value.problem


@pytest.mark.parametrize("data", [COMPACT, PRETTY, b" \r\n\t" + PRETTY + b"\n\n"])
def test_elements(data: bytes) -> None:
    """Compact and indented arrays give the same rows, each with its position."""
    elements = _elements(data)
    assert [json.loads(element) for _, element in elements] == ROWS
    assert [data[place : place + len(element)] for place, element in elements] == [
        element for _, element in elements
    ]


def test_offsets_count_from_where_the_stream_began() -> None:
    """Offsets are relative to the file, also after a byte order mark."""
    assert _elements(b'[{"a":1}, {"b":2}]', offset=3) == [(4, b'{"a":1}'), (13, b'{"b":2}')]


def test_elements_come_as_they_are_read() -> None:
    """The first row is returned before the array was read completely."""
    elements = array_elements(io.BytesIO(b'[{"a":1},{"b":2},'), 0, Input("x.json", "x.json"))
    assert (next(elements), next(elements)) == ((1, b'{"a":1}'), (9, b'{"b":2}'))
    with pytest.raises(BadInput):
        next(elements)


@pytest.mark.parametrize("data", [b"[]", b"[ \n ]", b"\n[\n]\n"])
def test_empty_array(data: bytes) -> None:
    """An empty array has no elements and no error."""
    assert _elements(data) == []


@pytest.mark.parametrize(
    ("data", "elements"),
    [
        (b"[1, 2]", [b"1", b"2"]),
        (b'["a", "b,c"]', [b'"a"', b'"b,c"']),
        (b'[null, {"a": 1}]', [b"null", b'{"a": 1}']),
        (b'[{"a": 1}, null, {"b": 2}]', [b'{"a": 1}', b"null", b'{"b": 2}']),
        (b'["a", {"b": 2}, "c"]', [b'"a"', b'{"b": 2}', b'"c"']),
    ],
)
def test_elements_that_are_no_objects(data: bytes, elements: list[bytes]) -> None:
    """Each is one element, so each counts as one bad row."""
    assert [element for _, element in _elements(data)] == elements


@pytest.mark.parametrize("cut", [1, 2, 5, 20, len(COMPACT) - 1])
def test_torn_array(cut: int) -> None:
    """An array that ends too early is an error."""
    problem = "the JSON array ends too early: it was cut off or is still being written"
    assert _problem(COMPACT[:cut]) == ("x.json", problem)


@pytest.mark.parametrize("rest", [b"{}", b"[]", b"]", b",", b' {"a": 1}'])
def test_data_after_the_array(rest: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arrays in a row are rejected."""
    monkeypatch.setattr("prefpairs.files.json_array._CHUNK", 1 << 20)
    assert _problem(b'[{"a": 1}]' + rest) == (
        "x.json",
        "there is more after the end of the JSON array",
    )


@pytest.mark.parametrize("data", [b'[{"a": 1}}', b'[{"a": [1}]', b"[}"])
def test_brackets_that_do_not_match(data: bytes) -> None:
    """A wrong closing bracket rejects the array or its row."""
    try:
        elements = _elements(data)
    except BadInput:
        return
    with pytest.raises(json.JSONDecodeError):
        [json.loads(element) for _, element in elements or [(0, b"")]]


def test_long_string_over_many_chunks() -> None:
    """A row larger than a chunk is complete."""
    row = {"text": "x" * 5000 + '"\\'}
    assert [json.loads(element) for _, element in _elements(json.dumps([row]).encode())] == [row]


def test_data_far_after_the_end() -> None:
    """Data after the end is found after any amount of white space."""
    with pytest.raises(BadInput, match="there is more"):
        _elements(b"[1]" + b" " * 3000 + b"2")
    assert _elements(b"[1]" + b" " * 3000) == [(1, b"1")]


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b"[,]", 2),
        (b'[{"a": 1},,{"a": 2}]', 11),
        (b'[{"a": 1}, \n, {"a": 2}]', 13),
        (b'[{"a": 1},]', 11),
        (b'[,{"a": 1}]', 2),
    ],
)
def test_nothing_between_commas(data: bytes, byte: int) -> None:
    """Missing elements between commas are rejected."""
    problem = f"byte {byte}: the JSON array has an empty element between its commas"
    assert _problem(data) == ("x.json", problem)
