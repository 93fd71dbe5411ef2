"""Output files and streams."""

import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from backports import zstd

from prefpairs.errors import BadRecords, FileError, UsageError
from prefpairs.files.input_file import Input
from prefpairs.files.output import open_output, write_file
from prefpairs.files.staged_file import same_bytes
from prefpairs.files.standard_output import ClosedPipe, refuse_stdout


def _write(path: Path | str, *lines: bytes) -> None:
    with open_output(str(path)) as output:
        for line in lines:
            output.write(line)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _fail(path: Path) -> None:
    with open_output(str(path)) as output:
        output.write(b"new\n")
        raise KeyboardInterrupt


@contextmanager
def _descriptor(number: int, replacement: int) -> Iterator[None]:
    """Replace a descriptor by another file during a block."""
    before = os.dup(number)
    os.dup2(replacement, number)
    try:
        yield
    finally:
        os.dup2(before, number)
        os.close(before)


def test_file_is_written(tmp_path: Path) -> None:
    """Lines are written in order."""
    _write(tmp_path / "o.jsonl", b"a\n", b"b\n")
    assert (tmp_path / "o.jsonl").read_bytes() == b"a\nb\n"


def test_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    """Until the block ends, the old content is there."""
    path = tmp_path / "o.jsonl"
    path.write_bytes(b"old\n")
    with open_output(str(path)) as output:
        output.write(b"new\n" * 200_000)
        assert path.read_bytes() == b"old\n"
    assert path.read_bytes() == b"new\n" * 200_000


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst"])
def test_old_file_stays_when_something_goes_wrong(tmp_path: Path, name: str) -> None:
    """After an error the old content stays, and no other file is left."""
    path = tmp_path / name
    path.write_bytes(b"old\n")
    with pytest.raises(KeyboardInterrupt):
        _fail(path)
    assert path.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == [name]


def test_no_file_appears_when_something_goes_wrong(tmp_path: Path) -> None:
    """After an error no new file exists."""
    with pytest.raises(KeyboardInterrupt):
        _fail(tmp_path / "o.jsonl")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_mode_of_the_old_file_is_kept(tmp_path: Path, mode: int) -> None:
    """A replaced file keeps its mode."""
    path = tmp_path / "o.jsonl"
    path.touch()
    path.chmod(mode)
    _write(path, b"a\n")
    assert _mode(path) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_mode_of_a_new_file_is_the_users(tmp_path: Path, mask: int, mode: int) -> None:
    """A new file's mode follows the umask, which is unchanged afterwards."""
    before = os.umask(mask)
    try:
        _write(tmp_path / "o.jsonl", b"a\n")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert _mode(tmp_path / "o.jsonl") == mode


def test_link_stays_a_link(tmp_path: Path) -> None:
    """A link stays; its target is replaced."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real.jsonl").write_bytes(b"old\n")
    link = tmp_path / "link.jsonl"
    link.symlink_to("data/real.jsonl")
    _write(link, b"new\n")
    assert os.readlink(link) == "data/real.jsonl"
    assert (tmp_path / "data" / "real.jsonl").read_bytes() == b"new\n"


def test_named_pipe_is_written_to(tmp_path: Path) -> None:
    """A named pipe is written to, not replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    _write(pipe, b"a\n")
    reader.join()
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == ([b"a\n"], True)


@pytest.mark.parametrize("name", ["nowhere/o.jsonl", "folder"])
def test_place_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    """A missing folder, and a folder with that name, are errors."""
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name)
    with pytest.raises(FileError) as caught:
        _write(path, b"a\n")
    assert caught.value.path == path


@pytest.mark.parametrize("name", ["o.parquet", "o.json", "o.bz2", "o.xz", "o.lz4", "o.zip"])
def test_format_that_is_not_written(tmp_path: Path, name: str) -> None:
    """A name with the extension of an unsupported format is rejected."""
    with pytest.raises(UsageError) as caught:
        _write(tmp_path / name)
    assert caught.value.problem == f"cannot write .{name.partition('.')[2]} files"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["r.jsonl", "symbolic.jsonl", "hard.jsonl", "./r.jsonl"])
