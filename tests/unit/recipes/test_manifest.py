"""Manifests: the options and files of a recipe's run, and its results."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import prefpairs
from prefpairs.cli.recipe import GROUPS, Recipe, read_recipe
from prefpairs.engine.outputs.destination import Destination
from prefpairs.engine.outputs.manifest import (
    FileModel,
    ManifestModel,
    ManifestWriter,
    depfile_of,
    differences,
    read_manifest,
)
from prefpairs.errors import BadInput, FileError, UsageError
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.ledger import Ledger
from prefpairs.plan import InputPlan, ManifestPlan, Plan, WritePlan
from prefpairs.stages.sample import Sample

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Sample, "check", lambda _: None)  # it has no size
    for name in ("data", "runs"):
        Path(name).mkdir()
    Path("r.toml").write_bytes(b"[sample]\n")
    Path("runs/a.jsonl").write_bytes(b"abc")
    Path("data/train.jsonl").touch()


def _recipe(*settings: str) -> Recipe:
    recipe = read_recipe("r.toml", settings)
    recipe.group("sample", Sample)
    return recipe


def _writer(path: str, recipe: str = "r.toml", **more: Any) -> ManifestWriter:
    """The manifest writer of a run, by default without inputs."""
    tables = more.pop("tables", {})
    manifest = ManifestPlan(path=path, recipe=recipe, tables=tables)
    plan = Plan(manifest=manifest, **{"read": InputPlan(), **more})
    return ManifestWriter(manifest, Destination(plan))


def _written(
    path: str,
    *inputs: str,
    **more: Any,
) -> bytes:
    """The manifest of a run that read these files and wrote to a pipe."""
    read = InputPlan(inputs=[Input(name, name) for name in inputs])
    writer = _writer(path, **{"tables": _recipe().settled, "read": read, **more})
    with FileTransaction(hashed=True) as transaction:
        writer.begin(transaction)
        writer.finish({}, Ledger(), transaction)
    return Path(path).read_bytes()


def _manifest(path: str = "data/manifest.json") -> bytes:
    """The manifest of a run that read `runs/a.jsonl` and wrote no rows to `data/train.jsonl`."""
    tables, read = _recipe().settled, InputPlan(inputs=[Input("runs/a.jsonl", "a.jsonl")])
    manifest = ManifestPlan(path=path, recipe="r.toml", tables=tables)
    plan = Plan(read=read, write=WritePlan(output="data/train.jsonl"), manifest=manifest)
    return _of_a_run(plan, b"", 7, 0, {"pairs": 0})


def _of_a_run(plan: Plan, content: bytes, rows: int, lines: int, counts: Any) -> bytes:
    """The manifest of a run that read `a.jsonl` and wrote this."""
    assert plan.manifest is not None
    assert plan.manifest.path is not None
    destination, ledger = Destination(plan), Ledger(rows_by_input={"a.jsonl": rows})
    writer = ManifestWriter(plan.manifest, destination)
    with FileTransaction(hashed=True) as transaction:
        writer.begin(transaction)
        with destination.opened(transaction) as outputs:
            for name, output in outputs.items():
                output.write(content)
                ledger.lines_written[name] = lines
        writer.finish(counts, ledger, transaction)
    return Path(plan.manifest.path).read_bytes()


def test_manifest() -> None:
    """All options, inputs and outputs; paths are relative to the manifest."""
    recipe = _recipe("sample.max_pairs=5", "write.output=o.jsonl")
    recipe.groups("read", *GROUPS["read"])
    read = [Input("runs/a.jsonl", "a.jsonl"), Input("data/train.jsonl", "train.jsonl")]
    plan = Plan(
        read=InputPlan(inputs=read),
        write=WritePlan(output="runs/o.jsonl"),
        manifest=ManifestPlan(path="data/manifest.json", recipe="r.toml", tables=recipe.settled),
    )
    counts = {"pairs": 3, "notes": ["n"], "inputs": [], "passed_over": [], "gap": None}
    manifest = _of_a_run(plan, b"abc", 7, 3, counts)
    assert json.loads(manifest) == {
        "manifest": 1,
        "prefpairs": prefpairs.__version__,
        "identity": 2,
        "recipe": {
            "path": "../r.toml",
            "size": 9,
            "sha256": "991ac0e642049e2ab832c052959681acf1aa5dc6b423473150cf6710420ff959",
        },
        "stages": {
            "sample": {"max_pairs": 5, "order": "input", "per": "pair", "seed": 0},
            "read": {
                "max_line": "64MB",
                "on_error": "fail",
                "from": "auto",
                "lower_is_better": False,
                "cast_score": False,
                "group_by": "auto",
                "step_name": "dpo_candidate_move",
                "response_part": "full",
                "reasoning": "keep",
            },
        },
        "inputs": [
            {"path": "../runs/a.jsonl", "size": 3, "sha256": ABC, "records": 7},
            {"path": "train.jsonl", "size": 0, "sha256": NOTHING},
        ],
        "outputs": [{"path": "../runs/o.jsonl", "size": 3, "sha256": ABC, "records": 3}],
        "counts": {"pairs": 3, "gap": None},
    }
    assert manifest.endswith(b"}\n")


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("data/m.json", ["../r.toml", "../runs/a.jsonl", "train.jsonl"]),
        ("m.json", ["r.toml", "runs/a.jsonl", "data/train.jsonl"]),
        ("./runs/../data/m.json", ["../r.toml", "../runs/a.jsonl", "train.jsonl"]),
        ("link/m.json", ["../r.toml", "../runs/a.jsonl", "train.jsonl"]),
    ],
)
def test_paths_are_seen_from_the_manifest(path: str, seen: list[str]) -> None:
    """Paths are relative to the manifest, wherever it is, also through links."""
    Path("link").symlink_to("data")
    for prefix in ("", f"{os.getcwd()}/"):
        manifest = ManifestModel.model_validate_json(_manifest(f"{prefix}{path}"))
        assert manifest.recipe is not None
        files = [manifest.recipe, *manifest.inputs, *manifest.outputs]
        assert [file.path for file in files] == seen


def _seen(manifest: str, *paths: str) -> list[str]:
    content = json.loads(_written(manifest, *paths))
    return [file["path"] for file in content["inputs"]]


def test_files_behind_links() -> None:
    """Names are kept as given; a link is resolved only before a `..`."""
    Path("runs/link").symlink_to("../data")
    Path("data/latest.jsonl").symlink_to("train.jsonl")
    named = ["runs/link/train.jsonl", "data/latest.jsonl", "runs/a.jsonl"]
    assert _seen("m.json", *named) == named
    assert _seen("data/m.json", *named[:2]) == ["train.jsonl", "latest.jsonl"]
    assert _seen("runs/m.json", *named[:2]) == ["link/train.jsonl", "../data/latest.jsonl"]
    assert _seen("m.json", "runs/link/../runs/a.jsonl", "runs/../data/./latest.jsonl") == [
        "runs/a.jsonl",
        "data/latest.jsonl",
    ]


_PARTS = st.lists(st.sampled_from(["a", "b", "to_a", "to_b", "up", "..", "."]), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_PARTS, _PARTS, st.sampled_from(["f", "to_f"]), st.booleans())
def test_a_path_leads_to_its_file(
    tmp_path: Path, folder: list[str], parts: list[str], name: str, absolute: bool
) -> None:
    """Paths are right for any links in them and in the manifest's; the last part is kept."""
    if not os.path.lexists("a"):
        for place in ("a/b", "b/a", "a/a", "b/b"):
            Path(place).mkdir(parents=True)
        for place in (".", *(os.path.relpath(path) for path in tmp_path.rglob("[ab]"))):
            Path(place, "f").write_text(place)
            Path(place, "to_f").symlink_to("f")
            Path(place, "up").symlink_to("..")
            for link in ("a", "b"):
                Path(place, f"to_{link}").symlink_to(tmp_path / link)
    path = os.path.join(*parts, name)
    home = os.path.join(".", *folder)
    assume(os.path.isfile(path) and os.path.isdir(home))
    named = f"{os.getcwd()}/{path}" if absolute else path
    [seen] = _seen(os.path.join(home, "m.json"), named)
    assert os.path.samefile(os.path.join(os.path.realpath(home), seen), path)
    assert os.path.basename(seen) == name


