"""Print the lower bound of every dependency in pyproject.toml, as constraints for pip.

`make test-lowest` installs these versions and tests with them, so that the declared bounds work.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
TESTED = "zstd", "parquet", "near", "tokens", "dev"
"""The extras whose lower bounds are tested."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<lowest>[\w.]+)(?:,[^;]*)?(?P<marker>;.*)?")


def lowest_versions(project: dict[str, Any]) -> Iterator[str]:
    """A constraint for each requirement of a project and of its tested extras.

    >>> list(lowest_versions({"dependencies": ["rich>=13.8", "typer>=0.27.3,<0.29"]}))
    ['rich==13.8', 'typer==0.27.3']
    """
    extras = project.get("optional-dependencies", {})
    given = [*project["dependencies"], *(one for extra in TESTED for one in extras.get(extra, ()))]
    for requirement in given:
        if requirement.startswith("prefpairs["):
            continue
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            sys.exit(f"{requirement} in pyproject.toml: expected NAME>=VERSION")
        yield f"{found['name']}=={found['lowest']}{found['marker'] or ''}"


if __name__ == "__main__":
    for constraint in lowest_versions(tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]):
        print(constraint)
