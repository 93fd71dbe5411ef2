"""The program as a whole: commands, exit codes and messages."""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import prefpairs
from prefpairs.cli import main as entry
from prefpairs.cli.main import COMMANDS, main
from prefpairs.engine.native import engine
from prefpairs.files.standard_output import ClosedPipe

ROWS = [
    {"prompt": "Q", "response": answer, "score": score} for answer, score in (("A", 1), ("B", 0))
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a folder with rows; restore signal handlers afterwards."""
    monkeypatch.chdir(tmp_path)
    Path("r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _said(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    """Shows the name, the version, and the engine that reads rows."""
    expected = f"prefpairs {prefpairs.__version__} ({engine()})\n"
    assert _said(capfd, "--version") == (0, expected, "")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_names_all_commands(capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Help names all commands; so does the program without arguments."""
    code, out, err = _said(capfd, *words)
    assert (code, err) == (0, "")
    assert [name for name in COMMANDS if name not in out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(capfd: pytest.CaptureFixture[str], name: str) -> None:
    """A command's help includes its line in the list."""
    code, out, _ = _said(capfd, name, "--help")
    assert code == 0
    assert COMMANDS[name].rstrip(".") in " ".join(out.split())


def test_done(capfd: pytest.CaptureFixture[str]) -> None:
    """Data goes to standard output, everything else to standard error."""
    code, out, err = _said(capfd, "pair", "r.jsonl")
    assert (code, json.loads(out)["chosen"]) == (0, "A")
    assert err.startswith("read as generic     r.jsonl\n")


def test_hyphen_and_underscore_are_alike(capfd: pytest.CaptureFixture[str]) -> None:
    """Hyphen and underscore are interchangeable in option names and values."""
    words = ["pair", "r.jsonl", "--quiet", "--min_gap", "0.5", "--strategy", "best_vs_worst"]
    code, out, err = _said(capfd, *words)
    assert (code, json.loads(out)["gap"], err) == (0, 1.0, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["pari"], 2, "error: unknown command: pari\n\nhint: did you mean pair?\n"),
        (["pair", "--min-gap", "-1"], 2, "error: --min-gap is -1, expected 0 or more\n"),
        (
            ["pair", "r.jsonl", "--from", "nemo"],
            2,
            "error: --from nemo: unknown source\n\nhint: did you mean nemo-gym or nemo-rl?\n",
        ),
        (
            ["pair", "r.jsonl", "--score", "scor"],
            2,
            "error: --score scor: no row has this field\n\nhint: did you mean score?\n",
        ),
        (["pair", "nothing.jsonl"], 5, "error: nothing.jsonl: no such file\n"),
    ],
)
def test_errors(capfd: pytest.CaptureFixture[str], words: list[str], code: int, said: str) -> None:
    """An error has a message, a hint and an exit code; no output and no traceback."""
    assert _said(capfd, *words) == (code, "", said)


def test_bad_data(capfd: pytest.CaptureFixture[str]) -> None:
    """Bad data is reported with file, line and fault."""
    Path("bad.jsonl").write_bytes(b'{"prompt": "Q", "response": "A", "score": "0.7"}\n')
    code, out, err = _said(capfd, "pair", "bad.jsonl")
    assert (code, out) == (1, "")
    assert err == (
        'error: bad.jsonl:1: score is "0.7", expected a number\n'
        "error: 1 bad row, so nothing was written\n"
        "\nhint: --cast-score reads numbers written as text\n"
    )


def test_nothing_came_out(capfd: pytest.CaptureFixture[str]) -> None:
    """An empty result exits 3 with the most likely reason."""
    code, out, err = _said(capfd, "pair", "r.jsonl", "--min-gap", "2")
    assert (code, out) == (3, "")
    assert err.endswith(
        "error: the result has no pairs, so nothing was written\n\n"
        "hint: 1 group: no pair is within --min-gap and the other limits; try wider limits\n"
    )


def test_nothing_is_allowed(capfd: pytest.CaptureFixture[str]) -> None:
    """--allow-empty makes an empty result a success."""
    words = ["pair", "r.jsonl", "--min-gap", "2", "--allow-empty", "--quiet"]
    assert _said(capfd, *words) == (0, "", "")


