"""Input that would exhaust memory or fill the disk."""

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from backports import zstd
from hostile_kit import run
from pyarrow.parquet import write_table

from prefpairs.files.input_file import Limits

MEGABYTE = 1_000_000
BARE = 40
"""The memory of the program alone, in MB; 10 MB more are allowed."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")


def rows(command: str) -> tuple[bytes, bytes]:
    """Two lines that a command reads."""
    if command in ("pair", "extract"):
        made = [{"prompt": "Q", "response": f"A{n}", "score": float(n)} for n in range(2)]
    else:
        made = [{"prompt": f"Q{n}", "chosen": "A", "rejected": "B"} for n in range(2)]
    first, second = (json.dumps(row).encode() + b"\n" for row in made)
    return first, second


def with_long_line(command: str) -> Iterator[bytes]:
    """A good line, one of 150 MB, and another good one."""
    first, second = rows(command)
    yield first
    yield b'{"prompt": "'
    for _ in range(150):
        yield b"x" * MEGABYTE
    yield b'"}\n' + second


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("command", ["pair", "extract", "dedupe"])
def test_a_long_line_is_a_bad_row_and_takes_no_memory(
    command: str, packed: bool, tmp_path: Path
) -> None:
    """An overlong line is a bad row with its line number; skipping it keeps the other rows."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as file:
        for part in with_long_line(command):
            file.write(part)
    words: list[str | Path] = [
        command,
        path,
        "--max-line",
        "2MB",
        "--max-unpacked",
        "1GB",
        "-o",
        out,
    ]
    code, said, peak = run(*words)
    assert (code, out.exists()) == (1, False)
    assert "error: in.jsonl:2: the line is longer than --max-line allows" in said
    assert peak < BARE + 10
    code, said, peak = run(*words, "--on-error", "skip")
    assert "rows                3 read = 2 used + 0 dropped + 1 bad" in said
    assert (code, peak < BARE + 10) == (0, True)
    with_skip = out.read_bytes()
    path.write_bytes(b"".join(rows(command)))
    assert run(command, path, "-o", out)[0] == 0
    assert out.read_bytes().replace(b"in.jsonl:2", b"in.jsonl:3") == with_skip


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_finds_the_same(workers: int, tmp_path: Path) -> None:
    """Any number of workers finds the same overlong lines, with the same line numbers."""
    first, second = rows("pair")
    long = json.dumps({"prompt": "Q", "response": "x" * 3000, "score": 1}).encode() + b"\n"
    path, bad = tmp_path / "in.jsonl", tmp_path / "bad.jsonl"
    path.write_bytes(long + b"\n" + first + long * 3 + second + long)
    code, said, _ = run(
        *("pair", path, "--workers", str(workers), "--max-line", str(len(long) - 1)),
        *("--on-error", "quarantine", "--quarantine", bad),
    )
    assert (code, "rows                7 read = 2 used + 0 dropped + 5 bad" in said) == (0, True)
    found = [json.loads(line) for line in bad.read_bytes().splitlines()]
    assert [(row["line"], row["reason"]) for row in found] == [
        (line, "line_too_long") for line in (1, 4, 5, 6, 8)
    ]
    assert all(path.read_bytes()[row["byte"] :].startswith(long) for row in found)
    assert run("pair", path, "--max-line", str(len(long)), "-o", tmp_path / "o")[0] == 0


def test_an_element_of_an_array_that_is_too_long(tmp_path: Path) -> None:
    """An array is read no further than an overlong element."""
    path = tmp_path / "in.json"
    with path.open("wb") as file:
        file.write(b"[" + rows("pair")[0] + b', {"prompt": "')
        for _ in range(150):
            file.write(b"x" * MEGABYTE)
        file.write(b'"}]')
    code, said, peak = run("pair", path, "--max-line", "2MB")
    assert code == 1
    assert "an element of the JSON array is longer than --max-line allows" in said
    assert peak < BARE + 30
    code, said, _ = run("pair", path, memory=400 * MEGABYTE)
    assert (code, "or than the limit on memory does (ulimit -v)" in said) == (1, True), said
    assert "a higher ulimit -v" in said


def _gzip(path: Path, part: bytes, times: int) -> None:
    with gzip.open(path, "wb", 9) as file:
        for _ in range(times):
            file.write(part)


def _zstd(path: Path, part: bytes, times: int) -> None:
    with zstd.open(path, "wb") as file:
        for _ in range(times):
            file.write(part)


def _parquet(path: Path, part: bytes, times: int) -> None:
    rows = [json.loads(line) for line in part.splitlines()] * times
    write_table(pa.Table.from_pylist(rows), path, compression="zstd", use_dictionary=False)


@pytest.mark.parametrize("pack", [_gzip, _zstd, _parquet])
def test_a_bomb_is_refused(pack: Callable[[Path, bytes, int], None], tmp_path: Path) -> None:
    """Rows that unpack to far more than their size are rejected, unless the limit is raised."""
    row = {"prompt": "Q" * 9000, "response": "A", "score": 1.0}
    path = tmp_path / "in"
    pack(path, json.dumps(row).encode() + b"\n", 3000)
    words: list[str | Path] = ["extract", path, "-o", tmp_path / "o"]
    code, said, peak = run(*words, "--max-unpacked", "20MB")
    assert (code, os.listdir(tmp_path)) == (1, ["in"])
    assert "error: in: it unpacks to more than a file of rows should" in said
    assert "hint: --max-unpacked SIZE allows more" in said
    assert peak < (BARE if pack is not _parquet else 100) + 10
    assert run(*words, "--max-unpacked", "30MB", "-q")[0] == 0
    assert run(*words, "-q")[0] == 0


