"""Errors and notes about mistyped names."""

import json
from pathlib import Path

import pytest

from prefpairs.cli.main import main

OUTPUT = "--output FILE: Output file (default: standard output)."


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"prompt": "Q", "chosen": "A", "rejected": "B", "meta": {"example_id": 1}}
    Path("pairs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    rows = [{"prompt": "Q", "response": answer, "score": len(answer)} for answer in ("A", "BB")]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("pari", "unknown command: pari", "did you mean pair?"),
        ("version", "unknown command: version", "did you mean --version?"),
        ("frobnicate", "unknown command: frobnicate", "`prefpairs --help` lists the commands"),
        ("--verison", "unknown option: --verison", "did you mean --version?"),
        ("--min-gap 1", "unknown option: --min-gap", "options stand behind the command"),
        ("pair --min-gpa 0.2", "unknown option of pair: --min-gpa", "did you mean --min-gap?"),
        ("pair --min_gpa 0.2", "unknown option of pair: --min-gpa", "did you mean --min-gap?"),
        ("pair --qqqq", "unknown option of pair: --qqqq", "`prefpairs pair --help` lists them"),
        ("pair -z", "unknown option of pair: -z", "`prefpairs pair --help` lists them"),
        ("dedupe --strategy x", "dedupe has no --strategy", "pair, stats, report and show have it"),
        (
            "dedupe --min-gap 1",
            "dedupe has no --min-gap",
            "pair, filter, stats, report and show have it",
        ),
        ("pair --min-gap", "--min-gap needs a value", "--min-gap GAP: Minimum score difference."),
        ("pair -o", "-o needs a value", OUTPUT),
        ("pair --quiet=1", "--quiet takes no value", "--quiet: Print only errors."),
        (
            "pair --min-gap --quiet",
            "--min-gap needs a value, and --quiet is an option",
            "--min-gap GAP: Minimum score difference.",
        ),
        ("pair --summary --quiet", "--summary needs a value, and --quiet is an option", ""),
        ("pair --keep --quiet", "--keep needs a value, and --quiet is an option", ""),
        (
            "pair --min-gap abc",
            "--min-gap is abc, expected a number",
            "--min-gap GAP: Minimum score difference.",
        ),
        ("pair --min-gap 0,2", "--min-gap is 0,2, expected a number", "did you mean 0.2?"),
        (
            "pair --workers 1.5",
            "--workers is 1.5, expected a whole number",
            "--workers N: Number of threads that read a file",
        ),
        ("pair --seed 1,5", "--seed is 1,5, expected a whole number", "--seed N: Seed of random"),
        ("pair --min-gap=", "--min-gap is empty", "is a variable of your shell empty?"),
        ("pair --min-gap -1", "--min-gap is -1, expected 0 or more", ""),
        ("sample --fraction 1.5", "--fraction is 1.5, expected 0 to 1", ""),
        (
            "pair -n x",
            "--limit is x, expected a whole number",
            "--limit N: Read only the first N rows.",
        ),
        ("export pairs.jsonl", "export needs --to TARGET", "--to TARGET: The trainer: trl"),
        ("verify", "verify needs a MANIFEST", "usage: prefpairs verify MANIFEST"),
        ("verify a b", "unexpected: b", "usage: prefpairs verify MANIFEST"),
        ("explain a b c", "unexpected: b c", "usage: prefpairs explain [CODE]"),
        ("explain no_scor", "unknown reason: no_scor", "did you mean no_score?"),
        (
            "pair --strategy radnom rows.jsonl",
            "--strategy radnom: unknown strategy",
            "did you mean random?",
        ),
        (
            "pair --from nemogym rows.jsonl",
            "--from nemogym: unknown source",
            "did you mean nemo-gym?",
        ),
        ("pair --to TRL rows.jsonl", "--to TRL: unknown target", "did you mean trl?"),
        ("pair --to opnai rows.jsonl", "--to opnai: unknown target", "did you mean openai?"),
        ("dedupe --from trll x", "--from trll: unknown format of pairs", "did you mean trl?"),
        ("pair --on-error skp rows.jsonl", "unknown --on-error: skp", "did you mean skip?"),
        (
            "pair --keep-rows maskd rows.jsonl",
            "--keep-rows maskd: unknown reason",
            "did you mean masked?",
        ),
        (
            "pair --score scor rows.jsonl",
            "--score scor: no row has this field",
            "did you mean score?",
        ),
        (
            "pair --require pair>=1 rows.jsonl",
            "unknown count for --require: pair",
            "did you mean pairs?",
        ),
        (
            "split --by promtp --out-dir d pairs.jsonl",
            "--by promtp: pairs have no such field",
            "did you mean prompt?",
        ),
        (
            "split --by example_id --out-dir d pairs.jsonl",
            "--by example_id: pairs have no such field",
            "prompt, group, or a field of meta",
        ),
    ],
)
def test_what_is_said(capfd: pytest.CaptureFixture[str], words: str, error: str, hint: str) -> None:
    """Exits 2 with what is wrong and a suggestion."""
    assert main(words.split(" ")) == 2
    out, err = capfd.readouterr()
    first, _, rest = err.partition("\n")
    assert (out, first) == ("", f"error: {error}")
    assert rest.startswith(f"\nhint: {hint}") if hint else rest == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pair row.jsonl", "error: row.jsonl: no such file\n\nhint: did you mean rows.jsonl?\n"),
        ("pair rows.jsno", "error: rows.jsno: no such file\n\nhint: did you mean rows.jsonl?\n"),
        (
            "pair ./rows.jsnol",
            "error: ./rows.jsnol: no such file\n\nhint: did you mean ./rows.jsonl?\n",
        ),
        ("run rows.tmol", "error: rows.tmol: No such file or directory\n"),
        (
            "run rows.json",
            "error: rows.json: No such file or directory\n\nhint: did you mean rows.jsonl?\n",
        ),
        ("pair other.csv", "error: other.csv: no such file\n"),
        ("pair nowhere/rows.jsonl", "error: nowhere/rows.jsonl: no such file\n"),
    ],
)
def test_files(capfd: pytest.CaptureFixture[str], words: str, said: str) -> None:
    """A file with a similar name is suggested, not one with only the same extension."""
    assert main(words.split(" ")) == 5
    assert capfd.readouterr() == ("", said)


