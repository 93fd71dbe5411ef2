"""Runs pages of documentation like a reader: their commands, and the output they show.

A page is Markdown. In its `console` blocks, each line that begins with `$ ` is a command, and the
lines below it are its output; `...` on a separate line stands for omitted lines. All commands
of a page run in order in one shell, in a new folder with sample_data in it. A comment before a
block says what else to do:

    <!-- file: NAME -->         the block is the content of a file
    <!-- first: COMMANDS -->    run these before, without showing them
    <!-- run where: COMMAND --> run the block only if this command succeeds
    <!-- not run: REASON -->    never run it
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import forked_prefpairs

ROOT = Path(__file__).parents[2]
OUR_TOOLS = Path(sys.executable).parent
ELSEWHERE = ("reference", "decisions")
"""Folders under docs/ whose pages show no commands."""

_FENCE = re.compile(r"(?P<indent> *)```(?P<language>\S*)$")
_COMMENT = re.compile(r"<!--\s*(file|first|run where|not run):\s*(.*?)\s*-->", re.DOTALL)
_LEFT_OUT = "..."
_PATIENCE = 300
"""Timeout in seconds for a whole page; pages that rehearse take half a minute."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command, and the lines of the page that show its output."""

    words: str
    shown: Sequence[str] = ()
    place: int = 0
    """The number of lines of the page before the shown output."""
    where: str = "true"
    """A command that must succeed for this one to be run."""

    @property
    def asks_for_status(self) -> bool:
        """Whether it prints the exit code of the previous command, which may then fail."""
        return self.words.startswith("echo $?")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command wrote to both streams, as in a terminal, and its exit code."""

    lines: Sequence[str]
    code: int


@dataclass(slots=True)
class Block:
    """A fenced block and the comments directly before it."""

    language: str
    start: int
    lines: list[str]
    comments: list[tuple[str, str]] = field(default_factory=list)

    def said(self, key: str) -> list[str]:
        """The values of comments of one kind."""
        return [value for name, value in self.comments if name == key]


def pages() -> list[Path]:
    """README.md and all handwritten pages of docs/."""
    docs = ROOT / "docs"
    written = (
        page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0] not in ELSEWHERE
    )
    return [ROOT / "README.md", *sorted(written)]


def commands_of(text: str) -> list[Command]:
    """The commands of a page in order, including hidden ones and files, which show no output.

    >>> page = "```console\\n$ seq 2\\n1\\n2\\n$ true\\n```"
    >>> [(command.words, command.shown) for command in commands_of(page)]
    [('seq 2', ['1', '2']), ('true', [])]
    """
    found = list(blocks(text))
    obeyed = sum(len(block.comments) for block in found)
    assert obeyed == len(_COMMENT.findall(text)), "a comment that stands before no block"
    return [command for block in found for command in _steps(block)]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    lines = text.splitlines()
    before, at = 0, 0
    while at < len(lines):
        if (fence := _FENCE.match(lines[at])) is None:
            at += 1
            continue
        end = next(n for n in range(at + 1, len(lines)) if lines[n] == f"{fence['indent']}```")
        body = [line.removeprefix(fence["indent"]) for line in lines[at + 1 : end]]
        comments = _comments_at_end(lines[before:at])
        yield Block(fence["language"], at + 1, body, comments)
        before = at = end + 1


def _comments_at_end(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The comments at the end of the text."""
    text = "\n".join(lines)
    found: list[tuple[str, str]] = []
    end = len(text)
    for comment in reversed(list(_COMMENT.finditer(text))):
        if text[comment.end() : end].strip():
            break
        end = comment.start()
        found.insert(0, (comment[1], comment[2]))
    return found


def _steps(block: Block) -> Iterator[Command]:
    yield from (Command(words) for words in block.said("first"))
    for name in block.said("file"):
        body = "\n".join(block.lines)
        yield Command(f"cat > {shlex.quote(name)} <<'END OF FILE'\n{body}\nEND OF FILE")
    if block.language == "console" and not block.said("not run"):
        where = " && ".join(block.said("run where")) or "true"
        yield from _typed(block, where)


