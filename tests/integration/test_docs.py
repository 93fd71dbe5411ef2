"""README.md and docs/: every command runs and writes the output shown under it."""

import os
from pathlib import Path

import pytest
from docs_kit import ROOT, Command, blessed, blocks, commands_of, matches, pages, run


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path) -> None:
    """Commands of a page write what it shows; `make docs` rewrites it."""
    text = page.read_text("utf-8")
    commands = commands_of(text)
    outcomes = run(commands, tmp_path)
    if "BLESS" in os.environ:
        page.write_text(blessed(text, commands, outcomes), "utf-8")
        commands = commands_of(page.read_text("utf-8"))
    for number, command in enumerate(commands):
        if number not in outcomes:
            assert command.where != "true", f"never ran: {command.words}"
            continue
        outcome = outcomes[number]
        said = f"$ {command.words}\n" + "\n".join(outcome.lines)
        followed = number + 1 < len(commands) and commands[number + 1].asks_for_status
        assert outcome.code == 0 or followed, said
        assert matches(command.shown, outcome.lines), f"{said}\n\nbut the page shows\n{command}"


PAGE = """\
<!-- first:
mkdir made
-->
<!-- file: made/words.txt -->
```text
one
two
```

```console
$ cat made/words.txt | \\
    head -n 1
one
$ cd made; ls ../sample_data/*.jsonl
../sample_data/conversations.jsonl
...
../sample_data/trinity_experiences.jsonl
$ ls; (exit 3)
$ echo $?
3
```

```console
$ echo first >&2
first
```

<!-- run where: test -d sample_data -->
```console
$ false
```

<!-- not run: it fails -->
```console
$ false
```
"""


def _outcomes(text: str, folder: Path) -> list[tuple[str, bool, int]]:
    """For each command that ran: its text, whether the output matches, its exit code."""
    commands = commands_of(text)
    return [
        (commands[n].words, matches(commands[n].shown, outcome.lines), outcome.code)
        for n, outcome in run(commands, folder).items()
    ]


def test_commands_run_in_one_shell(tmp_path: Path) -> None:
    """Files and `cd` and `$?` carry over, both streams are captured, and comments are obeyed."""
    assert _outcomes(PAGE, tmp_path)[2:] == [
        ("cat made/words.txt | \\\n    head -n 1", True, 0),
        ("cd made; ls ../sample_data/*.jsonl", True, 0),
        ("ls; (exit 3)", True, 3),
        ("echo $?", True, 0),
        ("echo first >&2", True, 0),
    ]


def test_other_output_is_seen(tmp_path: Path) -> None:
    """Finds wrong, missing and extra lines, failures, and a `...` that omits nothing."""
    text = "```console\n$ echo a; echo b\n{}\n$ false\n```\n"
    for shown in ("a", "a\nc", "a\nb\nc", "b", "a\n...\nb"):
        commands = commands_of(text.format(shown))
        outcomes = run(commands, tmp_path / shown.replace("\n", " "))
        assert not matches(commands[0].shown, outcomes[0].lines), shown
        assert outcomes[1].code == 1


def test_pages_are_rewritten(tmp_path: Path) -> None:
    """Shown output is replaced by the current one, with as many lines omitted as before."""
    shown = ["$ seq 9", "1", "...", "8", "$ echo b", "a", "$ echo c"]
    text = "\n  ".join(["- x\n\n  ```console", *shown, "```\n\nend\n"])
    commands = commands_of(text)
    new = blessed(text, commands, run(commands, tmp_path))
    assert new == text.replace("  8\n", "  9\n").replace("  a\n", "  b\n")


def test_commands_are_in_blocks_that_are_run() -> None:
    """No page has a prefpairs command in a block of another language, which is not run."""
    for page in pages():
        for block in blocks(page.read_text("utf-8")):
            hidden = [line for line in block.lines if line.startswith(("$ ", "prefpairs "))]
            assert block.language == "console" or not hidden, (page, hidden)


def test_mistakes_of_a_page() -> None:
    """Output before the first command, and a comment without a block, are errors."""
    with pytest.raises(AssertionError, match="no command before"):
        commands_of("```console\nprefpairs pair\n```\n")
    with pytest.raises(AssertionError, match="before no block"):
        commands_of("<!-- not run: never -->\nWords between.\n```console\n$ x\n```\n")
    assert commands_of("```\n$ x\n```\n") == []
    assert commands_of("```console\n$ x\n```\n") == [Command("x", [], 2)]
