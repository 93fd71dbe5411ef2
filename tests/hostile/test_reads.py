"""Input that is torn, compressed, growing, modified during the run, or oddly named."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

import forked_prefpairs

A, B = (
    json.dumps({"prompt": "Q", "response": text, "score": score}).encode() + b"\n"
    for text, score in (("A", 1), ("B", 0))
)
NOWHERE = {"chosen_origin": "", "rejected_origin": ""}


def run(*words: str | bytes | Path, cwd: Path) -> tuple[int, bytes, str]:
    """The exit code of a run, its data, and its stderr."""
    done = forked_prefpairs.run(*map(os.fsdecode, words), cwd=cwd)
    said = done.stderr.decode()
    assert "Traceback" not in said
    return done.returncode, done.stdout, said


PACKS: list[Callable[[bytes], bytes]] = [gzip.compress, zstd.compress]


@pytest.mark.parametrize("pack", PACKS, ids=["gzip", "zstd"])
def test_packed_files_behind_each_other_are_one(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Concatenated compressed files are read as one, as `cat a.gz b.gz` makes them."""
    (tmp_path / "in").write_bytes(pack(A) + pack(B))
    code, data, _ = run("extract", "in", cwd=tmp_path)
    assert (code, data.count(b"\n")) == (0, 2)


