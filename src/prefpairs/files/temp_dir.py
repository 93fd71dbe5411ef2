"""The system's folder for temporary files."""

import os
import tempfile

from prefpairs.files.staging import naming_trouble


def temporary_folder() -> str:
    """Where temporary files go; if they cannot, the error says why.

    Python itself only says that no folder is usable, also where no file can be opened at all.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        usual = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - only tried out
        with naming_trouble(usual), tempfile.TemporaryFile(dir=usual):
            return usual
