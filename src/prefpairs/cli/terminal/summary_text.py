"""The closing summary: what was read, what was lost and why, what came out."""

from collections.abc import Iterator, Mapping

from prefpairs.cli.terminal.error_text import plural, visible
from prefpairs.cli.terminal.marked_note import notes_on_marked
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.running_stats import WHAT_IF_GAPS
from prefpairs.reasons import ALL

_MOST_NAMES = 5


def summary_text(command: str, ledger: Ledger, output: str) -> str:
    """The summary as people read it."""
    lines = [*_inputs(ledger), *_rows(ledger)]
    if command in ("extract", "pair"):
        lines += _candidates(ledger)
    lines += _noticed(ledger)
    if command == "pair":
        lines += _groups(ledger)
    if command != "extract":
        written = [f"{'traces':18}  {ledger.traces:,}"] if ledger.traces else _pairs(ledger)
        lines += [*_stages(ledger), *written, *_sides(ledger)]
    lines += notes_text(ledger).splitlines()
    if command == "pair":
        lines += notes_on_marked(ledger)
    if output != "-" and (
        ledger.candidates_kept if command == "extract" else ledger.pairs or ledger.traces
    ):
        lines.append(f"wrote {visible(output)}")
    return "".join(f"{line}\n" for line in lines)


def losses_text(ledger: Ledger) -> str:
    """What was left out, and what else should be known; nothing where all is as it should be."""
    rows = _rows(ledger) if ledger.rows_dropped or ledger.rows_bad else ()
    return "".join(f"{line}\n" for line in rows) + notes_text(ledger)


def notes_text(ledger: Ledger) -> str:
    """What should be known of how things were read."""
    return "".join(f"note: {visible(note)}\n" for note in _notes(ledger))


def early_losses(ledger: Ledger) -> list[str]:
    """What was lost before groups were made, a line for each reason."""
    return [*_reasons(ledger.rows_dropped | ledger.candidates_dropped)]


def _inputs(ledger: Ledger) -> Iterator[str]:
    """What each file was taken for; many files of one kind are one line."""
    for source in dict.fromkeys(source for _, source in ledger.sources):
        names = [visible(name) for name, of in ledger.sources if of == source]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield f"{'read as ' + source:18}  {', '.join(names[:_MOST_NAMES])}{more}"
    for name, writer in ledger.skipped_files:
        yield f"{'passed over':18}  {visible(name)}: {writer} writes it beside its rollouts"


def _rows(ledger: Ledger) -> Iterator[str]:
    dropped = ledger.rows_dropped.total()
    read, used, bad = ledger.rows_read, ledger.rows_used, ledger.rows_bad
    yield f"{'rows':18}  {read:,} read = {used:,} used + {dropped:,} dropped + {bad:,} bad"
    of_rows = ledger.rows_dropped - ledger.candidates_dropped
    yield from _reasons(of_rows)
    if (emptied := dropped - of_rows.total()) and of_rows:
        yield f"{emptied:>18,}  lost every candidate, for the reasons below"


def _candidates(ledger: Ledger) -> Iterator[str]:
    found, kept = ledger.candidates_found, ledger.candidates_kept
    lost = ledger.candidates_dropped.total()
    yield f"{'candidates':18}  {found:,} found = {kept:,} kept + {lost:,} dropped"
    yield from _reasons(ledger.candidates_dropped)


def _noticed(ledger: Ledger) -> Iterator[str]:
    if ledger.noticed:
        yield f"{'noticed':18}  {ledger.noticed.total():,}"
        yield from _reasons(ledger.noticed)


def _groups(ledger: Ledger) -> Iterator[str]:
    without = ledger.groups_without_pair.total()
    yield f"{'groups':18}  {ledger.groups:,}" + (f", {without:,} without a pair" if without else "")
    yield from _reasons(ledger.groups_without_pair)


def _stages(ledger: Ledger) -> Iterator[str]:
    for stage in ledger.stages:
        yield from _stage(stage)


def _stage(stage: StageCounts) -> Iterator[str]:
    lost = stage.dropped.total()
    yield f"{stage.name:18}  {stage.found:,} found = {stage.kept:,} kept + {lost:,} dropped"
    yield from _reasons(stage.dropped)
    if stage.noticed:
        yield f"{'noticed':18}  {stage.noticed.total():,}"
        yield from _reasons(stage.noticed)


def _sides(ledger: Ledger) -> Iterator[str]:
    for side, pairs in ledger.sides.items():
        share = f", {pairs / ledger.pairs:.1%}" if ledger.pairs else ""
        yield f"{side:18}  {plural(pairs, 'pair')}{share}"


def _pairs(ledger: Ledger) -> Iterator[str]:
    yield f"{'pairs':18}  {ledger.pairs:,}" + "".join(_spread(ledger))


def _spread(ledger: Ledger) -> Iterator[str]:
    gap, chosen = ledger.gaps.summary(), ledger.chosen_scores.summary()
    rejected = ledger.rejected_scores.summary()
    if gap is not None:
        yield f"; gap {gap['mean']:.4g} on average, {gap['min']:.4g} to {gap['max']:.4g}"
    if chosen is not None and rejected is not None:
        yield f"; mean score {chosen['mean']:.4g} chosen, {rejected['mean']:.4g} rejected"
    for least in WHAT_IF_GAPS:
        if ledger.groups and ledger.pairs_at_gap[least] < ledger.pairs:
            yield f"\n{'':18}  --min-gap {least} would leave {ledger.pairs_at_gap[least]:,}"


def _reasons(counts: Mapping[str, int]) -> Iterator[str]:
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if count > 0:
            yield f"{count:>18,}  {reason}: {ALL[reason]}"


def _notes(ledger: Ledger) -> Iterator[str]:
    yield from ledger.notes
    for stage in ledger.stages:
        yield from stage.notes
    if ledger.across_prompts:
        pairs = plural(ledger.across_prompts, "pair")
        yield f"{pairs} set answers to different prompts against each other"
    if ledger.groups_of_several_tasks:
        groups = plural(ledger.groups_of_several_tasks, "group")
        yield f"--group-by joined the answers to different tasks in {groups}"
