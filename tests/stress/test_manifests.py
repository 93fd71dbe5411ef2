"""A manifest lists only what was really read and written, whatever other programs do."""

import hashlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from stress_kit import command, surroundings
from stress_shim import Fault, shim

RECIPE = """[read]
inputs = ["in.jsonl"]
[pair]
[export]
to = "trl"
template = "chat.jinja"
[write]
output = "out.jsonl"
"""

TEMPLATE = b"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"


def _rows(word: str) -> bytes:
    rows = [
        {"prompt": f"Q{number // 2}", "response": f"{word}{number}", "score": number % 2}
        for number in range(40)
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _run(folder: Path, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command("run recipe.toml --quiet"),
        cwd=folder,
        stderr=subprocess.PIPE,
        env={**surroundings(folder), **(env or {})},
    )


def _set_up(folder: Path, word: str = "a") -> None:
    folder.mkdir()
    (folder / "in.jsonl").write_bytes(_rows(word))
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "chat.jinja").write_bytes(TEMPLATE)


def _slowed(library: Path, folder: Path, kind: str, at: int, sticky: bool) -> dict[str, str]:
    fault = Fault(kind, at, "delay", 100 if sticky else 400, sticky=sticky)
    return {"LD_PRELOAD": str(library), "FAULT_FOLDER": str(folder), **fault.told}


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        ("fsync", 2),
        *(
            pytest.param(kind, 1, marks=pytest.mark.stress)
            for kind in ("rename", "open", "close", "stat")
        ),
    ],
)
def test_a_manifest_holds_what_the_run_wrote(tmp_path: Path, kind: str, at: int) -> None:
    """If another program keeps replacing the output, its bytes never get into the manifest."""
    library, folder = shim(tmp_path), tmp_path / "here"
    _set_up(folder)
    with _run(folder) as undisturbed:
        assert undisturbed.wait() == 0
    right = json.loads((folder / "manifest.json").read_bytes())["outputs"]
    process = _run(folder, _slowed(library, folder, kind, at, sticky=kind != "stat"))
    while process.poll() is None:
        (folder / "theirs").write_bytes(b"theirs\n")
        (folder / "theirs").replace(folder / "out.jsonl")
        time.sleep(0.005)
    process.communicate()
    assert process.returncode in (0, 5)
    assert json.loads((folder / "manifest.json").read_bytes())["outputs"] == right


def _change(path: Path, content: bytes) -> None:
    """Overwrite a file, keeping its size and time."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("kind", ["fsync", pytest.param("read", marks=pytest.mark.stress)])
@pytest.mark.parametrize("name", ["in.jsonl", "chat.jinja", "recipe.toml"])
def test_a_manifest_holds_what_the_run_read(tmp_path: Path, name: str, kind: str) -> None:
    """An input that is overwritten before it is hashed is not recorded as what was read."""
    library, folder = shim(tmp_path), tmp_path / "here"
    _set_up(folder)
    content = (folder / name).read_bytes()
    process = _run(folder, _slowed(library, folder, kind, 1, sticky=True))
    while process.poll() is None and not [*folder.glob(".out.jsonl.*")]:
        time.sleep(0.002)
    changed = {"in.jsonl": _rows("b"), "chat.jinja": TEMPLATE.replace(b"<", b"[")}
    _change(
        folder / name,
        changed.get(name, RECIPE.replace("in.jsonl", "no.jsonl").encode()),
    )
    _, said = process.communicate()
    if process.returncode == 0:
        if name == "in.jsonl" and b"b1" in (folder / "out.jsonl").read_bytes():
            content = _rows("b")  # the run opened it after the change
        assert _hashes(folder)[name] == hashlib.sha256(content).hexdigest()
    else:
        assert (process.returncode, b"changed while it was being read" in said) == (1, True)
        assert not (folder / "manifest.json").exists()
        assert not (folder / "out.jsonl").exists()


def _hashes(folder: Path) -> dict[str, str]:
    manifest: Any = json.loads((folder / "manifest.json").read_bytes())
    return {file["path"]: file["sha256"] for file in (manifest["recipe"], *manifest["inputs"])}
