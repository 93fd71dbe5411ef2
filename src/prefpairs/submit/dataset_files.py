"""The files of a dataset as a service gets them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import FileError
from prefpairs.files.file_system import is_file, is_folder
from prefpairs.files.uploaded_file import FileDigests, blocks_of_file, digests_of_file
from prefpairs.targets.base import Target

_SENT = ("train", "val")
"""The sides that a service takes. It does nothing with test data, which stays here."""


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A file, its name in the dataset, and its digests."""

    side: str
    path: str
    name: str
    digests: FileDigests

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.digests.size

    def blocks(self, block: int = 1 << 16) -> Iterator[bytes]:
        """Its bytes."""
        return blocks_of_file(self.path, self.size, block)


def files_of_dataset(folder: str, target: Target) -> list[DatasetFile]:
    """The files of a dataset for training and validation, read once for their digests."""
    if not is_folder(folder):
        problem = "is no directory" if is_file(folder) else "there is no such directory"
        raise FileError(folder, problem)
    paths = {
        side: os.path.join(folder, target.files[side])
        for side in _SENT
        if is_file(os.path.join(folder, target.files[side]))
    }
    if "train" not in paths:
        problem = f"there is no {target.files['train']} in it"
        raise FileError(folder, f"{problem}, as `prefpairs export --to {target.name}` writes it")
    return [
        DatasetFile(side, path, target.files[side], digests_of_file(path))
        for side, path in paths.items()
    ]


def listed(files: list[DatasetFile]) -> dict[str, dict[str, Any]]:
    """The files for a record."""
    return {
        file.name: {"size": file.size, "sha256": file.digests.sha256, "rows": file.digests.rows}
        for file in files
    }
