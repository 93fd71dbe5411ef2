"""The findings of a rehearsal; the run itself is tested where a trainer is installed."""

import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prefpairs.engine.rehearse import Rehearsal, RehearsePlan, rehearse
from prefpairs.errors import FileError, UsageError
from prefpairs.optional_libraries import install_command

SOUND = Rehearsal(
    trainer="trl 1.16.0",
    weights=27008,
    loaded=1200,
    kept=1200,
    first_loss=0.693147,
    gradient=0.5,
    trained=8,
    last_loss=0.01,
    wins=1.0,
)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores the environment that a rehearsal changes."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_VERBOSITY", "HF_HOME"):
        monkeypatch.setenv(name, "")


def test_sound_dataset() -> None:
    """A sound dataset trains."""
    assert SOUND.problems() == []


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        ({"kept": 0}, "1,200 of 1,200 rows are dropped"),
        ({"kept": 1199}, "1 of 1,200 rows are dropped"),
        ({"equal_sides": 2}, "2 of 1,200 rows have equal sides"),
        ({"first_loss": 0.6928}, "the first loss is 0.692800, not ln 2"),
        ({"first_loss": 0.71}, "the first loss is 0.710000, not ln 2"),
        ({"first_loss": float("nan")}, "the first loss is nan, not ln 2"),
        ({"gradient": 0.0}, "there is no gradient"),
        ({"gradient": float("nan")}, "there is no gradient"),
        ({"wins": 0.9}, "after 20 steps the chosen side wins in 90% only"),
        ({"wins": 0.5}, "after 20 steps the chosen side wins in 50% only"),
        ({"said": ["Mismatch."]}, "the trainer warns: Mismatch."),
    ],
)
def test_problem(figures: dict[str, Any], problem: str) -> None:
    """One figure that is wrong gives one problem."""
    assert replace(SOUND, **figures).problems() == [problem]


@pytest.mark.parametrize(
    "figures",
    [{"first_loss": 0.69305}, {"first_loss": 0.6932}, {"gradient": 0.001}, {"wins": 0.95}],
)
def test_figures_that_will_do(figures: dict[str, Any]) -> None:
    """Rounding, a small gradient and nearly all rows are fine."""
    assert replace(SOUND, **figures).problems() == []


def test_several_problems() -> None:
    """Problems are in the order of the run, warnings last, each once."""
    found = replace(SOUND, kept=1198, equal_sides=1, said=["b", "a", "b"], wins=0.25)
    assert found.problems() == [
        "2 of 1,200 rows are dropped",
        "1 of 1,198 rows have equal sides",
        "after 20 steps the chosen side wins in 25% only",
        "the trainer warns: b",
        "the trainer warns: a",
    ]


def test_trouble_hides_the_rest() -> None:
    """If the run failed, only its error is reported."""
    stopped = Rehearsal(loaded=2, trouble="KeyError: 'chosen'", said=["b"])
    assert stopped.problems() == ["KeyError: 'chosen'"]


def test_nothing_ran() -> None:
    """A rehearsal that reports no figures counts as failed."""
    assert len(Rehearsal().problems()) == 3


def test_missing_dataset(tmp_path: Path) -> None:
    """A missing dataset is reported before libraries are imported or anything is set."""
    with pytest.raises(FileError) as caught:
        rehearse(RehearsePlan(path=f"{tmp_path}/nothing"))
    assert (caught.value.path, caught.value.problem) == (f"{tmp_path}/nothing", "no such file")
    assert os.environ["HF_HOME"] == ""


@pytest.mark.skipif(importlib.util.find_spec("trl") is not None, reason="TRL is installed")
def test_without_the_library(tmp_path: Path) -> None:
    """The error says what to install."""
    with pytest.raises(UsageError) as caught:
        rehearse(RehearsePlan(path=str(tmp_path)))
    assert caught.value.problem == "rehearse needs a library that is not installed"
    assert caught.value.hint == install_command("rehearse")


def test_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network access is disabled during a rehearsal, and enabled again afterwards."""
    monkeypatch.setitem(sys.modules, "trl", None)
    before = dict(os.environ)
    with pytest.raises(UsageError):
        rehearse(RehearsePlan(path=str(tmp_path)))
    assert dict(os.environ) == before
