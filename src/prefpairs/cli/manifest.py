"""Manifests: what a recipe was run on, and what came of it."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from prefpairs import __version__
from prefpairs.cli.recipe import Recipe
from prefpairs.errors import BadInput, FileTrouble
from prefpairs.files.digest import digest_file
from prefpairs.records.wire import encode_pretty

FORMAT = 1

_PATHS = frozenset({"inputs", "output", "out_dir", "summary", "quarantine", "temp_dir", "against"})
"""Words that name files; those are listed on their own, seen from the manifest."""


class FileModel(BaseModel):
    """One file: where it is, seen from the manifest, and what it holds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str
    size: int
    sha256: str
    records: int | None = None


class ManifestModel(BaseModel):
    """A manifest. It holds no time, no host and no absolute path: same in, same out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    manifest: int
    prefpairs: str
    recipe: FileModel
    stages: dict[str, dict[str, Any]]
    inputs: list[FileModel]
    outputs: list[FileModel]
    counts: dict[str, Any]


def manifest_of(
    path: str,
    recipe: Recipe,
    inputs: Mapping[str, int | None],
    outputs: Mapping[str, int | None],
    counts: dict[str, Any],
) -> bytes:
    """The manifest that will stand at a path; files are given with their records."""
    folder = os.path.dirname(os.path.realpath(path))
    told = ("inputs", "passed_over", "notes")
    model = ManifestModel(
        manifest=FORMAT,
        prefpairs=__version__,
        recipe=_file(recipe.path, folder, None),
        stages={
            name: {word: value for word, value in table.items() if word not in _PATHS}
            for name, table in recipe.settled.items()
            if name != "write"
        },
        inputs=[_file(name, folder, records) for name, records in inputs.items()],
        outputs=[_file(name, folder, records) for name, records in outputs.items()],
        counts={name: value for name, value in counts.items() if name not in told},
    )
    return encode_pretty(model.model_dump(exclude_none=True))


def _file(path: str, folder: str, records: int | None) -> FileModel:
    digest = digest_file(path)
    seen = os.path.relpath(os.path.realpath(path), folder)
    return FileModel(path=seen, size=digest.size, sha256=digest.sha256, records=records)


def depfile_of(target: str, inputs: Sequence[str]) -> bytes:
    """A rule for make: the target hangs on the inputs, and a lost input is no dead end.

    >>> depfile_of("data/manifest.json", ["a b.jsonl"]).decode()
    'data/manifest.json: a\\\\ b.jsonl\\n\\na\\\\ b.jsonl:\\n'
    """
    names = [_for_make(name) for name in inputs]
    rule = f"{_for_make(target)}: {' '.join(names)}\n"
    return os.fsencode(rule + "".join(f"\n{name}:\n" for name in names))


def _for_make(name: str) -> str:
    return name.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def read_manifest(path: str) -> ManifestModel:
    """The manifest of a file."""
    try:
        with open(path, "rb") as file:
            return ManifestModel.model_validate_json(file.read())
    except OSError as error:
        raise FileTrouble(path, error.strerror or str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise BadInput(path, f"no manifest: {where}: {first['msg']}") from None


def differences(path: str, manifest: ManifestModel) -> Sequence[str]:
    """What is not as the manifest says, a sentence a file."""
    folder = os.path.dirname(os.path.realpath(path))
    files = [("recipe", manifest.recipe)]
    files += [("input", file) for file in manifest.inputs]
    files += [("output", file) for file in manifest.outputs]
    problems = [
        (kind, file, _problem(os.path.join(folder, file.path), file)) for kind, file in files
    ]
    return [f"{kind} {file.path} {problem}" for kind, file, problem in problems if problem]


def _problem(path: str, file: FileModel) -> str | None:
    if not os.path.exists(path):
        return "is missing"
    digest = digest_file(path)
    if digest.size != file.size:
        return f"has {digest.size:,} bytes, not {file.size:,}"
    return None if digest.sha256 == file.sha256 else "has other bytes"
