"""The options of run, and runs of recipes."""

import io
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from command_call import called

from prefpairs.cli.commands.dedupe import dedupe
from prefpairs.cli.commands.filter import filter  # noqa: A004 - the word that is typed
from prefpairs.cli.commands.pair import pair
from prefpairs.cli.commands.run import run
from prefpairs.cli.commands.sample import sample
from prefpairs.cli.commands.split import split
from prefpairs.cli.commands.verify import VerifyOptions, verify
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.errors import (
    BadRecords,
    FileError,
    FilesDiffer,
    GateNotMet,
    InputChanged,
    NothingCameOut,
    UnknownWord,
    UsageError,
)

RECIPE = """\
[read]
inputs = ["runs/in.jsonl"]
[pair]
strategy = "exhaustive"
min_gap = 0.25
[dedupe]
by = "chosen"
[filter]
max_length_ratio = 3
[sample]
per_group = 2
order = "shuffle"
"""
WHOLE = '[write]\noutput = "data/o.jsonl"\n'
SIDES = '[split]\nval_fraction = 0.5\nexact = true\n[write]\nout_dir = "data"\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve questions with four answers each, and folders for results."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "data"):
        Path(name).mkdir()
    rows = [
        {"prompt": f"Q{number // 4}", "response": f"A{number}", "score": number % 4 / 4}
        for number in range(48)
    ]
    Path("runs/in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def _run(text: str | None = RECIPE + WHOLE, **words: Any) -> None:
    if text is not None:
        Path("recipe.toml").write_text(text, "utf-8")
    called(run, **{"quiet": True, **words})


def _files(*folders: str) -> dict[str, bytes]:
    found: Iterable[Path] = (path for folder in folders for path in Path(folder).rglob("*"))
    return {str(path): path.read_bytes() for path in sorted(found) if path.is_file()}


def _manifest(path: str = "data/manifest.json") -> Any:
    return json.loads(Path(path).read_bytes())


# Results -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "files", "pairs"),
    [
        (RECIPE + WHOLE, ["data/o.jsonl"], [24]),
        (RECIPE + SIDES, ["data/train.jsonl", "data/val.jsonl"], [12, 12]),
    ],
)
def test_run(
    capfd: pytest.CaptureFixture[str], text: str, files: list[str], pairs: list[int]
) -> None:
    """Only results and their manifest are written; a summary is printed."""
    _run(text, quiet=False)
    assert [*_files("data")] == sorted([*files, "data/manifest.json"])
    assert [len(Path(path).read_bytes().splitlines()) for path in files] == pairs
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(f"wrote {', '.join([*files, 'data/manifest.json'])}\n")


@pytest.mark.parametrize("compressed", ["", ".gz"])
def test_same_as_the_commands(compressed: str) -> None:
    """The commands one by one write the same bytes."""
    _run(RECIPE + SIDES)
    one, two = (f"{name}.jsonl{compressed}" for name in ("one", "two"))
    called(
        pair,
        paths=["runs/in.jsonl"],
        strategy="exhaustive",
        min_gap=0.25,
        output=one,
        quiet=True,
    )
    called(dedupe, paths=[one], by="chosen", output=two, quiet=True)
    called(filter, paths=[two], max_length_ratio=3, output=one, quiet=True)
    called(sample, paths=[one], per_group=2, order="shuffle", output=two, quiet=True)
    called(split, paths=[two], val_fraction=0.5, exact=True, out_dir="piped", quiet=True)
    for side in ("train", "val"):
        assert Path("data", f"{side}.jsonl").read_bytes() == (
            Path("piped", f"{side}.jsonl").read_bytes()
        )


def test_pairs_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """Without [write], there is no file and no manifest."""
    _run(RECIPE)
    assert len(capfd.readouterr().out.splitlines()) == 24
    assert sorted(os.listdir()) == ["data", "recipe.toml", "runs"]
    assert os.listdir("data") == []


def test_recipe_of_another_name(capfd: pytest.CaptureFixture[str]) -> None:
    """Paths in a recipe are relative to the working directory."""
    Path("runs/r.toml").write_text(RECIPE + WHOLE, "utf-8")
    _run(None, recipe="runs/r.toml", settings=["sample.per_group=1"])
    assert (len(Path("data/o.jsonl").read_bytes().splitlines()), capfd.readouterr().err) == (12, "")
    assert _manifest()["recipe"]["path"] == "../runs/r.toml"