@pytest.mark.parametrize("pack", PACKS, ids=["gzip", "zstd"])
def test_packed_files_that_are_damaged(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Truncation, trailing garbage or a flipped byte exits 1 and never gives a wrong row."""
    whole = pack(b"".join(A.replace(b"A", str(n).encode()) for n in range(50)))
    (tmp_path / "in").write_bytes(whole)
    good = run("extract", "in", cwd=tmp_path)[1]
    places = range(12, len(whole), 20)
    damaged = [whole[:cut] for cut in places] + [whole + b"more"]
    damaged += [whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :] for at in places]
    for data in damaged:
        (tmp_path / "in").write_bytes(data)
        code, rows, said = run("extract", "in", cwd=tmp_path)
        assert code in (0, 1), said
        assert code == 0 or said.startswith("error: in")
        # zstd files need no checksum: a flipped byte is not noticed if the result is still JSON.
        assert rows == good or code == 1 or (len(data) == len(whole) and pack is zstd.compress)


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (b"", 3, "in is empty"),
        (b"\n \n\r\n", 3, "in is empty"),
        (A + B.rstrip(), 0, "2 read = 2 used"),
        ((A + B).replace(b"\n", b"\r\n"), 0, "2 read = 2 used"),
        (b"\xef\xbb\xbf" + A + B, 0, "2 read = 2 used"),
        ((A + B).replace(b"\n", b"\r"), 1, "in:1: lines that end in CR alone"),
        (A.replace(b"A", b"\xff"), 1, "in:1: invalid UTF-8 at byte 30"),
        (A.replace(b"A", b"\x00"), 1, "in:1: not JSON: Invalid control character at column 30"),
        (A.replace(b"A", b"\\u0000") + B, 0, "2 read = 2 used"),
        (A.replace(b"A", b"\\ud83d") + B, 0, "surrogate_replaced"),
        (A.replace(b'"A"', b"[" * 100_000 + b"]" * 100_000), 1, "in:1: nested too deeply"),
        (A.replace(b"1}", b"1" * 5000 + b"}"), 1, "in:1: a number of more than 4300 digits"),
        (A.replace(b"1}", b"1e400}") + B, 3, "score_not_finite"),
        (A.replace(b"1}", b"-0.0}") + B, 3, "all_tied"),
        (A.replace(b"1}", b"18446744073709551617}") + B, 0, "gap 1.845e+19"),
        (A.replace(b"1}", b'1, "score": 0}') + B, 3, "all_tied"),
        (A + B[:-5], 1, "in:2: the line ends in the middle of a JSON value"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 1, "git lfs pull"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, bytes) else None,
)
def test_rows_of_every_kind(data: bytes, code: int, said: str, tmp_path: Path) -> None:
    """Each row is read, dropped or rejected, and the message says which."""
    (tmp_path / "in").write_bytes(data)
    found, _, told = run("pair", "in", cwd=tmp_path)
    assert (found, said in told) == (code, True), told


@pytest.mark.parametrize(
    "name", [b"a\nb", b"a\xff", b"-a", b"a b", b"a'\"$(x)", "ä\u202e".encode()]
)
def test_names_of_every_kind(name: bytes, tmp_path: Path) -> None:
    """Files with any name are read and written; messages show no unprintable character."""
    (tmp_path / os.fsdecode(name)).write_bytes(A + B)
    inside = b"./" + name
    code, _, said = run("pair", inside, "-o", b"./o" + name, cwd=tmp_path)
    assert (code, b"\n".join(os.listdir(os.fsencode(tmp_path))).count(name)) == (0, 2)
    assert "\u202e" not in said
    row = json.loads((tmp_path / os.fsdecode(b"o" + name)).read_bytes())
    assert row["chosen_origin"].endswith(":1")


def test_what_is_not_a_file(tmp_path: Path) -> None:
    """Named pipes, /dev/stdin and process substitution are read once."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "in").write_bytes(A + B)
    plain = run("pair", "in", cwd=tmp_path)[1]
    for script in (
        "cat in > fifo & {} pair fifo",
        "{} pair /dev/stdin < in",
        "cat in | {} pair /dev/stdin",
        "{} pair <(cat in)",
        "{} pair <(head -n1 in) <(tail -n1 in)",
        "{} pair - < in",
    ):
        done = subprocess.run(
            ["bash", "-c", script.format(f"{sys.executable} -m prefpairs")],
            cwd=tmp_path,
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert _content(done.stdout) == _content(plain), script


def _content(pairs: bytes) -> list[str]:
    """The pairs without their origins."""
    return [json.dumps({**json.loads(line), **NOWHERE}) for line in pairs.splitlines()]


def _changed_between(folder: Path, change: Callable[[Path], None], *words: str) -> tuple[int, str]:
    """A run whose first input is changed after it was read, while it waits for the second one."""
    path, fifo = folder / "in", folder / "fifo"
    path.write_bytes(A + B)
    os.utime(path, ns=(10**18, 10**18))
    os.mkfifo(fifo)

    def feed() -> None:
        with fifo.open("wb") as pipe:  # the first input was read by then
            change(path)
            pipe.write(A.replace(b"Q", b"other"))

    feeder = threading.Thread(target=feed)
    feeder.start()
    code, data, said = run(*words, "in", "fifo", cwd=folder)
    feeder.join()
    assert data == b""
    return code, said


def _written_over(path: Path) -> None:
    path.write_bytes((A + B).replace(b'"A"', b'"Z"'))
    os.utime(path, ns=(10**18, 10**18))


def _written_over_where_it_was_asked(path: Path) -> None:
    path.write_bytes((A + B).replace(b'"Q"', b'"R"'))
    os.utime(path, ns=(10**18, 10**18))


def _written_over_where_the_scores_stand(path: Path) -> None:
    path.write_bytes(A.replace(b"1}", b"0}") + B.replace(b"0}", b"1}"))
    os.utime(path, ns=(10**18, 10**18))


def _written_on(path: Path) -> None:
    with path.open("ab") as file:
        file.write(A)


def _replaced(path: Path) -> None:
    path.rename(path.with_name("old"))
    _written_over(path)


def _cut(path: Path) -> None:
    os.truncate(path, 10)


def _gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    "change",
    [
        _written_over,
        _written_over_where_it_was_asked,
        _written_over_where_the_scores_stand,
        _written_on,
        _replaced,
        _cut,
        _gone,
    ],
)
def test_a_file_that_changes_between_reading_and_writing(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    """Exits 1 (5 if the file is gone) and writes no pair, even if size and time are unchanged."""
    (tmp_path / "out").write_text("old")
    code, said = _changed_between(tmp_path, change, "pair", "-o", "out")
    assert (code, (tmp_path / "out").read_text()) == (5 if change is _gone else 1, "old")
    gone = "error: in: No such file or directory"
    assert said.startswith(gone if change is _gone else "error: in changed while it was being read")


@pytest.mark.parametrize("command", ["pair", "extract"])
def test_a_file_that_grows_while_it_is_read(command: str, tmp_path: Path) -> None:
    """Nothing is written if an input is still being appended to."""
    path = tmp_path / "in"
    path.write_bytes(b"".join(A.replace(b"A", str(n).encode()) + B for n in range(100_000)))
    grown = threading.Event()

    def grow() -> None:
        while not grown.is_set():
            _written_on(path)
            time.sleep(0.005)

    grower = threading.Thread(target=grow)
    grower.start()
    code, _, said = run(command, "in", "-o", "out", cwd=tmp_path)
    grown.set()
    grower.join()
    assert (code, os.path.exists(tmp_path / "out")) == (1, False)
    assert said.startswith("error: in changed while it was being read")


def test_folders_and_files_that_may_not_be_read(tmp_path: Path) -> None:
    """Unreadable files and folders are errors that name them and the reason."""
    (tmp_path / "empty").mkdir()
    assert run("pair", "empty", cwd=tmp_path)[0] == 5
    assert run("pair", "none.jsonl", cwd=tmp_path)[2] == "error: none.jsonl: no such file\n"
    (tmp_path / "loop").symlink_to("loop")
    assert run("pair", "loop", cwd=tmp_path)[0] == 5
    if os.geteuid():  # root may read everything
        (tmp_path / "closed").mkdir(mode=0)
        for name in ("closed", "closed/rows.jsonl"):
            said = f"error: {name}: Permission denied\n"
            assert run("pair", name, cwd=tmp_path) == (5, b"", said)


def test_quarantined_rows_can_be_fixed_and_read_again(tmp_path: Path) -> None:
    """Quarantined rows can be fixed with jq and sed and read again.

    Rows of arrays are quarantined as one line each.
    """
    rows = [A, B.replace(b"0}", b'"low"}'), b"{oops\n"]
    elements = json.dumps([json.loads(row) for row in rows[:2]], indent=1).encode()
    (tmp_path / "in").write_bytes(b"".join(rows))
    (tmp_path / "array").write_bytes(elements)
    for name, bad in (("in", 2), ("array", 1)):
        words = ("--on-error", "quarantine", "--quarantine", "bad", "--allow-empty")
        assert run("pair", name, *words, cwd=tmp_path)[0] == 0
        kept = [json.loads(line) for line in (tmp_path / "bad").read_bytes().splitlines()]
        assert [row["file"] for row in kept] == [name] * bad
        mended = [row["raw"].replace('"low"', "0") for row in kept if row["reason"] == "bad_field"]
        (tmp_path / "mended").write_text("".join(f"{line}\n" for line in mended))
        (tmp_path / "first").write_bytes(A)
        code, data, _ = run("pair", "first", "mended", cwd=tmp_path)
        assert (code, json.loads(data)["rejected"]) == (0, "B")
