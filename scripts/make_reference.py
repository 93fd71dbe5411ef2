"""Write docs/reference from the code: every command with its options, and the reason codes.

The list of decisions is written from their headings, too.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path

from prefpairs.cli.command_docs import function_of, panels_of
from prefpairs.cli.main import COMMANDS
from prefpairs.option import Option
from prefpairs.reasons import SWITCHABLE, TABLES

DOCS = Path(__file__).parent.parent / "docs"
FOLDER = DOCS / "reference"
DECISIONS = DOCS / "decisions"


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    (DECISIONS / "README.md").write_text(decisions_page(), encoding="utf-8")


def pages() -> dict[str, str]:
    """Each page of the reference, by file name."""
    commands = {f"{name}.md": command_page(name) for name in COMMANDS}
    return {**commands, "reasons.md": reasons_page(), "README.md": front_page()}


def front_page() -> str:
    """All commands, with descriptions."""
    rows = "".join(f"| [`{name}`]({name}.md) | {line} |\n" for name, line in COMMANDS.items())
    about = "`prefpairs COMMAND [INPUT]... [-o OUTPUT]`; `prefpairs COMMAND --help` says the same."
    reasons = "[Reason codes](reasons.md): why something was lost, changed or noticed."
    return f"# Commands\n\n{about}\n\n| command | |\n|---|---|\n{rows}\n{reasons}\n"


def decisions_page() -> str:
    """All decisions, by number."""
    notes = sorted(DECISIONS.glob("[0-9]*.md"))
    titles = (note.read_text("utf-8").partition("\n")[0].removeprefix("# ") for note in notes)
    rows = "".join(f"- [{title}]({note.name})\n" for note, title in zip(notes, titles, strict=True))
    return f"# Decisions\n\nEach says what it was about, what was chosen, and its price.\n\n{rows}"


def command_page(name: str) -> str:
    """A command's help as Markdown."""
    about = inspect.getdoc(function_of(name)) or ""
    tables = (
        f"\n## {title}\n\n| | |\n|---|---|\n" + "".join(map(row, words))
        for title, words in panels_of(name).items()
    )
    return f"# prefpairs {name}\n\n{about}\n{''.join(tables)}"


def row(word: Option) -> str:
    """The table row of an option or argument."""
    default = "" if word.told_default is None else f" Default: `{word.told_default}`."
    value = f" {word.metavar}".rstrip().replace("|", "\\|")
    names = [*word.names[:-1], word.names[-1] + value] if word.names else [value.strip()]
    return f"| {', '.join(f'`{name}`' for name in names)} | {word.help}{default} |\n"


def reasons_page() -> str:
    """All reason codes."""
    kept = f"`--keep-rows` takes: {', '.join(f'`{code}`' for code in SWITCHABLE)}.\n"
    return f"# Reason codes\n\n{kept}{''.join(reason_tables())}"


def reason_tables() -> Iterator[str]:
    """A table for each kind of reason."""
    for title, codes in TABLES.items():
        rows = "".join(f"| `{code}` | {line} |\n" for code, line in codes.items())
        yield f"\n## {title}\n\n| code | meaning |\n|---|---|\n{rows}"


if __name__ == "__main__":
    main()
