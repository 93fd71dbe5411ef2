"""PREFPAIRS_NATIVE selects the engine that reads rows."""

import sys
from types import SimpleNamespace

import pytest

import prefpairs
from prefpairs.cli.main import main
from prefpairs.engine import native
from prefpairs.engine.native import VARIABLE, engine, native_core
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.model import memory_guard

CORE = SimpleNamespace(__version__=prefpairs.__version__)
OLDER = SimpleNamespace(__version__="0.1.0")


@pytest.fixture(autouse=True)
def _nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each test look for the core again."""
    monkeypatch.setattr(native, "_found", {})


@pytest.mark.parametrize(
    ("word", "core", "expected"),
    [
        (None, CORE, "native 0.2.0"),
        ("", CORE, "native 0.2.0"),
        ("1", CORE, "native 0.2.0"),
        ("require", CORE, "native 0.2.0"),
        ("0", CORE, "python"),
        (None, None, "python"),
        ("1", OLDER, "python"),
    ],
)
def test_engine(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    word: str | None,
    core: object,
    expected: str,
) -> None:
    """The core is used only in the program's version, and only if it is wanted."""
    monkeypatch.setitem(sys.modules, "prefpairs_native", core)
    monkeypatch.delenv(VARIABLE, raising=False)
    if word is not None:
        monkeypatch.setenv(VARIABLE, word)
    assert engine() == expected
    assert native_core() is (None if expected == "python" else core)
    assert main(["--version"]) == 0
    assert capfd.readouterr() == (f"prefpairs 0.2.0 ({expected})\n", "")


@pytest.mark.parametrize(
    ("core", "told"), [(None, "it is not installed"), (OLDER, "version 0.1.0")]
)
def test_required(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], core: object, told: str
) -> None:
    """If the core is required but missing, runs that read rollouts fail."""
    monkeypatch.setitem(sys.modules, "prefpairs_native", core)
    monkeypatch.setenv(VARIABLE, "require")
    with pytest.raises(UsageError, match=told):
        native_core()
    assert main(["--version"]) == 2
    assert main(["pair", "/dev/null", "--allow-empty"]) == 2
    assert told in capfd.readouterr().err


def test_unknown_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown value is reported with the known ones."""
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(UnknownWord) as refused:
        native_core()
    assert list(refused.value.known) == ["0", "1", "require"]


@pytest.mark.parametrize("limited", [True, False])
def test_no_memory_to_load_it(monkeypatch: pytest.MonkeyPatch, *, limited: bool) -> None:
    """If the core cannot be loaded for lack of memory, Python reads all rows."""

    class Full:
        """A finder that finds the core but has no memory to map it."""

        def find_spec(self, name: str, *_: object) -> None:
            if name == "prefpairs_native":
                raise ImportError("failed to map segment from shared object")

    monkeypatch.delitem(sys.modules, "prefpairs_native", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Full(), *sys.meta_path])
    monkeypatch.setattr(memory_guard, "LIMITED", limited)
    monkeypatch.setenv(VARIABLE, "require")
    if limited:
        assert native_core() is None
    else:
        with pytest.raises(UsageError, match="needs the native core"):
            native_core()
