"""Several files of one folder that appear together, or not at all."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prefpairs.files.inputs import Input
from prefpairs.files.joint_commit import Together, joining
from prefpairs.files.output import Output, refuse_same_file
from prefpairs.files.staging import naming_trouble


@contextmanager
def open_folder(  # noqa: PLR0913 - what is written, and how it appears
    path: str,
    names: Sequence[str],
    family: Sequence[str],
    inputs: Sequence[Input] = (),
    *,
    keep_if_same: bool = False,
    together: Together | None = None,
) -> Iterator[dict[str, Output]]:
    """An output for each of the names; they appear in the folder when the block ends well.

    Files of the family that stand there and were not asked for are from an earlier run, and go.
    A new folder appears whole. In one that exists, all old files go before the first new one
    comes: at no time do old and new ones stand side by side. With `keep_if_same` files whose
    bytes would not change stay as they are. Where the files of a run stand `together`, they
    appear when the others do.
    """
    for name in family:
        refuse_same_file(os.path.join(path, name), inputs)
    with joining(together) as files:
        staged = files.stage_family(path, names, family, keep_if_same=keep_if_same)
        with naming_trouble(path):
            yield {name: given.file for name, given in staged.items()}
            for given in staged.values():
                given.complete()