def test_path_that_some_rows_may_have(capfd: pytest.CaptureFixture[str]) -> None:
    """A --keep path that no row has is a note, not an error."""
    assert main(["pair", "--keep", "promt", "rows.jsonl", "-o", "out.jsonl"]) == 0
    said = "note: --keep promt: no row has this field; did you mean prompt?\n"
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("name", ["note", "größe", "extra.note"])
@pytest.mark.parametrize("source", ["generic", "nemo_gym"])
def test_path_that_only_a_later_row_has(
    capfd: pytest.CaptureFixture[str], source: str, name: str
) -> None:
    """A path is searched in rows of the usual shape, too, in any file and JSON spelling."""
    asked = {"responses_create_params": {"input": "Q"}}
    rows = {
        "generic": [{"prompt": "Q", "response": "A" * size, "score": size} for size in range(1, 9)],
        "nemo_gym": [
            {**asked, "response": {"output": [_said("A" * size)]}, "reward": size}
            for size in range(1, 9)
        ],
    }[source]
    first, _, second = name.partition(".")
    rows[5][first] = {second: "x"} if second else "x"
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert main(["pair", "--ignore", f"{name},notes", "rows.jsonl", "-o", "out.jsonl"]) == 0
    notes = [line for line in capfd.readouterr().err.splitlines() if "no row has this" in line]
    assert [note.partition(";")[0] for note in notes] == [
        "note: --ignore notes: no row has this field"
    ]


def _said(text: str) -> dict[str, object]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def test_field_of_meta_that_no_pair_has(capfd: pytest.CaptureFixture[str]) -> None:
    """A meta field that no pair has gives an empty result, with a suggestion."""
    assert main(["split", "--by", "meta.exmple_id", "--out-dir", "d", "pairs.jsonl"]) == 3
    said = "note: no pair has meta.exmple_id; did you mean meta.example_id?\n"
    assert said in capfd.readouterr().err


def test_field_of_a_benchmark(capfd: pytest.CaptureFixture[str]) -> None:
    """For a missing reference field, the hint suggests a field of its row."""
    words = ["dedupe", "--against", "rows.jsonl", "--against-field", "promt", "pairs.jsonl"]
    assert main(words) == 1
    assert capfd.readouterr().err == (
        "error: rows.jsonl:1: no promt\n\nhint: did you mean prompt?\n"
    )
