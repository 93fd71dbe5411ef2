"""Notes on answers that were cut off, failed or judged twice, with commands that settle it."""

from collections.abc import Collection, Iterator, Sequence

from prefpairs.cli.terminal.error_text import plural, visible
from prefpairs.ledger import Ledger
from prefpairs.reasons import CONFLICTING

_TOLD = {
    "incomplete": "were cut off before their end",
    "failed": "have an error beside them, which may be the verdict on them or not",
}

_typed: list[str] = []
"""The words of the command that runs."""


def remember(words: Sequence[str]) -> None:
    """Keep the words of the command, for hints that repeat them."""
    _typed[:] = words


def notes_on_marked(ledger: Ledger) -> Iterator[str]:
    """A note for each mark of answers in pairs, unless it was settled what becomes of them."""
    for reason, told in _TOLD.items():
        chosen, rejected = (ledger.marked[f"{side}_{reason}"] for side in ("chosen", "rejected"))
        if chosen or rejected:
            answers = f"of the answers in pairs, {chosen:,} chosen and {rejected:,} rejected {told}"
            yield from _settled_by(ledger, reason, answers)
    settled = any(stage.dropped["contradiction"] for stage in ledger.stages)
    if (several := ledger.marked[CONFLICTING]) and not settled:
        told = "several scores of the same answer make it both better and worse than another"
        yield from _settled_by(ledger, CONFLICTING, f"{told}: {plural(several, 'answer')}")


def _settled_by(ledger: Ledger, reason: str, told: str) -> Iterator[str]:
    """The note, and the commands that settle what becomes of such answers; or nothing."""
    if reason in ledger.reasons_to_keep:
        return
    drop = _command("--drop-rows", ledger.reasons_to_drop, reason)
    keep = _command("--keep-rows", ledger.reasons_to_keep, reason)
    yield f"note: {told}\n  to drop such answers: {visible(drop)}"
    yield f"  to keep them without this note: {visible(keep)}"


def _command(option: str, settled: Collection[str], reason: str) -> str:
    """The command as it was typed, with one more reason: in a recipe a value replaces another."""
    from prefpairs.cli.retry_commands import with_choice

    reasons = {*settled, reason} if _typed[:1] == ["run"] else {reason}
    return with_choice(_typed, [option, ",".join(sorted(reasons))])
