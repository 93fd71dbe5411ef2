"""A survey as tables of texts and bars, to be rendered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from prefpairs.analysis.distribution import Spread
from prefpairs.analysis.shortcuts import SHORTCUTS
from prefpairs.analysis.survey import GroupSurvey, PairSurvey, Survey
from prefpairs.analysis.win_matrix import Matrix, Wins
from prefpairs.ledger import Ledger
from prefpairs.reasons import ALL

_FIRST_FEW = 5
_WIDEST_HEADS = 60
"""Longer names are listed once, with numbers, and head their columns by number."""
_MORE = (
    "`prefpairs explain CODE` explains a reason; `prefpairs show --group KEY` shows the outcome of "
    "each candidate of a group"
)


class Bar(NamedTuple):
    """A share from 0 to 1, drawn as a bar."""

    share: float


Cell = str | Bar


class Table(NamedTuple):
    """Rows under headings. Columns are aligned right, except the first and those of `words`."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: frozenset[int] = frozenset({0})


class Section(NamedTuple):
    """A part of the report: a title, a table, and notes under it."""

    title: str
    table: Table | None
    notes: Sequence[str] = ()


def sections(survey: Survey, ledger: Ledger) -> list[Section]:
    """All sections of a survey, in the order in which readers need them."""
    pairs, groups = survey.pairs, survey.groups
    found = [_funnel(survey, ledger)]
    if groups is not None:
        found += [_candidate_scores(groups), _group_sizes(groups)]
    if pairs.pairs:
        found += [] if groups is not None else [_pair_scores(pairs)]
        found += [_gaps(pairs), _what_if(survey), _lengths(pairs), _shortcuts(pairs)]
        found += [_concentration(pairs), *_wins(pairs.wins)]
    return [section for section in found if section.table is not None or section.notes]


def warnings(survey: Survey) -> list[str]:
    """Problems to look at before training on the pairs."""
    return [*_unfair(survey.pairs), *_repeated(survey.pairs), *_flat(survey.groups)]


def _unfair(pairs: PairSurvey) -> Iterator[str]:
    for shortcut in pairs.shortcuts():
        if shortcut.warns:
            says = SHORTCUTS[shortcut.name][1]
            often = f"in {shortcut.share:.0%} of the {_count(shortcut.differ)} that differ in it"
            yield f"{says} {often}: a model may learn that instead of the task"


def _repeated(pairs: PairSurvey) -> Iterator[str]:
    if pairs.contradictions:
        yield (
            f"answers preferred to each other: {_count(pairs.contradictions)} "
            "(`prefpairs dedupe --conflicts` resolves them)"
        )
    if pairs.duplicates:
        yield f"duplicates: {_count(pairs.duplicates)} (`prefpairs dedupe` keeps one of each)"


def _flat(groups: GroupSurvey | None) -> Iterator[str]:
    if groups is None:
        return
    equal = sum(groups.all_equal.values())
    if equal > groups.with_spread:
        yield (
            f"more groups have equal scores ({_count(equal)}) than scores to compare "
            f"({_count(groups.with_spread)}): {groups.all_equal['low']:,} are all low (too hard?), "
            f"{groups.all_equal['high']:,} all high (too easy?)"
        )


def _funnel(survey: Survey, ledger: Ledger) -> Section:
    rows = [
        *_inputs(ledger),
        ("rows read", _count(ledger.rows_read), ""),
        *_losses(ledger.rows_dropped - ledger.candidates_dropped),
        *([("  bad", _count(ledger.rows_bad), "see --on-error")] if ledger.rows_bad else []),
    ]
    if survey.groups is not None:
        groups = survey.groups
        rows += [
            ("candidates", _count(ledger.candidates_found), ""),
            *_losses(ledger.candidates_dropped),
        ]
        rows += [("groups", _count(groups.groups), "")]
        rows += list(_losses(ledger.groups_without_pair))
        rows += [("groups with a spread", _count(groups.with_spread), "scores that differ")]
    for stage in ledger.stages:
        rows += [(stage.name, _count(stage.found), "pairs"), *_losses(stage.dropped)]
    rows += [("pairs", _count(survey.pairs.pairs), "")]
    rows += [("prompts", _count(survey.pairs.prompts), "different ones, with their tools")]
    notes = [*ledger.notes, *([_MORE] if any(name.startswith("  ") for name, *_ in rows) else [])]
    return Section(
        "What happened to the input", Table(("", "", ""), rows, frozenset({0, 2})), notes
    )


def _inputs(ledger: Ledger) -> Iterator[tuple[str, str, str]]:
    """The format that each file was read as."""
    for source in dict.fromkeys(source for _, source in ledger.sources):
        names = [name for name, of in ledger.sources if of == source]
        more = f" and {_count(len(names) - _FIRST_FEW)} more" if len(names) > _FIRST_FEW else ""
        yield f"read as {source}", _of(len(names), "file"), ", ".join(names[:_FIRST_FEW]) + more