def test_input_is_no_output(tmp_path: Path, name: str) -> None:
    """An input is not overwritten, under any of its names."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"in\n")
    (tmp_path / "symbolic.jsonl").symlink_to(path)
    (tmp_path / "hard.jsonl").hardlink_to(path)
    inputs = [Input(str(path), "r.jsonl")]
    with (
        pytest.raises(UsageError, match="is both input and output"),
        open_output(f"{tmp_path}/{name}", inputs),
    ):
        pass
    assert path.read_bytes() == b"in\n"


def test_redirected_input_is_no_output(tmp_path: Path) -> None:
    """The file redirected to standard input is not overwritten, either."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"in\n")
    with (
        path.open("rb") as file,
        _descriptor(0, file.fileno()),
        pytest.raises(UsageError, match="is both input and output"),
        open_output(str(path), [Input("-", "stdin")]),
    ):
        pass
    assert path.read_bytes() == b"in\n"


def test_other_outputs_beside_the_input(tmp_path: Path) -> None:
    """Only the same file is rejected."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"in\n")
    with open_output(str(tmp_path / "o.jsonl"), [Input(str(path), "r.jsonl")]) as output:
        output.write(b"out\n")
    assert (tmp_path / "o.jsonl").read_bytes() == b"out\n"


def test_gzip_is_the_same_every_time(tmp_path: Path) -> None:
    """A .gz contains neither time nor name."""
    lines = [b"line %d\n" % number for number in range(1000)]
    _write(tmp_path / "one.jsonl.gz", *lines)
    _write(tmp_path / "two.jsonl.gz", *lines)
    one = (tmp_path / "one.jsonl.gz").read_bytes()
    assert one == (tmp_path / "two.jsonl.gz").read_bytes()
    assert one[3:8] == bytes(5)
    assert gzip.decompress(one) == b"".join(lines)


def test_zstd(tmp_path: Path) -> None:
    """The extension .zst selects the compression."""
    _write(tmp_path / "o.jsonl.zst", b"a\n", b"b\n")
    assert zstd.decompress((tmp_path / "o.jsonl.zst").read_bytes()) == b"a\nb\n"


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """All lines are written in order."""
    lines = [b"line %d\n" % number for number in range(50_000)]
    _write("-", *lines)
    assert capfdbinary.readouterr().out == b"".join(lines)


def test_closed_pipe() -> None:
    """A closed pipe is distinguished from other errors."""
    reading, writing = os.pipe()
    os.close(reading)
    with _descriptor(1, writing), pytest.raises(ClosedPipe):
        _write("-", b"a\n")
    os.close(writing)


def test_standard_output_that_cannot_be_written(tmp_path: Path) -> None:
    """The error names the stream."""
    (tmp_path / "r").touch()
    with (
        (tmp_path / "r").open("rb") as file,
        _descriptor(1, file.fileno()),
        pytest.raises(FileError) as caught,
    ):
        _write("-", b"a\n")
    assert (caught.value.path, caught.value.problem) == ("standard output", "Bad file descriptor")


def test_open_descriptor_is_written_to(tmp_path: Path) -> None:
    """A file that another program has open is written at its position, not replaced."""
    path = tmp_path / "log"
    with path.open("wb", buffering=0) as file:
        file.write(b"before\n")
        _write(f"/dev/fd/{file.fileno()}", b"a\n")
        file.write(b"after\n")
    assert path.read_bytes() == b"before\na\nafter\n"


def test_dev_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """/dev/stdout is standard output."""
    _write("/dev/stdout", b"a\n")
    assert capfdbinary.readouterr().out == b"a\n"


def _write_after(reader: Thread, path: Path) -> None:
    with open_output(str(path)) as output:
        reader.join()
        output.write(b"a\n")


def test_closed_named_pipe(tmp_path: Path) -> None:
    """A closed pipe is distinguished from other errors here, too."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = Thread(target=lambda: os.close(os.open(pipe, os.O_RDONLY)))
    reader.start()
    with pytest.raises(ClosedPipe):
        _write_after(reader, pipe)


def test_long_name(tmp_path: Path) -> None:
    """With a name of maximum length, the temporary file still has a valid name."""
    path = tmp_path / ("x" * 240 + ".jsonl")
    _write(path, b"a\n")
    assert os.listdir(tmp_path) == [path.name]


