"""The list of targets, and what all of them promise."""

from dataclasses import FrozenInstanceError

import pytest
from target_rows import DEEP, PLAIN, extras_of, rows_of

from prefpairs.errors import UnknownWord
from prefpairs.targets import CARD, HOSTS, OF_TARGETS, TARGETS, target_named


@pytest.mark.parametrize("name", TARGETS)
def test_every_target(name: str) -> None:
    """Every target is found under its name, in both spellings."""
    target = target_named(name)
    assert target.name == name
    assert target_named(name.replace("-", "_")) is target
    assert set(target.files) == {"train", "val", "test"}
    assert target.tool_args == "string" or target.supports.calls
    with pytest.raises(FrozenInstanceError):
        target.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize("name", TARGETS)
def test_rows_have_the_declared_columns(name: str) -> None:
    """The columns are in the declared order, whatever the pair contains."""
    columns = list(target_named(name).columns)
    for pair in (PLAIN, DEEP):
        for row in rows_of(name, pair):
            assert list(row) == [column for column in columns if column in row]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("sides", [("train", "val"), ("val",), ("train", "val", "test")])
def test_files_around_the_data(name: str, sides: tuple[str, ...]) -> None:
    """The declared files are written, each ending in a newline."""
    texts = extras_of(name, *sides)
    assert set(texts) == set(target_named(name).extra_names)
    assert all(text.endswith("\n") and "\t" not in text for text in texts.values())


def test_unknown_target() -> None:
    """An unknown target is an error that lists all of them."""
    with pytest.raises(UnknownWord) as caught:
        target_named("torch")
    assert caught.value.known == list(TARGETS)


def test_files_of_all_targets() -> None:
    """The files that conflict with another target's, and the card."""
    written = {
        name
        for target in map(target_named, TARGETS)
        for name in target.files_of(target.files).values()
    }
    assert written == OF_TARGETS | {CARD}


def test_hosts_of_the_table() -> None:
    """--host offers the hosts of all targets."""
    hosts = [host for name in TARGETS for host in target_named(name).hosts]
    assert hosts == list(HOSTS)


def test_columns_that_no_trainer_learns_from() -> None:
    """Columns that trainers ignore only record where a row came from."""
    assert target_named("trl").trained_columns == {"prompt", "chosen", "rejected", "tools"}
    assert target_named("nemo-rl").trained_columns == {
        *("prompt", "chosen", "rejected", "chosen_response", "rejected_response"),
    }
