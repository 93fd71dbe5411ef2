"""The pictures of docs/strategies.md, compared with the strategies."""

import doctest
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import make_pictures  # noqa: E402

from prefpairs.strategies import STRATEGIES  # noqa: E402


def test_pictures_are_fresh() -> None:
    """`make docs` would change nothing."""
    folder = ROOT / "docs" / "pictures"
    written = {path.name: path.read_text("utf-8") for path in folder.glob("*.svg")}
    assert written == make_pictures.pictures()


def test_every_strategy_has_a_picture_on_the_page() -> None:
    """Every strategy has a picture on the page."""
    page = (ROOT / "docs" / "strategies.md").read_text("utf-8")
    shown = re.findall(r"\(pictures/([\w-]+)\.svg\)", page)
    assert sorted(shown) == sorted(make_pictures.PICTURES)
    assert set(STRATEGIES) <= set(shown)


def test_an_arc_goes_from_the_rejected_dot_to_the_chosen_one() -> None:
    """There is one arc per pair, between its candidates; unused candidates are empty dots."""
    svg = make_pictures.drawn(make_pictures.PICTURES["best-vs-worst"])
    assert re.findall(r'd="M([\d.]+) .* ([\d.]+) \d+"', svg) == [("566.0", "34.0")]
    assert re.findall(r'class="used" cx="([\d.]+)"', svg) == ["566.0", "34.0"]
    assert svg.count('class="left"') == len(make_pictures.FEW) - 2


def test_places() -> None:
    """The examples in docstrings are correct."""
    assert doctest.testmod(make_pictures).failed == 0
    assert doctest.testmod(make_pictures).attempted > 0
