"""Which source a file is of."""

import pytest

from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.detect import detect, doubtful_paths, shape_of

CANDIDATE = b'{"group":"g","prompt":"Q","response":"A","score":1.0,"index":null,"origin":"f:1"}'
ROLLOUT = b'{"responses_create_params": {"input": "Q"}, "response": {"output": []}, "reward": 1}'
ITEM = b'{"id": 1, "question": "Q", "answer": "A", "score": 1, "intermediate_steps": []}'
STEP = b'{"parent_id": "a", "payload": {"event_type": "TTC_END"}}'
ROW = b'{"prompt": "Q", "response": "A", "score": 1}'


@pytest.mark.parametrize(
    ("sample", "source"),
    [
        ([CANDIDATE], "candidates"),
        ([ROLLOUT], "nemo-gym"),
        ([b"<PLACEHOLDER ROW>\n"], "nemo-gym"),
        ([ITEM], "nat"),
        ([STEP], "nat"),
        ([ROW], "generic"),
        ([b"{torn", ROLLOUT], "nemo-gym"),
        ([b"{torn"], "generic"),
        ([], "generic"),
    ],
)
def test_detect(sample: list[bytes], source: str) -> None:
    """The first source that knows one of the records; generic where none does."""
    assert detect(sample) == source


def test_field_of_a_common_name_does_not_make_a_nat_file() -> None:
    """Rows of agents often hold a trajectory beside prompt, response and score."""
    row = b'{"prompt": "Q", "response": "A", "score": 1, "trajectory": [{"action": "ls"}]}'
    assert detect([row]) == "generic"


@pytest.mark.parametrize(
    ("record", "shape"),
    [
        (b'{"a": "text", "b": 7, "c": 0.5, "d": true}', b'{"a":"","b":0,"c":0.0,"d":false}'),
        (b'{"a": null, "b": [], "c": {}}', b'{"a":null,"b":[],"c":{}}'),
        (b'{"a": [1, "x", {"b": 2}]}', b'{"a":[0,"",{"b":0}]}'),
        (b'{"a": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}', b'{"a":[0,0,0,0,0,0,0,0]}'),
        (
            b'{"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}',
            b'{"a":{"b":{"c":{"d":{"e":{"f":{}}}}}}}',
        ),
        (b'{"a": NaN}', b'{"a":0.0}'),
        (b"[1]", None),
        (b"{torn", None),
    ],
)
def test_shape_of(record: bytes, shape: bytes | None) -> None:
    """A row without its text and numbers, cut to a depth and a width."""
    assert shape_of(record) == shape


def _doubts(sample: list[bytes], options: ReadOptions) -> list[tuple[str, str, list[str]]]:
    shapes = {shape: 1 for shape in map(shape_of, sample) if shape is not None}
    return [
        (doubt.option, doubt.path, list(doubt.known)) for doubt in doubtful_paths(shapes, options)
    ]


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (ReadOptions(scores=(("x", 1.0),)), "--score"),
        (ReadOptions(prompt="x"), "--prompt"),
        (ReadOptions(response="x"), "--response"),
        (ReadOptions(group_by=("a", "x")), "--group-by"),
        (ReadOptions(keep=("c.0", "x")), "--keep"),
    ],
)
def test_path_that_no_record_has(options: ReadOptions, option: str) -> None:
    """The doubt holds the option, the path, and all paths there are."""
    sample = [b'{"a": {"b": 1}}', b'{"c": [2]}']
    assert _doubts(sample, options) == [(option, "x", ["a", "a.b", "c", "c.0"])]


def test_paths_that_some_record_has() -> None:
    """One record of the sample is enough."""
    options = ReadOptions(scores=(("c.0", 1.0),), prompt="a.b", keep=("a",), group_by="auto")
    assert _doubts([b'{"a": {"b": 1}}', b"{torn", b'{"c": [2]}'], options) == []


@pytest.mark.parametrize("sample", [[], [b"{torn"]])
def test_sample_without_a_record(sample: list[bytes]) -> None:
    """Nothing is known of an empty or broken file."""
    assert _doubts(sample, ReadOptions(prompt="x")) == []
