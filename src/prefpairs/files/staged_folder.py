"""The files of an output directory, which appear together.

They are written in a temporary folder. If the directory does not exist yet, that folder takes its
name. Otherwise all old files are moved away before the first new one is moved in, so old and new
files are never mixed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from prefpairs.errors import FileError
from prefpairs.files.file_system import (
    errors_named,
    exists,
    held_signals,
    is_folder,
    missing_folder,
    mode_of,
)
from prefpairs.files.folder_handle import FolderHandle
from prefpairs.files.staged_file import StagedFile, WrittenFile

_NEW, _OLD = "new", "old"
"""What the temporary folders of new and of old files are named after."""


class StagedFolder:
    """The files of one output directory. `our_names` are all files that we may replace in it."""

    def __init__(self, path: str, our_names: Sequence[str], *, keep_if_same: bool) -> None:
        self.path = path
        self.target = os.path.realpath(path)
        self.is_new = not exists(self.target, path)
        self.files: dict[str, StagedFile] = {}
        self._our_names = our_names
        self._keep_if_same = keep_if_same
        parent, self._name = os.path.split(self.target)
        if self.is_new and not is_folder(parent, path):
            raise missing_folder(path)
        if not self.is_new:
            self._check_kinds()
        self.outer = FolderHandle(parent if self.is_new else self.target)
        """The folder in which the temporary folder is created."""
        self._staging: FolderHandle | None = None
        self._temporary = ""
        self._subfolders: list[str] = []
        self._staging_folders: dict[str, FolderHandle] = {}
        """The folders in which files are written, by their path within the target."""
        self._final_folders: dict[str, FolderHandle] = {}
        """The folders they are moved to, by their path within the target."""
        self._created: list[str] = []
        self._old_files: tuple[str, FolderHandle] | None = None
        """The temporary folder of old files, and its name."""
        self._moved_away: list[tuple[FolderHandle, str, str]] = []
        """Folder, name and number of each old file that was moved away."""
        self._renamed = False
        """Whether the temporary folder has taken the name of the target."""

    @property
    def final_folders(self) -> list[FolderHandle]:
        """The existing folders that will change."""
        return [*self._final_folders.values()]

    def begin(self, names: Sequence[str]) -> None:
        """Create the folder in which files are written."""
        if self.is_new:
            self.outer.remove_leftovers(self._name)
        else:
            self._remove_leftovers()
        with held_signals():
            staging = self.outer.create_temporary_folder(self._name if self.is_new else _NEW)
            self._temporary, self._staging = staging
            self._staging_folders[""] = self._staging
        self._subfolders = sorted({os.path.dirname(name) for name in names} - {""})
        for folder in self._subfolders:
            self._staging.create_folder(folder)
            with held_signals():
                path = os.path.join(self._staging.path, folder)
                self._staging_folders[folder] = FolderHandle(path)

    def name_of(self, target: str) -> str | None:
        """The name of a file within the directory, if it can appear with the others."""
        name = os.path.relpath(target, self.target)
        return name if os.path.dirname(name) in self._staging_folders else None

    def add(self, path: str, name: str, *, hashed: bool) -> StagedFile:
        """Create a file."""
        folder, last = os.path.split(name)
        handle = self._staging_folders[folder]
        mode = mode_of(os.path.join(self.target, name))
        with held_signals():
            descriptor = handle.create_file(last)
            staged = StagedFile(path, handle, last, last, WrittenFile(descriptor, hashed=hashed))
            self.files[name] = staged
        staged.keep_if_same = self._keep_if_same and name in self._our_names
        os.fchmod(descriptor, mode)
        return staged

    def open_final_folders(self) -> None:
        """Open the folders of a directory that exists: files are moved there one by one."""
        with errors_named(self.path):
            if not self.is_new:
                self.outer.check_unmoved()
                self._final_folders[""] = self.outer
            self._check_kinds()
            for folder in sorted({*self._staging_folders, *map(os.path.dirname, self._our_names)}):
                self._open_final_folder(folder)
            for name, staged in self.files.items():
                staged.final_folder = self._final_folders[os.path.dirname(name)]
                staged.compare_with_old()

    def move_into_place(self) -> None:
        """Let all files appear."""
        with errors_named(self.path):
            if self._final_folders:
                self._move_old_files_away()
                for staged in self.files.values():
                    staged.move_into_place()
                return
            assert self._staging is not None
            self._staging.apply_umask()
            for folder in self._staging_folders.values():
                folder.sync()
            self.outer.move(self._temporary, self.outer, self._name)
            self._renamed = True

    def check(self) -> None:
        """Raise unless every file is in place; make the names durable."""
        for staged in self.files.values():
            staged.check()
        with errors_named(self.path):
            if self._renamed and self._staging is not None:
                self._staging.path = self.target
                self._staging.check_unmoved()
            for folder in (self.outer, *self._final_folders.values()):
                folder.sync()

    def roll_back(self) -> None:
        """Restore the old files. What cannot be restored remains in the folder of old files."""
        if self._renamed:
            with suppress(OSError):
                self.outer.move(self._name, self.outer, self._temporary)
                self._renamed = False
        for staged in self.files.values() if self._final_folders else ():
            staged.roll_back()
        for folder, name, number in self._moved_away:
            with suppress(OSError):
                if self._old_files is not None and folder.status(name) is None:
                    self._old_files[1].move(number, folder, name)

    def clean_up(self, *, succeeded: bool) -> None:
        """Leave nothing behind except the files."""
        for staged in self.files.values():
            with suppress(OSError):
                staged.file.close()
        self._remove_staging()
        if self._old_files is not None:
            name, old_files = self._old_files
            for _, _, number in self._moved_away if succeeded else ():
                with suppress(OSError):
                    old_files.unlink(number)
            with suppress(OSError):  # after a failed run it may hold what could not be restored
                self._final_folders[""].remove_folder(name)
            old_files.close()
        if succeeded and self._final_folders:
            self._final_folders[""].remove_leftovers(_OLD)
        for folder in () if succeeded else self._created:
            with suppress(OSError):
                self._final_folders[""].remove_folder(folder)
        handles = self._staging_folders.values(), self._final_folders.values()
        for handle in (self.outer, *handles[0], *handles[1]):
            handle.close()

    def _remove_staging(self) -> None:
        """Remove the folder in which files were written, unless it has become the target.

        Files are removed one by one, which needs no descriptors: there may be none left.
        """
        if self._staging is None or self._renamed:
            return
        try:
            for name in self.files:
                with suppress(FileNotFoundError):  # it was moved into place
                    self._staging_folders[os.path.dirname(name)].unlink(os.path.basename(name))
            for folder in reversed(self._subfolders):
                with suppress(FileNotFoundError):  # it was never created
                    self._staging.remove_folder(folder)
            self.outer.remove_folder(self._temporary)
        except OSError:
            self.outer.remove(self._temporary)

    def _move_old_files_away(self) -> None:
        """Move all old files away, except those that stay as they are."""
        self._old_files = self._final_folders[""].create_temporary_folder(_OLD)
        for number, name in enumerate(dict.fromkeys([*self._our_names, *self.files])):
            folder, last = os.path.split(name)
            handle = self._final_folders.get(folder)
            stays = name in self.files and self.files[name].old_file_stays()
            if handle is not None and not stays and handle.status(last) is not None:
                handle.move(last, self._old_files[1], str(number))
                self._moved_away.append((handle, last, str(number)))

    def _open_final_folder(self, folder: str) -> None:
        """Open a folder that has old files or gets new ones; create it if it is needed."""
        if folder in self._final_folders:
            return
        path, real = (os.path.join(given, folder).rstrip("/") for given in (self.path, self.target))
        with errors_named(path):
            if not is_folder(real, path):
                if folder not in self._staging_folders:
                    return
                os.mkdir(real)
                self._created.append(folder)
            self._final_folders[folder] = FolderHandle(real)

    def _check_kinds(self) -> None:
        if not is_folder(self.target, self.path):
            raise FileError(self.path, "is a file, not a directory")
        for name in self._our_names:
            path = os.path.join(self.path, name)
            if is_folder(os.path.join(self.target, name), path):
                raise FileError(path, "is a directory")

    def _remove_leftovers(self) -> None:
        """Remove what killed runs left, except old files: they go when new ones are in place."""
        parent, name = os.path.split(self.target)
        targets = {parent: [name], self.target: [_NEW]}
        for name in self._our_names:
            folder, last = os.path.split(os.path.join(self.target, name))
            targets.setdefault(folder, []).append(last)
        for folder, names in targets.items():
            with suppress(OSError):
                handle = FolderHandle(folder)
                handle.remove_leftovers(*names)
                handle.close()
