"""Manifests: the options and input files of a recipe's run, and its results."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prefpairs import __version__
from prefpairs.engine.outputs.destination import Destination
from prefpairs.errors import BadInput, FileError, UsageError
from prefpairs.files.file_stamps import Stamp, digest_file, stamp_of
from prefpairs.files.file_system import exists, is_file, is_folder, opened_if_regular
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.nonblocking import CountBytes
from prefpairs.files.output import write_file
from prefpairs.files.staged_file import FileDigest
from prefpairs.files.standard_output import refuse_stdout
from prefpairs.ledger import Ledger
from prefpairs.model.identity import IDENTITY_VERSION
from prefpairs.model.json_codec import encode_pretty
from prefpairs.plan import ManifestPlan

FORMAT = 1

_NOT_FOR_MAKE = re.compile(r"[;|*?\[\]%~\t\n\r]|\(.*\)$| $|\\$")
_VARIABLES = {"=": "prefpairs.equals", "&": "prefpairs.and"}
"""make takes a rule with an equals sign for an assignment, and a name that ends in & for one of
several targets that are made together; it knows no other way around it."""

_MOST_BYTES = 256_000_000
"""No manifest is larger: with a million inputs it would be as large as that."""

_PATHS = frozenset(
    {
        "inputs",
        "summary",
        "quarantine",
        "temp_dir",
        "against",
        "like",
        "tokenizer",
        "template",
        "prompt_template",
    }
)
"""Words that name files; those are listed on their own, seen from the manifest."""


class FileModel(BaseModel):
    """One file: where it is, seen from the manifest, and what it holds."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str = Field(pattern=r"^[^\x00]+$")
    size: int
    sha256: str | None = None
    """Of inputs that were read in parts, nothing has read all bytes in order."""
    records: int | None = None


class Hashed(NamedTuple):
    """A file, what was read from it or written to it, and how many records it holds."""

    path: str
    digest: FileDigest
    records: int | None = None


