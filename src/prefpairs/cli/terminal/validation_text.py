"""The output of `validate`: one line per finding, and the summary."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from prefpairs.cli.terminal.safe_text import printable
from prefpairs.dataset.row_rules import Effect
from prefpairs.engine.validate import Verdict
from prefpairs.ledger import FIRST_FEW, ValidationLedger
from prefpairs.model.json_codec import encode_line
from prefpairs.reasons import TRAPS
from prefpairs.targets import PAIR_FORMATS


def limit_warnings(verdicts: Iterator[Verdict]) -> Iterator[Verdict]:
    """All losses, and the first few warnings of each kind in a file."""
    warnings: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        if verdict.finding.effect is Effect.WARNING:
            warnings[verdict.label, verdict.finding.code] += 1
            if warnings[verdict.label, verdict.finding.code] > FIRST_FEW:
                continue
        yield verdict


def finding_line(verdict: Verdict) -> bytes:
    """file:line: effect: field: explanation (code)."""
    label, line, finding, _ = verdict
    place = f"{printable(label)}:{line}" if line else printable(label)
    where = f"{printable(finding.field)}: " if finding.field else ""
    what = f"{finding.effect}: {where}{printable(verdict.sentence)}"
    return f"{place}: {what} ({finding.code})\n".encode()


def finding_json(verdict: Verdict) -> bytes:
    """The same as a JSON object."""
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


def validation_hint(
    ledger: ValidationLedger, target: str, files: Sequence[str], *, pairs: bool
) -> str:
    """What would help: usually a command that writes the rows again."""
    if all(code in ("equal_when_cut", "prompt_too_long") for _, code in ledger.lost):
        return "limit lengths with filter: --max-tokens, --max-prompt-chars, --max-answer-chars"
    if all(code == "prompt_on_two_sides" for _, code in ledger.lost):
        return shlex.join(
            ["prefpairs", "split", "--for", target, *files, "--out-dir", f"split-for-{target}"]
        )
    if all(code == "sliced_by_template" for _, code in ledger.lost):
        return "use a template without text there, such as one without reasoning"
    return _command_for(ledger, target, files, pairs=pairs)


def _command_for(
    ledger: ValidationLedger, target: str, files: Sequence[str], *, pairs: bool
) -> str:
    """The command that writes these rows correctly, if there is one."""
    if target not in PAIR_FORMATS:
        return "export the original pairs again with prefpairs export"
    if not ledger.rows_read:
        return "the input has no rows"
    if ledger.rows_lost == ledger.rows_read and not pairs:
        return shlex.join(["prefpairs", "pair", "--to", target, *files])
    apart = ["--out-dir", f"export-for-{target}"] if len(files) > 1 else []
    words = ["export", "--to", target, "--on-error", "skip", *files, *apart]
    return shlex.join(["prefpairs", *words])


def validation_summary(ledger: ValidationLedger) -> Iterator[str]:
    """The lines of the summary."""
    lost = ledger.rows_lost
    yield (
        f"{'rows':18}  {ledger.rows_read:,} read = {ledger.rows_read - lost:,} fine + {lost:,} lost"
    )
    for (effect, code), count in sorted(ledger.lost.items(), key=lambda item: -item[1]):
        yield f"{count:>18,}  {effect}: {TRAPS[code]} ({code})"
    for name in ledger.files_lost:
        yield f"{'cannot be loaded':18}  {printable(name)}"
    if ledger.warnings:
        yield f"{'warnings':18}  {ledger.warnings.total():,}"
    for code, count in ledger.warnings.most_common():
        yield f"{count:>18,}  {code}: {TRAPS[code]}"
