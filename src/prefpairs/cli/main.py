"""The program: finds the command, runs it, and owns exit codes and error messages."""

import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import FrameType

from prefpairs import __version__

COMMANDS = {
    "extract": "Convert rollouts to candidates: one scored answer per line.",
    "pair": "Make preference pairs from rollouts or candidates.",
    "dedupe": "Remove duplicate pairs.",
    "filter": "Keep pairs that meet every condition.",
    "sample": "Draw a random sample of pairs.",
    "split": "Split pairs into train.jsonl, val.jsonl and test.jsonl, without leaks.",
    "export": "Write pairs as the dataset of a trainer.",
    "validate": "Report what a trainer would do with each row of a dataset.",
    "rehearse": "Train on a dataset for a few steps with the real trainer.",
    "submit": "Submit a dataset to a training service, watch the job, deploy the model.",
    "run": "Run a whole pipeline from a recipe, in one process.",
    "verify": "Check files against a manifest.",
    "shards": "Do steps of a run that several machines share.",
    "stats": "Show statistics of pairs, or of rollouts and the pairs they would give.",
    "report": "Write statistics as an HTML page with charts, and pairs to browse.",
    "show": "Show pairs side by side, or the outcome of each candidate of a group.",
    "diff": "Show what changed between two sets of pairs.",
    "formats": "List sources, strategies, targets and record schemas.",
    "explain": "Explain a reason code.",
    "completion": "Complete command lines in bash, zsh or fish.",
}
"""Every command with its line in the help. Each is a module of this folder, loaded on demand."""

_HELP = ("--help", "-h")

_EXIT_FILES, _EXIT_BUG, _EXIT_SIGNAL = 5, 70, 128

_ENDINGS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)

_SOON, _TIDYING = 0.005, 2.0
"""Seconds after which a signal that came at a bad time is handled again; and seconds within which a
second signal counts as the same one."""

_CALLED_BY_C = ("__hash__", "__eq__")

_put_off: list[int] = []
"""A signal that came at a bad time and will be handled again soon; a short run may end before."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the result is the exit code.

    Under a limit on memory, libraries such as pyarrow may crash as the process ends, even if they
    could not be imported, so they are not asked to clean up.
    """
    code = _main(arguments)
    if arguments is None and resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        os._exit(code)
    return code


def _main(arguments: list[str] | None) -> int:
    ours = arguments is None
    try:
        words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
        if words == ["--version"]:  # before typer is imported, which takes longer than all else
            return _say_version()
        if ours:  # our own process: what is loaded stays to the end, so there is no garbage
            gc.disable()
            sys.unraisablehook = _swallowed
            _fill_gaps()
            _wait_for_readers()
        _heed_signals(ours=ours)
        code = _run(words, ours=ours)
        return _EXIT_SIGNAL + _put_off.pop() if _put_off else code
    except KeyboardInterrupt:
        return _EXIT_SIGNAL + signal.SIGINT
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    finally:
        _put_off.clear()
        if ours:
            gc.freeze()  # else Python looks through all of it once more before it ends
            for ending in (*_ENDINGS, signal.SIGALRM):
                signal.signal(ending, signal.SIG_IGN)  # all is done, and the exit code known


def _say_version() -> int:
    from prefpairs.engine.native import engine
    from prefpairs.files.nonblocking import write_all

    try:
        write_all(1, f"prefpairs {__version__} ({engine()})\n".encode())
    except BrokenPipeError:
        return 0
    except OSError as error:
        os.write(2, f"error: standard output: {error.strerror}\n".encode())
        return _EXIT_FILES
    except Exception as error:  # noqa: BLE001 - PrefpairsError takes longer to import than to catch
        from prefpairs.cli.terminal.error_text import write_error

        write_error(error)
        return getattr(error, "exit_code", _EXIT_BUG)
    return 0


def _run(words: list[str], *, ours: bool) -> int:
    from prefpairs.cli.command_as_typed import remember_command, typed_command
    from prefpairs.cli.terminal.error_text import write_error
    from prefpairs.cli.terminal.safe_text import printable, write_stderr
    from prefpairs.errors import PrefpairsError
    from prefpairs.files.standard_output import ClosedPipe, guarded_stdout

    remember_command(words)
    try:
        with guarded_stdout():
            return _do(words, ours=ours)
    except ClosedPipe:
        return 0
    except PrefpairsError as error:
        write_error(error, typed_command())
        return error.exit_code
    except OSError as error:
        write_error(error)
        return _EXIT_FILES
    except MemoryError:
        write_stderr("error: out of memory; the system or `ulimit -v` allows no more\n")
        return _EXIT_FILES
    except Exception as error:  # noqa: BLE001 - the one place that knows a bug when it sees one
        import traceback

        write_stderr(
            "".join(f"{printable(line)}\n" for line in traceback.format_exc().splitlines())
        )
        write_error(error)
        return _EXIT_BUG


