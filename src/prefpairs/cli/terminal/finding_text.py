"""What `validate` found, in words: a line for each finding, and the summary."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from prefpairs.cli.terminal.error_text import visible
from prefpairs.engine.validate import Verdict
from prefpairs.ledger import FIRST_FEW, ValidationLedger
from prefpairs.model.json_codec import encode_line
from prefpairs.reasons import TRAPS
from prefpairs.targets import PAIR_FORMATS
from prefpairs.targets.base import Effect


def worth_telling(verdicts: Iterator[Verdict]) -> Iterator[Verdict]:
    """All that is lost, and of each kind of warning in a file the first few."""
    warnings: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        if verdict.finding.effect is Effect.WARNING:
            warnings[verdict.label, verdict.finding.code] += 1
            if warnings[verdict.label, verdict.finding.code] > FIRST_FEW:
                continue
        yield verdict


def line_of(verdict: Verdict) -> bytes:
    """file:line: what happens: where: why (code)."""
    label, line, finding, _ = verdict
    place = f"{visible(label)}:{line}" if line else visible(label)
    where = f"{visible(finding.field)}: " if finding.field else ""
    return (
        f"{place}: {finding.effect}: {where}{visible(verdict.sentence)} ({finding.code})\n".encode()
    )


def json_of(verdict: Verdict) -> bytes:
    """The same as an object, for machines."""
    label, line, finding, _ = verdict
    row = {
        "file": label,
        "line": line or None,
        "effect": finding.effect,
        "code": finding.code,
        "field": finding.field,
        "message": verdict.sentence,
    }
    return encode_line(row)


def hint_of(ledger: ValidationLedger, target: str, files: Sequence[str], *, pairs: bool) -> str:
    """What would help: lengths are for filter, all else is for export, or for `pair`."""
    if all(code in ("equal_when_cut", "prompt_too_long") for _, code in ledger.lost):
        return "filter has bounds for lengths: --max-tokens, --max-prompt-chars, --max-answer-chars"
    if all(code == "prompt_on_two_sides" for _, code in ledger.lost):
        return shlex.join(
            ["prefpairs", "split", "--for", target, *files, "--out-dir", f"split-for-{target}"]
        )
    if all(code == "sliced_by_template" for _, code in ledger.lost):
        return "another template of the model may ask without it, such as one that does not think"
    return _command_for(ledger, target, files, pairs=pairs)


def _command_for(
    ledger: ValidationLedger, target: str, files: Sequence[str], *, pairs: bool
) -> str:
    """The command that writes these rows so that they can be trained on, if there is one."""
    if target not in PAIR_FORMATS:
        return "export writes what can be trained on, from the pairs that these rows came from"
    if not ledger.rows_read:
        return "there were no rows to read"
    if ledger.rows_lost == ledger.rows_read and not pairs:
        return shlex.join(["prefpairs", "pair", "--to", target, *files])
    apart = ["--out-dir", f"export-for-{target}"] if len(files) > 1 else []
    words = ["export", "--to", target, "--on-error", "skip", *files, *apart]
    return shlex.join(["prefpairs", *words])


def told_of(ledger: ValidationLedger) -> Iterator[str]:
    """The summary as people read it."""
    lost = ledger.rows_lost
    yield (
        f"{'rows':18}  {ledger.rows_read:,} read = {ledger.rows_read - lost:,} fine + {lost:,} lost"
    )
    for (effect, code), count in sorted(ledger.lost.items(), key=lambda item: -item[1]):
        yield f"{count:>18,}  {effect}: {TRAPS[code]} ({code})"
    for name in ledger.files_lost:
        yield f"{'lost as a whole':18}  {visible(name)}"
    if ledger.warnings:
        yield f"{'warnings':18}  {ledger.warnings.total():,}"
    for code, count in ledger.warnings.most_common():
        yield f"{count:>18,}  {code}: {TRAPS[code]}"