@pytest.mark.parametrize(
    "word",
    ["inputs", "against", "quarantine", "temp_dir", "tokenizer", "template", "prompt_template"],
)
def test_options_that_name_files(word: str) -> None:
    """Options that name files depend on the machine and are omitted."""
    tables = {"read": {word: "/home/me/x", "limit": 3}}
    manifest = json.loads(_written("m.json", tables=tables))
    assert manifest["stages"]["read"] == {"limit": 3}


def test_what_is_written_is_no_option() -> None:
    """Only options that affect the bytes of the result are listed."""
    tables = {**_recipe().settled, "write": {"quiet": True}}
    assert [*json.loads(_written("m.json", tables=tables))["stages"]] == ["sample"]


def test_recipe_that_cannot_be_read_twice() -> None:
    """A recipe from a pipe is omitted, and `verify` does without it."""
    os.mkfifo("pipe.toml")
    content = _written("m.json", "runs/a.jsonl", recipe="pipe.toml")
    assert "recipe" not in json.loads(content)
    assert differences("m.json", read_manifest("m.json")) == []


# Reading and comparing ---------------------------------------------------------------------


def test_manifest_comes_back() -> None:
    """A manifest is read as it was written."""
    _manifest()
    manifest = read_manifest("data/manifest.json")
    assert manifest.inputs == [FileModel(path="../runs/a.jsonl", size=3, sha256=ABC, records=7)]
    assert manifest.counts == {"pairs": 0}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"manifest": 2}, "a manifest of format 2, not 1"),
        ({"manifest": "1"}, "no manifest: manifest: Input should be a valid integer"),
        ({"inputs": [{"path": "x"}]}, "no manifest: inputs.0.size: Field required"),
        ({"inputs": None}, "no manifest: inputs: Input should be a valid array"),
        ({"other": 1}, "no manifest: other: Extra inputs are not permitted"),
    ],
)
def test_file_that_is_no_manifest(change: dict[str, Any], problem: str) -> None:
    """The error is about the first thing that is wrong."""
    Path("m.json").write_text(json.dumps({**json.loads(_manifest()), **change}), "utf-8")
    with pytest.raises(BadInput) as caught:
        read_manifest("m.json")
    assert (caught.value.path, caught.value.problem) == ("m.json", problem)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'"text"'])
