"""Every stage of a pipe pays for start-up, so modules that are not needed are not loaded.

Times differ between machines, so modules are counted instead. docs/decisions/0011-startup.md has
the cost of each.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from prefpairs.cli.main import COMMANDS

PAIR = {
    "group": "g",
    "prompt": "Q",
    "chosen": "A",
    "rejected": "B",
    "chosen_score": 1.0,
    "rejected_score": 0.0,
    "gap": 1.0,
    "chosen_index": None,
    "rejected_index": None,
    "chosen_origin": "a:1",
    "rejected_origin": "a:2",
}
CANDIDATES = [
    {"prompt": "Q", "response": answer, "score": score} for answer, score in (("A", 1), ("B", 0))
]

LIST_OF_MODULES = """
import json, sys
from prefpairs.cli.main import main
code = main()
sys.stdout.flush()
open("modules.json", "w").write(json.dumps([*sys.modules]))
sys.exit(code)
"""

NEVER = (
    "asyncio",
    "backports.zstd",
    "click",
    "compression.zstd",
    "concurrent.futures",
    "http",
    "importlib.metadata",
    "importlib.resources",
    "jinja2",
    "logging",
    "multiprocessing",
    "pyarrow",
    "pydantic",
    "pydantic_core",
    "rensa",
    "rich",
    "sqlite3",
    "tokenizers",
    "tomllib",
    "torch",
    "trl",
    "unittest",
    "zipfile",
)
"""Modules that no command loads to pass pairs on."""

NOT_FOR_PAIRS = (
    "prefpairs.engine.outputs.required_counts",
    "prefpairs.engine.outputs.dataset_folder",
    "prefpairs.cli.recipe",
    "prefpairs.engine.rehearse",
    "prefpairs.engine.validate",
    "prefpairs.files.parquet_reader",
    "prefpairs.files.parquet_writer",
    "prefpairs.files.option_files",
    "prefpairs.analysis",
    "prefpairs.model.schema",
    "prefpairs.dataset.card",
    "prefpairs.dataset.row_checks",
    "prefpairs.chat.template",
    "prefpairs.targets.trl",
)
"""Packages of ours for options that are not given here."""

NOT_FOR_CANDIDATES = (
    "prefpairs.cli.terminal.progress_bar",
    "prefpairs.cli.terminal.summary_text",
    "prefpairs.fields.answers_in_row",
    "prefpairs.fields.joined_rows",
    "prefpairs.fields.preference_label",
    "prefpairs.fields.rollout_tokens",
    "prefpairs.fields.training_logs",
    "prefpairs.fields.undecodable_values",
    "prefpairs.files.decompression",
    "prefpairs.files.document_reader",
    "prefpairs.files.staged_folder",
    "prefpairs.files.zip_reader",
    "prefpairs.limited_process",
)
"""Packages of ours for rows and options that differ from the usual ones."""

NOT_FOR_VERSION = (
    *NEVER,
    "dataclasses",
    "inspect",
    "msgspec",
    "orjson",
    "prefpairs.cli.terminal.error_text",
    "prefpairs.errors",
    "prefpairs.model",
    "tempfile",
    "traceback",
    "typer",
    "typing",
)
"""Modules that --version does not need: all but a few of the standard library."""


def loaded(folder: Path, *words: str, code: int = 0) -> set[str]:
    """The modules loaded when a run ends."""
    ended = subprocess.run(
        [sys.executable, "-c", LIST_OF_MODULES, *words],
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert (ended.returncode, bool(ended.stderr)) == (code, bool(code))
    return set(json.loads((folder / "modules.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that this interpreter loads by itself, including its installation's hooks."""
    script = "import json, sys; print(json.dumps([*sys.modules]))"
    folder = tmp_path_factory.mktemp("bare")
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, check=True
    )
    return set(json.loads(ended.stdout))


def test_version(tmp_path: Path, bare: set[str]) -> None:
    """--version is answered before typer is loaded."""
    modules = loaded(tmp_path, "--version") - bare
    assert sorted(modules.intersection(NOT_FOR_VERSION)) == []
    assert {name for name in modules if name.split(".")[0] == "prefpairs"} == {
        "prefpairs",
        "prefpairs.cli",
        "prefpairs.cli.main",
        "prefpairs.engine",
        "prefpairs.engine.native",
        "prefpairs.files",
        "prefpairs.files.nonblocking",
    }


