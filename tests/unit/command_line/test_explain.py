"""prefpairs explain."""

import pytest

from prefpairs.cli.commands.explain import ExplainOptions, explain
from prefpairs.errors import UnknownWord
from prefpairs.reasons import ALL


def test_one_code(capfd: pytest.CaptureFixture[str]) -> None:
    """A code is explained in one sentence."""
    explain(asked=ExplainOptions(code="all-tied"))
    assert capfd.readouterr().out == "all_tied: all candidates have the same score\n"


def test_code_that_can_be_switched_off(capfd: pytest.CaptureFixture[str]) -> None:
    """For a code that can be switched off, the text says how."""
    explain(asked=ExplainOptions(code="masked"))
    assert capfd.readouterr().out == (
        "masked: masked out of training (mask_sample, or an action_mask of zeros)\n\n"
        "--keep-rows masked uses such rows all the same.\n"
    )


def test_all_codes(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a code, every code is listed with its sentence."""
    explain(asked=ExplainOptions(code=None))
    lines = [line.split(maxsplit=1) for line in capfd.readouterr().out.splitlines()]
    listed = {line[0]: line[1] for line in lines if line and line[0] in ALL}
    assert listed == ALL


def test_unknown_code() -> None:
    """An unknown code is rejected."""
    with pytest.raises(UnknownWord):
        explain(asked=ExplainOptions(code="nonsense"))
