"""What a trainer would do with files, row by row."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table
from rows_and_output import Row, data_of

from prefpairs.dataset.column_types import FIRST_BLOCK
from prefpairs.dataset.row_checks import LengthLimit
from prefpairs.dataset.row_rules import Effect, Finding
from prefpairs.engine.validate import ValidatePlan, Verdict, validate
from prefpairs.errors import FileError
from prefpairs.files.input_file import Input
from prefpairs.ledger import ValidationLedger
from prefpairs.targets import target_named

ROW: Row = {"prompt": "Q", "chosen": " aye", "rejected": " nay"}
EQUAL: Row = {**ROW, "rejected": " aye"}
SINGLE: Row = {"prompt": "Q", "completion": " aye", "label": True}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(content: bytes | Sequence[Any], name: str = "0.jsonl") -> Input:
    Path(name).write_bytes(content if isinstance(content, bytes) else data_of(content))
    return Input(name, name)


def _judge(
    *inputs: Input, to: str = "trl", **words: Any
) -> tuple[list[tuple[str, int, str, str]], ValidationLedger]:
    """The findings without fields, and the ledger."""
    ledger = ValidationLedger(files=[given.label for given in inputs])
    plan = ValidatePlan(**{"inputs": inputs, "target": target_named(to), **words})
    told = list(validate(plan, ledger))
    return [(one.label, one.line, str(one.finding[0]), one.finding[1]) for one in told], ledger


def _told(content: bytes | Sequence[Any], to: str = "trl", **words: Any) -> list[Any]:
    """The findings in one file: line, effect and code."""
    return [rest for _, *rest in _judge(_write(content), to=to, **words)[0]]


def test_sound_file() -> None:
    """A sound file has no findings."""
    told, ledger = _judge(_write([ROW, {**ROW, "prompt": "R"}]))
    assert told == []
    assert ledger == ValidationLedger(files=["0.jsonl"], rows_read=2)


def test_verdict() -> None:
    """A verdict has the file, the line and the finding."""
    ledger = ValidationLedger()
    plan = ValidatePlan(inputs=[_write([ROW, {**ROW, "margin": 1}])], target=target_named("trl"))
    assert list(validate(plan, ledger)) == [
        Verdict("0.jsonl", 2, Finding(Effect.WARNING, "reserved_column", "margin"))
    ]


def test_ledger() -> None:
    """Lost rows are counted, each cause once per row; warnings lose none."""
    rows = [ROW, EQUAL, {**ROW, "margin": 1}, {"prompt": "Q"}, {**EQUAL, "margin": 1}]
    _, ledger = _judge(_write(rows))
    assert ledger == ValidationLedger(
        files=["0.jsonl"],
        rows_read=5,
        rows_lost=3,
        lost={("trains on nothing", "equal_sides"): 2, ("crashes", "missing_column"): 1},  # type: ignore[arg-type]
        warnings={"reserved_column": 2},  # type: ignore[arg-type]
    )


def test_line_numbers() -> None:
    """Line numbers are those of an editor, including empty lines."""
    content = b"\n" + data_of([ROW]) + b"\n\n" + data_of([EQUAL])
    assert _told(content) == [[5, "trains on nothing", "equal_sides"]]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"prompt": "Q"', "bad_json"),
        (b'{"prompt": "\xff"}', "bad_json"),
        (b'{"prompt": "a\tb"}', "bad_json"),
        (b"[" * 300 + b"]" * 300, "bad_json"),
        (b'"text"', "not_an_object"),
        (b"[1]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'{"prompt":"Q \\ud83d","chosen":"a","rejected":"b"}', "surrogate"),
        (b'{"prompt":"Q","chosen":"a","rejected":"b","chosen":"c"}', "key_twice"),
        (b'{"prompt":"Q","chosen":"a","rejected":"b","m":[{"k":1,"k":1}]}', "key_twice"),
    ],
)
def test_line_that_no_loader_takes(line: bytes, code: str) -> None:
    """Such a line loses the whole file, including rows that were fine."""
    told, ledger = _judge(_write(data_of([ROW, ROW]) + line + b"\n"))
    assert told == [("0.jsonl", 3, "fails to load", code)]
    assert (ledger.rows_read, ledger.rows_lost) == (3, 3)
    assert ledger.files_lost == ["0.jsonl"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"prompt":"Q \\ud83d\\ude00","chosen":"a","rejected":"b"}',
        b'{"prompt":"Q","chosen":"a","rejected":"b","score":NaN}',
        b'{"prompt":"Q","chosen":"a","rejected":"b","k":{"k":{"k":1}},"l":[{"k":1},{"k":2}]}',
        b'{"prompt":"Q \xe2\x80\xa8","chosen":"a","rejected":"b"}\r',
    ],
)
def test_line_that_loaders_take(line: bytes) -> None:
    """Accepts emojis, NaN, a key repeated in another object, U+2028 and CRLF."""
    assert _told(b"\xef\xbb\xbf" + line + b"\n") == []


def test_no_rows() -> None:
    """An empty file is lost; with --limit 0 this is unknown."""
    told, ledger = _judge(_write(b"\n\n"))
    assert told == [("0.jsonl", 0, "fails to load", "no_rows")]
    assert (ledger.rows_lost, ledger.files_lost) == (0, ["0.jsonl"])
    assert _told(b"", limit=0) == []


def test_only_the_file_that_is_lost() -> None:
    """Rows of other files stay fine."""
    bad, good = _write(data_of([ROW, EQUAL]) + b"{\n", "bad.jsonl"), _write([ROW], "good.jsonl")
    _, ledger = _judge(bad, good)
    assert (ledger.rows_read, ledger.rows_lost) == (4, 3)
    assert ledger.files_lost == ["bad.jsonl"]


def test_limit() -> None:
    """A limit counts the rows of all files; later rows are not read."""
    one, other = _write([ROW, ROW], "1.jsonl"), _write([ROW, EQUAL], "2.jsonl")
    told, ledger = _judge(one, other, limit=3)
    assert (told, ledger.rows_read) == ([], 3)
    assert _judge(one, other, limit=4)[1].rows_lost == 1


def test_file_that_is_not_there() -> None:
    """The error names the missing file."""
    with pytest.raises(FileError) as caught:
        _judge(Input("nothing.jsonl", "nothing.jsonl"))
    assert caught.value.path == "nothing.jsonl"


# Columns ----------------------------------------------------------------------------------


def _late(row: Row) -> bytes:
    """Rows with one after the first block of a file."""
    long = data_of([{**ROW, "prompt": "Q" * FIRST_BLOCK}])
    return long + data_of([row])


def test_late_field() -> None:
    """A field after the first block is too late, by the byte where its line begins."""
    found = [2, "fails to load", "late_field"]
    assert _told(_late({**ROW, "note": "x"})) == [found]
    assert _told(_late(ROW)) == []
    short = data_of([{**ROW, "prompt": "Q" * (FIRST_BLOCK - 100)}, {**ROW, "note": "x"}])
    assert _told(short) == []


def test_late_field_in_a_packed_file() -> None:
    """In a compressed file, decompressed bytes count."""
    source = _write(gzip.compress(_late({**ROW, "note": "x"})), "0.jsonl.gz")
    assert _judge(source)[0] == [("0.jsonl.gz", 2, "fails to load", "late_field")]


def test_types_that_are_known() -> None:
    """If a card, Parquet or the host gives column types, rows do not matter."""
    source = _write(_late({**ROW, "note": "x"}))
    found = [("0.jsonl", 2, "fails to load", "late_field")]
    assert _judge(source)[0] == found
    assert _judge(source, typed=frozenset([source]))[0] == []
    other = _write(b"", "1.jsonl")
    assert _judge(source, typed=frozenset([other]))[0] == found


def test_parquet() -> None:
    """Parquet rows are read as they are, and dates stay text."""
    rows = [{**ROW, "chosen": "2026-01-01", "rejected": "2026-01-02"}, EQUAL]
    write_table(pa.Table.from_pylist(rows), "0.parquet")
    assert _judge(Input("0.parquet", "0.parquet"))[0] == [
        ("0.parquet", 2, "trains on nothing", "equal_sides")
    ]


def test_dates() -> None:
    """Dates lose the file, though each row was fine."""
    row = {**ROW, "chosen": "2026-01-01", "rejected": "2026-01-02"}
    told, ledger = _judge(_write([row, row]))
    assert told == [("0.jsonl", 0, "trains on nothing", "reads_as_date")] * 2
    assert (ledger.rows_lost, ledger.files_lost) == (2, ["0.jsonl"])


@pytest.mark.parametrize(
    ("to", "first", "second", "told"),
    [
        ("trl", ROW, {**ROW, "note": "x"}, ["files_differ"]),
        ("trl", {**ROW, "note": "x"}, ROW, []),
        ("trl", {**ROW, "s": 1}, {**ROW, "s": 0.5}, ["files_differ"]),
        ("openrlhf", ROW, {**ROW, "note": "x"}, []),
    ],
)
def test_files_that_differ(to: str, first: Row, second: Row, told: list[str]) -> None:
    """If a folder's files are loaded together, new columns in a later file are reported."""
    inputs = _write([first], "1.jsonl"), _write([second], "2.jsonl")
    found, ledger = _judge(*inputs, to=to, batch=1)
    assert found == [("2.jsonl", 0, "warning", code) for code in told]
    assert ledger.rows_lost == 0