def test_sides_of_an_earlier_run() -> None:
    """Splits of an earlier run are removed."""
    _run(RECIPE + SIDES, settings=["split.test_fraction=0.25"])
    assert "data/test.jsonl" in _files("data")
    _run(RECIPE + SIDES)
    assert [*_files("data")] == ["data/manifest.json", "data/train.jsonl", "data/val.jsonl"]


# Manifests ---------------------------------------------------------------------------------


def test_manifest_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Each option in effect, including seeds, and each file with its number of records."""
    Path("bench.jsonl").write_bytes(b'{"prompt": "Q0"}\n{"prompt": "Q1"}\n')
    _run(RECIPE + SIDES, settings=["dedupe.against=bench.jsonl", "sample.seed=7"])
    manifest = _manifest()
    assert [*manifest["stages"]] == ["read", "pair", "dedupe", "filter", "sample", "split"]
    assert manifest["stages"]["pair"] == {
        "strategy": "exhaustive",
        "min_gap": 0.25,
        "high_threshold": 0.7,
        "low_threshold": 0.4,
        "across_prompts": False,
        "rejected_per_chosen": 1,
        "num_candidates": False,
        "seed": 0,
        "yes_all": False,
        "order": "input",
        "assume_grouped": False,
    }
    assert manifest["stages"]["dedupe"] == {"by": "chosen", "conflicts": "keep"}
    assert manifest["stages"]["sample"] == {
        "per_group": 2,
        "order": "shuffle",
        "per": "pair",
        "seed": 7,
    }
    assert manifest["stages"]["split"] == {
        "val_fraction": 0.5,
        "test_fraction": 0.0,
        "by": "prompt",
        "seed": 0,
        "exact": True,
    }
    files = [manifest["recipe"], *manifest["inputs"], *manifest["outputs"]]
    assert [(file["path"], file.get("records")) for file in files] == [
        ("../recipe.toml", None),
        ("../runs/in.jsonl", 48),
        ("../bench.jsonl", None),
        ("train.jsonl", 10),
        ("val.jsonl", 10),
    ]
    assert manifest["counts"]["sides"] == {"train": 10, "val": 10}
    assert manifest["counts"]["stages"]["sample"]["kept"] == 20
    assert [name for name in ("inputs", "notes", "passed_over") if name in manifest["counts"]] == []
    verify(asked=VerifyOptions(manifest="data/manifest.json"))
    assert capsys.readouterr().err == "data/manifest.json: 5 files as they were\n"


def test_benchmark_of_the_name_of_an_input() -> None:
    """A reference with the name of an input does not get the input's number of records."""
    Path("in.jsonl").write_bytes(b'{"prompt": "Q0"}\n')
    _run(settings=["dedupe.against=in.jsonl"])
    assert [file.get("records") for file in _manifest()["inputs"]] == [48, None]


@pytest.mark.parametrize("text", [RECIPE + WHOLE, RECIPE + SIDES])
def test_same_bytes_on_a_second_run(text: str) -> None:
    """Nothing in the results depends on the time or the machine."""
    _run(text)
    first = _files("data")
    _run(text)
    assert _files("data") == first
    assert os.getcwd().encode() not in b"".join(first.values())


