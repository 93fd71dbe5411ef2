"""Data cannot control the terminal on which it is shown."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\x85\u202e\u2066\u200f\u061c\r\b"


def on_a_terminal(folder: Path, *words: str, kind: str = "dumb") -> str:
    """The stdout and stderr of a command on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "prefpairs", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": kind},  # a dumb one has no colors, so all escapes come from data
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                got = os.read(ours, 1 << 16)
            except OSError:  # on Linux, this means that the other end is closed
                break
            if not got:
                break
            shown += got
        process.wait(timeout=60)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def steers(shown: str) -> list[str]:
    """The control characters that a terminal would obey."""
    return [found for found in shown if found in STEERING and not found.isprintable()]


PAIR = {"prompt": f"p{STEERING}", "chosen": f"c{STEERING}", "rejected": f"r{STEERING}"}
ROWS = [{"prompt": PAIR["prompt"], "response": PAIR[side], "score": score}
        for side, score in (("chosen", 1), ("rejected", 0))]  # fmt: skip
for _number, _row in enumerate(ROWS):
    _row["model"] = f"{_number}{STEERING}"


@pytest.mark.parametrize(
    "words",
    [
        ["pair"],
        ["pair", "-o", "out.jsonl"],
        ["pair", "-o", "/dev/stdout"],
        ["pair", "-q", "-o", "/dev/fd/2"],
        ["extract"],
        ["dedupe"],
        ["export", "--to", "trl"],
        ["validate", "--to", "trl"],
        ["stats"],
        ["stats", "--keep", "model", "--strategy", "exhaustive"],
        ["report", "-o", f"page{STEERING}"],
        ["report", "-o", "/dev/fd/2", "--title", STEERING],
        ["pair", "--response", f"x{STEERING}"],
        ["pair", "--from", f"x{STEERING}"],
        ["export", "--to", f"x{STEERING}"],
        [f"x{STEERING}"],
        ["explain", f"x{STEERING}"],
        ["pair", f"--x{STEERING}"],
        ["filter", "--min-gap", STEERING],
    ],
    ids=lambda words: " ".join(words).encode("ascii", "ignore").decode().replace("\x1b", ""),
)
def test_nothing_in_data_or_words_steers_a_terminal(words: list[str], tmp_path: Path) -> None:
    """Control characters in rows, keys, file names and options are written as escapes."""
    name = f"{STEERING.replace('/', '')}.jsonl"
    rows = (
        ROWS
        if words[0] in ("pair", "extract", "report") or "--strategy" in words
        else [PAIR, {**PAIR, STEERING: STEERING}]
    )
    bad = [{"prompt": STEERING, "response": {STEERING: 1}, "chosen": {STEERING: 1}, "score": 1}]
    for number, made in enumerate((rows, rows + bad)):
        (tmp_path / name).write_text(
            "".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in made)
        )
        words_now = words if words[0] in ("explain", f"x{STEERING}") else [*words, name]
        shown = on_a_terminal(tmp_path, *words_now)
        assert steers(shown) == [], (number, shown)


def test_no_file_name_in_a_recipe_steers_a_terminal(tmp_path: Path) -> None:
    """A recipe's file names are escaped in its plan, its summary and the output of `verify`."""
    name = f"{STEERING.replace('/', '')}.jsonl"
    (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    inputs, output = json.dumps([name]), json.dumps(f"out{name}")
    recipe = f"[read]\ninputs = {inputs}\n[pair]\n[write]\noutput = {output}\n"
    (tmp_path / f"{name}.toml").write_text(recipe)
    for words in (["--dry-run"], [], ["--set", f"pair.seed={STEERING}"]):
        shown = on_a_terminal(tmp_path, "run", f"{name}.toml", *words)
        assert steers(shown) == [], (words, shown)
        assert "owned" in shown
    (tmp_path / name).write_text("")
    differs = on_a_terminal(tmp_path, "verify", "manifest.json")
    assert (steers(differs), "owned" in differs) == ([], True)


def test_what_a_terminal_sees_is_the_same_data(tmp_path: Path) -> None:
    """Escaped output has the same values as the original data."""
    (tmp_path / "in.jsonl").write_text(json.dumps(PAIR) + "\n")
    first = on_a_terminal(tmp_path, "dedupe", "-q", "in.jsonl").split("\n", maxsplit=1)[0]
    assert json.loads(first)["chosen"] == PAIR["chosen"]


COLOUR = re.compile("\x1b\\[[0-9;]*m")


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--no-pager", "in.jsonl"],
        ["show", "--no-pager", "--full", "--width", "60", "in.jsonl"],
        ["show", "--no-pager", "--id", STEERING, "in.jsonl"],
        ["show", "--no-pager", "--group", "p", "rollouts.jsonl"],
        ["show", "--no-pager", "--group", STEERING, "rollouts.jsonl"],
        ["diff", "in.jsonl", "rollouts.jsonl"],
        ["diff", "in.jsonl", "in.jsonl"],
    ],
    ids=str,
)
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_nothing_that_is_shown_steers_a_terminal(
    words: list[str], term: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown pairs contain no control characters of the data, even side by side in color."""
    monkeypatch.setenv("TERM", term)
    calls = [{"id": STEERING, "function": {"name": STEERING, "arguments": STEERING}}]
    said = {"role": "assistant", "content": STEERING, "tool_calls": calls}
    thought = {"role": "assistant", "content": "so", "reasoning_content": f"{STEERING}\n{STEERING}"}
    result = {"role": "tool", "content": STEERING, "name": STEERING, "tool_call_id": STEERING}
    more = {"group": f"p{STEERING}", "meta": {STEERING: STEERING}, "tools": [{"name": STEERING}]}
    chat = {**PAIR, **more, "chosen": [said, result, thought], "chosen_origin": STEERING}
    rollouts = [{**row, **more, "index": number} for number, row in enumerate(ROWS)]
    for name, rows in (("in.jsonl", [PAIR, chat]), ("rollouts.jsonl", rollouts)):
        lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (tmp_path / name).write_text("".join(lines))
    shown = on_a_terminal(tmp_path, *words)
    assert "Traceback" not in shown
    assert ("\x1b" in shown) <= (term != "dumb")
    assert steers(COLOUR.sub("", shown)) == []


@pytest.mark.parametrize("words", [["stats"], ["show", "--no-pager"]], ids=" ".join)
def test_our_own_colours_are_seen(words: list[str], tmp_path: Path) -> None:
    """Our own colors are used, and are the only escape sequences."""
    (tmp_path / "in.jsonl").write_text(json.dumps({**PAIR, "id": None}) + "\n")
    shown = on_a_terminal(tmp_path, *words, "in.jsonl", kind="xterm-256color")
    assert re.search("\x1b\\[[0-9;]+m", shown)
    assert "u001b" not in shown
    assert steers(re.sub("\x1b\\[[0-9;]*m", "", shown)) == []
