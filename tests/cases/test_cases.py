"""Golden cases: each folder holds a command line, its input, and what must come of it.

`cmd` runs in a copy of its folder. `out`, `err` and `code` are what it must write and return.
`make bless` rewrites these three from what the program does now; read the diff before you
commit it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/*/cmd"))
PROGRAM = f'prefpairs() {{ "{sys.executable}" -m prefpairs "$@"; }}; '


def run(case: Path, folder: Path) -> dict[str, bytes]:
    """What a case's command writes and returns."""
    shutil.copytree(case, folder)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", PROGRAM + (case / "cmd").read_text("utf-8")],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
    )
    return {"out": done.stdout, "err": done.stderr, "code": b"%d\n" % done.returncode}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case(case: Path, tmp_path: Path) -> None:
    """The command writes and returns what its folder says."""
    actual = run(case, tmp_path / "case")
    if "BLESS" in os.environ:
        for name, content in actual.items():
            (case / name).write_bytes(content)
    expected = {name: (case / name).read_bytes() for name in actual}
    assert actual == expected
