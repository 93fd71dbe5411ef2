"""The files of a folder that appear together.

They are written in a folder of their own, which takes the name of the target where there is
none yet. Else all old files go before the first new one comes: at no time do old and new ones
stand side by side.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from prefpairs.errors import FileTrouble
from prefpairs.files.held_signals import held_signals
from prefpairs.files.staged_file import Staged, WrittenFile
from prefpairs.files.staging import (
    Place,
    is_folder,
    is_there,
    missing_folder,
    mode_of,
    naming_trouble,
)

_NEW, _OLD = "new", "old"
"""What the folders of new and of old files are named after."""


class Family:
    """The files of one folder."""

    def __init__(self, path: str, family: Sequence[str], *, keep_if_same: bool) -> None:
        self.path = path
        self.target = os.path.realpath(path)
        self.is_new = not is_there(self.target, path)
        self.files: dict[str, Staged] = {}
        self._family = family
        self._keep_if_same = keep_if_same
        parent, self._name = os.path.split(self.target)
        if self.is_new and not is_folder(parent, path):
            raise missing_folder(path)
        if not self.is_new:
            self._check_kinds()
        self.outer = Place(parent if self.is_new else self.target)
        self._staging: Place | None = None
        self._temporary = ""
        self._folders: list[str] = []
        """Those within it."""
        self._written: dict[str, Place] = {}
        """The folders in which files are written, as they are seen from the target."""
        self._homes: dict[str, Place] = {}
        """Those in which they will stand."""
        self._made: list[str] = []
        self._aside: tuple[str, Place] | None = None
        self._moved: list[tuple[Place, str, str]] = []
        self._come = False

    @property
    def homes(self) -> list[Place]:
        """The folders that will change."""
        return [*self._homes.values()]

    def begin(self, names: Sequence[str]) -> None:
        """Make the folder in which files are written."""
        if self.is_new:
            self.outer.sweep(self._name)
        else:
            self._sweep()
        with held_signals():
            staging = self.outer.new_folder(self._name if self.is_new else _NEW)
            self._temporary, self._staging = staging
            self._written[""] = self._staging
        self._folders = sorted({os.path.dirname(name) for name in names} - {""})
        for folder in self._folders:
            self._staging.make_folder(folder)
            with held_signals():
                self._written[folder] = Place(os.path.join(self._staging.path, folder))

    def name_of(self, target: str) -> str | None:
        """What a file is called in the folder, if it is one that can appear with the others."""
        name = os.path.relpath(target, self.target)
        return name if os.path.dirname(name) in self._written else None

    def add(self, path: str, name: str, *, hashed: bool) -> Staged:
        """A new file."""
        folder, last = os.path.split(name)
        place = self._written[folder]
        mode = mode_of(os.path.join(self.target, name))
        with held_signals():
            descriptor = place.open_new(last)
            staged = Staged(path, place, last, last, WrittenFile(descriptor, hashed=hashed))
            self.files[name] = staged
        staged.keep_if_same = self._keep_if_same and name in self._family
        os.fchmod(descriptor, mode)
        return staged

    def enter(self) -> None:
        """The folder is there: files will stand in it, one by one."""
        with naming_trouble(self.path):
            if not self.is_new:
                self.outer.check_unmoved()
                self._homes[""] = self.outer
            self._check_kinds()
            for folder in sorted({*self._written, *map(os.path.dirname, self._family)}):
                self._open_home(folder)
            for name, staged in self.files.items():
                staged.home = self._homes[os.path.dirname(name)]
                staged.find_same()

    def come(self) -> None:
        """Let all files appear."""
        with naming_trouble(self.path):
            if self._homes:
                self._put_aside()
                for staged in self.files.values():
                    staged.appear()
                return
            assert self._staging is not None
            self._staging.open_to_all()
            for place in self._written.values():
                place.sync()
            self.outer.move(self._temporary, self.outer, self._name)
            self._come = True

    def check(self) -> None:
        """Raise unless all that was written stands where it should; make the names last."""
        for staged in self.files.values():
            staged.check()
        with naming_trouble(self.path):
            if self._come and self._staging is not None:
                self._staging.path = self.target
                self._staging.check_unmoved()
            for place in (self.outer, *self._homes.values()):
                place.sync()

    def go_back(self) -> None:
        """Let the old files stand there again. What cannot come back stays aside."""
        if self._come:
            with suppress(OSError):
                self.outer.move(self._name, self.outer, self._temporary)
                self._come = False
        for staged in self.files.values() if self._homes else ():
            staged.go_back()
        for home, name, kept in self._moved:
            with suppress(OSError):
                if self._aside is not None and home.status(name) is None:
                    self._aside[1].move(kept, home, name)

    def end(self, *, well: bool) -> None:
        """Leave nothing behind but the files."""
        for staged in self.files.values():
            with suppress(OSError):
                staged.file.close()
        self._end_staging()
        if self._aside is not None:
            name, place = self._aside
            for _, _, kept in self._moved if well else ():
                with suppress(OSError):
                    place.unlink(kept)
            with suppress(OSError):  # of a run that failed it may hold what could not come back
                self._homes[""].remove_folder(name)
            place.close()
        if well and self._homes:
            self._homes[""].sweep(_OLD)
        for folder in () if well else self._made:
            with suppress(OSError):
                self._homes[""].remove_folder(folder)
        for place in (self.outer, *self._written.values(), *self._homes.values()):
            place.close()

    def _end_staging(self) -> None:
        """Remove the folder in which files were written, unless it is the target by now.

        One by one, for which no descriptors are needed: there may be none left.
        """
        if self._staging is None or self._come:
            return
        try:
            for name in self.files:
                with suppress(FileNotFoundError):  # it has come
                    self._written[os.path.dirname(name)].unlink(os.path.basename(name))
            for folder in reversed(self._folders):
                with suppress(FileNotFoundError):  # it was not made any more
                    self._staging.remove_folder(folder)
            self.outer.remove_folder(self._temporary)
        except OSError:
            self.outer.remove(self._temporary)

    def _put_aside(self) -> None:
        """Put all old files aside, but for those that stay as they are."""
        here = self._homes[""]
        self._aside = here.new_folder(_OLD)
        for number, name in enumerate(dict.fromkeys([*self._family, *self.files])):
            folder, last = os.path.split(name)
            home = self._homes.get(folder)
            stays = name in self.files and self.files[name].stays()
            if home is not None and not stays and home.status(last) is not None:
                home.move(last, self._aside[1], str(number))
                self._moved.append((home, last, str(number)))

    def _open_home(self, folder: str) -> None:
        """Hold a folder in which files will stand, or old ones do; make it if it is needed."""
        if folder in self._homes:
            return
        path, here = (os.path.join(given, folder).rstrip("/") for given in (self.path, self.target))
        with naming_trouble(path):
            if not is_folder(here, path):
                if folder not in self._written:
                    return
                os.mkdir(here)
                self._made.append(folder)
            self._homes[folder] = Place(here)

    def _check_kinds(self) -> None:
        if not is_folder(self.target, self.path):
            raise FileTrouble(self.path, "is a file, not a directory")
        for name in self._family:
            path = os.path.join(self.path, name)
            if is_folder(os.path.join(self.target, name), path):
                raise FileTrouble(path, "is a directory")

    def _sweep(self) -> None:
        """Remove what dead processes left of such files; old ones stay until new ones are there."""
        parent, name = os.path.split(self.target)
        folders = {parent: [name], self.target: [_NEW]}
        for name in self._family:
            folder, last = os.path.split(os.path.join(self.target, name))
            folders.setdefault(folder, []).append(last)
        for folder, names in folders.items():
            with suppress(OSError):
                place = Place(folder)
                place.sweep(*names)
                place.close()
