"""Whether files still match a manifest."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from prefpairs.cli.commands.verify import VerifyOptions, verify
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.engine.outputs.destination import Destination
from prefpairs.engine.outputs.manifest import ManifestWriter
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import BadInput, FileError, FilesDiffer
from prefpairs.files.file_stamps import digest_file
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_file import Input
from prefpairs.ledger import Ledger
from prefpairs.plan import InputPlan, ManifestPlan, Plan, WritePlan


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest with a recipe, two inputs and an output."""
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_bytes(b"[sample]\n")
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_bytes(b"abc")
    inputs = [Input(name, name) for name in ("a.jsonl", "b.jsonl")]
    manifest = ManifestPlan(path="m.json", recipe="r.toml", tables={})
    write = WritePlan(output="o.jsonl")
    destination = Destination(Plan(read=InputPlan(inputs=inputs), write=write, manifest=manifest))
    writer = ManifestWriter(manifest, destination)
    with FileTransaction(hashed=True) as transaction:
        writer.begin(transaction)
        with destination.opened(transaction) as outputs:
            outputs[WHOLE].write(b"abc")
        writer.finish({}, Ledger(lines_written=Counter({WHOLE: 1})), transaction)


def _said(capsys: pytest.CaptureFixture[str], path: str = "m.json") -> str:
    verify(asked=VerifyOptions(manifest=path))
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the number of files that were checked to standard error."""
    assert _said(capsys) == "m.json: 4 files as they were\n"


@pytest.mark.parametrize("identity", [1, 3])
def test_another_identity_is_said(capsys: pytest.CaptureFixture[str], identity: int) -> None:
    """The files match, but a note says that a new run would give other IDs."""
    manifest = json.loads(Path("m.json").read_bytes()) | {"prefpairs": "0.1.0"}
    del manifest["identity"]
    Path("m.json").write_text(json.dumps(manifest | ({"identity": 3} if identity > 1 else {})))
    note, told = _said(capsys).splitlines()
    assert told == "m.json: 4 files as they were"
    assert note == (
        f"note: m.json: prefpairs 0.1.0 wrote it with identity version {identity}; this one has 2, "
        "so a new run gives other ids, samples and splits"
    )


def test_manifest_without_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    """A missing recipe is not counted."""
    manifest = json.loads(Path("m.json").read_bytes())
    manifest |= {"recipe": None, "inputs": []}
    Path("odd\x1b.json").write_text(json.dumps(manifest), "utf-8")
    assert _said(capsys, "odd\x1b.json") == "odd\\x1b.json: 1 file as they were\n"


def test_time_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the bytes of a file matter, not its time."""
    Path("a.jsonl").unlink()
    Path("a.jsonl").write_bytes(b"abc")
    assert _said(capsys) == "m.json: 4 files as they were\n"


def test_files_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence for each, and exit 1."""
    Path("r.toml").write_bytes(b"[filter]\n")
    Path("b.jsonl").write_bytes(b"")
    Path("o.jsonl").unlink()
    with pytest.raises(FilesDiffer) as caught:
        verify(asked=VerifyOptions(manifest="m.json"))
    assert (caught.value.exit_code, caught.value.path) == (1, "m.json")
    assert error_sentences(caught.value) == (
        [
            "recipe r.toml has other bytes",
            "input b.jsonl has 0 bytes, not 3",
            "output o.jsonl is missing",
        ],
        None,
    )
    assert capsys.readouterr().err == ""


def test_folder_in_the_place_of_a_file() -> None:
    """A folder is no regular file; the other files are still checked."""
    Path("o.jsonl").unlink()
    Path("o.jsonl").mkdir()
    Path("a.jsonl").unlink()
    with pytest.raises(FilesDiffer) as caught:
        verify(asked=VerifyOptions(manifest="m.json"))
    assert caught.value.differences == ["input a.jsonl is missing", "output o.jsonl is no file"]


def test_no_manifest() -> None:
    """A file of pairs is no manifest, and a missing file is an error."""
    with pytest.raises(BadInput, match="no manifest"):
        verify(asked=VerifyOptions(manifest="a.jsonl"))
    with pytest.raises(FileError):
        verify(asked=VerifyOptions(manifest="none.json"))


def test_devices_are_no_files() -> None:
    """A device is reported, and not read to its end."""
    manifest = json.loads(Path("m.json").read_bytes())
    manifest["inputs"][0]["path"] = "/dev/zero"
    Path("m.json").write_text(json.dumps(manifest))
    with pytest.raises(FilesDiffer) as caught:
        verify(asked=VerifyOptions(manifest="m.json"))
    assert caught.value.differences == ["input /dev/zero is no file"]


def test_no_name_holds_a_nul() -> None:
    """A manifest with a NUL in a name is invalid."""
    manifest = json.loads(Path("m.json").read_bytes())
    manifest["recipe"]["path"] = "a\0b"
    Path("m.json").write_text(json.dumps(manifest))
    with pytest.raises(BadInput):
        verify(asked=VerifyOptions(manifest="m.json"))


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "huge"])
def test_no_manifest_comes_out_of_a_device(kind: str) -> None:
    """Pipes, devices and huge files are rejected as manifests without being read."""
    path = kind if kind.startswith("/") else "strange.json"
    if kind == "pipe":
        os.mkfifo(path)
    if kind == "huge":
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(BadInput, match="no manifest: it "):
        verify(asked=VerifyOptions(manifest=path))


def test_a_pipe_in_the_place_of_a_file() -> None:
    """A pipe does not block, even if it appears after the file was checked."""
    Path("o.jsonl").unlink()
    os.mkfifo("o.jsonl")
    with pytest.raises(FilesDiffer) as caught:
        verify(asked=VerifyOptions(manifest="m.json"))
    assert caught.value.differences == ["output o.jsonl is no file"]
    with pytest.raises(FileError, match="is not a regular file"):
        digest_file("o.jsonl")


def test_a_manifest_of_nothing() -> None:
    """A manifest that lists no file is rejected, since it verifies nothing."""
    manifest = json.loads(Path("m.json").read_bytes())
    manifest |= {"recipe": None, "inputs": [], "outputs": []}
    Path("m.json").write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match="it lists no file") as caught:
        verify(asked=VerifyOptions(manifest="m.json"))
    assert caught.value.exit_code == 1
