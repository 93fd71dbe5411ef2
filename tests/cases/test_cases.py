"""Golden cases: each folder contains a command line, its input and the expected result.

`cmd` runs in a copy of its folder. `out`, `err` and `code` are its expected output and exit code.
`make bless` rewrites these three from what the program does now; read the diff before you
commit it.
"""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from forked_prefpairs import in_shells

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/*/cmd"))
FRESH = 'prefpairs() {{ env {} "{}" -m prefpairs "$@"; }}; '

ELSEWHERE = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "1"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "2"},
    {"LC_ALL": "POSIX", "TZ": "America/St_Johns", "PYTHONOPTIMIZE": "1", "TERM": "dumb"},
    {"LC_ALL": "C.UTF-8", "TZ": "nowhere", "PYTHONHASHSEED": "4242", "HOME": "/nonexistent"},
]
"""Locale, time zone, hash seed and other settings that must not change the result."""

SOME = CASES[1::2]
"""How a case is run there, in a fresh Python: some in `make test`, the rest in `make stress`."""


def run(case: Path, folder: Path, program: str) -> dict[str, bytes]:
    """The output and exit code of a case's command."""
    shutil.copytree(case, folder)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program + (case / "cmd").read_text("utf-8")],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        # bash, too, warns about a missing locale
        env={**in_shells(), "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
    )
    return {"out": done.stdout, "err": done.stderr, "code": b"%d\n" % done.returncode}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case.parent.name}/{case.name}",
            marks=[pytest.mark.full] if case.parent == before.parent else [],
        )
        for before, case in pairwise([Path(), *CASES])
    ],
)
def test_case(case: Path, tmp_path: Path) -> None:
    """The command writes and returns what the files in its folder say."""
    more_descriptors = ">(" in (case / "cmd").read_text("utf-8")  # more than a forked run gets
    program = FRESH.format("", sys.executable) if more_descriptors else ""
    actual = run(case, tmp_path / "case", program)
    if "BLESS" in os.environ:
        for name, content in actual.items():
            (case / name).write_bytes(content)
    expected = {name: (case / name).read_bytes() for name in actual}
    assert actual == expected


@pytest.mark.full
@pytest.mark.parametrize(
    ("place", "case"),
    [
        pytest.param(
            place // 2 % len(ELSEWHERE),
            case,
            id=f"{case.parent.name}/{case.name}",
            marks=[pytest.mark.stress] if place % 2 and case.parent == before.parent else [],
        )
        for place, (before, case) in enumerate(pairwise([Path(), *SOME]))
    ],
)
def test_case_elsewhere(place: int, case: Path, tmp_path: Path) -> None:
    """Law 6: locale, time zone and hash seed do not change a command's output or exit code."""
    settings = " ".join(f"{name}={value}" for name, value in ELSEWHERE[place].items())
    actual = run(case, tmp_path / "case", FRESH.format(settings, sys.executable))
    assert actual == {name: (case / name).read_bytes() for name in actual}