def test_bytes_that_are_no_manifest(content: bytes) -> None:
    """These bytes are no manifest, either."""
    Path("m.json").write_bytes(content)
    with pytest.raises(BadInput, match="no manifest: file: "):
        read_manifest("m.json")


@pytest.mark.parametrize("name", ["none.json", "data"])
def test_manifest_that_is_not_there(name: str) -> None:
    """A missing manifest is an error of the file system."""
    with pytest.raises(FileError) as caught:
        read_manifest(name)
    assert caught.value.path == name


@pytest.mark.parametrize(
    ("path", "content", "sentences"),
    [
        ("runs/a.jsonl", b"abc", []),
        ("runs/a.jsonl", b"abd", ["input ../runs/a.jsonl has other bytes"]),
        ("runs/a.jsonl", b"", ["input ../runs/a.jsonl has 0 bytes, not 3"]),
        ("runs/a.jsonl", b"x" * 1234, ["input ../runs/a.jsonl has 1,234 bytes, not 3"]),
        ("runs/a.jsonl", None, ["input ../runs/a.jsonl is missing"]),
        ("r.toml", b"[filter]\n", ["recipe ../r.toml has other bytes"]),
        ("r.toml", b"[pair]\n", ["recipe ../r.toml has 7 bytes, not 9"]),
        ("data/train.jsonl", None, ["output train.jsonl is missing"]),
        ("data/train.jsonl", b"\n", ["output train.jsonl has 1 bytes, not 0"]),
    ],
)
def test_differences(path: str, content: bytes | None, sentences: list[str]) -> None:
    """A sentence for each file that has changed."""
    _manifest()
    if content is None:
        Path(path).unlink()
    else:
        Path(path).write_bytes(content)
    assert differences("data/manifest.json", read_manifest("data/manifest.json")) == sentences


def test_all_differences() -> None:
    """Recipe, inputs, outputs, in this order."""
    _manifest()
    for name in ("r.toml", "runs/a.jsonl", "data/train.jsonl"):
        Path(name).unlink()
    assert differences("data/manifest.json", read_manifest("data/manifest.json")) == [
        "recipe ../r.toml is missing",
        "input ../runs/a.jsonl is missing",
        "output train.jsonl is missing",
    ]


def test_manifest_that_moves_with_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole tree may be moved, and verified from anywhere, also through a link."""
    _manifest()
    Path("moved").mkdir()
    for name in ("data", "runs", "r.toml"):
        shutil.move(name, f"moved/{name}")
    Path("link.json").symlink_to("moved/data/manifest.json")
    for folder, path in ((".", "moved/data/manifest.json"), ("moved", "../link.json")):
        monkeypatch.chdir(folder)
        assert differences(path, read_manifest(path)) == []


# Replacing a manifest ----------------------------------------------------------------------


def test_manifest_of_the_same_recipe() -> None:
    """It may be replaced, however the recipe is spelled; so may a manifest without a recipe."""
    _writer("data/manifest.json").check()
    _manifest()
    Path("link.toml").symlink_to("r.toml")
    for recipe in ("r.toml", "./data/../r.toml", "link.toml"):
        _writer("data/manifest.json", recipe).check()
    os.mkfifo("pipe.toml")
    _written("m.json", recipe="pipe.toml")
    _writer("m.json").check()


def test_file_that_is_not_ours_to_write_over() -> None:
    """Another recipe's manifest, and any other file, are not replaced."""
    Path("m.json").write_bytes(b"{}")
    _manifest()
    Path("s.toml").write_bytes(b"[sample]\n")
    for path, problem in (
        ("m.json", "m.json is there, and is no manifest"),
        ("data/manifest.json", "data/manifest.json is the manifest of ../r.toml"),
    ):
        with pytest.raises(UsageError) as caught:
            _writer(path, "s.toml").check()
        assert (caught.value.problem, caught.value.hint) == (
            problem,
            "[write] manifest = FILE names another place, --force replaces it",
        )
        _writer(path, "s.toml", write=WritePlan(force=True)).check()