def _do(words: list[str], *, ours: bool) -> int:
    """Run a command, or show its help."""
    if words[0] == "help":
        words = [*words[1:], "--help"]
    if words[0] not in (*COMMANDS, *_HELP):
        raise _no_command(words[0])
    typed = words[: words.index("--")] if "--" in words else words
    if any(word in _HELP for word in typed):
        from prefpairs.cli.terminal.help import write_help

        write_help(words[0] if words[0] in COMMANDS else None)
        return 0
    return call(words, ours=ours)


def _no_command(word: str) -> Exception:
    from prefpairs.errors import UnknownWord

    if word.startswith("-"):
        known = ["--version", *_HELP]
        return UnknownWord("option", word, known, "options stand behind the command")
    known = [*COMMANDS, "help", "--version"]
    return UnknownWord("command", word, known, "`prefpairs --help` lists the commands")


def call(words: list[str], *, ours: bool) -> int:
    """Run a command; errors are raised."""
    import typer

    try:
        app = app_of(words[0])
        if ours:
            gc.freeze()
            gc.enable()
        return app(words, prog_name="prefpairs", standalone_mode=False) or 0
    except typer.TyperException as error:
        from prefpairs.cli.usage_errors import mistyped

        raise mistyped(error, words[0]) from None


def app_of(command: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - typer loads late
    """The app with one command: no other one is loaded."""
    module = import_module(f"prefpairs.cli.commands.{command}")
    return _app(command, getattr(module, command))


@cache
def _app(command: str, function: Callable[..., None]):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """The app with one command, built once in a process."""
    import typer
    from typer.main import get_command

    from prefpairs.cli.typer_adapter import command_of

    app = typer.Typer(
        name="prefpairs",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"token_normalize_func": lambda word: word.replace("_", "-")},
    )
    app.callback()(_global_options)
    app.command(command)(command_of(function))
    return get_command(app)


def _global_options() -> None:
    pass


def _fill_gaps() -> None:
    """Open /dev/null for each standard stream that is closed, so that no file takes its place.

    It is opened so that it can neither be read nor written, like a closed stream.
    """
    for number, how in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)


def _wait_for_readers() -> None:
    """Wait for readers, if standard output or error is non-blocking, so that no message is lost."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is not None and not os.get_blocking(number):
            from prefpairs.files.nonblocking import waiting_text

            setattr(sys, name, waiting_text(stream))


def _heed_signals(*, ours: bool) -> None:
    """Handle the signals that should end the program, unless they are ignored, as under nohup."""
    unheeded = (signal.SIG_DFL, signal.default_int_handler if ours else signal.SIG_DFL)
    for ending in _ENDINGS:
        if signal.getsignal(ending) in unheeded:
            signal.signal(ending, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave as if by exit, so that temporary files are removed; soon, if the exit may get lost."""
    if number in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        # It is blocked, but a thread of some library took it; in our thread it waits.
        signal.pthread_kill(threading.get_ident(), number)
    elif _may_swallow_exit(frame):
        _leave_soon(number)
    else:
        _put_off[:] = [number]  # if the exit gets lost all the same, the exit code does not
        signal.setitimer(signal.ITIMER_REAL, 0)
        again = partial(_leave_again, time.monotonic())
        for ending in _ENDINGS:
            if signal.getsignal(ending) is _leave:
                signal.signal(ending, again)
        sys.exit(_EXIT_SIGNAL + number)


def _leave_soon(number: int) -> None:
    _put_off[:] = [number]
    signal.signal(signal.SIGALRM, lambda _, frame: _leave(number, frame) if _put_off else None)
    signal.setitimer(signal.ITIMER_REAL, _SOON)


def _swallowed(lost: "sys.UnraisableHookArgs") -> None:
    """Leave later if our exit was raised where exceptions are ignored, as in a finalizer."""
    if isinstance(lost.exc_value, SystemExit) and isinstance(lost.exc_value.code, int):
        _leave_soon(lost.exc_value.code - _EXIT_SIGNAL)
    else:
        sys.__unraisablehook__(lost)


def _leave_again(since: float, number: int, frame: FrameType | None) -> None:
    """Leave, unless we are about to: closing a terminal sends two signals at once."""
    if time.monotonic() - since > _TIDYING:
        _leave(number, frame)


def _may_swallow_exit(frame: FrameType | None) -> bool:
    """Whether an exit may get lost here.

    A module that is being imported may take it for an error of its own, and C code that looks into
    a dictionary drops what `__hash__` and `__eq__` raise.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name in _CALLED_BY_C:
            return True
        frame = frame.f_back
    return False
