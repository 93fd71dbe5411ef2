"""The progress bar at the bottom of a terminal: when it is drawn, and that it disappears."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

BEGIN = (
    "import sys; import prefpairs.cli.terminal.progress_bar as progress; "
    "progress.AFTER, progress._PERIOD = 0.0, 0.01; "
    "from prefpairs.cli.main import main; sys.exit(main())"
)
"""The program without the two-second delay of the bar."""

_PIECE = re.compile(r"\x1b\[K|\x1b\[[0-9;]*m|[\r\n]|[^\r\n\x1b]+")


class Screen:
    """A terminal screen that supports only the escape sequences that a bar may use."""

    def __init__(self) -> None:
        self.shown = ""
        self.lines = [""]
        self._column = 0

    def show(self, text: str) -> None:
        """Process output."""
        self.shown += text
        assert "".join(_PIECE.findall(text)) == text
        for piece in _PIECE.findall(text):
            if piece == "\r":
                self._column = 0
            elif piece == "\n":
                self.lines.append("")
                self._column = 0
            elif piece == "\x1b[K":
                self.lines[-1] = self.lines[-1][: self._column]
            elif not piece.startswith("\x1b"):
                line = self.lines[-1].ljust(self._column)
                self.lines[-1] = line[: self._column] + piece + line[self._column + len(piece) :]
                self._column += len(piece)


class Run:
    """A run of the program with a terminal as standard error."""

    def __init__(
        self, folder: Path, *words: str, stdout: int | None = None, **settings: str
    ) -> None:
        self.screen = Screen()
        self._ours, self._theirs = pty.openpty()
        self._decoder = getincrementaldecoder("utf-8")()
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, *words],
            stdin=subprocess.PIPE,
            stdout=self._theirs if stdout is None else stdout,
            stderr=self._theirs,
            cwd=folder,
            env={**inherited, "TERM": "xterm", "LC_ALL": "C.UTF-8", **settings},
        )

    def until(self, sign: Callable[[Screen], bool]) -> None:
        """Read until a condition is met."""
        end = time.monotonic() + 30
        while not sign(self.screen):
            assert time.monotonic() < end, self.screen.shown
            assert self.look(1.0) or self.process.poll() is None, self.screen.shown

    def end(self) -> int:
        """Read until the end; returns the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while self.process.poll() is None or select.select([self._ours], [], [], 0)[0]:
            self.look(0.05)
        os.close(self._ours)
        os.close(self._theirs)
        return self.process.returncode

    def feed(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def look(self, seconds: float) -> bool:
        """Process the output of a period; returns whether there was any."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.screen.show(self._decoder.decode(os.read(self._ours, 1 << 16)))
        return True


ROW = {"response": "A" * 2000}
ROLLOUTS = [{"prompt": f"Q{number // 4}", "score": number % 4, **ROW, "index": number}
            for number in range(6000)]  # fmt: skip
PAIRS = [
    {"prompt": f"Q{number}", "chosen": f"{number}" + "A" * 2000, "rejected": "B"}
    for number in range(3000)
]


def _lines(rows: Sequence[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that take a moment to read."""
    made = tmp_path_factory.mktemp("progress")
    rows = [{**row, "response": f"{row['index']}{row['response']}"} for row in ROLLOUTS]
    (made / "rollouts.jsonl").write_bytes(_lines(rows))
    (made / "pairs.jsonl").write_bytes(_lines(PAIRS))
    (made / "broken.jsonl").write_bytes(_lines(PAIRS) + b"{broken\n")
    (made / "recipe.toml").write_text(
        '[read]\ninputs = ["rollouts.jsonl"]\n[pair]\n[dedupe]\n[write]\noutput = "recipe.out"\n'
    )
    return made


@pytest.fixture
def out(tmp_path: Path) -> Iterator[int]:
    """A regular file for standard output."""
    with (tmp_path / "out").open("wb") as file:
        yield file.fileno()


def _verbs(screen: Screen) -> list[str]:
    """The steps shown, in order."""
    found = re.findall(r"\r(reading|pairing|comparing|writing|hashing)  ", screen.shown)
    return [*dict.fromkeys(found)]


@pytest.mark.parametrize(
    ("words", "verbs"),
    [
        ("extract rollouts.jsonl", ["reading"]),
        ("pair rollouts.jsonl", ["reading", "writing"]),
        ("pair --workers 3 rollouts.jsonl", ["reading", "writing"]),
        ("pair --to trl rollouts.jsonl", ["reading", "writing"]),
        ("dedupe pairs.jsonl", ["reading", "writing"]),
        ("dedupe --near 0.9 pairs.jsonl", ["reading", "comparing", "writing"]),
        ("filter --min-answer-chars 1 pairs.jsonl", ["reading", "writing"]),
        ("sample --order shuffle pairs.jsonl", ["reading", "writing"]),
        ("split --out-dir sides pairs.jsonl", ["reading", "writing"]),
        ("export --to trl pairs.jsonl", ["reading", "writing"]),
        ("validate --to trl pairs.jsonl", ["reading"]),
        ("run recipe.toml", ["reading", "pairing", "writing", "hashing"]),
    ],
)
def test_steps(folder: Path, out: int, words: str, verbs: list[str]) -> None:
    """Every command that reads much shows its steps and removes them at the end."""
    run = Run(folder, *words.split(), stdout=out)
    assert run.end() in (0, 4)
    seen = _verbs(run.screen)
    assert [verb for verb in verbs if verb in seen] == seen
    assert seen[:1] == ["reading"]
    assert "%" in run.screen.shown
    assert [line for line in run.screen.lines if re.match("(read|writ|hash)ing", line)] == []
    assert run.screen.lines[0].startswith(("read as", "rows"))


def test_verify(folder: Path, out: int) -> None:
    """`verify` hashes the files in the manifest."""
    assert Run(folder, "run", "recipe.toml", "--quiet", stdout=out).end() == 0
    run = Run(folder, "verify", "manifest.json", stdout=out)
    assert run.end() == 0
    assert run.screen.lines == ["manifest.json: 3 files as they were", ""]


def test_pipe(tmp_path: Path, out: int) -> None:
    """Before input arrives, nothing is drawn; after that, amount and rate, but no percentage."""
    run = Run(tmp_path, "dedupe", stdout=out)
    time.sleep(0.5)
    run.feed(_lines(PAIRS[:400]))
    run.until(lambda screen: " kB" in screen.lines[-1])
    assert re.fullmatch(r"reading  [0-9.]+ kB(  .*/s)?", run.screen.lines[-1])
    assert "%" not in run.screen.shown
    assert "0 bytes  " not in run.screen.shown.replace("0 bytes/s", "")
    assert run.end() == 0


def test_limit(folder: Path, out: int) -> None:
    """With --limit there is no percentage, since the end is unknown."""
    run = Run(folder, "filter", "--min-answer-chars", "1", "-n", "2900", "pairs.jsonl", stdout=out)
    assert run.end() == 0
    assert _verbs(run.screen) == ["reading"]
    assert "%" not in run.screen.shown


def test_interrupt(tmp_path: Path, out: int) -> None:
    """Ctrl-C leaves a clean line; the cursor is never hidden."""
    run = Run(tmp_path, "dedupe", "-o", "out.jsonl", stdout=out)
    run.feed(_lines(PAIRS[:400]))
    run.until(lambda screen: screen.lines[-1].startswith("reading"))
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    assert run.screen.lines == [""]
    assert [*tmp_path.glob("*.jsonl")] == []


def test_error(folder: Path, out: int) -> None:
    """The bar is removed before an error is printed."""
    run = Run(folder, "dedupe", "broken.jsonl", stdout=out)
    assert run.end() == 1
    assert "reading" in run.screen.shown
    assert run.screen.lines[0].startswith("error: broken.jsonl:3001: not JSON")
    assert run.screen.shown.rindex("\x1b[K") < run.screen.shown.index("error:")


def test_data_on_the_same_terminal(folder: Path) -> None:
    """The bar disappears before data is printed to the same terminal."""
    run = Run(folder, "pair", "rollouts.jsonl")
    assert run.end() == 0
    assert "reading" in _verbs(run.screen)
    rows = [line for line in run.screen.lines if line.startswith("{")]
    assert len([json.loads(row) for row in rows]) == 1500
    assert "\x1b" not in run.screen.shown[run.screen.shown.index('{"id"') :]


def test_data_in_a_pipe(tmp_path: Path) -> None:
    """Nothing is drawn once data goes to a pipe, since its reader may use the terminal."""
    with (
        (tmp_path / "out").open("wb") as file,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file) as reader,
    ):
        assert reader.stdin is not None
        run = Run(tmp_path, "filter", "--min-answer-chars", "1", stdout=reader.stdin.fileno())
        reader.stdin.close()
        run.feed(_lines(PAIRS[:100]))
        run.until(lambda screen: screen.lines[-1].startswith("reading"))
        run.feed(_lines(PAIRS[100:500]))
        run.until(lambda screen: screen.lines == [""])
        shown = run.screen.shown
        run.feed(_lines(PAIRS[500:700]))
        run.look(0.3)
        assert run.screen.shown == shown
        assert run.end() == 0
    assert (tmp_path / "out").stat().st_size > 700 * 2000
    assert run.screen.lines[0].startswith("read as pairs")


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--quiet"], {}),
        ([], {"TERM": "dumb"}),
        ([], {"TERM": ""}),
    ],
)
def test_nothing_is_drawn(
    folder: Path, out: int, words: list[str], settings: dict[str, str]
) -> None:
    """Nothing is drawn if progress is switched off or the terminal cannot show it."""
    run = Run(folder, "dedupe", "pairs.jsonl", *words, stdout=out, **settings)
    assert run.end() == 0
    assert "\x1b" not in run.screen.shown
    assert _verbs(run.screen) == []


