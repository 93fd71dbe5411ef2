"""Refuse to overwrite files that no run of prefpairs wrote.

A file counts as one of ours if its content shows it (rows with an id of ours, a signed card, a
configuration that begins as ours do), edited since or not; if the manifest of the folder lists it
with this very content; or if it is empty. Rows of formats without ids do not show who wrote them:
they count if the card or the job next to them, which must be ours, names their file.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from prefpairs.dataset.card import SIGNED
from prefpairs.errors import BadInput, FileError, InputChanged, NotJson, UsageError
from prefpairs.files.file_stamps import digest_file
from prefpairs.files.file_system import errors_named, is_file, opened_if_regular, status_of
from prefpairs.model.json_codec import decode
from prefpairs.model.pair import Pair
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.base import Dataset, Target
from prefpairs.targets.export_options import ExportOptions

MANIFEST = "manifest.json"
_LOOKED_AT = 1 << 26
"""So much of a file is looked at: the longest row that is read without being asked for more."""

_MOST_NAMES = 5
_OF_EVERY_PAIR = frozenset({"id", "group", "prompt", "chosen", "rejected"})
_LISTED = frozenset({"prefpairs_train", "prefpairs_val", "prefpairs_test"})
_WITH_ID = {"pair_id", "metadata"}
"""The columns that hold the id of a pair."""
_ID = re.compile(r"[0-9a-f]{16,64}")
"""How ids look that we gave, those of older versions included."""

IsOurs = Callable[[bytes], bool]
"""Whether the beginning of a file is what we write under its name."""


def refuse_strangers(folder: str, kinds: Mapping[str, IsOurs]) -> None:
    """Raise if one of the files would be lost, and is not ours."""
    strange = [name for name in kinds if _is_strange(os.path.join(folder, name), kinds[name])]
    if strange:
        listed = _listed(folder)
        strange = [name for name in strange if not _is_as_listed(folder, name, listed)]
    if strange:
        paths = [os.path.join(folder, name) for name in strange]
        names = ", ".join(paths[:_MOST_NAMES])
        more = f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else ""
        problem = f"{names}{more} would be lost: prefpairs did not write that"
        raise UsageError(problem, "--force replaces it; another --out-dir leaves it alone")


def _is_strange(path: str, is_ours: IsOurs) -> bool:
    """Whether a file is there that is not ours. If that cannot be found out, it is an error."""
    with errors_named(path):
        there = status_of(path)
        if there is None or stat.S_ISDIR(there.st_mode):  # a folder is never replaced
            return False
        begin = _begin_of(path)
    return begin is None or (bool(begin) and not is_ours(begin))


def _begin_of(path: str) -> bytes | None:
    """The first row of a file and some more; None if it is no regular file."""
    with opened_if_regular(path) as file:
        return None if file is None else file.readline(_LOOKED_AT) + file.read(1 << 16)


def _listed(folder: str) -> dict[str, tuple[int, str | None]]:
    """What the manifest of a folder says of its outputs."""
    from prefpairs.engine.outputs.manifest import read_manifest

    path = os.path.join(folder, MANIFEST)
    with suppress(BadInput, FileError):
        return {file.path: (file.size, file.sha256) for file in read_manifest(path).outputs}
    return {}


def _is_as_listed(folder: str, name: str, listed: Mapping[str, tuple[int, str | None]]) -> bool:
    with suppress(FileError, InputChanged):
        return listed.get(name) == tuple(digest_file(os.path.join(folder, name)))
    return False


def is_row(begin: bytes) -> bool:
    """Whether a file begins with a pair, as every command writes them, or as an export does."""
    row = _first_row(begin)
    if row is None:
        return False
    if _OF_EVERY_PAIR <= row.keys() <= {*Pair._fields}:
        return _is_id(row["id"])
    about = row.get("metadata")
    given = row.get("pair_id") or (about.get("pair_id") if isinstance(about, dict) else None)
    return _is_id(given) and any(row.keys() <= {*target.columns} for target in _targets())


def _is_id(given: object) -> bool:
    return isinstance(given, str) and _ID.fullmatch(given) is not None


def is_signed(begin: bytes) -> bool:
    """Whether a file around the data says that we wrote it."""
    return SIGNED.encode() in begin


def kinds_of_dataset(folder: str, target: Target, options: ExportOptions) -> dict[str, IsOurs]:
    """How to tell the files of a dataset from others; they may be of any of our targets."""
    data = {target.file_of(side) for side in target.files}
    return {
        **{name: _rows_of(folder, name, target, options) for name in data},
        **{name: _like(name, target, options) for name in target.extra_names},
    }


def _rows_of(folder: str, name: str, target: Target, options: ExportOptions) -> IsOurs:
    columns, needed = {*target.columns}, {*target.rules.needs}
    by_id = bool(columns & _WITH_ID) or not target.extra_names

    def is_ours(begin: bytes) -> bool:
        row = _first_row(begin)
        if row is None or by_id or not needed <= row.keys() <= columns:
            return is_row(begin)
        return _is_told_of(folder, name, target, options)

    return is_ours


def _is_told_of(folder: str, name: str, target: Target, options: ExportOptions) -> bool:
    """Whether the card or job next to the data is ours, and names this file or no file."""
    teller = target.extra_names[0]
    path = os.path.join(folder, teller)
    begin = _begin_of(path) if is_file(path) else None
    if begin is None or not _like(teller, target, options)(begin):
        return False
    named = [file for file in target.files.values() if file.encode() in begin]
    return name in named or not named


def _like(name: str, target: Target, options: ExportOptions) -> IsOurs:
    """Whether a file is like what some target writes under this name."""

    def is_ours(begin: bytes) -> bool:
        if is_signed(begin) or _is_like(_texts(name, target, options), begin):
            return True
        others = (given for given in _targets() if name in given.extra_names)
        return any(_is_like(_texts(name, given, ExportOptions()), begin) for given in others)

    return is_ours


def _texts(name: str, target: Target, options: ExportOptions) -> list[str]:
    """What a target writes under a name, for each host that it knows and each set of sides."""
    release = options.release or next(reversed(target.releases), "")
    options = replace(options, release=release)
    makers = [target.extras, *(host.extras for host in target.hosts.values())]
    train, *others = target.files
    texts = []
    for kept in ([], *([side] for side in others), others):
        files = {side: target.files[side] for side in (train, *kept)}
        tally = None if target.tally is None else target.tally()
        dataset = Dataset(files, dict.fromkeys(files, 1), frozenset(), options, tally)
        texts += [make(dataset).get(name) for make in makers]
    return [text for text in texts if text is not None]


def _is_like(texts: Sequence[str], begin: bytes) -> bool:
    """Whether a file is signed as they are, has their first line, or, if it is JSON, is one."""
    if any(SIGNED in text for text in texts):
        return is_signed(begin)
    with suppress(NotJson):
        row = decode(begin)
        if row in [json.loads(text) for text in texts if text.startswith(("{", "["))]:
            return True
        # A list of data sets holds our name; a job has no place for one.
        return isinstance(row, dict) and bool(row) and all(key in _LISTED for key in row)
    lines = {_first_line(text) for text in texts if not text.startswith("{")}
    return _first_line(begin.decode("utf-8", "replace")) in lines


def _targets() -> Iterator[Target]:
    return map(target_named, TARGETS)


def _first_line(text: str) -> str:
    """The first line that says something of its own."""
    return next((line for line in text.splitlines() if not line.startswith("#!")), "")


def _first_row(begin: bytes) -> dict[str, Any] | None:
    with suppress(NotJson):
        row = decode(begin.partition(b"\n")[0])
        return row if isinstance(row, dict) else None
    return None