def test_the_limit_grows_with_the_packed_size() -> None:
    """The limit is a gigabyte or 200 times the packed size, so large files are not rejected."""
    assert Limits().unpacked_from(5000) == 1_000_000_000
    assert Limits().unpacked_from(50_000_000) == 10_000_000_000
    assert Limits(unpacked=7).unpacked_from(50_000_000) == 7


def test_a_bomb_through_a_pipe() -> None:
    """The same limit holds for a pipe."""
    bomb = gzip.compress(b'{"prompt": "Q"}' + b" " * 9 * MEGABYTE + b"\n")
    code, said, peak = run("extract", "--max-unpacked", "5MB", data=bomb)
    assert (code, "stdin: it unpacks to more" in said, peak < BARE + 25) == (1, True, True)


@pytest.mark.parametrize("words", [["pair"], ["pair", "--workers", "2"], ["extract"]])
def test_a_long_line_that_begins_with_blanks(words: list[str], tmp_path: Path) -> None:
    """An overlong line that begins with blanks may not be blank, so it is reported, not ignored."""
    first, second = rows("pair")
    (tmp_path / "in").write_bytes(first + b" " * 5000 + second + second)
    code, said, _ = run(*words, tmp_path / "in", "--max-line", "4500")
    assert (code, "in:2: the line is longer" in said) == (1, True)


def test_values_of_bad_rows_are_not_held(tmp_path: Path) -> None:
    """The values of bad rows are not kept in memory, except what is shown of them."""
    path = tmp_path / "in"
    row = b'{"prompt": "Q", "response": "A", "score": [' + b",".join([b"[]"] * 500_000) + b"]}\n"
    path.write_bytes(rows("pair")[0] + row)
    one = run("extract", path, "--on-error", "skip")[2]
    path.write_bytes(rows("pair")[0] + row * 5)
    code, said, peak = run("extract", path)
    assert (code, "in:2: score is [[], [], []" in said) == (1, True)
    assert peak < one + 15


def test_large_rows_of_parquet(tmp_path: Path) -> None:
    """Fewer large rows are held at a time; pyarrow itself takes twice a row group, 240 MB here."""
    made = [{"prompt": "Q", "response": "A" * 4_000_000, "score": 1.0}] * 60
    write_table(pa.Table.from_pylist(made), tmp_path / "in", use_dictionary=False)
    code, _, peak = run("extract", tmp_path / "in", "-o", tmp_path / "o")
    assert (code, peak < 590) == (0, True), peak


def test_a_text_that_parquet_repeats(tmp_path: Path) -> None:
    """A repeated text is stored once in Parquet, and takes at most 128 copies in memory."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), ["A" * 1_000_000])
    made = pa.table({"prompt": ["Q"] * 2000, "response": texts, "score": [1.0] * 2000})
    write_table(made, tmp_path / "in", compression="zstd")
    assert (tmp_path / "in").stat().st_size < 20_000
    code, _, peak = run("extract", tmp_path / "in", "--limit", "300", "-o", tmp_path / "o")
    assert (code, peak < 400) == (0, True), peak


def test_many_columns_of_parquet(tmp_path: Path) -> None:
    """The time for many columns does not grow quadratically."""
    row = {"prompt": "Q", "response": "A", "score": 1.0, **{f"c{n}": n for n in range(8000)}}
    write_table(pa.Table.from_pylist([row]), tmp_path / "in")
    before = os.times().children_user
    assert run("extract", tmp_path / "in")[0] == 0
    assert os.times().children_user - before < 4


@pytest.mark.parametrize("size", ["4.1GB", "9223372036854775807", "10000000000GB"])
def test_a_limit_beyond_all_lines(size: str, tmp_path: Path) -> None:
    """A --max-line beyond all possible lines exits 2."""
    (tmp_path / "in").write_bytes(b"".join(rows("pair")))
    code, said, _ = run("pair", tmp_path / "in", "--max-line", size)
    assert (code, "no line can be that long" in said) == (2, True)


def test_zstd_behind_a_frame_that_is_passed_over(tmp_path: Path) -> None:
    """Skippable frames, which pzstd writes, are skipped."""
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    (tmp_path / "in").write_bytes(skipped + zstd.compress(b"".join(rows("pair"))))
    assert run("pair", tmp_path / "in")[0] == 0


@pytest.mark.parametrize("name", ["/dev/zero", "large", "pipe"])
@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["export", "pairs.jsonl", "--to", "tokens", "--tokenizer", "t.json", "--template"],
        ["pair", "pairs.jsonl", "--prompt-template"],
    ],
    ids=["recipe", "template", "template of prompts"],
)
def test_small_files_without_an_end(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless or huge files where small ones are expected are rejected before memory is full."""
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text('{"prompt": "Q", "chosen": "yes", "rejected": "no"}\n')
    Path("t.json").write_text("{}")
    if name == "pipe":
        os.mkfifo(name)
        Thread(target=_endless, args=(name,), daemon=True).start()
    elif name == "large":
        with Path(name).open("wb") as file:
            file.truncate(1 << 40)
    code, said, _ = run(*words, name, memory=3_000_000_000)
    assert (code, said) == (1, f"error: {name}: it has more than 16 MB, which no such file needs\n")


def _endless(name: str) -> None:
    with suppress(BrokenPipeError), open(name, "wb") as pipe:
        while True:
            pipe.write(b"#" * 65_536)
