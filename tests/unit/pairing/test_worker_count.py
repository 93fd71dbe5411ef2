"""The number of processes."""

import resource

import pytest

from prefpairs.engine import processes
from prefpairs.engine.processes import processes_for, start_processes


def test_explicit_number_is_obeyed() -> None:
    """An explicit number is obeyed, however little work there is."""
    assert processes_for(7, 0, 1000) == 7


def test_one_a_core_that_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one process, at most one per core."""
    monkeypatch.setattr(processes, "cores", lambda: 4)
    assert [processes_for(None, amount, 10) for amount in (0, 19, 20, 1000)] == [1, 1, 2, 4]


def test_never_more_than_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on open files bounds the number of processes."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    assert processes_for(300, 0, 1) == 10
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert processes_for(300, 0, 1) == 300


def test_as_many_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a process cannot be started, those already started are used."""

    def start(_: object, arguments: tuple[int], __: object) -> int:
        if arguments[0] == 2:
            raise BlockingIOError
        return arguments[0]

    monkeypatch.setattr(processes, "Process", start)
    started: list[object] = [*start_processes(print, [(0,), (1,), (2,), (3,)])]
    assert started == [0, 1]
