"""Several files of one folder that appear together, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from prefpairs.errors import FileTrouble
from prefpairs.files.inputs import Input
from prefpairs.files.output import (
    Output,
    file_beside,
    make_last,
    naming_trouble,
    refuse_same_file,
    same_bytes,
    sync_folder,
    unmasked,
)
from prefpairs.files.signals import held_signals


@contextmanager
def open_folder(
    path: str,
    names: Sequence[str],
    family: Sequence[str],
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
) -> Iterator[dict[str, Output]]:
    """An output for each of the names; they appear in the folder when the block ends well.

    Files of the family that stand there and were not asked for are from an earlier run, and go.
    A new folder appears whole. In one that exists, all old files go before the first new one
    comes: at no time do old and new ones stand side by side. With `keep_if_same` files whose
    bytes would not change stay as they are.
    """
    for name in family:
        refuse_same_file(os.path.join(path, name), inputs)
    target = os.path.realpath(path)
    with naming_trouble(path):
        if os.path.lexists(target):
            with _into_folder(path, target, names, family, keep_if_same) as files:
                yield files
        else:
            with _new_folder(path, target, names) as files:
                yield files


@contextmanager
def _new_folder(path: str, target: str, names: Sequence[str]) -> Iterator[dict[str, Output]]:
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise FileTrouble(path, f"there is no directory {os.path.dirname(path.rstrip('/'))}")
    beside = None
    try:
        with held_signals():
            beside = tempfile.mkdtemp(".tmp", f".{os.path.basename(target)}.", parent)
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(beside, name)), mode=0o777, exist_ok=True)
        with ExitStack() as stack:
            files: dict[str, IO[bytes]] = {
                name: stack.enter_context(open(os.path.join(beside, name), "wb")) for name in names
            }
            yield {**files}
            for file in files.values():
                make_last(file)
        os.chmod(beside, unmasked(0o777))
        for folder in {os.path.dirname(os.path.join(beside, name)) for name in (*names, "")}:
            sync_folder(folder)
        os.rename(beside, target)
    except BaseException:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
        raise
    sync_folder(parent)


@contextmanager
def _into_folder(
    path: str, target: str, names: Sequence[str], family: Sequence[str], keep_if_same: bool
) -> Iterator[dict[str, Output]]:
    if not os.path.isdir(target):
        raise FileTrouble(path, "is a file, not a directory")
    for name in family:
        if os.path.isdir(os.path.join(target, name)):
            raise FileTrouble(os.path.join(path, name), "is a directory")
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(_folder_made(os.path.dirname(os.path.join(target, name))))
        opened = {
            name: stack.enter_context(file_beside(os.path.join(target, name))) for name in names
        }
        yield {name: file for name, (file, _) in opened.items()}
        for file, _ in opened.values():
            make_last(file)
        new = {os.path.join(target, name): beside for name, (_, beside) in opened.items()}
        same = {old for old, beside in new.items() if keep_if_same and same_bytes(beside, old)}
        _swap([os.path.join(target, name) for name in family], new, same)
    for folder in {os.path.dirname(os.path.join(target, name)) for name in names}:
        sync_folder(folder)


def _swap(family: Sequence[str], new: Mapping[str, str], same: Container[str]) -> None:
    """Let all old files go, but for those that stay the same, then let the new ones come."""
    with held_signals():
        for old in family:
            with suppress(FileNotFoundError):
                if old not in same:
                    os.unlink(old)
        for old, beside in new.items():
            if old in same:
                os.unlink(beside)
            else:
                os.replace(beside, old)


@contextmanager
def _folder_made(folder: str) -> Iterator[None]:
    """A folder inside the one that is written to; it goes again if the block fails."""
    if os.path.isdir(folder):
        yield
        return
    os.mkdir(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.rmdir(folder)
        raise
