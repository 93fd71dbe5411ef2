"""Build docs/ into site/: pages that open from disk and request nothing from other hosts.

The pages are copied to .site/, with the project's pages from elsewhere; links between
them are adapted; Sphinx makes HTML of them and stops at every broken link.
Then the HTML is searched for anything that a browser would fetch from other hosts.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parent.parent
STAGE = ROOT / ".site"
SITE = ROOT / "site"
THEME = ROOT / "scripts" / "site_theme"

ELSEWHERE = {
    "CHANGELOG.md": "project/changes.md",
    "SECURITY.md": "project/security.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "sample_data/README.md": "project/sample-data.md",
    "examples/data-repo/README.md": "project/data-repo.md",
}
"""Pages outside docs/ that belong to the site, and their places in it."""

NAVIGATION = {
    "Start here": ["tutorial"],
    "Guides": [
        "guides/nemo-gym-to-nemo-rl",
        "guides/nat-to-customizer",
        "guides/jsonl-to-trl",
        "guides/logs-to-trl",
        "guides/make-and-dvc",
        "guides/noisy-scores",
        "guides/before-a-run",
        "guides/*",
    ],
    "How it works": ["concepts", "strategies"],
    "In detail": [
        "sources/nemo-gym",
        "sources/nat",
        "sources/generic",
        "sources/*",
        "curating",
        "looking",
        "show-and-diff",
        "export",
        "submitting",
        "traps",
        "trainers",
        "recipes",
        "terminal",
        "reliability",
        "performance",
        "scaling",
    ],
    "Reference": ["reference/index", "reference/reasons", "decisions/index"],
    "Project": [
        "project/changes",
        "project/security",
        "project/contributing",
        "project/sample-data",
        "project/data-repo",
    ],
}
"""Pages in the order of the navigation; missing ones are skipped, and unlisted ones come last."""

_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FETCHED = {
    "script": "src",
    "img": "src",
    "source": "srcset",
    "iframe": "src",
    "link": "href",
    "embed": "src",
    "object": "data",
    "video": "src",
    "audio": "src",
}
_OUTSIDE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
_OUTSIDE_IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?\s*((?:https?:)?//[^'\")\s]+)")


class LinkLeavesSite(Exception):
    """A page links to a file that is not part of the site, or does not exist."""


def main() -> int:
    """Stage, build, check."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    try:
        stage(ROOT, STAGE)
    except LinkLeavesSite as error:
        print(f"error: a link to no page of the site: {error}", file=sys.stderr)
        return 1
    words = ["-b", "html", "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    folders = ["-c", str(THEME), "-d", str(STAGE / ".doctrees"), str(STAGE), str(SITE)]
    command = [sys.executable, "-m", "sphinx", *words, *folders]
    code = subprocess.run(command, check=False).returncode
    found = list(fetched_from_outside(SITE))
    for place, address in found:
        print(f"error: {place}: fetches {address}", file=sys.stderr)
    if code or found:
        return 1
    print(f"wrote {SITE.relative_to(ROOT)}/index.html")
    return 0


def stage(root: Path, target: Path) -> None:
    """Copy the pages and pictures of a repository, with links adapted to the site."""
    pages = places(root)
    for source, place in pages.items():
        written = target / place
        written.parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".md"):
            text = (root / source).read_text("utf-8")
            written.write_text(relinked(text, source, pages), "utf-8")
        else:
            shutil.copyfile(root / source, written)
    names = [place.removesuffix(".md") for place in pages.values() if place.endswith(".md")]
    for page, lists in listed(names).items():
        with (target / f"{page}.md").open("a", encoding="utf-8") as file:
            file.writelines(_toctree(caption, children) for caption, children in lists)


def places(root: Path) -> dict[str, str]:
    """The place of each file in the site; a README is its folder's index."""
    docs = root / "docs"
    files = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*") if path.is_file())
    found = {f"docs/{name}": _as_index(name) for name in files}
    there = {source: place for source, place in ELSEWHERE.items() if (root / source).exists()}
    return found | there


def _as_index(name: str) -> str:
    """The place of a page.

    >>> _as_index("reference/README.md"), _as_index("export.md")
    ('reference/index.md', 'export.md')
    """
    path = PurePosixPath(name)
    return str(path.with_name("index.md")) if path.name == "README.md" else name


def relinked(text: str, source: str, pages: dict[str, str]) -> str:
    """A page with its links to files adapted to the site; code is unchanged.

    >>> relinked("[a](../b.md#c) `x`", "docs/a.md", {"docs/a.md": "a.md", "b.md": "d/b.md"})
    '[a](d/b.md#c) `x`'
    """
    here = str(PurePosixPath(source).parent)

    def turned(link: re.Match[str]) -> str:
        wanted = normpath(f"{here}/{link[1]}")
        place = pages.get(wanted) or pages.get(f"{wanted}/README.md")
        if place is None:
            raise LinkLeavesSite(f"{source}: {link[0]}")
        return relpath(place, str(PurePosixPath(pages[source]).parent)) + (link[2] or "")

    parts = _CODE.split(text)
    parts[::2] = [_LINK.sub(turned, part) for part in parts[::2]]
    return "".join(parts)


def listed(names: Sequence[str]) -> dict[str, list[tuple[str, list[str]]]]:
    """The lists of pages in the navigation, by the page that contains them.

    A folder with its own index lists its pages there, so that they can be folded.

    >>> listed(["index", "strategies", "concepts", "new", "reference/index", "reference/pair"])
    {'reference/index': [('', ['pair'])], \
'index': [('How it works', ['concepts', 'strategies']), ('Reference', ['reference/index']), \
('More', ['new'])]}
    """
    lists: dict[str, list[tuple[str, list[str]]]] = {}
    left = [name for name in sorted(names) if name != "index"]
    named = {pattern for patterns in NAVIGATION.values() for pattern in patterns}
    for index in [name for name in left if name.endswith("/index")]:
        folder = index.removesuffix("index")
        children = [n for n in left if n.startswith(folder) and n != index and n not in named]
        lists[index] = [("", [child.removeprefix(folder) for child in children])]
        left = [name for name in left if name not in children]
    lists["index"] = []
    for caption, patterns in NAVIGATION.items():
        found = [name for pattern in patterns for name in left if fnmatch(name, pattern)]
        left = [name for name in left if name not in found]
        lists["index"].append((caption, list(dict.fromkeys(found))))
    lists["index"].append(("More", left))
    return {page: [one for one in many if one[1]] for page, many in lists.items()}


def _toctree(caption: str, names: Sequence[str]) -> str:
    """The list as a Sphinx directive."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return f"\n```{{toctree}}\n{options}\n" + "".join(f"{name}\n" for name in names) + "```\n"


def fetched_from_outside(site: Path) -> Iterator[tuple[str, str]]:
    """What a browser would request from other hosts to show the pages, by file."""
    for path in sorted(site.rglob("*")):
        place = path.relative_to(site).as_posix()
        if path.suffix == ".html":
            page = _Page()
            page.feed(path.read_text("utf-8"))
            yield from ((place, address) for address in page.outside)
        if path.suffix in (".html", ".css", ".svg"):
            for found in _OUTSIDE_IN_STYLE.finditer(path.read_text("utf-8")):
                yield place, found[1]


class _Page(HTMLParser):
    """Collects what is fetched from other hosts; links for readers are ignored."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check the attributes of tags that make browsers fetch."""
        address = dict(attrs).get(_FETCHED.get(tag, "")) or ""
        if _OUTSIDE.match(address):
            self.outside.append(address)


if __name__ == "__main__":
    sys.exit(main())