class ManifestModel(BaseModel):
    """A manifest. It holds no time, no host and no absolute path: same in, same out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    manifest: int
    prefpairs: str
    identity: int = 1
    """The version of the ids in the files; manifests of 0.1 do not say."""
    recipe: FileModel | None = None
    stages: dict[str, dict[str, Any]]
    inputs: list[FileModel]
    outputs: list[FileModel]
    counts: dict[str, Any]


class ManifestWriter:
    """Writes the manifest of a run, and the rule for make, once the results are complete."""

    def __init__(self, plan: ManifestPlan, destination: Destination) -> None:
        self._plan = plan
        self._destination = destination
        inputs = (given.path for given in destination.inputs if not given.is_stdin)
        self._read = [plan.recipe, *inputs]
        self._stamps: dict[str, Stamp] = {}

    @property
    def path(self) -> str | None:
        """Where the manifest goes."""
        return self._plan.path

    def check(self) -> None:
        """Raise if the files could not be written, or hold names that they cannot hold."""
        path, depfile = self._plan.path, self._plan.depfile
        refuse_stdout("write.manifest", path)
        refuse_stdout("--depfile", depfile)
        if depfile is not None and path is None:
            raise UsageError("--depfile is about the manifest, and there is none", "name an output")
        if depfile is not None:
            for name in (path or "", *self._read):
                for_make(name)
        for name in (*self._read, *self._destination.paths):
            if path is not None and not _is_text(name):
                problem = f"{name}: a manifest cannot hold a name that is not UTF-8"
                raise UsageError(problem, "rename the file")
        self._refuse_strange()

    def begin(self, transaction: FileTransaction) -> None:
        """Note what the files are that will be read."""
        transaction.check_last(self._refuse_strange)
        stamps = {path: stamp_of(path) for path in self._read}
        # What cannot be read twice is not listed. What was read while the plan was made, such as
        # a template, counts as it was then.
        self._stamps = {
            path: self._plan.noted.get(os.path.realpath(path), stamp)
            for path, stamp in stamps.items()
            if stamp is not None
        }

    def finish(
        self, counts: Mapping[str, Any], ledger: Ledger, transaction: FileTransaction
    ) -> None:
        """Write what was read and written: of inputs as they were when they were read."""
        path, stamps = self._plan.path, self._stamps
        if self._plan.depfile is not None:
            write_file(self._plan.depfile, depfile_of(path or "", [*stamps]), transaction)
        if path is None:
            return
        inputs = {
            given.path: ledger.rows_by_input.get(given.label)
            for given in self._destination.plan.read.inputs
        }
        ledger.progress.begin_hashing(_length([*stamps]))
        read = [
            Hashed(name, digest_file(name, stamp, ledger.progress.add_bytes), inputs.get(name))
            for name, stamp in stamps.items()
        ]
        made = [
            Hashed(name, transaction.digest_of(name), ledger.lines_written.get(side))
            for side, name in self._destination.lasting.items()
        ]
        write_file(path, _manifest(path, self._plan, read, made, counts), transaction)

    def _refuse_strange(self) -> None:
        """Raise if what would be replaced is no manifest, or that of another recipe."""
        if self._plan.path is not None and not self._destination.force:
            elsewhere = "[write] manifest = FILE names another place, --force replaces it"
            refuse_other_manifest(self._plan.path, self._plan.recipe, elsewhere)


def refuse_other_manifest(path: str, recipe: str | None, hint: str) -> None:
    """Raise if a file is no manifest, or that of another recipe than the one that replaces it."""
    if not exists(path):
        return
    try:
        found = read_manifest(path)
    except BadInput:
        raise UsageError(f"{path} is there, and is no manifest", hint) from None
    if found.recipe is None:
        return
    of = os.path.join(os.path.dirname(os.path.realpath(path)), found.recipe.path)
    if recipe is None or os.path.realpath(of) != os.path.realpath(recipe):
        raise UsageError(f"{path} is the manifest of {found.recipe.path}", hint)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _length(paths: list[str]) -> int:
    """How long files are together; one that is gone is an error when it is read."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += os.path.getsize(path)
    return total


def _manifest(
    path: str,
    plan: ManifestPlan,
    read: Sequence[Hashed],
    outputs: Sequence[Hashed],
    counts: Mapping[str, Any],
) -> bytes:
    """The manifest that will be at a path."""
    folder = os.path.dirname(os.path.realpath(path))
    left_out = ("identity", "inputs", "passed_over", "notes")
    inputs = [given for given in read if given.path != plan.recipe]
    own = [given for given in read if given.path == plan.recipe]
    model = ManifestModel(
        manifest=FORMAT,
        prefpairs=__version__,
        identity=IDENTITY_VERSION,
        recipe=_file(own[0], folder) if own else None,
        stages=tables_told(plan.tables),
        inputs=[_file(given, folder) for given in inputs],
        outputs=[_file(made, folder) for made in outputs],
        counts={name: value for name, value in counts.items() if name not in left_out},
    )
    return encode_pretty(model.model_dump(exclude_none=True))


