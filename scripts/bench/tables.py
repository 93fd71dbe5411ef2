"""Findings as Markdown tables, padded to be readable in a terminal, too."""

from collections.abc import Sequence

from bench.results import Claim, Cost, Finding, Machine


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: the first column left-aligned, the others right-aligned.

    >>> print(table(["who", "wall"], [["me", "1.0"], ["you", "12.5"]]))
    | who | wall |
    | :-- | ---: |
    | me  |  1.0 |
    | you | 12.5 |
    """
    widths = [max(3, *map(len, column)) for column in zip(head, *rows, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in (head, rule, *rows))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line of a table."""
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"| {' | '.join(padded)} |"


def finding_text(finding: Finding) -> str:
    """Costs, claims and notes of one finding."""
    scale = f", {finding.rollouts:,}" if finding.rollouts else ""
    parts = [f"**{finding.title}{scale}** (best of {finding.rounds})", costs_table(finding)]
    if finding.claims:
        parts.append(claims_table(finding.claims))
    parts += [f"{note[:1].upper()}{note[1:]}." for note in finding.notes]
    return "\n\n".join(parts)


def costs_table(finding: Finding) -> str:
    """The cost of each contender, also as a multiple of the baseline's."""
    base = finding.costs[finding.baseline]
    rows = [[name, *_cost(cost, base)] for name, cost in finding.costs.items()]
    return table(["", "wall s", "CPU s", "peak MB", "wall", "CPU", "peak"], rows)


def _cost(cost: Cost, base: Cost) -> list[str]:
    """The cells of one contender."""
    ratios = (cost.wall / base.wall, cost.cpu / base.cpu, cost.peak / base.peak)
    return [
        f"{cost.wall:.3f}",
        f"{cost.cpu:.3f}",
        f"{cost.peak / 1e6:,.0f}",
        *(f"{ratio:.2f}x" for ratio in ratios),
    ]


def claims_table(claims: Sequence[Claim]) -> str:
    """Figure, bound, and whether it is met."""
    rows = [
        [
            claim.what,
            f"{claim.value:.3g} {claim.unit}"
            if claim.value < 100
            else f"{claim.value:.0f} {claim.unit}",
            f"{'at least' if claim.least else 'at most'} {claim.bound:g} {claim.unit}",
            "yes" if claim.met else "no",
        ]
        for claim in claims
    ]
    return table(["figure", "measured", "wanted", "met"], rows)


def growth_table(findings: Sequence[Finding]) -> str:
    """Wall time and peak memory of each contender, a column per scale."""
    names = {name: None for finding in findings for name in finding.costs}
    rows = [
        [name, *(_wall_and_peak(finding.costs.get(name)) for finding in findings)] for name in names
    ]
    scales = [f"{finding.rollouts:,} ({finding.input_bytes / 1e9:.2g} GB)" for finding in findings]
    return table(["wall, peak", *scales], rows)


def _wall_and_peak(cost: Cost | None) -> str:
    """Both in one cell."""
    return "" if cost is None else f"{cost.wall:,.2f} s, {cost.peak / 1e6:,.0f} MB"


def machine_text(machine: Machine) -> str:
    """The machine in a sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items())
    return (
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gb:g} GB; {machine.system}, "
        f"Python {machine.python}; {versions}."
    )