# Rules for make ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "inputs", "rule"),
    [
        ("m.json", [], "m.json: \n"),
        ("m.json", ["a"], "m.json: a\n\na:\n"),
        ("d/m.json", ["a", "b/c"], "d/m.json: a b/c\n\na:\n\nb/c:\n"),
        ("d d/m", ["a b", "c  d"], "d\\ d/m: a\\ b c\\ \\ d\n\na\\ b:\n\nc\\ \\ d:\n"),
        ("m", ["a$b"], "m: a$$b\n\na$$b:\n"),
        ("m", ["a#b"], "m: a\\#b\n\na\\#b:\n"),
        ("m", ["a:b"], "m: a\\:b\n\na\\:b:\n"),
        ("m", ["é"], "m: é\n\né:\n"),
    ],
)
def test_depfile(target: str, inputs: list[str], rule: str) -> None:
    """The depfile has one rule, and an empty one per input, so that make accepts missing inputs."""
    assert depfile_of(target, inputs) == rule.encode()


def test_depfile_of_names_that_are_no_text() -> None:
    """File names are bytes for make."""
    assert depfile_of("m", [os.fsdecode(b"a\xff")]) == b"m: a\xff\n\na\xff:\n"


@pytest.mark.parametrize(
    "name", [*(f"a{sign}b" for sign in ";|*?[]%~\t\n"), "a\\", "a&\\", "a (1)", "last "]
)
def test_names_that_make_cannot_hold(name: str) -> None:
    """Such names are rejected, and nothing in a name is executed."""
    for target, inputs in (("m", ["a", name]), (name, ["a"])):
        with pytest.raises(UsageError) as caught:
            depfile_of(target, inputs)
        assert caught.value.problem == f"--depfile: make has no way to write the name {name}"


def _make(inputs: Sequence[str]) -> tuple[bool, str]:
    """Whether make builds the manifest, and its messages."""
    Path("data.d").write_bytes(depfile_of("m.json", inputs))
    Path("Makefile").write_text("m.json:\n\t@echo built\n-include data.d\n", "utf-8")
    done = subprocess.run(
        ["make", "--silent", "--warn-undefined-variables", "m.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "built" in done.stdout, done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    "name",
    [
        "a.jsonl",
        "a b.jsonl",
        "two  blanks",
        " first",
        "a$b",
        "$(shell touch oops).jsonl",
        "${HOME}",
        "a#b",
        "#a",
        "a:b",
        "a::b",
        "C:a b#c$d",
        "a'b",
        'a"b',
        "a(b).jsonl",
        "a&b",
        "a,b",
        "é",
        "-a",
        "@a",
        "a!b",
        "{a}",
        "<a>",
        "a=b",
        "lr=0.1",
        "a+=b",
        "a:=b c",
        "a&",
        "a&&",
        "&",
        "a &",
        "a b&",
        "a=&",
        "a:&",
        "a$&",
        "a\\b",
        "a\\ b",
        "a\\\\ b",
        "a\\#b",
        "a\\:b",
        "a\\\\:b",
        "a\\&",
        "a\\=b",
        "a\\$b",
        ".PHONY",
    ],
)
def test_make_reads_it(name: str) -> None:
    """Make rebuilds the manifest only if a file is newer or missing."""
    for place, path in enumerate(("r.toml", name, "m.json")):
        Path(path).touch()
        os.utime(path, (place + 1, place + 1))
    assert _make(["r.toml", name]) == (False, "")
    os.utime(name, (9, 9))
    assert _make(["r.toml", name]) == (True, "")
    Path(name).unlink()
    assert _make(["r.toml", name]) == (True, "")
    assert not Path("oops").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("name", ["a b", "a$b", "a#b", "a:b", "d/m", "d/m&"])
def test_make_reads_the_target(name: str) -> None:
    """Make has a rule for the manifest itself."""
    Path("data.d").write_bytes(depfile_of(name, ["r.toml"]))
    Path("Makefile").write_text("-include data.d\n", "utf-8")
    done = subprocess.run(
        ["make", "--print-data-base", "--question", "r.toml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"\n{name}: r.toml\n" in done.stdout.replace("\\", "").replace("$$", "$")