def test_no_terminal(folder: Path) -> None:
    """Without a terminal, nothing is drawn."""
    ended = subprocess.run(
        [sys.executable, "-c", BEGIN, "dedupe", "pairs.jsonl", "-o", "no_terminal.jsonl"],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "TERM": "xterm"},
        check=True,
    )
    assert ended.stdout == b""
    assert b"\x1b" not in ended.stderr
    assert b"\r" not in ended.stderr
    assert ended.stderr.startswith(b"read as pairs       pairs.jsonl\n")


def test_no_colours(folder: Path, out: int) -> None:
    """Without colors, only the line itself is redrawn."""
    run = Run(folder, "dedupe", "pairs.jsonl", stdout=out, NO_COLOR="1")
    assert run.end() == 0
    assert "━" in run.screen.shown
    assert re.findall(r"\x1b\[[^K]", run.screen.shown) == []


def test_terminal_that_knows_ascii_alone(folder: Path, out: int) -> None:
    """Only ASCII is used if the encoding lacks other characters, whatever its name."""
    run = Run(folder, "dedupe", "pairs.jsonl", stdout=out, PYTHONIOENCODING="latin-1")
    assert run.end() == 0
    assert "#" in run.screen.shown
    assert run.screen.shown.isascii()


def test_background(folder: Path) -> None:
    """A background job draws nothing."""
    ours, theirs = pty.openpty()
    dedupe = f"{sys.executable} -c '{BEGIN}' dedupe {folder}/pairs.jsonl -o {folder}/behind.jsonl"
    program = f"set -m; {dedupe} --require pairs==3000 & wait; echo ended"
    # A session leader that opens a terminal is controlled by it.
    words = ["sh", "-c", 'exec bash -c "$1" <$0 >$0 2>&1', os.ttyname(theirs), program]
    with subprocess.Popen(
        words, start_new_session=True, env={**os.environ, "TERM": "xterm"}
    ) as process:
        shown = b""
        while b"ended" not in shown:
            assert select.select([ours], [], [], 30)[0], shown
            shown += os.read(ours, 1 << 16)
        process.wait()
    os.close(ours)
    os.close(theirs)
    assert b"rows" in shown
    assert b"\x1b" not in shown


