"""The completion scripts, run in their shells."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prefpairs.cli.main import main

pytestmark = pytest.mark.full

PROGRAM = """#!/bin/sh
if [ "$1" = completion ]; then
    {python} -m prefpairs "$@"
    [ "$3" = -- ] && : > {folder}/asked
else
    printf '%s\\n' "$@" > {folder}/typed.part && mv {folder}/typed.part {folder}/typed
fi
"""
PROMPT = "READY> "
COMPINIT = "autoload -Uz compinit; compinit -u -D"
SHELLS = {
    "bash": ("bash --rcfile rc -i", "rc", f"PS1='{PROMPT}'; eval \"$(prefpairs completion bash)\""),
    "zsh": (
        "zsh -i",
        ".zshrc",
        f"PS1='{PROMPT}'; {COMPINIT}; eval \"$(prefpairs completion zsh)\"",
    ),
    "zsh with a folder of functions": (
        "zsh -i",
        ".zshrc",
        f"PS1='{PROMPT}'; prefpairs completion zsh > _prefpairs; fpath+=($PWD); {COMPINIT}",
    ),
    "fish": (
        "fish -i",
        "fish/config.fish",
        f"function fish_prompt; printf '{PROMPT}'; end; prefpairs completion fish | source",
    ),
}
"""How each shell is started, its startup file, and the file's content."""


class Shell:
    """A shell on a terminal of its own, in which keys are pressed."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        self._shown = b""
        (folder / "bin").mkdir()
        program = folder / "bin" / "prefpairs"
        program.write_text(PROGRAM.format(python=sys.executable, folder=folder))
        program.chmod(0o755)
        command, place, settings = SHELLS[name]
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(f"{settings}\n")
        self._ours, theirs = pty.openpty()
        # A session leader that opens a terminal is controlled by it.
        opening = f"exec {command} <$0 >$0 2>&1"
        self._process = subprocess.Popen(
            ["sh", "-c", opening, os.ttyname(theirs)],
            cwd=folder,
            start_new_session=True,
            env={
                "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
                "HOME": str(folder),
                "ZDOTDIR": str(folder),
                "XDG_CONFIG_HOME": str(folder),
                "XDG_DATA_HOME": str(folder),
                "TERM": "vt100",
                "LC_ALL": "C.UTF-8",
            },
        )
        self._wait(lambda: PROMPT.strip().encode() in self._shown)
        os.close(theirs)

    def complete(self, line: str) -> list[str]:
        """Type a line, press TAB, then Enter; returns the arguments that the program got."""
        os.write(self._ours, line.encode())
        self._rest()
        os.write(self._ours, b"\t")
        self._wait((self.folder / "asked").exists)
        self._rest()
        os.write(self._ours, b"\r")
        self._wait((self.folder / "typed").exists)
        # zsh removes the slash after a folder again if nothing follows it.
        return [word.rstrip("/") for word in (self.folder / "typed").read_text().splitlines()]

    def _wait(self, done: Callable[[], bool]) -> None:
        """Read the output until a condition is met."""
        end = time.monotonic() + 30
        while not done():
            assert time.monotonic() < end, self._shown
            self._listen(0.05)

    def _rest(self) -> None:
        """Wait until there is no more output."""
        while self._listen(0.3):
            pass

    def _listen(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if ready:
            self._shown += os.read(self._ours, 1 << 16)
        return bool(ready)

    def end(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    """A shell in a folder with some files."""
    if shutil.which(request.param.split()[0]) is None:
        pytest.skip(f"no {request.param} here")
    (tmp_path / "a file.jsonl").touch()
    (tmp_path / "other.json").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "data.jsonl").touch()
    begun = Shell(request.param, tmp_path)
    yield begun
    begun.end()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("prefpairs extr", ["extract"]),
        ("prefpairs pair --min_g", ["pair", "--min_gap"]),
        ("prefpairs pair --strategy swe", ["pair", "--strategy", "sweet-spot"]),
        ("prefpairs pair --on-error=sk", ["pair", "--on-error=skip"]),
        ("prefpairs pair --quiet a\\ ", ["pair", "--quiet", "a file.jsonl"]),
        ("prefpairs pair --summary=oth", ["pair", "--summary=other.json"]),
        ("prefpairs pair --out-dir dat", ["pair", "--out-dir", "data"]),
    ],
)
def test_shell(shell: Shell, line: str, words: list[str]) -> None:
    """TAB completes commands, options, their values, files and folders."""
    assert shell.complete(line) == words


def test_answer_for_a_script(capfd: pytest.CaptureFixture[str]) -> None:
    """The answer has the kind of names, then one word per line with its description."""
    assert main(["completion", "zsh", "--", "pair", "--min-g"]) == 0
    assert capfd.readouterr() == ("none\n--min-gap\tMinimum score difference.\n", "")
    assert main(["completion", "bash", "--", "pair", "--output", "="]) == 0
    assert capfd.readouterr() == ("files\n", "")


def test_unknown_shell(capfd: pytest.CaptureFixture[str]) -> None:
    """An unknown shell is rejected with a suggestion."""
    assert main(["completion", "bsh"]) == 2
    assert capfd.readouterr().err == "error: unknown shell: bsh\n\nhint: did you mean bash?\n"
