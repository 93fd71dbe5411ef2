"""The quarantine file of a failed run, as docs/reliability.md describes it."""

import json
from pathlib import Path

import pytest

from prefpairs.cli.main import main

ROWS = [{"prompt": "Q", "response": text, "score": score} for text, score in (("a", 1), ("b", 0))]
BAD = ["{oops", '{"prompt": "Q", "response": "c", "score": "low"}']


@pytest.mark.parametrize(
    ("options", "code", "aside"),
    [
        ("", 0, True),
        ("--require pairs>=5", 4, True),
        ("--min-gap 9", 3, True),
        ("--max-errors 1", 1, False),
    ],
    ids=["done", "a gate", "nothing came out", "too many are bad"],
)
def test_a_quarantine_is_whole_and_true_of_the_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, code: int, aside: bool
) -> None:
    """A failed run leaves the old file, or one that has each bad row once."""
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(ROWS[0]), *BAD, json.dumps(ROWS[1])]
    Path("in.jsonl").write_text("".join(f"{line}\n" for line in lines))
    for name in ("bad.jsonl", "out.jsonl"):
        Path(name).write_text("old\n")
    given = "pair in.jsonl --on-error quarantine --quarantine bad.jsonl -o out.jsonl -q"
    assert main(f"{given} {options}".split()) == code
    assert (Path("out.jsonl").read_text() == "old\n") == (code != 0)
    if aside:
        found = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
        assert [(row["line"], row["raw"]) for row in found] == [(2, BAD[0]), (3, BAD[1])]
    else:
        assert Path("bad.jsonl").read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bad.jsonl",
        "in.jsonl",
        "out.jsonl",
    ]
