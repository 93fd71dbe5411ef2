"""Whether a file is one JSON document, which hints about --rows depend on."""

import os
from pathlib import Path

import pytest

from prefpairs.files.document_reader import is_one_document


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (b'{"a": [\n{}]}\n', True),
        (b'{"a": 1}\n{"a": 2}\n', False),
        (b"[{}]", False),
        (b"", False),
        (b'{"a": "longer than it may be"}', False),
    ],
)
def test_files(content: bytes, is_one: bool, tmp_path: Path) -> None:
    """One object and nothing else, no longer than asked."""
    (tmp_path / "file").write_bytes(content)
    assert is_one_document(str(tmp_path / "file"), 20) == is_one


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe is not waited for: its writer may have gone."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "missing"):
        assert not is_one_document(str(tmp_path / name), 20)