def _losses(reasons: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    for code, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        if count > 0:
            yield f"  {code}", f"-{_count(count)}", ALL[code]


def _candidate_scores(groups: GroupSurvey) -> Section:
    notes = [*_kind(groups.scores)]
    if any(groups.all_equal.values()):
        counts = ", ".join(f"{count:,} {side}" for side, count in groups.all_equal.items() if count)
        notes.append(f"groups whose scores are all equal: {counts} (of the range of all scores)")
    if groups.tied_pairs:
        share = groups.tied_pairs / groups.possible_pairs
        notes.append(
            f"ties: {share:.0%} of the {_count(groups.possible_pairs)} comparisons within groups"
        )
    return _histograms("Scores of candidates", "score", {"candidates": groups.scores}, notes)


def _group_sizes(groups: GroupSurvey) -> Section:
    return _histograms("Candidates per group", "candidates", {"groups": groups.sizes})


def _pair_scores(pairs: PairSurvey) -> Section:
    return _histograms("Scores", "score", dict(pairs.scores()))


def _gaps(pairs: PairSurvey) -> Section:
    notes = [f"{_of(pairs.without_gap, 'pair')} without a gap"] if pairs.without_gap else []
    return _histograms("Gaps", "gap", {"pairs": pairs.gaps()}, notes)


def _what_if(survey: Survey) -> Section:
    pairs, prompts = survey.pairs.pairs, survey.pairs.prompts
    rows = [
        (
            f"{left.min_gap:g}",
            _count(left.pairs),
            f"{left.pairs / pairs:.0%}",
            _count(left.prompts),
            f"{left.prompts / prompts:.0%}",
        )
        for left in survey.what_if
    ]
    heads = ("--min-gap", "pairs", "of all", "prompts", "of all")
    known = survey.pairs.without_gap < pairs
    return Section("What another --min-gap would leave", Table(heads, rows) if known else None)


def _lengths(pairs: PairSurvey) -> Section:
    lengths = pairs.lengths()
    notes = [
        f"{side}: median {spread.quantiles['median']:,.0f}, mean {spread.mean:,.0f}, "
        f"longest {spread.high:,.0f}"
        for side, spread in lengths.items()
    ]
    sides = {side: lengths[side] for side in ("chosen", "rejected")}
    return _histograms("Lengths of answers, in characters", "characters", sides, notes)


def _shortcuts(pairs: PairSurvey) -> Section:
    rows = [
        (
            SHORTCUTS[shortcut.name][1],
            f"{shortcut.share:.1%}",
            Bar(shortcut.share or 0.0),
            _count(shortcut.differ),
            "unfair" if shortcut.warns else "",
        )
        for shortcut in pairs.shortcuts()
    ]
    heads = ("shortcut", "right", "", "of pairs", "")
    notes = ["50% is fair: then the trait does not predict which answer is chosen"]
    table = Table(heads, rows, frozenset({0, 2, 4})) if rows else None
    return Section("What a shortcut would get right", table, notes if rows else ())


def _concentration(pairs: PairSurvey) -> Section:
    per_prompt = pairs.pairs_per_prompt()
    rows = [
        ("answers chosen in one pair and rejected in another", _count(pairs.both_sides)),
        ("answers preferred to each other (contradictions)", _count(pairs.contradictions)),
        ("repeated pairs (duplicates)", _count(pairs.duplicates)),
    ]
    if per_prompt is not None:
        most = f"{per_prompt.high:,.0f}"
        rows = [("pairs per prompt, maximum", most), *rows]
        rows = [("pairs per prompt, mean", f"{per_prompt.mean:,.2f}"), *rows]
    return Section("Concentration", Table(("", ""), rows))


def _wins(wins: Wins) -> Iterator[Section]:
    yield from map(_matrix, wins.matrices())
    for of in wins.too_many():
        yield Section(f"Who wins, by {of}", None, ["too many different names for a table"])


def _matrix(matrix: Matrix) -> Section:
    names = heads = matrix.names
    if sum(map(len, names)) > _WIDEST_HEADS:
        heads = [f"{number}" for number in range(1, len(names) + 1)]
        names = [f"{number}  {name}" for number, name in zip(heads, names, strict=True)]
    heads = ["chosen \\ rejected", *heads, "wins of all"]
    rows = []
    for place, name in enumerate(names):
        won = sum(matrix.wins[place])
        met = won + sum(row[place] for row in matrix.wins)
        share = f"{won / met:.0%}" if met else ""
        rows.append((name, *map(_count, matrix.wins[place]), share))
    return Section(f"Who wins, by {matrix.of}", Table(heads, rows))


def _histograms(
    title: str, what: str, spreads: Mapping[str, Spread | None], notes: Sequence[str] = ()
) -> Section:
    """Distributions over the same values or bins, side by side."""
    there = {name: spread for name, spread in spreads.items() if spread is not None}
    if not there:
        return Section(title, None, notes)
    columns = {name: _bars(spread) for name, spread in there.items()}
    keys = sorted({key for column in columns.values() for key in column})
    heads: list[str] = [what]
    most = {name: max(column.values()) for name, column in columns.items()}
    for name in columns:
        heads += [name, "share", ""]
    rows = []
    for key in keys:
        row: list[Cell] = [_range(*key)]
        for name, column in columns.items():
            count = column.get(key, 0)
            row += [_count(count), f"{count / there[name].number:.1%}", Bar(count / most[name])]
        rows.append(row)
    bars = frozenset(range(3, len(heads), 3))
    return Section(title, Table(heads, rows, bars | {0}), notes)


def _kind(spread: Spread | None) -> Iterator[str]:
    """A note if scores are binary or constant."""
    if spread is not None and spread.kind in ("binary", "constant"):
        values = " or ".join(_range(value, value) for value, _ in spread.values)
        yield f"{spread.kind} scores: each is {values}"


def _bars(spread: Spread) -> dict[tuple[float, float], int]:
    """The counts of values, or of bins without the empty ones at both ends."""
    if spread.values:
        return {(value, value): count for value, count in spread.values}
    bins = list(spread.bins)
    while bins and not bins[-1].number:
        bins.pop()
    while bins and not bins[0].number:
        bins.pop(0)
    return {(low, high): count for low, high, count in bins}


def _range(low: float, high: float) -> str:
    return f"{low:,.15g}" if low == high else f"{low:,.15g} to {high:,.15g}"


def _count(number: int) -> str:
    return f"{number:,}"


def _of(count: int, noun: str) -> str:
    return f"{_count(count)} {noun}" + ("" if count == 1 else "s")
