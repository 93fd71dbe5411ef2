"""The site generator: which pages it gets, and what pages may not fetch."""

import doctest
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import make_site  # noqa: E402


def test_our_pages_can_be_staged(tmp_path: Path) -> None:
    """Links between our pages and in the navigation are valid."""
    make_site.stage(ROOT, tmp_path)
    front = (tmp_path / "index.md").read_text("utf-8")
    assert "\nguides/before-a-run\n" in front
    named = {name for names in make_site.NAVIGATION.values() for name in names if "*" not in name}
    missing = {name for name in named if not (tmp_path / f"{name}.md").exists()}
    assert missing <= {"looking", "show-and-diff", "terminal"}
    assert (tmp_path / "project" / "security.md").exists()
    assert "\n0001-xxh3-for-digests\n" in (tmp_path / "decisions" / "index.md").read_text("utf-8")


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    """A broken link is an error that names page and link; links in code are ignored."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "README.md").write_text("`[c](d.md)`\n\n```\n[x](y.md)\n```\n[`a`](b.md)\n", "utf-8")
    with pytest.raises(make_site.LinkLeavesSite, match=r"docs/README.md: b.md"):
        make_site.stage(tmp_path, tmp_path / "stage")


def test_pages_that_come_later_are_listed() -> None:
    """New pages are listed where the navigation has them, else at the end."""
    names = ["index", "terminal", "recipes", "new", "guides/new", "guides/before-a-run"]
    assert make_site.listed(names)["index"] == [
        ("Guides", ["guides/before-a-run", "guides/new"]),
        ("In detail", ["recipes", "terminal"]),
        ("More", ["new"]),
    ]


def test_what_is_fetched_from_outside(tmp_path: Path) -> None:
    """Scripts, styles, images and fonts from other hosts are found; links are fine."""
    (tmp_path / "page.html").write_text(
        '<link href="a.css"><link href="https://a/b.css"><a href="https://fine/">x</a>'
        '<script src="//c/d.js"></script><img src="e.svg"><img src="HTTP://f/g.png">'
        "<style>@import 'https://h/i.css';</style>",
        "utf-8",
    )
    (tmp_path / "style.css").write_text("a { src: url(https://j/k.woff) url(l.woff) }", "utf-8")
    assert list(make_site.fetched_from_outside(tmp_path)) == [
        ("page.html", "https://a/b.css"),
        ("page.html", "//c/d.js"),
        ("page.html", "HTTP://f/g.png"),
        ("page.html", "https://h/i.css"),
        ("style.css", "https://j/k.woff"),
    ]


def test_docstrings() -> None:
    """The examples in docstrings are correct."""
    done = doctest.testmod(make_site)
    assert (done.failed, done.attempted > 0) == (0, True)