def test_bug(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a bug prints a traceback."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("prefpairs.driver.write", broken)
    code, out, err = _said(capfd, "pair", "r.jsonl")
    assert (code, out) == (70, "")
    assert err.startswith("Traceback")
    assert err.endswith(
        "error: ZeroDivisionError: oops\n\n"
        "hint: this is a bug in prefpairs; please report it with the command and the input\n"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (ClosedPipe(), 0), (SystemExit(143), 143), (SystemExit("x"), 1)],
)
def test_other_ends(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
) -> None:
    """Exit codes for Ctrl-C, a closed pipe, and a signal."""

    def ending(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("prefpairs.driver.write", ending)
    assert _said(capfd, "pair", "r.jsonl") == (code, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_as_by_exit(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """A signal exits with 128 plus its number; the old file stays, no other is left behind."""

    def killed(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)

    signal.signal(number, signal.SIG_DFL)
    Path("o.jsonl").write_bytes(b"old\n")
    monkeypatch.setattr("prefpairs.driver.write", killed)
    assert main(["pair", "r.jsonl", "-o", "o.jsonl"]) == 128 + number
    assert Path("o.jsonl").read_bytes() == b"old\n"
    assert sorted(os.listdir()) == ["o.jsonl", "r.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_midst_of_an_import_waits(tmp_path: Path, number: signal.Signals) -> None:
    """A signal during an import waits for its end, since the module could swallow our exit."""
    (tmp_path / "slow.py").write_text(
        f"import os, time\n"
        f"try:\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        f"    time.sleep(0.05)\n"
        f"except BaseException as error:\n"
        f"    raise RuntimeError('cut off') from error\n"
        f"def slow() -> None:\n"
        f"    time.sleep(20)\n"
    )
    begin = (
        "import sys, prefpairs.cli.commands, prefpairs.cli.main as program; "
        "prefpairs.cli.commands.__path__.append(sys.argv.pop(1)); "
        "program.COMMANDS['slow'] = ''; sys.exit(program.main())"
    )
    command = [sys.executable, "-c", begin, str(tmp_path), "slow"]
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=15, check=False)
    assert (done.returncode, done.stderr) == (128 + number, b"")


_MOMENT = """
import os, signal, sys, threading, time
import prefpairs.cli.main as program
from prefpairs.files.file_system import held_signals

def run(*_, **__):
    number = int(sys.argv.pop())
    {moment}

def strike(number):
    os.kill(os.getpid(), number)
    time.sleep(0.05)

program._run = run
sys.exit(program.main())
"""


def _ended(moment: str, number: signal.Signals) -> tuple[int, bytes]:
    """The exit code and output of the program with this code as its command."""
    lines = "\n    ".join(moment.strip().splitlines())
    command = [sys.executable, "-c", _MOMENT.format(moment=lines), str(int(number))]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_a_library_takes_is_held(number: signal.Signals) -> None:
    """While signals are held, a signal also waits if a thread of a library receives it."""
    moment = """
threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
with held_signals():
    strike(number)
    print("done", flush=True)
print("too late", flush=True)
"""
    assert _ended(moment, number) == (128 + number, b"done\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_lets_the_first_one_tidy_up(number: signal.Signals) -> None:
    """A second signal, as from a closing terminal, does not stop cleanup; the first decides."""
    moment = """
try:
    strike(number)
finally:
    strike(signal.SIGHUP)
    print("tidy", flush=True)
"""
    assert _ended(moment, number) == (128 + number, b"tidy\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_is_swallowed_comes_again(number: signal.Signals) -> None:
    """A signal in a finalizer or fork hook, which swallow an exit, is raised again."""
    for begin in ("finalize(Ended(), strike, number)", "os.register_at_fork(after_in_parent=late)"):
        moment = f"""
from weakref import finalize
late = lambda: strike(number)
class Ended: pass
{begin}
if os.fork() == 0:
    os._exit(0)
time.sleep(20)
"""
        assert _ended(moment, number) == (128 + number, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_waits_is_obeyed_by_a_run_that_ends_at_once(number: signal.Signals) -> None:
    """A signal during the last import is obeyed even if the run ends before it is raised again."""
    moment = """
exec(compile("os.kill(os.getpid(), number)", "<frozen importlib._bootstrap>", "exec"))
return 0
"""
    assert _ended(moment, number) == (128 + number, b"")


def test_an_interrupt_before_it_is_heeded() -> None:
    """An interrupt before handlers are installed ends the program without a traceback."""
    begin = "import os, sys, prefpairs.cli.main as program; "
    strike = "program._heed_signals = lambda **_: os.kill(os.getpid(), 2); "
    command = [sys.executable, "-c", f"{begin}{strike}sys.exit(program.main())", "formats"]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_later_signal_replaces_the_first() -> None:
    """A second signal that comes later replaces the first."""
    moment = """
program._TIDYING = 0.01
try:
    strike(number)
except SystemExit:
    time.sleep(0.02)
    strike(signal.SIGHUP)
    print("too late", flush=True)
"""
    assert _ended(moment, signal.SIGTERM) == (128 + signal.SIGHUP, b"")


def test_signal_that_is_ignored_stays_ignored() -> None:
    """A signal that is ignored, as with nohup, stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    main(["pair", "r.jsonl", "-o", "o.jsonl", "--quiet"])
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["pair", "--help"], ["formats"]])
def test_reader_that_went_away(words: list[str]) -> None:
    """A closed pipe is success without a message, for data and for other output."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "prefpairs", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["pair", "--help"], ["formats"]])
@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.full)])
def test_disk_that_is_full(words: list[str], unbuffered: str) -> None:
    """A full disk names standard output, for data and for other output."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "prefpairs", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    said = b"error: standard output: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (5, said)


def test_callers_keep_their_garbage_collector(capfd: pytest.CaptureFixture[str]) -> None:
    """Only the program itself pauses garbage collection while modules load, not its callers."""
    before = gc.get_freeze_count()
    assert _said(capfd, "pair", "r.jsonl", "--quiet")[0] == 0
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, before)
    gc.disable()
    try:
        assert _said(capfd, "pair", "r.jsonl", "--quiet")[0] == 0
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_places_where_an_exit_gets_lost() -> None:
    """Signals wait while `__hash__` runs, since C code may swallow exceptions from there."""
    frames: list[FrameType] = []

    class Key:
        def __hash__(self) -> int:
            frames.append(sys._getframe())  # noqa: SLF001
            return 1

    hash(Key())
    assert entry._may_swallow_exit(frames[0])  # noqa: SLF001
    assert not entry._may_swallow_exit(sys._getframe())  # noqa: SLF001
