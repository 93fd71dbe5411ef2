"""prefpairs formats."""

import json

import pytest

from prefpairs.cli.commands.formats import FormatsOptions, formats
from prefpairs.errors import UnknownWord
from prefpairs.model.schema import json_schema
from prefpairs.sources import SOURCES
from prefpairs.strategies import STRATEGIES


def test_listing(capfd: pytest.CaptureFixture[str]) -> None:
    """Lists every source and strategy with a description, and other names."""
    formats(asked=FormatsOptions(schema=None))
    lines = [" ".join(line.split()) for line in capfd.readouterr().out.splitlines()]
    expected = [f"{name} {line}" for name, line in {**SOURCES, **STRATEGIES}.items()]
    assert [line for line in expected if line not in lines] == []
    assert "same-prompt is another name of best-vs-worst" in lines


@pytest.mark.parametrize("record", ["candidate", "pair"])
def test_schema(capfd: pytest.CaptureFixture[str], record: str) -> None:
    """Prints a JSON Schema."""
    formats(asked=FormatsOptions(schema=record))
    assert json.loads(capfd.readouterr().out) == json_schema(record)


def test_unknown_schema() -> None:
    """An unknown record is rejected."""
    with pytest.raises(UnknownWord):
        formats(asked=FormatsOptions(schema="rollout"))