# What the first row decides ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (ROW, {**ROW, "chat_template_kwargs": {}}, ["missing_column"]),
        ({**ROW, "chat_template_kwargs": {}}, ROW, ["missing_column"]),
        (ROW, {**ROW, "note": "x"}, []),
        (ROW, {"chosen": "Q aye", "rejected": "Q nay"}, ["missing_column"]),
    ],
)
def test_columns_of_the_first_row(first: Row, second: Row, told: list[str]) -> None:
    """A prompt and chat_template_kwargs must be in all rows or in none."""
    found = _told([first, second])
    assert [code for line, effect, code in found if effect == "crashes" and line == 2] == told


def test_forms_of_the_first_row() -> None:
    """All rows are texts, or all are chats; each file has its own first row."""
    chat = {
        "prompt": [{"role": "user", "content": "Q"}],
        "chosen": [{"role": "assistant", "content": "aye"}],
        "rejected": [{"role": "assistant", "content": "nay"}],
    }
    lost = [[2, "crashes", "forms_differ"], [3, "crashes", "forms_differ"]]
    assert [told for told in _told([ROW, chat, chat]) if told[1] != "warning"] == lost
    assert [told for told in _told([chat, ROW, ROW]) if told[1] != "warning"] == lost
    found, _ = _judge(_write([ROW], "1.jsonl"), _write([chat], "2.jsonl"))
    assert [told for told in found if told[2] != "warning"] == []
    assert [told for told in _told([ROW, chat], "openrlhf", batch=1) if told[1] != "warning"] == []