def tables_told(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The tables of a recipe without names of files, and without the one on what is written."""
    return {
        name: {word: value for word, value in table.items() if word not in _PATHS}
        for name, table in tables.items()
        if name != "write"
    }


def _file(given: Hashed, folder: str) -> FileModel:
    size, sha256 = given.digest
    seen = _seen_from(folder, given.path)
    return FileModel(path=seen, size=size, sha256=sha256, records=given.records)


def _seen_from(folder: str, path: str) -> str:
    """The relative path of a file from a folder that is given without links.

    Links that lead to the file stay in it, so that it is still the name that the user gave when
    they lead elsewhere. Only those are followed that come before a `..`, or lead to the folder.
    """
    parts = path.split(os.sep)
    if os.pardir in parts:
        after = len(parts) - parts[::-1].index(os.pardir)
        path = os.path.join(os.path.realpath(os.sep.join(parts[:after])), *parts[after:])
    above, name = os.path.split(os.path.abspath(path))
    while os.path.commonpath([folder, real := os.path.realpath(above)]) != real:
        above, last = os.path.split(above)
        name = os.path.join(last, name)
    return os.path.normpath(os.path.join(os.path.relpath(real, folder), name))


def depfile_of(target: str, inputs: Sequence[str]) -> bytes:
    """A rule for make: the target depends on the inputs, and a missing input is no error.

    >>> depfile_of("data/manifest.json", ["a b.jsonl"]).decode()
    'data/manifest.json: a\\\\ b.jsonl\\n\\na\\\\ b.jsonl:\\n'
    """
    names = [for_make(name) for name in inputs]
    rule = f"{for_make(target)}: {' '.join(names)}\n"
    text = rule + "".join(f"\n{name}:\n" for name in names)
    said = [f"{name} := {sign}\n" for sign, name in _VARIABLES.items() if f"$({name})" in text]
    return os.fsencode("".join([*said, "\n" if said else "", text]))


def for_make(name: str) -> str:
    """A name as make reads it; UsageError if make has no way to write it."""
    if _NOT_FOR_MAKE.search(name):
        raise UsageError(f"--depfile: make has no way to write the name {name}", "rename the file")
    escaped = re.sub(r"(\\*)([ #:])", r"\1\1\\\2", name).replace("$", "$$")
    return re.sub("[=&]", lambda sign: f"$({_VARIABLES[sign[0]]})", escaped)


def read_manifest(path: str) -> ManifestModel:
    """The manifest of a file."""
    try:
        manifest = ManifestModel.model_validate_json(_text_of(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise BadInput(path, f"no manifest: {where}: {first['msg']}") from None
    if manifest.manifest != FORMAT:
        raise BadInput(path, f"a manifest of format {manifest.manifest}, not {FORMAT}")
    return manifest


def _text_of(path: str) -> bytes:
    """All of a regular file, if it is no larger than manifests are."""
    if is_folder(path):
        raise FileError(path, "is a directory")
    with opened_if_regular(path) as file:
        if file is None:
            raise BadInput(path, "no manifest: it is no regular file")
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise BadInput(path, f"no manifest: it has {size:,} bytes")
        return file.read(_MOST_BYTES)


def differences(
    path: str, manifest: ManifestModel, count_bytes: CountBytes | None = None
) -> Sequence[str]:
    """What is not as the manifest says, a sentence a file."""
    folder = os.path.dirname(os.path.realpath(path))
    problems = [
        (kind, file, _problem(os.path.join(folder, file.path), file, count_bytes))
        for kind, file in files_of(manifest)
    ]
    return [f"{kind} {file.path} {problem}" for kind, file, problem in problems if problem]


def other_identity(manifest: ManifestModel) -> str | None:
    """A sentence where the ids of a manifest's files are not those that this version gives."""
    if manifest.identity == IDENTITY_VERSION:
        return None
    return (
        f"prefpairs {manifest.prefpairs} wrote it with identity version {manifest.identity}; this "
        f"one has {IDENTITY_VERSION}, so a new run gives other ids, samples and splits"
    )


def files_of(manifest: ManifestModel) -> list[tuple[str, FileModel]]:
    """The files that a manifest lists, each with what it was for the run."""
    files = [("recipe", manifest.recipe)] if manifest.recipe else []
    files += [("input", file) for file in manifest.inputs]
    return files + [("output", file) for file in manifest.outputs]


def _problem(path: str, file: FileModel, count_bytes: CountBytes | None) -> str | None:
    if not exists(path):
        return "is missing"
    if not is_file(path):  # a device has no end
        return "is no file"
    if (size := os.path.getsize(path)) != file.size:
        return f"has {size:,} bytes, not {file.size:,}"
    if file.sha256 is None:
        return None
    digest = digest_file(path, count_bytes=count_bytes)
    if digest.size != file.size:
        return f"has {digest.size:,} bytes, not {file.size:,}"
    return None if digest.sha256 == file.sha256 else "has other bytes"
