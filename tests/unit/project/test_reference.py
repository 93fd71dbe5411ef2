"""docs/reference matches the code."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from make_reference import decisions_page, pages  # noqa: E402


def test_reference_is_fresh() -> None:
    """`make docs` would change nothing."""
    folder = ROOT / "docs" / "reference"
    written = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert written == pages()


def test_every_decision_is_listed() -> None:
    """`make docs` would change nothing there, either."""
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text("utf-8")
    assert listed == decisions_page()
    assert "- [1. xxh3 for digests and draws](0001-xxh3-for-digests.md)\n" in listed
