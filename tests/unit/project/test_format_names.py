"""No format is named outside its own module and the table that lists it.

What the rest of the program needs to know of a format is in its SOURCE or TARGET.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from prefpairs.fields.training_logs import TRAINING_LOGS
from prefpairs.sources import SOURCES
from prefpairs.targets import HOSTS, OF_TRACES, TARGETS

HOME = Path(__file__).parents[3] / "src" / "prefpairs"

ORDINARY = frozenset({"candidates", "generic", "preferences", "tokens", "traces", "together"})
"""Names that are also ordinary words: they count only as a whole string."""

TITLES = ("nemo", "llama-factory", "nat")
"""Common names of formats that differ from the name users type."""

NAMES = {*SOURCES, *TARGETS, *OF_TRACES, *HOSTS, *TITLES, *(log.name for log in TRAINING_LOGS)}
LONGEST_FIRST = sorted(NAMES - ORDINARY, key=len, reverse=True)
SPELLED = "|".join(re.sub("[-_]", "[-_ ]?", name) for name in LONGEST_FIRST)
NAMED = re.compile(f"(?<![a-z])(?:{SPELLED})(?![a-z])")

ALLOWED = {
    "cli/commands/export.py": "examples in the help of a command",
    "cli/commands/pair.py": "an example in the help of a command",
    "cli/commands/rehearse.py": "the one trainer whose own code is run",
    "cli/commands/split.py": "an example in the help of a command",
    "cli/commands/run.py": "the configuration of one toolkit is a recipe, too",
    "cli/recipe.py": "the configuration of one toolkit is a recipe, too",
    "cli/commands/submit.py": "the one training service that datasets are submitted to",
    "cli/submit_config.py": "the configuration of one toolkit",
    "submit/microservices.py": "the API of one training service",
    "submit/platform_service.py": "the API of one training service",
    "submit/submit_options.py": "help says which service an option is for",
    "cli/commands/validate.py": "help and examples say what an option is for",
    "cli/terminal/help.py": "an example in the help of the program",
    "engine/rehearse.py": "the one trainer whose own code is run",
    "fields/read_options.py": "help says for which sources an option is",
    "fields/training_logs.py": "the table of the logs that trainers write",
    "files/open_input.py": "only one tool is known to have pickled rollouts",
    "files/sqlite_reader.py": "the database format of one tool",
    "files/sqlite_writer.py": "the same",
    "files/trxp_reader.py": "the file format of one tool",
    "files/trxp_writer.py": "the same",
    "targets/export_options.py": "help says for which targets an option is",
    "reasons.py": "what to do about a reason, as a command to copy",
}
"""The modules that may name formats, each with the reason."""

FIELDS = {
    "driver.py": "what a plan makes",
    "engine/runners/count_steps.py": "what a plan makes",
    "engine/runners/write_rows.py": "what a plan makes",
    "cli/run_with_summary.py": "what a plan makes",
    "plan/__init__.py": "what a plan makes",
    "chat/template.py": "the extra that installs tokenizers",
    "files/tokenizer.py": "the extra that installs tokenizers",
    "files/trxp_reader.py": "a field of the file",
    "files/trxp_writer.py": "the same",
    "fields/field_names.py": "a column of rows of any shape",
    "fields/rollout_tokens.py": "a field of candidates and of rows",
    "ledger/summaries.py": "a key of summaries",
    "model/candidate.py": "a field of candidates",
    "render/page/charts.py": "a heading",
    "render/page/document.py": "a heading",
    "cli/terminal/summary_text.py": "a heading",
    "analysis/survey.py": "a key of summaries",
    "analysis/survey_tables.py": "a heading",
}
"""The modules with an ordinary word as a string that does not name a format."""


def modules() -> Iterator[str]:
    """All modules except formats and the two tables that list them."""
    for path in sorted(HOME.rglob("*.py")):
        name = str(path.relative_to(HOME))
        room, _, module = name.partition("/")
        of_formats = room in ("sources", "targets") and module not in (
            "base.py",
            "detect.py",
            "export_options.py",
        )
        if not of_formats:
            yield name


def formats_in(tree: ast.Module) -> set[str]:
    """The names of formats in the strings and identifiers of a module."""
    found: set[str] = set()
    for text in {text for node in ast.walk(tree) for text in texts_of(node)}:
        parted = re.sub("(?<=[a-z])(?=[A-Z])", "_", text)
        found |= {*NAMED.findall(text.lower()), *NAMED.findall(parted.lower())}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            _, _, imported = (node.module or "").partition("prefpairs.")
            room, _, module = imported.partition(".")
            if room in ("sources", "targets") and module.split("_")[0] in ORDINARY:
                found.add(imported)
    return found


def words_in(tree: ast.Module) -> set[str]:
    """The ordinary words that are whole strings in a module."""
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in strings if isinstance(value, str) and value in ORDINARY}


def texts_of(node: ast.AST) -> Iterator[str]:
    """The strings and identifiers of a node."""
    for name in ("id", "attr", "name", "asname", "arg", "module", "value"):
        value = getattr(node, name, None)
        if isinstance(value, str):
            yield value


@pytest.mark.full
def test_no_format_is_named() -> None:
    """Only listed modules name formats, and each of them does."""
    trees = {module: ast.parse((HOME / module).read_text("utf-8")) for module in modules()}
    for listed, names_in in ((ALLOWED, formats_in), (FIELDS, words_in)):
        named = {module: found for module, tree in trees.items() if (found := names_in(tree))}
        assert {module: named[module] for module in named if module not in listed} == {}
        assert listed.keys() - named.keys() == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('if name == "nemo_gym": pass', {"nemo_gym"}),
        ("class OpenaiHost: pass", {"openai"}),
        ("trl_rows = 1", {"trl"}),
        ("from prefpairs.sources.traces import turns_of", {"sources.traces"}),
        ('note = f"{score} for Trinity-RFT"', {"trinity"}),
        ("control = natural = 1", set()),
    ],
)
def test_what_counts_as_a_name(source: str, found: set[str]) -> None:
    """Strings and identifiers count, in any spelling, but not parts of other words."""
    assert formats_in(ast.parse(source)) == found
