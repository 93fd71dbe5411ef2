"""Messages about libraries that are not installed."""

import shlex
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from prefpairs import optional_libraries

PROJECT = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("extra", ["near", "parquet", "rehearse", "tokens"])
def test_command_names_the_libraries(extra: str) -> None:
    """The command installs the extra's libraries for this Python, never a package of ours."""
    words = shlex.split(optional_libraries.install_command(extra) or "")
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    names = sorted(word.partition(">")[0].partition("<")[0] for word in words[4:])
    listed = PROJECT["optional-dependencies"][extra]
    assert names == sorted(name.partition(">")[0] for name in listed)


def test_without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments made by uv have no pip; the command uses uv then."""
    monkeypatch.setattr(optional_libraries, "find_spec", lambda _: None)
    command = optional_libraries.install_command("near") or ""
    assert command.startswith(f"uv pip install --python {sys.executable} ")


def test_without_an_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without metadata about the extra, no command is given."""

    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    error = optional_libraries.missing_library("--near", "near")
    assert (error.problem, error.hint) == ("--near needs a library that is not installed", None)
