"""Files of one run: they appear together, or not at all.

Each is written under a temporary name. When all are complete, the folders that they go into are
locked, so that no other run changes anything there, and every file gets its own name. If one
cannot, the old ones come back. What then stands under a name must be the file that was written.
Links in a path are followed once, when the file is begun; at the end they must still lead there.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Self

from prefpairs.errors import FileTrouble
from prefpairs.files import staging
from prefpairs.files.file_group import Family
from prefpairs.files.held_signals import held_signals
from prefpairs.files.staged_file import Staged, Written, WrittenFile
from prefpairs.files.staging import (
    Place,
    is_folder,
    is_there,
    missing_folder,
    mode_of,
    naming_trouble,
    target_of,
)

Refuse = Callable[[], None]
"""Raises if a file would be lost that is not ours."""


class Together:
    """Files that appear together when the block ends well; `hashed` where a manifest lists them."""

    def __init__(self, *, hashed: bool = False) -> None:
        self._hashed = hashed
        self._files: list[Staged] = []
        """Those that stand for themselves."""
        self._family: Family | None = None
        self._refusals: list[Refuse] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Nothing appears before the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give every file its name, or leave all as it was."""
        try:
            if kind is None:
                self._commit()
        finally:
            with held_signals():
                self._end(well=False)

    def refuse_last(self, refuse: Refuse) -> None:
        """Ask once more when all is written, and no other run of ours can change the folders."""
        self._refusals.append(refuse)

    def stage(self, path: str, *, keep_if_same: bool = False) -> Staged:
        """A new file, that will take the place of what stands at a path."""
        target = target_of(path)
        if self._family is not None and (name := self._family.name_of(target)) is not None:
            with naming_trouble(path):
                return self._family.add(path, name, hashed=self._hashed)
        folder, name = os.path.split(target)
        if not is_folder(folder, path):
            raise missing_folder(path)
        with naming_trouble(path), held_signals():
            home = Place(folder)
            self._stack.callback(home.close)
            temporary, descriptor = home.new_file(name)
            staged = Staged(
                path, home, temporary, name, WrittenFile(descriptor, hashed=self._hashed)
            )
            self._files.append(staged)
            staged.keep_if_same = keep_if_same
            os.fchmod(descriptor, mode_of(target))
        return staged

    def stage_family(
        self,
        path: str,
        names: Sequence[str],
        family: Sequence[str],
        *,
        keep_if_same: bool = False,
    ) -> dict[str, Staged]:
        """A new file for each name in a folder; others of the family go when these come."""
        with naming_trouble(path):
            with held_signals():
                self._family = Family(path, family, keep_if_same=keep_if_same)
            self._family.begin(names)
            return {
                name: self._family.add(os.path.join(path, name), name, hashed=self._hashed)
                for name in names
            }

    def written(self, path: str) -> Written:
        """Size and digest of what was written for a path."""
        family = [] if self._family is None else self._family.files.values()
        return next(given for given in (*family, *self._files) if given.path == path).written()

    def _commit(self) -> None:
        for staged in self._files:
            staged.find_same()
        homes = [staged.home for staged in self._files]
        family = self._family
        if family is not None and family.is_new:
            with _locked([family.outer, *homes]):
                if not is_there(family.target, family.path):
                    self._swap()
                    return
        if family is not None:
            family.enter()  # it was there before, or another run has made it since
            homes += family.homes
        with _locked(homes):
            self._swap()

    def _check_paths(self) -> None:
        """Raise if a link leads elsewhere than it did: files of one run would lie apart."""
        led = [(staged.path, staged.target) for staged in self._files]
        if self._family is not None:
            led.append((self._family.path, self._family.target))
        for path, target in led:
            if os.path.realpath(path) != target:
                raise FileTrouble(path, "a link in this path was changed during the run")

    def _swap(self) -> None:
        """All new files for all old ones, or all back again."""
        self._check_paths()
        for refuse in self._refusals:
            refuse()
        family = self._family
        with held_signals():
            try:
                if family is not None:
                    family.come()
                for staged in self._files:
                    if family is not None or len(self._files) > 1:
                        staged.back_up()
                    staged.appear()
                for staged in self._files:
                    staged.check()
                    staged.make_last()
                if family is not None:
                    family.check()
            except BaseException:
                for staged in reversed(self._files):
                    staged.go_back()
                if family is not None:
                    family.go_back()
                raise
            self._end(well=True)

    def _end(self, *, well: bool) -> None:
        """Leave nothing behind but what appeared. Only the first call counts."""
        files, family = self._files, self._family
        self._files, self._family = [], None
        for staged in files:
            staged.end()
        if family is not None:
            family.end(well=well)
        self._stack.close()


@contextmanager
def joining(together: Together | None) -> Iterator[Together]:
    """The files of a run that more files belong to, or of the block alone."""
    if together is not None:
        yield together
        return
    with Together() as alone:
        yield alone


@contextmanager
def _locked(places: Iterable[Place]) -> Iterator[None]:
    """No other run changes these folders for the time of a block."""
    ordered = {place.rank(): place for place in places}
    held = [ordered[rank] for rank in sorted(ordered)]
    deadline = time.monotonic() + staging.LONGEST_WAIT
    with ExitStack() as stack:
        for place in held:
            place.lock(deadline)
            stack.callback(place.unlock)
        for place in held:
            place.check_unmoved()
        yield