IN_A_RUN = """
import os, signal, sys, threading, time
threads = []  # how many there are when a process is begun: asked after all others were
os.register_at_fork(before=lambda: threads.append(threading.active_count()))
import prefpairs.cli.terminal.progress_bar as progress
from prefpairs.files.file_system import held_signals
from prefpairs.ledger import Progress, Step
progress.AFTER, progress._PERIOD = 0.0, 0.01
shown = Progress()
shown.begin_step(lambda: Step("reading", 5, 10, "rows"))
"""

FORK = """
progress._PERIOD = 60.0
with progress.show_progress(shown):
    time.sleep(0.2)
    assert threading.active_count() == 2
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert threading.active_count() == 2
    before = time.monotonic()
assert threading.active_count() == 1
assert time.monotonic() - before < 20
print(threads)
"""

HELD = """
signal.signal(signal.SIGTERM, lambda *_: print("struck"))
with progress.show_progress(shown):
    time.sleep(0.2)
    with held_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        print("held")
"""

TWICE = """
with progress.show_progress(shown):
    time.sleep(0.2)
with progress.show_progress(shown, quiet=True):
    time.sleep(0.2)
print("done")
"""


def _in_a_run(program: str) -> tuple[str, str]:
    """The standard output of a program, and what it draws on a terminal."""
    ours, theirs = pty.openpty()
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_A_RUN + program],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        text=True,
        check=False,
    )
    os.close(theirs)
    shown = ""
    while select.select([ours], [], [], 0.1)[0]:
        try:
            shown += os.read(ours, 1 << 16).decode()
        except OSError:
            break
    os.close(ours)
    assert ended.returncode == 0, shown
    return ended.stdout, shown


def test_no_thread_while_a_process_is_begun() -> None:
    """No drawing thread runs during a fork, since its locks would stay locked in the child."""
    assert _in_a_run(FORK)[0] == "[1]\n"


def test_signals_that_are_held_stay_held() -> None:
    """Held signals are still held; the thread does not receive them."""
    assert _in_a_run(HELD)[0] == "held\nstruck\n"


def test_it_is_gone_at_the_end() -> None:
    """The bar is removed at the end."""
    printed, shown = _in_a_run(TWICE)
    assert printed == "done\n"
    assert shown.startswith("\rreading  ")
    assert shown.endswith("\r\x1b[K")