# Files as a whole -------------------------------------------------------------------------


def test_fewer_rows_than_a_batch() -> None:
    """A warning per file, unless a smaller batch size is given."""
    rows = [{**ROW, "prompt": f"Q{number}"} for number in range(3)]
    warning = [[0, "warning", "fewer_than_a_batch"]]
    assert _told(rows, "nemo-rl") == warning
    assert _told(rows, "nemo-rl", batch=4) == warning
    assert _told(rows, "nemo-rl", batch=3) == []
    assert _told(rows, "trl", batch=4) == warning
    assert _told(rows, "trl") == []


def test_too_few_rows() -> None:
    """Hosts reject small files."""
    message = {"role": "assistant", "content": "aye"}
    row = {
        "input": {"messages": [{"role": "user", "content": "Q"}]},
        "preferred_output": [message],
        "non_preferred_output": [{**message, "content": "nay"}],
    }
    assert _told([row] * 9, "openai") == [[0, "warning", "too_few_rows"]]
    assert _told([row] * 10, "openai") == []


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("train.jsonl", True),
        ("v1.0/train.json", True),
        ("train.jsonl.gz", False),
        ("train.JSONL", False),
        ("v1.jsonl/train", False),
    ],
)
def test_file_name(name: str, fine: bool) -> None:
    """The loader goes by the extension of the name."""
    Path(name).parent.mkdir(exist_ok=True)
    content = data_of([ROW])
    source = _write(gzip.compress(content) if name.endswith("gz") else content, name)
    told, ledger = _judge(source, to="nemo-rl", batch=1)
    assert told == ([] if fine else [(name, 0, "fails to load", "file_name")])
    assert ledger.rows_lost == (not fine)
    assert _judge(source, to="trl")[0] == []


def test_length() -> None:
    """The length limit of the plan is used."""
    row = {"prompt": "Q", "chosen": " same, aye", "rejected": " same, nay"}
    assert _told([row], length=LengthLimit(8)) == [[1, "trains on nothing", "equal_when_cut"]]
    assert _told([row], length=LengthLimit(9)) == []


def test_host() -> None:
    """The rules are those of the plan's target."""
    target = target_named("trl")
    strict = replace(target, rules=replace(target.rules, least=2))
    assert _told([ROW], target=strict) == [[0, "warning", "too_few_rows"]]


# Single answers ---------------------------------------------------------------------------


def test_neighbours() -> None:
    """The same prompt in consecutive rows is a warning, whatever the key order."""
    prompt, other = ([{"role": "user", "content": "Q"}], [{"content": "Q", "role": "user"}])
    answer = [{"role": "assistant", "content": "aye"}]
    rows = [
        {"prompt": prompt, "completion": answer, "label": True},
        {"prompt": other, "completion": answer, "label": False},
        {"prompt": [{"role": "user", "content": "R"}], "completion": answer, "label": True},
        {"prompt": prompt, "completion": answer, "label": False},
    ]
    assert _told(rows, "trl-kto") == [[2, "warning", "same_neighbour"]]
    assert _told([ROW, ROW], "trl") == []


def test_neighbours_in_other_files() -> None:
    """Rows in different files are not neighbors."""
    one, other = _write([SINGLE], "1.jsonl"), _write([SINGLE], "2.jsonl")
    assert _judge(one, other, to="trl-kto")[0] == []


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([True, True], ["one_label"]),
        ([False, False, False], ["one_label"]),
        ([True, False], []),
        ([True], []),
    ],
)
def test_labels(labels: list[bool], told: list[str]) -> None:
    """Several rows should have both labels."""
    rows = [{**SINGLE, "prompt": f"Q{n}", "label": label} for n, label in enumerate(labels)]
    assert _told(rows, "trl-kto") == [[0, "warning", code] for code in told]


def test_array() -> None:
    """The elements of a JSON array are numbered from 1."""
    content = json.dumps([ROW, EQUAL]).encode()
    assert _told(content) == [[2, "trains on nothing", "equal_sides"]]