@pytest.mark.parametrize("text", [RECIPE + WHOLE, RECIPE + SIDES])
def test_same_bytes_in_another_place(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """The same tree elsewhere, and a run from another folder, give the same bytes."""
    _run(text)
    first = _files("data")
    Path("else/where/data").mkdir(parents=True)
    for name in ("runs", "recipe.toml"):
        (shutil.copytree if name == "runs" else shutil.copy)(name, f"else/where/{name}")
    monkeypatch.chdir("else/where")
    _run(text)
    assert _files("data") == first
    shutil.rmtree("data")
    Path("data").mkdir()
    monkeypatch.chdir("runs")
    to = "output=../data/o.jsonl" if text.endswith(WHOLE) else "out_dir=../data"
    _run(None, recipe="../recipe.toml", settings=["read.inputs=in.jsonl", f"write.{to}"])
    monkeypatch.chdir("..")
    assert _files("data") == first
    absolute = [
        f"read.inputs={os.getcwd()}/runs/in.jsonl",
        f"write.{to}".replace("..", os.getcwd()),
    ]
    _run(None, recipe=f"{os.getcwd()}/recipe.toml", settings=absolute)
    assert _files("data") == first


def test_standard_input_is_in_no_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is not listed, since it cannot be verified."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with open("runs/in.jsonl", "rb") as file:
        before = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            _run(settings=["read.inputs=-"])
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert (_manifest()["inputs"], _manifest()["outputs"][0]["records"]) == ([], 24)


def test_large_seed() -> None:
    """Seeds may be any integer, as on the command line."""
    _run(settings=[f"sample.seed={2**70}"])
    assert _manifest()["stages"]["sample"]["seed"] == 2**70


def test_manifest_elsewhere() -> None:
    """[write] sets the manifest's path; then there is none next to the output."""
    _run(settings=["write.manifest=m.json"])
    assert [*_files("data")] == ["data/o.jsonl"]
    assert _manifest("m.json")["outputs"][0]["path"] == "data/o.jsonl"


@pytest.mark.parametrize("kind", ["a file", "a folder"])
def test_an_input_behind_a_link(kind: str) -> None:
    """An input is listed under the name given, so `verify` notices if the link is changed."""
    Path("runs/1").mkdir()
    shutil.move("runs/in.jsonl", "runs/1/in.jsonl")
    shutil.copytree("runs/1", "runs/2")
    name = "runs/in.jsonl" if kind == "a file" else "runs/latest/in.jsonl"
    link, leads = (Path(name), "1/in.jsonl") if kind == "a file" else (Path(name).parent, "1")
    link.symlink_to(leads)
    Path("data").rmdir()
    Path("disk").mkdir()
    Path("data").symlink_to("disk")
    _run(RECIPE + SIDES, settings=[f"read.inputs={name}"])
    assert [file["path"] for file in _manifest()["inputs"]] == [f"../{name}"]
    assert [file["path"] for file in _manifest()["outputs"]] == ["train.jsonl", "val.jsonl"]
    link.unlink()
    link.symlink_to(leads.replace("1", "2"))
    verify(asked=VerifyOptions(manifest="data/manifest.json"))  # the same bytes
    with Path("runs/2/in.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(FilesDiffer, match=f"input ../{name} has "):
        verify(asked=VerifyOptions(manifest="data/manifest.json"))


def test_manifest_of_another_recipe() -> None:
    """Two recipes cannot share a manifest, and nothing is written."""
    _run()
    before = _files("data")
    shutil.copy("recipe.toml", "other.toml")
    with pytest.raises(UsageError, match="is the manifest of"):
        _run(None, recipe="other.toml", settings=["sample.per_group=1"])
    assert _files("data") == before


# Before the run ----------------------------------------------------------------------------


def test_dry_run(capfd: pytest.CaptureFixture[str]) -> None:
    """--dry-run prints the plan to standard output; no file appears or changes."""
    _run(dry_run=True, depfile="x.d", summary="s.json", settings=["pair.min_gap=0.5"])
    captured = capfd.readouterr()
    assert captured.err == ""
    assert captured.out == (
        "recipe      recipe.toml\n"
        f"read        runs/in.jsonl ({os.path.getsize('runs/in.jsonl'):,} bytes)\n"
        'pair        strategy = "exhaustive", min_gap = 0.5\n'
        'dedupe      by = "chosen"\n'
        "filter      max_length_ratio = 3\n"
        'sample      per_group = 2, order = "shuffle"\n'
        "write       data/o.jsonl\n"
        "write       data/manifest.json\n"
    )
    assert [*_files(".")] == ["recipe.toml", "runs/in.jsonl"]


def test_dry_run_over_an_earlier_one() -> None:
    """Old files stay, with their times."""
    _run(RECIPE + SIDES)
    before = {path: os.stat(path).st_mtime_ns for path in _files("data")}
    _run(RECIPE + SIDES, dry_run=True, settings=["split.test_fraction=0.25"])
    assert {path: os.stat(path).st_mtime_ns for path in _files("data")} == before


@pytest.mark.parametrize(
    ("text", "words", "error"),
    [
        (RECIPE, {"depfile": "-"}, UsageError),
        (RECIPE, {"settings": ["write.manifest=-"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.output=o.parquet"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.output=recipe.toml"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.output=./runs/in.jsonl"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.manifest=runs/in.jsonl"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.manifest=recipe.toml"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.manifest=data/o.jsonl"]}, UsageError),
        (RECIPE + WHOLE, {"settings": ["write.manifest=none/m.json"]}, FileError),
        (RECIPE + WHOLE, {"settings": ["write.output=none/o.jsonl"]}, FileError),
        (RECIPE + WHOLE, {"settings": ["write.summary=data/o.jsonl"]}, UsageError),
        (RECIPE + WHOLE, {"depfile": "data/manifest.json"}, UsageError),
        (RECIPE + WHOLE, {"depfile": "recipe.toml"}, UsageError),
        (RECIPE + WHOLE, {"summary": "recipe.toml"}, UsageError),
        (RECIPE + WHOLE, {"summary": "-"}, UsageError),
        (RECIPE + SIDES, {"summary": "data/test.jsonl"}, UsageError),
        (RECIPE + SIDES, {"settings": ["write.manifest=data/test.jsonl"]}, UsageError),
        (RECIPE + WHOLE, {"require": ["pairs"]}, UsageError),
        (RECIPE + WHOLE, {"require": ["oddity>=1"]}, UnknownWord),
        (RECIPE + WHOLE, {"settings": ["write.require=oddity>=1"]}, UnknownWord),
        (RECIPE + WHOLE, {"settings": ["write.require=sides.val=1"]}, UsageError),
        (RECIPE + WHOLE, {"recipe": "none.toml"}, FileError),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_contradictory_options(
    text: str, words: dict[str, Any], error: type[Exception], *, keep: bool
) -> None:
    """Contradictory options are rejected before writing, and no input is overwritten."""
    Path("recipe.toml").write_text(text, "utf-8")
    before = _files(".")
    with pytest.raises(error):
        _run(None, keep_if_same=keep, **words)
    assert _files(".") == before


def test_depfile_that_cannot_be() -> None:
    """A name that make cannot represent is rejected before anything is written."""
    shutil.copy("runs/in.jsonl", "a;b.jsonl")
    with pytest.raises(UsageError, match="make has no way"):
        _run(settings=["read.inputs=a;b.jsonl"], depfile="x.d")
    assert os.listdir("data") == []


def test_names_that_are_no_text() -> None:
    """A name that JSON cannot represent is rejected before anything is written."""
    odd = os.fsdecode(b"odd\xff.jsonl")
    shutil.copy("runs/in.jsonl", odd)
    with pytest.raises(UsageError, match="not UTF-8"):
        _run(settings=[f"read.inputs={odd}"])
    assert os.listdir("data") == []


def test_line_of_a_wrong_key() -> None:
    """The error has the line of the key."""
    with pytest.raises(UsageError) as caught:
        _run(f"{RECIPE}{WHOLE}outptu = 3\n")
    assert error_sentences(caught.value)[0] == ["recipe.toml:15: unknown word in [write]: outptu"]


# Ends of runs ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [RECIPE + WHOLE, RECIPE + SIDES])
@pytest.mark.parametrize("keep", [False, True])
def test_run_that_fails(text: str, *, keep: bool) -> None:
    """A gate, an empty result or a bad row keeps the old files, and writes no depfile."""
    _run(text)
    before = _files("data")
    with pytest.raises(GateNotMet):
        _run(text, require=["pairs>=99"], depfile="x.d", keep_if_same=keep)
    with pytest.raises(NothingCameOut):
        _run(text, settings=["filter.min_gap=9"], depfile="x.d", keep_if_same=keep)
    with open("runs/in.jsonl", "ab") as file:
        file.write(b"{torn\n")
    with pytest.raises(BadRecords):
        _run(text, depfile="x.d", keep_if_same=keep)
    assert _files("data") == before
    assert sorted(os.listdir()) == ["data", "recipe.toml", "runs"]


def test_gates_and_summaries_of_recipe_and_command_line() -> None:
    """Gates of both apply; for single values, the command line overrides [write]."""
    written = 'require = "pairs>=1"\nsummary = "w.json"\n'
    _run(f"{RECIPE}{WHOLE}{written}")
    assert [*_files(".")][-1] == "w.json"
    _run(f"{RECIPE}{WHOLE}{written}", summary="c.json")
    assert json.loads(Path("c.json").read_bytes())["pairs"] == 24
    Path("w.json").unlink()
    for words, gate in (
        ({"require": ["pairs>=99"]}, "pairs>=99"),
        ({"settings": ["write.require=pairs>=98"], "require": ["pairs>=99"]}, "pairs>=98"),
        ({"settings": ["write.require=['pairs>0', 'pairs>97']"]}, "pairs>97"),
    ):
        with pytest.raises(GateNotMet) as caught:
            _run(f"{RECIPE}{WHOLE}{written}", **words)
        assert (caught.value.gate, caught.value.actual) == (gate, 24)
    assert Path("w.json").exists()


def test_quiet_recipe(capfd: pytest.CaptureFixture[str]) -> None:
    """The keys quiet and allow_empty work in [write]."""
    text = f"{RECIPE}{WHOLE}quiet = true\nallow_empty = true\n"
    _run(text, quiet=False, settings=["filter.min_gap=9"])
    assert capfd.readouterr().err == ""
    assert Path("data/o.jsonl").read_bytes() == b""
    assert _manifest()["outputs"][0]["records"] == 0


def test_gate_on_a_stage() -> None:
    """With [pair], the summary has candidates and stages, without it rows."""
    _run(
        require=[
            "candidates.kept==48",
            "stages.sample.kept==24",
            "stages.dedupe.dropped.duplicate>0",
        ]
    )
    shutil.copy("data/o.jsonl", "pairs.jsonl")
    text = '[read]\ninputs = "pairs.jsonl"\n[sample]\nmax_pairs = 5\n'
    _run(text + WHOLE, require=["stages.sample.kept==5", "rows.read==24"])
    with pytest.raises(UnknownWord):
        _run(text + WHOLE, require=["candidates.kept==48"])


def test_input_that_changes_under_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """No manifest lists a file that changed during the run, even with the same size and time."""
    check = "prefpairs.engine.outputs.required_counts.Gate.check"

    def meddle(*_: object) -> None:
        with open("recipe.toml", "ab") as file:
            file.write(b"# later\n")

    monkeypatch.setattr(check, meddle)
    with pytest.raises(InputChanged) as caught:
        _run(require=["pairs>0"])
    assert caught.value.path == "recipe.toml"
    assert not Path("data/manifest.json").exists()


# With make ---------------------------------------------------------------------------------


def test_depfile() -> None:
    """The manifest depends on the recipe and on all files that were read."""
    Path("a b.jsonl").write_bytes(b'{"prompt": "Q0"}\n')
    _run(depfile="x.d", settings=["dedupe.against=a b.jsonl"])
    assert Path("x.d").read_bytes() == (
        b"data/manifest.json: recipe.toml runs/in.jsonl a\\ b.jsonl\n"
        b"\nrecipe.toml:\n\nruns/in.jsonl:\n\na\\ b.jsonl:\n"
    )


@pytest.mark.parametrize(
    ("settings", "target"), [(["write.manifest=m.json"], "m.json"), ([], "data/manifest.json")]
)
def test_target_of_a_depfile(settings: list[str], target: str) -> None:
    """The target is the manifest, wherever it is."""
    _run(depfile="x.d", settings=settings)
    assert Path("x.d").read_text("utf-8").startswith(f"{target}: ")


@pytest.mark.parametrize("text", [RECIPE + WHOLE, RECIPE + SIDES])
def test_keep_if_same(text: str) -> None:
    """Unchanged files keep their time; the manifest gets a new one each time."""
    _run(text, keep_if_same=True)
    results = [path for path in _files("data") if path != "data/manifest.json"]
    for path in _files("data"):
        os.utime(path, (1, 1))
    _run(text, keep_if_same=True)
    assert [os.stat(path).st_mtime for path in results] == [1] * len(results)
    assert os.stat("data/manifest.json").st_mtime > 1
    before = _files("data")
    _run(text, keep_if_same=True, settings=["sample.seed=5"])
    assert [os.stat(path).st_mtime > 1 for path in results] == [
        before[path] != content for path, content in _files("data").items() if path in results
    ]
    assert [path for path in results if os.stat(path).st_mtime > 1] != []


def test_side_that_stays_while_another_changes() -> None:
    """Each split is compared by itself."""
    text = RECIPE.replace('order = "shuffle"\n', "") + SIDES.replace("exact = true\n", "")
    _run(text, keep_if_same=True)
    for path in _files("data"):
        os.utime(path, (1, 1))
    val = Path("data/val.jsonl")
    val.write_bytes(val.read_bytes() + b"\n")
    _run(text, keep_if_same=True)
    assert os.stat("data/train.jsonl").st_mtime == 1
    assert os.stat(val).st_mtime > 1


def test_without_keep_if_same() -> None:
    """Without it, all files get a new time."""
    for text in (RECIPE + WHOLE, RECIPE + SIDES):
        _run(text)
        for path in _files("data"):
            os.utime(path, (1, 1))
        _run(text)
        names = ["data/o.jsonl"] if text.endswith(WHOLE) else ["data/train.jsonl", "data/val.jsonl"]
        assert all(os.stat(path).st_mtime > 1 for path in [*names, "data/manifest.json"])


def test_depfile_of_nothing() -> None:
    """Without a manifest or a file, a depfile would have no target."""
    with pytest.raises(UsageError):
        _run(RECIPE, depfile="x.d")