def test_bad_rows_after_lines_on_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Lines already written are reported; buffered ones are not written."""

    def partly(lines: int) -> tuple[bool, bool]:
        with suppress(BadRecords), open_output("-") as output:
            for _ in range(lines):
                output.write(b"line\n")
            raise (error := BadRecords(1, []))
        return error.partly_written, bool(capfdbinary.readouterr().out)

    assert [partly(1), partly(100_000)] == [(False, False), (True, True)]


def test_no_summary_on_standard_output() -> None:
    """A summary may not go to standard output."""
    with pytest.raises(UsageError, match="--summary -: standard output is for data"):
        refuse_stdout("--summary", "-")


def test_small_file(tmp_path: Path) -> None:
    """Small files are written atomically, too."""
    path = tmp_path / "summary.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_file(str(path), b"{}\n")
    assert (path.read_bytes(), _mode(path), os.listdir(tmp_path)) == (
        b"{}\n",
        0o640,
        ["summary.json"],
    )


def _keep(path: Path, content: bytes) -> bool:
    """Whether the existing file is kept when this is written with keep_if_same."""
    os.utime(path, (1, 1))
    inode = path.stat().st_ino
    with open_output(str(path), keep_if_same=True) as output:
        output.write(content)
    assert [name for name in os.listdir(path.parent) if name.endswith(".tmp")] == []
    return (path.stat().st_mtime, path.stat().st_ino) == (1, inode)


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst"])
def test_file_that_would_not_change_stays(tmp_path: Path, name: str) -> None:
    """An unchanged file keeps its time and inode, compressed or not; any new byte replaces it."""
    path = tmp_path / name
    _write(path, b"a\n")
    before = path.read_bytes()
    assert _keep(path, b"a\n")
    assert path.read_bytes() == before
    for content in (b"b\n", b"b\nc\n", b"", b"a\n"):
        assert not _keep(path, content)
    assert path.read_bytes() == before


def test_file_that_was_asked_to_stay_but_is_not_there(tmp_path: Path) -> None:
    """A missing file is created."""
    with open_output(str(tmp_path / "o.jsonl"), keep_if_same=True) as output:
        output.write(b"a\n")
    assert (tmp_path / "o.jsonl").read_bytes() == b"a\n"


def test_link_to_a_file_that_would_not_change(tmp_path: Path) -> None:
    """The file behind a link is compared."""
    (tmp_path / "real").write_bytes(b"a\n")
    link = tmp_path / "link.jsonl"
    link.symlink_to("real")
    assert _keep(link, b"a\n")
    assert not _keep(link, b"b\n")
    assert (link.is_symlink(), (tmp_path / "real").read_bytes()) == (True, b"b\n")


def test_without_keep_if_same(tmp_path: Path) -> None:
    """Without keep_if_same, the file is replaced even if it is unchanged."""
    path = tmp_path / "o.jsonl"
    _write(path, b"a\n")
    os.utime(path, (1, 1))
    _write(path, b"a\n")
    assert path.stat().st_mtime > 1
    os.utime(path, (1, 1))
    write_file(str(path), b"a\n")
    assert path.stat().st_mtime > 1


def test_same_bytes(tmp_path: Path) -> None:
    """Compares the bytes of two files; other kinds of files are never the same."""
    contents = {"a": b"abc", "same": b"abc", "other": b"abd", "longer": b"abcd", "empty": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("same")
    os.mkfifo(tmp_path / "pipe")
    same = [
        name
        for name in ("a", *contents, "folder", "link", "pipe", "none")
        if same_bytes(str(tmp_path / "a"), str(tmp_path / name))
    ]
    assert same == ["a", "a", "same", "link"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_system_begins_to_store_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """Each byte once, in large pieces, and nothing depends on whether the system can."""
    asked: list[tuple[int, int]] = []

    def advise(_: int, start: int, length: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_DONTNEED
        asked.append((start, length))
        if fails:
            raise OSError

    monkeypatch.setattr("prefpairs.files.staged_file._AT_ONCE", 1000)
    monkeypatch.setattr(os, "posix_fadvise", advise)
    lines = [b"x" * (700_000 + place) for place in range(4)]
    _write(tmp_path / "o.jsonl", *lines)
    assert (tmp_path / "o.jsonl").read_bytes() == b"".join(lines)
    assert len(asked) >= 4
    ends = [start + length for start, length in asked]
    assert [start for start, _ in asked] == [0, *ends[:-1]]
    assert sum(map(len, lines)) - 1000 < ends[-1] <= sum(map(len, lines))
