"""An option is declared once; everything else is derived from that."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli import recipe
from prefpairs.cli.commands import dedupe as dedupe_command
from prefpairs.cli.completer import completed
from prefpairs.cli.main import main
from prefpairs.cli.recipe import read_recipe
from prefpairs.errors import UsageError
from prefpairs.option import filled, option, options
from prefpairs.plan.input_plan import PairInputPlan
from prefpairs.stages.dedupe import Dedupe

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_reference.py"


@options
class Shiny(Dedupe):
    """The options of a stage with an extra one."""

    shine: int = option(3, metavar="N", least=0, most=9, help="How much it shines.")

    def check(self) -> None:
        """Raise for an odd number."""
        if self.shine % 2 and self.shine != 3:
            raise UsageError(f"--shine {self.shine}: an odd number does not shine", "an even one")


@pytest.fixture(name="calls", autouse=True)
def _with_shine(monkeypatch: pytest.MonkeyPatch) -> list[Shiny]:
    """A `dedupe` with the extra option that records its calls."""
    calls: list[Shiny] = []

    def dedupe(*, inputs: PairInputPlan, same: Shiny) -> None:
        """Pairs without their duplicates."""
        assert inputs.paths == ["pairs.jsonl"]
        calls.append(same)

    monkeypatch.setattr(dedupe_command, "dedupe", dedupe)
    monkeypatch.setitem(recipe.STAGES, "dedupe", Shiny)
    monkeypatch.setitem(recipe.GROUPS, "dedupe", (Shiny,))
    return calls


def test_command_line(calls: list[Shiny], capsys: pytest.CaptureFixture[str]) -> None:
    """The command line has it, with default and bounds, and runs the group's check."""
    assert main(["dedupe", "--shine", "8", "pairs.jsonl"]) == 0
    assert main(["dedupe", "pairs.jsonl"]) == 0
    assert [same.shine for same in calls] == [8, 3]
    assert main(["dedupe", "--shine", "10", "pairs.jsonl"]) == 2
    assert "--shine is 10, expected 0 to 9" in capsys.readouterr().err
    assert main(["dedupe", "--shine", "5", "pairs.jsonl"]) == 2
    assert "an odd number does not shine" in capsys.readouterr().err


def test_help_completion_and_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """Help, completion and reference list it."""
    assert main(["dedupe", "--help"]) == 0
    assert "--shine N" in capsys.readouterr().out
    assert [*completed(["dedupe", "--shi"], cut_at_equals=False).words] == ["--shine"]
    page: Any = runpy.run_path(str(SCRIPT))["command_page"]
    assert "--shine" in page("dedupe")


def test_recipes(tmp_path: Path) -> None:
    """A recipe's table and --set accept it, with the same bounds and checks."""
    path = tmp_path / "recipe.toml"
    path.write_text("[dedupe]\nshine = 8\n")
    assert read_recipe(str(path), []).group("dedupe", Shiny).shine == 8
    assert read_recipe(str(path), ["dedupe.shine=6"]).group("dedupe", Shiny).shine == 6
    for wrong in ("dedupe.shine=10", "dedupe.shine=5"):
        with pytest.raises(UsageError):
            read_recipe(str(path), [wrong]).group("dedupe", Shiny)


def test_keywords() -> None:
    """The option is a keyword argument in Python, with the same check."""
    assert Shiny(shine=8).shine == filled(Shiny, {"shine": 8}).shine == 8
    with pytest.raises(UsageError):
        filled(Shiny, {"shine": 5})
