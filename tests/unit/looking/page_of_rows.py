"""Pages of rows in memory, and what an HTML parser finds in them."""

import json
from html.parser import HTMLParser
from typing import Any

from survey_of_rows import Row, entry_of

from prefpairs.analysis.survey import PairSurvey, Survey
from prefpairs.ledger import Ledger
from prefpairs.model.pair import pair_of
from prefpairs.render.page.document import page
from prefpairs.render.page.gallery import Gallery


def page_of(rows: list[Row], pairs: int = 1000, title: str | None = None) -> str:
    """The page about the pairs of rows."""
    found, gallery, ledger = PairSurvey(), Gallery(pairs, seed=0), Ledger(rows_read=len(rows))
    ledger.sources.append(("in.jsonl", "pairs"))
    for number, row in enumerate(rows):
        pair, digests = pair_of(row)
        entry = entry_of(number, pair, digests)
        found.add(entry, pair)
        gallery.add(entry, pair)
    survey = Survey(found, found.what_if())
    return b"".join(page(survey, ledger, gallery, title)).decode()


class Parsed(HTMLParser):
    """The elements of a page with attributes, its text, and its pairs."""

    def __init__(self, told: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.policy = ""
        self.feed(told)
        self.close()

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """The pairs as the page's script reads them."""
        read: list[dict[str, Any]] = json.loads(self.raw["script"][0])
        return read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element and that it is open."""
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that elements are closed in order."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text, and the content of scripts and styles."""
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]].append(data)
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        """Fail on any comment."""
        self.comments.append(data)
