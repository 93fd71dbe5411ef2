"""The output files of one run: they all appear, or none does.

Each is written under a temporary name. When all are complete, their folders are locked against
other runs, and every file takes its final name. If one cannot, the old files are restored.
Afterwards each final name must lead to the file that was written. Links in a path are resolved
when the file is created, and must still lead to the same place at the end.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Self

from prefpairs.errors import FileError
from prefpairs.files import folder_handle
from prefpairs.files.file_system import (
    errors_named,
    exists,
    held_signals,
    is_folder,
    missing_folder,
    mode_of,
    target_of,
)
from prefpairs.files.folder_handle import FolderHandle
from prefpairs.files.staged_file import FileDigest, StagedFile, WrittenFile

if TYPE_CHECKING:
    from prefpairs.files.staged_folder import StagedFolder

Check = Callable[[], None]
"""Raises if a file that is not ours would be lost."""


class FileTransaction:
    """Files that appear when the block succeeds. `hashed` computes digests for a manifest."""

    def __init__(self, *, hashed: bool = False) -> None:
        self._hashed = hashed
        self._files: list[StagedFile] = []
        """The files that do not belong to the folder."""
        self._folder: StagedFolder | None = None
        self._last_checks: list[Check] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Begin; no file appears before the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let every file appear, or restore everything."""
        try:
            if kind is None:
                self._commit()
        finally:
            with held_signals():
                self._clean_up(succeeded=False)

    def check_last(self, check: Check) -> None:
        """Check once more when everything is written and the folders are locked."""
        self._last_checks.append(check)

    def stage(self, path: str, *, keep_if_same: bool = False) -> StagedFile:
        """Create a file that will replace the one at `path`."""
        target = target_of(path)
        if self._folder is not None and (name := self._folder.name_of(target)) is not None:
            with errors_named(path):
                return self._folder.add(path, name, hashed=self._hashed)
        parent, name = os.path.split(target)
        if not is_folder(parent, path):
            raise missing_folder(path)
        with errors_named(path), held_signals():
            folder = FolderHandle(parent)
            self._stack.callback(folder.close)
            temporary, descriptor = folder.create_temporary_file(name)
            staged = StagedFile(
                path, folder, temporary, name, WrittenFile(descriptor, hashed=self._hashed)
            )
            self._files.append(staged)
            staged.keep_if_same = keep_if_same
            os.fchmod(descriptor, mode_of(target))
        return staged

    def stage_folder(
        self,
        path: str,
        names: Sequence[str],
        our_names: Sequence[str],
        *,
        keep_if_same: bool = False,
    ) -> dict[str, StagedFile]:
        """Create a file for each name in a folder. Other files of `our_names` will be removed."""
        from prefpairs.files.staged_folder import StagedFolder

        with errors_named(path):
            with held_signals():
                self._folder = StagedFolder(path, our_names, keep_if_same=keep_if_same)
            self._folder.begin(names)
            return {
                name: self._folder.add(os.path.join(path, name), name, hashed=self._hashed)
                for name in names
            }

    def digest_of(self, path: str) -> FileDigest:
        """Size and digest of what was written for a path."""
        in_folder = [] if self._folder is None else self._folder.files.values()
        return next(given for given in (*in_folder, *self._files) if given.path == path).digest()

    def _commit(self) -> None:
        for staged in self._files:
            staged.compare_with_old()
        handles = [staged.final_folder for staged in self._files]
        folder = self._folder
        if folder is not None and folder.is_new:
            with _locked([folder.outer, *handles]):
                if not exists(folder.target, folder.path):
                    self._swap()
                    return
        if folder is not None:
            folder.open_final_folders()  # it existed before, or another run has created it since
            handles += folder.final_folders
        with _locked(handles):
            self._swap()

    def _check_paths(self) -> None:
        """Raise if a link was changed: the files of one run would end up in different places."""
        resolved = [(staged.path, staged.target) for staged in self._files]
        if self._folder is not None:
            resolved.append((self._folder.path, self._folder.target))
        for path, target in resolved:
            if os.path.realpath(path) != target:
                raise FileError(path, "a link in this path was changed during the run")

    def _swap(self) -> None:
        """Replace all old files by new ones, or restore all of them."""
        self._check_paths()
        for check in self._last_checks:
            check()
        folder = self._folder
        with held_signals():
            try:
                if folder is not None:
                    folder.move_into_place()
                for staged in self._files:
                    if folder is not None or len(self._files) > 1:
                        staged.back_up()
                    staged.move_into_place()
                for staged in self._files:
                    staged.check()
                    staged.sync_name()
                if folder is not None:
                    folder.check()
            except BaseException:
                for staged in reversed(self._files):
                    staged.roll_back()
                if folder is not None:
                    folder.roll_back()
                raise
            self._clean_up(succeeded=True)

    def _clean_up(self, *, succeeded: bool) -> None:
        """Leave nothing behind except the files that appeared. Later calls do nothing."""
        files, folder = self._files, self._folder
        self._files, self._folder = [], None
        for staged in files:
            staged.clean_up()
        if folder is not None:
            folder.clean_up(succeeded=succeeded)
        self._stack.close()


@contextmanager
def joined(transaction: FileTransaction | None) -> Iterator[FileTransaction]:
    """The transaction of a run, or one for the block alone."""
    if transaction is not None:
        yield transaction
        return
    with FileTransaction() as own:
        yield own


@contextmanager
def _locked(folders: Iterable[FolderHandle]) -> Iterator[None]:
    """Lock folders against other runs."""
    by_key = {folder.sort_key(): folder for folder in folders}
    ordered = [by_key[key] for key in sorted(by_key)]
    deadline = time.monotonic() + folder_handle.LONGEST_WAIT
    with ExitStack() as stack:
        for folder in ordered:
            folder.lock(deadline)
            stack.callback(folder.unlock)
        for folder in ordered:
            folder.check_unmoved()
        yield
