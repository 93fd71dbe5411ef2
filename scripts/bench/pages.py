"""Rewrites the parts of the docs page between its markers."""

import re
from pathlib import Path

from bench.chart import growth_chart
from bench.results import GROWTH, Results, save
from bench.tables import finding_text, growth_table, machine_text

DOCS = Path(__file__).parents[2] / "docs"


def write_docs(results: Results, docs: Path = DOCS) -> None:
    """Rewrite the tables, the chart and the figures in the text."""
    page, folder = docs / "performance.md", docs / "performance"
    folder.mkdir(exist_ok=True)
    text = replace_block(page.read_text("utf-8"), "machine", machine_text(results.machine))
    for case in {finding.case for finding in results.findings}:
        found = results.of(case)
        block = growth_table(found) if case == GROWTH else "\n\n".join(map(finding_text, found))
        text = replace_block(text, case, block)
    page.write_text(text, "utf-8")
    save(results, folder / "results.json")
    if grown := results.of(GROWTH):
        (folder / "growth.svg").write_text(growth_chart(grown), "utf-8")


def replace_block(text: str, name: str, block: str) -> str:
    r"""Replace the text between the markers of this name.

    >>> replace_block("a\n<!-- begin b -->\nc\n<!-- end b -->\n", "b", "d")
    'a\n<!-- begin b -->\nd\n<!-- end b -->\n'
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{block}\n{end}", text)
