"""Hints from a TOML file."""

from pathlib import Path

import pytest

from prefpairs.errors import BadInput, FileError
from prefpairs.files.option_files import read_hints


def test_hints(tmp_path: Path) -> None:
    """A text for each kind of error."""
    (tmp_path / "h.toml").write_text('a = "No {x}."\n"b c" = "é"\n', "utf-8")
    assert read_hints(str(tmp_path / "h.toml")) == {"a": "No {x}.", "b c": "é"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"a =", "not TOML"), (b"\xff", "not TOML"), (b"a = 1", "a is no text"), (b"[a]", "a is no")],
)
def test_bad_files(tmp_path: Path, data: bytes, problem: str) -> None:
    """The error names the file and the fault."""
    path = tmp_path / "h.toml"
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        read_hints(str(path))
    assert caught.value.path == str(path)
    assert caught.value.problem.startswith(problem)
    with pytest.raises(FileError):
        read_hints(str(tmp_path / "none.toml"))
