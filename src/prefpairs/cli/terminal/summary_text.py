"""The closing summary: what was read, what was dropped and why, what was written."""

from collections.abc import Collection, Iterator, Mapping

from prefpairs.cli.command_as_typed import typed_command
from prefpairs.cli.terminal.safe_text import plural, printable
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.running_stats import WHAT_IF_GAPS
from prefpairs.reasons import ALL, CONFLICTING

_MOST_NAMES = 5
_MARKS = {
    "incomplete": "are truncated",
    "failed": "have an error, which may or may not be the verdict on them",
}


def summary_text(command: str, ledger: Ledger, output: str) -> str:
    """The summary as people read it."""
    lines = [*_inputs(ledger), *_rows(ledger)]
    labelled = ledger.ready_pairs is not None and not ledger.candidates_found
    if command in ("extract", "pair") and not labelled:
        lines += _candidates(ledger)
    lines += _noticed(ledger)
    if command == "pair" and not labelled:
        lines += _groups(ledger)
    if command != "extract":
        written = [f"{'traces':18}  {ledger.traces:,}"] if ledger.traces else _pairs(ledger)
        lines += [*_stages(ledger), *written, *_sides(ledger)]
    lines += notes_text(ledger).splitlines()
    if command == "pair":
        lines += _answer_notes(ledger)
    if output != "-" and (
        ledger.candidates_kept if command == "extract" else ledger.pairs or ledger.traces
    ):
        lines.append(f"wrote {printable(output)}")
    return "".join(f"{line}\n" for line in lines)


def losses_text(ledger: Ledger) -> str:
    """Losses and notes; empty if there are none."""
    rows = _rows(ledger) if ledger.rows_dropped or ledger.rows_bad else ()
    return "".join(f"{line}\n" for line in rows) + notes_text(ledger)


def notes_text(ledger: Ledger) -> str:
    """Notes about how the input was read."""
    return "".join(f"note: {printable(note)}\n" for note in _notes(ledger))


def early_losses(ledger: Ledger) -> list[str]:
    """Losses before grouping, one line per reason."""
    return [*_reasons(ledger.rows_dropped | ledger.candidates_dropped)]


def _inputs(ledger: Ledger) -> Iterator[str]:
    """The format of each file; files of one format share a line."""
    for source in dict.fromkeys(source for _, source in ledger.sources):
        names = [printable(name) for name, of in ledger.sources if of == source]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        yield f"{'read as ' + source:18}  {', '.join(names[:_MOST_NAMES])}{more}"
    for name, writer in ledger.skipped_files:
        yield f"{'skipped':18}  {printable(name)}: {writer} writes it next to its rollouts"


def _rows(ledger: Ledger) -> Iterator[str]:
    dropped = ledger.rows_dropped.total()
    read, used, bad = ledger.rows_read, ledger.rows_used, ledger.rows_bad
    yield f"{'rows':18}  {read:,} read = {used:,} used + {dropped:,} dropped + {bad:,} bad"
    of_rows = ledger.rows_dropped - ledger.candidates_dropped
    held = "candidate"
    if ledger.ready_pairs is not None:
        of_rows -= ledger.ready_pairs.dropped
        held = "candidate or pair"
    yield from _reasons(of_rows)
    if (emptied := dropped - of_rows.total()) and of_rows:
        yield f"{emptied:>18,}  rows lost every {held}, for the reasons below"


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
        yield f"{pairs} with answers to different prompts"
    if ledger.groups_of_several_tasks:
        groups = plural(ledger.groups_of_several_tasks, "group")
        yield f"in {groups}, --group-by put answers to different tasks together"


def _answer_notes(ledger: Ledger) -> Iterator[str]:
    """Notes on truncated, failed or twice-judged answers in pairs, unless options settle them."""
    for reason, what in _MARKS.items():
        chosen, rejected = (ledger.marked[f"{side}_{reason}"] for side in ("chosen", "rejected"))
        if chosen or rejected:
            answers = f"of the answers in pairs, {chosen:,} chosen and {rejected:,} rejected {what}"
            yield from _settled_by(ledger, reason, answers)
    settled = any(stage.dropped["contradiction"] for stage in ledger.stages)
    if (several := ledger.marked[CONFLICTING]) and not settled:
        are = "is" if several == 1 else "are"
        note = (
            f"{plural(several, 'answer')} {are} both better and worse than another one, "
            "because of several scores"
        )
        yield from _settled_by(ledger, CONFLICTING, note)


def _settled_by(ledger: Ledger, reason: str, note: str) -> Iterator[str]:
    """The note with the commands that drop or keep such answers, unless one was given."""
    if reason in ledger.reasons_to_keep:
        return
    drop = _command("--drop-rows", ledger.reasons_to_drop, reason)
    keep = _command("--keep-rows", ledger.reasons_to_keep, reason)
    yield f"note: {note}\n  to drop such answers: {printable(drop)}"
    yield f"  to keep them without this note: {printable(keep)}"


def _command(option: str, settled: Collection[str], reason: str) -> str:
    """The typed command with one more reason; for `run`, --set replaces the whole list."""
    from prefpairs.cli.retry_commands import with_choice

    typed = typed_command()
    reasons = {*settled, reason} if typed[:1] == ["run"] else {reason}
    return with_choice(typed, [option, ",".join(sorted(reasons))])
