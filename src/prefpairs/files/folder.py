"""Several files of one folder that appear together, or not at all."""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from prefpairs.errors import FileTrouble
from prefpairs.files.beside import (
    BUFFER,
    file_beside,
    folder_beside,
    make_last,
    sweep,
    sync_folder,
    unmasked,
)
from prefpairs.files.inputs import Input
from prefpairs.files.output import Output, naming_trouble, refuse_same_file, same_bytes
from prefpairs.files.signals import held_signals

_OLD = "old"
"""What the folder of old files is named after, while new ones come."""


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
    with folder_beside(target) as beside:
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(beside, name)), mode=0o777, exist_ok=True)
        with ExitStack() as stack:
            files: dict[str, IO[bytes]] = {
                name: stack.enter_context(open(os.path.join(beside, name), "wb", BUFFER))
                for name in names
            }
            yield {**files}
            for file in files.values():
                make_last(file)
        os.chmod(beside, unmasked(0o777))
        for folder in {os.path.dirname(os.path.join(beside, name)) for name in (*names, "")}:
            sync_folder(folder)
        os.rename(beside, target)
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
    files = {name: os.path.join(target, name) for name in names}
    others = [os.path.join(target, name) for name in family if name not in files]
    for left in (target, *others):
        sweep(left)
    with ExitStack() as stack:
        with held_signals():
            for folder in sorted({os.path.dirname(old) for old in files.values()}):
                stack.enter_context(_folder_made(folder))
            opened = {name: stack.enter_context(file_beside(file)) for name, file in files.items()}
        yield {name: file for name, (file, _) in opened.items()}
        for file, _ in opened.values():
            make_last(file)
        new = {files[name]: beside for name, (_, beside) in opened.items()}
        same = {old for old, beside in new.items() if keep_if_same and same_bytes(beside, old)}
        aside = stack.enter_context(folder_beside(os.path.join(target, _OLD), precious=True))
        with held_signals():
            _swap([*others, *files.values()], new, same, aside)
            _forget(aside)
    sweep(os.path.join(target, _OLD))


def _swap(family: Sequence[str], new: Mapping[str, str], same: Container[str], aside: str) -> None:
    """Put all old files aside, but for those that stay the same, then let the new ones come.

    If one cannot come, or not to stay, the old ones stand there again.
    """
    moved: dict[str, str] = {}
    come: list[str] = []
    try:
        for number, old in enumerate(family):
            if old not in same and _stands(old):
                os.rename(old, os.path.join(aside, str(number)))
                moved[old] = os.path.join(aside, str(number))
        for old, beside in new.items():
            if old in same:
                os.unlink(beside)
            else:
                os.replace(beside, old)
                come.append(old)
        for folder in sorted({os.path.dirname(old) for old in family}):
            sync_folder(folder)
    except BaseException:
        for old in come:
            with suppress(OSError):
                os.unlink(old)
        for old, kept in moved.items():
            with suppress(OSError):  # it stays aside, and the others come back
                os.rename(kept, old)
        raise


def _forget(aside: str) -> None:
    """Remove old files: nobody needs them any more."""
    with suppress(OSError):
        for name in os.listdir(aside):
            os.unlink(os.path.join(aside, name))
        os.rmdir(aside)


def _stands(path: str) -> bool:
    """Whether there is a file, be it a link that leads nowhere."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


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