@pytest.mark.parametrize("command", ["extract", "pair", "dedupe", "filter", "sample"])
def test_nothing_to_read(tmp_path: Path, bare: set[str], command: str) -> None:
    """An empty input loads nothing beyond start-up."""
    options = {"filter": ["--min-gap", "0.1"], "sample": ["--max-pairs", "1"]}
    words = ["/dev/null", "--allow-empty", "--quiet", "-o", "out.jsonl"]
    modules = loaded(tmp_path, command, *options.get(command, []), *words) - bare
    assert sorted(modules.intersection(NEVER)) == []
    assert sorted(modules.intersection(NOT_FOR_PAIRS)) == []
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_pairs_that_are_made(tmp_path: Path, bare: set[str]) -> None:
    """Reading rows and writing pairs loads no more than an empty input does."""
    rows = "".join(f"{json.dumps(row)}\n" for row in CANDIDATES)
    (tmp_path / "in.jsonl").write_text(rows, "utf-8")
    modules = loaded(tmp_path, "pair", "in.jsonl", "--quiet", "-o", "out.jsonl") - bare
    assert sorted(modules.intersection([*NEVER, *NOT_FOR_PAIRS])) == []
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["chosen"] == "A"


def test_pairs_of_a_known_format(tmp_path: Path, bare: set[str]) -> None:
    """A format whose fields need not be guessed loads nothing that guesses."""
    row = {"group": "g", "prompt": "Q", "index": 0, "origin": "a:1"}
    rows = [{**row, "response": answer, "score": score} for answer, score in (("A", 1), ("B", 0))]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    modules = loaded(tmp_path, "pair", "in.jsonl", "--quiet", "-o", "out.jsonl") - bare
    unneeded = [*NEVER, *NOT_FOR_PAIRS, *NOT_FOR_CANDIDATES]
    assert sorted(modules.intersection(unneeded)) == []
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["chosen"] == "A"


def test_pairs_that_are_passed_on(tmp_path: Path, bare: set[str]) -> None:
    """A stage in the middle of a pipe loads neither targets nor their checks."""
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(PAIR)}\n", "utf-8")
    modules = loaded(tmp_path, "dedupe", "in.jsonl", "--quiet", "-o", "out.jsonl") - bare
    assert sorted(modules.intersection([*NEVER, *NOT_FOR_PAIRS])) == []
    assert json.loads((tmp_path / "out.jsonl").read_bytes())["chosen"] == "A"


@pytest.mark.parametrize("words", [["pair", "--m"], ["pair", "--to", ""], ["ex"], ["explain", ""]])
def test_completion(tmp_path: Path, bare: set[str], words: list[str]) -> None:
    """Completion loads neither the engine nor other commands."""
    modules = loaded(tmp_path, "completion", "bash", "--", *words) - bare
    assert sorted(modules.intersection([*NEVER, *NOT_FOR_PAIRS])) == []
    commands = {f"prefpairs.cli.commands.{name}" for name in COMMANDS} & modules
    assert commands <= {"prefpairs.cli.commands.completion", f"prefpairs.cli.commands.{words[0]}"}


@pytest.mark.parametrize("words", [["--help"], ["help"], ["pari"]])
def test_help(tmp_path: Path, bare: set[str], words: list[str]) -> None:
    """The program's help and unknown commands load no command."""
    modules = loaded(tmp_path, *words, code=2 if words == ["pari"] else 0) - bare
    assert sorted(modules.intersection([*NEVER, "typer"])) == []
    assert {f"prefpairs.cli.commands.{name}" for name in COMMANDS} & modules == set()


@pytest.mark.parametrize("command", ["pair", "dedupe"])
def test_other_commands_are_left_alone(tmp_path: Path, bare: set[str], command: str) -> None:
    """Only the module of the given command is loaded."""
    commands = {"dedupe", "export", "filter", "pair", "run", "sample", "split", "validate"}
    modules = loaded(tmp_path, command, "/dev/null", "--allow-empty", "--quiet", "-o", "out.jsonl")
    others = {f"prefpairs.cli.commands.{name}" for name in commands - {command}}
    assert (modules - bare) & others == set()


def test_pairs_that_are_shown(tmp_path: Path, bare: set[str]) -> None:
    """Colors and the pager are loaded only for terminals."""
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(PAIR)}\n", "utf-8")
    for words in (["show", "in.jsonl"], ["diff", "in.jsonl", "in.jsonl"]):
        assert sorted((loaded(tmp_path, *words) - bare).intersection(NEVER)) == []
