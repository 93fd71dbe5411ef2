"""The closing summary: what was read, what was lost and why, what came out."""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.cli.terminal.error_text import plural, visible
from prefpairs.cli.terminal.marked_note import notes_on_marked
from prefpairs.ledger import Report, Stage
from prefpairs.ledger.running_stats import WHAT_IF_GAPS
from prefpairs.ledger.summaries import extract_summary, pair_summary, sieve_summary
from prefpairs.model.identity import IDENTITY_VERSION
from prefpairs.reasons import ALL

_MOST_NAMES = 5


def summary_of(command: str, report: Report) -> dict[str, Any]:
    """The summary as data, for --summary."""
    summaries = {"extract": extract_summary, "pair": pair_summary}
    return {"identity": IDENTITY_VERSION, **summaries.get(command, sieve_summary)(report)}


def summary_text(command: str, report: Report, output: str) -> str:
    """The summary as people read it."""
    lines = [*_inputs(report), *_rows(report)]
    if command in ("extract", "pair"):
        lines += _candidates(report)
    lines += _noticed(report)
    if command == "pair":
        lines += _groups(report)
    if command != "extract":
        written = [f"{'traces':18}  {report.traces:,}"] if report.traces else _pairs(report)
        lines += [*_stages(report), *written, *_sides(report)]
    lines += notes_text(report).splitlines()
    if command == "pair":
        lines += notes_on_marked(report)
    if output != "-" and (report.kept if command == "extract" else report.pairs or report.traces):
        lines.append(f"wrote {visible(output)}")
    return "".join(f"{line}\n" for line in lines)


def losses_text(report: Report) -> str:
    """What was left out, and what else should be known; nothing where all is as it should be."""
    rows = _rows(report) if report.rows_dropped or report.rows_bad else ()
    return "".join(f"{line}\n" for line in rows) + notes_text(report)


def notes_text(report: Report) -> str:
    """What should be known of how things were read."""
    return "".join(f"note: {visible(note)}\n" for note in _notes(report))


def early_losses(report: Report) -> list[str]:
    """What was lost before groups were made, a line for each reason."""
    return [*_reasons(report.rows_dropped | report.dropped)]


def _inputs(report: Report) -> Iterator[str]:
    """What each file was taken for; many files of one kind are one line."""
    for source in dict.fromkeys(source for _, source in report.sources):
        names = [visible(name) for name, of in report.sources if of == source]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield f"{'read as ' + source:18}  {', '.join(names[:_MOST_NAMES])}{more}"
    for name in report.passed_over:
        yield f"{'passed over':18}  {visible(name)}: NeMo Gym writes it beside its rollouts"


def _rows(report: Report) -> Iterator[str]:
    dropped = report.rows_dropped.total()
    read, used, bad = report.rows_read, report.rows_used, report.rows_bad
    yield f"{'rows':18}  {read:,} read = {used:,} used + {dropped:,} dropped + {bad:,} bad"
    of_rows = report.rows_dropped - report.dropped
    yield from _reasons(of_rows)
    if (emptied := dropped - of_rows.total()) and of_rows:
        yield f"{emptied:>18,}  lost every candidate, for the reasons below"


def _candidates(report: Report) -> Iterator[str]:
    lost = report.dropped.total()
    yield f"{'candidates':18}  {report.found:,} found = {report.kept:,} kept + {lost:,} dropped"
    yield from _reasons(report.dropped)


def _noticed(report: Report) -> Iterator[str]:
    if report.mended:
        yield f"{'noticed':18}  {report.mended.total():,}"
        yield from _reasons(report.mended)


def _groups(report: Report) -> Iterator[str]:
    without = report.groups_without_pair.total()
    yield f"{'groups':18}  {report.groups:,}" + (f", {without:,} without a pair" if without else "")
    yield from _reasons(report.groups_without_pair)


def _stages(report: Report) -> Iterator[str]:
    for stage in report.stages:
        yield from _stage(stage)


def _stage(stage: Stage) -> Iterator[str]:
    lost = stage.dropped.total()
    yield f"{stage.name:18}  {stage.found:,} found = {stage.kept:,} kept + {lost:,} dropped"
    yield from _reasons(stage.dropped)
    if stage.noticed:
        yield f"{'noticed':18}  {stage.noticed.total():,}"
        yield from _reasons(stage.noticed)


def _sides(report: Report) -> Iterator[str]:
    for side, pairs in report.sides.items():
        share = f", {pairs / report.pairs:.1%}" if report.pairs else ""
        yield f"{side:18}  {plural(pairs, 'pair')}{share}"


def _pairs(report: Report) -> Iterator[str]:
    yield f"{'pairs':18}  {report.pairs:,}" + "".join(_spread(report))


def _spread(report: Report) -> Iterator[str]:
    gap, chosen = report.gaps.summary(), report.chosen_scores.summary()
    rejected = report.rejected_scores.summary()
    if gap is not None:
        yield f"; gap {gap['mean']:.4g} on average, {gap['min']:.4g} to {gap['max']:.4g}"
    if chosen is not None and rejected is not None:
        yield f"; mean score {chosen['mean']:.4g} chosen, {rejected['mean']:.4g} rejected"
    for least in WHAT_IF_GAPS:
        if report.groups and report.pairs_at_gap[least] < report.pairs:
            yield f"\n{'':18}  --min-gap {least} would leave {report.pairs_at_gap[least]:,}"


def _reasons(counts: Mapping[str, int]) -> Iterator[str]:
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if count > 0:
            yield f"{count:>18,}  {reason}: {ALL[reason]}"


def _notes(report: Report) -> Iterator[str]:
    yield from report.notes
    for stage in report.stages:
        yield from stage.notes
    if report.across_prompts:
        pairs = plural(report.across_prompts, "pair")
        yield f"{pairs} set answers to different prompts against each other"
    if report.joined_tasks:
        groups = plural(report.joined_tasks, "group")
        yield f"--group-by joined the answers to different tasks in {groups}"
