"""The lowest versions that `make test-lowest` installs, compared with pyproject.toml."""

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import lowest_versions  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_every_requirement_of_a_user_is_held_to_its_lower_bound() -> None:
    """The program's requirements and its extras' have their lower bounds, with markers."""
    constraints = list(lowest_versions.lowest_versions(PROJECT))
    extras = PROJECT["optional-dependencies"]
    optional = [one for name in ("zstd", "parquet", "near", "tokens") for one in extras[name]]
    for requirement in [*PROJECT["dependencies"], *optional]:
        lowest = requirement.replace(">=", "==").partition(",")[0]
        assert lowest in constraints


def test_upper_bounds_fall_away_and_markers_stay() -> None:
    """Upper bounds are removed and markers kept, in pip's constraints format."""
    project = {
        "dependencies": ["typer>=0.27.3,<0.29"],
        "optional-dependencies": {
            "zstd": ["backports.zstd>=1; python_version < '3.14'"],
            "dev": ["prefpairs[zstd]", "pytest>=8.3"],
            "docs": ["furo"],
        },
    }
    assert list(lowest_versions.lowest_versions(project)) == [
        "typer==0.27.3",
        "backports.zstd==1; python_version < '3.14'",
        "pytest==8.3",
    ]


def test_a_requirement_without_a_lower_bound_is_refused() -> None:
    """A requirement without a lower bound is rejected."""
    with pytest.raises(SystemExit, match=r"rich in pyproject\.toml: expected NAME>=VERSION"):
        list(lowest_versions.lowest_versions({"dependencies": ["rich"]}))