def _typed(block: Block, where: str) -> Iterator[Command]:
    """Each command, continued after a backslash at a line's end, with the output up to the next."""
    at, lines = 0, block.lines
    while at < len(lines):
        assert lines[at].startswith("$ "), f"no command before {lines[at]!r}"
        last = at
        while lines[last].endswith("\\"):
            last += 1
        words = "\n".join(lines[at : last + 1]).removeprefix("$ ")
        at = last + 1
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield Command(words, _trimmed(lines[last + 1 : at]), block.start + last + 1, where)


def _trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without blank lines at the end."""
    return "\n".join(lines).rstrip().splitlines()


def run(
    commands: Sequence[Command], folder: Path, tools: Path | None = None, **surroundings: str
) -> dict[int, Outcome]:
    """The outcome of each command by its number, except those that do not run here.

    `prefpairs` and `python` are those in the folder `tools`, or ours.
    """
    work, told, home = folder / "work", folder / "told", folder / "home"
    for place in (work, told, home):
        place.mkdir(parents=True)
    shutil.copytree(ROOT / "sample_data", work / "sample_data")
    folders = [str(tools)] if tools else [forked_prefpairs.tools(), str(OUR_TOOLS)]
    script = "\n".join(_shell(number, command) for number, command in enumerate(commands))
    environment = {
        **surroundings,
        "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
        "HOME": str(home),
        "TOLD": str(told),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "DVC_NO_ANALYTICS": "1",
    }
    words = ["bash", "-o", "pipefail", "-c", script]
    with subprocess.Popen(
        words, cwd=work, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    ) as shell:
        try:
            shell.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            raise
    return {
        number: Outcome(
            _trimmed((told / f"{number}.out").read_text("utf-8").splitlines()),
            int((told / f"{number}.code").read_text("utf-8")),
        )
        for number in range(len(commands))
        if (told / f"{number}.code").exists()
    }


def _shell(number: int, command: Command) -> str:
    """Run a command in this very shell, so that `cd` and `$?` affect the next one."""
    run_it = f'{{ {command.words}\n}} > "$TOLD/{number}.out" 2>&1'
    keep_status = f'status=$?; echo $status > "$TOLD/{number}.code"; (exit $status)'
    if command.where == "true":
        return f"{run_it}\n{keep_status}"
    return f"if ( {command.where} ) > /dev/null 2>&1; then\n{run_it}\n{keep_status}\nfi"


def matches(shown: Sequence[str], real: Sequence[str]) -> bool:
    """Whether output matches the page; a page that shows no output matches any.

    >>> matches(["a", "...", "d"], ["a", "b", "c", "d"]), matches(["a"], ["a", "b"])
    (True, False)
    """
    if not shown:
        return True
    parts = (r"(?:.*\n)+" if _is_left_out(line) else f"{re.escape(line)}\n" for line in shown)
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in real)) is not None


def shown_anew(shown: Sequence[str], real: Sequence[str]) -> list[str]:
    """Output as a page should show it: all of it, or with `...` after as many lines as before.

    >>> shown_anew(["a", "...", "d"], ["A", "B", "C", "D"])
    ['A', '...', 'D']
    """
    gaps = [place for place, line in enumerate(shown) if _is_left_out(line)]
    if len(gaps) != 1 or len(real) <= len(shown):
        return list(real)
    before, behind = gaps[0], len(shown) - gaps[0] - 1
    return [*real[:before], shown[before], *real[len(real) - behind :]]


def _is_left_out(line: str) -> bool:
    return line.strip() == _LEFT_OUT


def blessed(text: str, commands: Sequence[Command], outcomes: dict[int, Outcome]) -> str:
    """The page with the output that its commands really write."""
    lines = text.splitlines()
    for number in sorted(outcomes, reverse=True):
        command, real = commands[number], outcomes[number].lines
        if not matches(command.shown, real):
            indent = lines[command.place].removesuffix(command.shown[0])
            new = [f"{indent}{line}".rstrip() for line in shown_anew(command.shown, real)]
            lines[command.place : command.place + len(command.shown)] = new
    return "".join(f"{line}\n" for line in lines)
