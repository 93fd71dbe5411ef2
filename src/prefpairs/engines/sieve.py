"""Pairs through sieves: decided on by what is known of each, and written with their texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from prefpairs.engines.fetching import Library
from prefpairs.engines.pairs import FiledPairs
from prefpairs.engines.plan import SievePlan
from prefpairs.engines.rows import reading_rows
from prefpairs.engines.writing import write_pair
from prefpairs.errors import NothingCameOut
from prefpairs.files.output import Output
from prefpairs.report import Report, Stage
from prefpairs.sieves.entry import Entry
from prefpairs.sieves.protocol import Sieve, Texts
from prefpairs.sieves.split import Split
from prefpairs.sources.pairs import PairReading


def sieve(plan: SievePlan, output: Output, report: Report, *, allow_empty: bool = False) -> None:
    """Write the pairs that pass all sieves of the plan."""
    keep = any(sieve.holds_back for sieve in plan.sieves)
    with _filed_pairs(plan, report, keep=keep) as pairs:
        write_pairs(sieved(pairs.entries(), pairs, plan.sieves, report), pairs, output, report)
    refuse_nothing(report, allow_empty=allow_empty)


def split(
    plan: SievePlan,
    parting: Split,
    outputs: Mapping[str, Output],
    report: Report,
    *,
    allow_empty: bool = False,
) -> None:
    """Write the pairs that pass the sieves of the plan, each to the output of its side."""
    keep = parting.holds_back or any(sieve.holds_back for sieve in plan.sieves)
    with _filed_pairs(plan, report, keep=keep) as pairs:
        entries = sieved(pairs.entries(), pairs, plan.sieves, report, wanted=parting.needs)
        write_sides(entries, pairs, parting, outputs, report)
    refuse_nothing(report, allow_empty=allow_empty)


@contextmanager
def _filed_pairs(plan: SievePlan, report: Report, *, keep: bool) -> Iterator[FiledPairs]:
    with Library[PairReading]() as library, reading_rows(plan.read, report) as rows:
        yield FiledPairs(rows, library, report, keep=keep, temp_dir=plan.temp_dir)
        library.check()


def sieved(
    entries: Iterable[Entry],
    texts: Texts,
    sieves: Sequence[Sieve],
    report: Report,
    wanted: frozenset[str] = frozenset(),
) -> Iterator[Entry]:
    """The entries that pass all sieves, one after the other."""
    wanted |= {"id"}
    for place, given in enumerate(sieves):
        later = wanted.union(*(other.needs for other in sieves[place + 1 :]))
        stage = _stage_of(given.name, report)
        entries = given.sieve(_counted(entries, stage), texts, stage, later)
    return iter(entries)


def write_pairs(entries: Iterable[Entry], texts: Texts, output: Output, report: Report) -> None:
    """Write the pairs behind the entries."""
    for entry in entries:
        write_pair(texts.pair(entry), output, report)


def write_sides(
    entries: Iterable[Entry],
    texts: Texts,
    parting: Split,
    outputs: Mapping[str, Output],
    report: Report,
) -> None:
    """Write the pairs behind the entries, each to the output of its side."""
    stage = _stage_of(parting.name, report)
    report.sides = dict.fromkeys(outputs, 0)
    for entry, side in parting.sides_of(_counted(entries, stage), texts, stage):
        write_pair(texts.pair(entry), outputs[side], report)
        report.sides[side] += 1
    for side, pairs in report.sides.items():
        if report.pairs and not pairs and not parting.exact:
            stage.notes.append(f"{side} came out empty; on small inputs --exact fills every side")


def refuse_nothing(report: Report, *, allow_empty: bool) -> None:
    """Raise if no pair came out, unless that is allowed."""
    if not report.pairs and not allow_empty:
        raise NothingCameOut("pair")


def _stage_of(name: str, report: Report) -> Stage:
    report.stages.append(Stage(name))
    return report.stages[-1]


def _counted(entries: Iterable[Entry], stage: Stage) -> Iterator[Entry]:
    for entry in entries:
        stage.found += 1
        yield entry
