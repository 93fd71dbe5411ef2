"""A folder in which the steps of one run leave files for the steps that come after them.

Steps may run at the same time, on several machines, and be killed: each file appears when it is
complete, under a name that says which step wrote it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager

from prefpairs.files.file_system import errors_named, exists, is_file
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.output import Output, open_output, write_file


class WorkFolder:
    """A folder, and the files in it by their relative names."""

    def __init__(self, path: str) -> None:
        self.path = path

    def at(self, name: str) -> str:
        """The path of a file."""
        return os.path.join(self.path, name)

    def create(self, *folders: str) -> None:
        """Create the folder and folders in it, unless they exist."""
        for folder in ("", *folders):
            path = self.at(folder)
            with errors_named(path):
                os.makedirs(path, exist_ok=True)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, complete or not at all."""
        write_file(self.at(name), content)

    def open(
        self, name: str, transaction: FileTransaction | None = None
    ) -> AbstractContextManager[Output]:
        """An output whose file appears at the end of the block, or of the transaction."""
        return open_output(self.at(name), transaction=transaction)

    def read(self, name: str) -> bytes | None:
        """All of a file; None if it does not exist."""
        path = self.at(name)
        if not is_file(path):
            return None
        with errors_named(path), open(path, "rb") as file:
            return file.read()

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        """A part of a file."""
        path = self.at(name)
        with errors_named(path), open(path, "rb") as file:
            file.seek(offset)
            return file.read(length)

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file."""
        path = self.at(name)
        with errors_named(path), open(path, "rb") as file:
            yield from file

    def move(self, name: str, path: str) -> None:
        """Give a file its final place, unless an earlier call did."""
        if is_file(self.at(name)):
            with errors_named(path):
                os.replace(self.at(name), path)

    @property
    def removed(self) -> str:
        """The path of the folder while it is being removed."""
        return f"{self.path}-removed"

    def remove(self) -> None:
        """Remove the folder and everything in it, and what a killed call has not removed.

        It goes at once: no other process sees a part of it.
        """
        with errors_named(self.path):
            if exists(self.removed):
                shutil.rmtree(self.removed)
            if exists(self.path):
                os.rename(self.path, self.removed)
                shutil.rmtree(self.removed)


def names_in(folder: str) -> list[str]:
    """The names in a folder, sorted; none if there is no such folder."""
    try:
        with errors_named(folder):
            return sorted(os.listdir(folder)) if os.path.lexists(folder) else []  # noqa: TID251
    except NotADirectoryError:
        return []


def remove_file(path: str) -> None:
    """Remove a file, if it is there."""
    if is_file(path):
        with errors_named(path):
            os.remove(path)
