"""Rows of inputs, read by any reader; bad rows are counted, and quarantined if asked for."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from prefpairs.errors import BadRecord, BadRecords, TwoReadings
from prefpairs.files.lines import Record
from prefpairs.files.output import Output, open_output
from prefpairs.ledger import Ledger
from prefpairs.model.json_codec import encode_line
from prefpairs.plan import InputPlan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a plan's inputs: counts them, stops at --limit, and deals with bad ones."""

    plan: InputPlan
    ledger: Ledger
    quarantine: Output | None = None

    @property
    def failed(self) -> bool:
        """Whether the run has failed already, and only continues in order to count bad rows."""
        return self._too_many_are_bad(of=None)

    @property
    def at_limit(self) -> bool:
        """Whether as many rows have been read as --limit allows."""
        return self.plan.limit is not None and self.ledger.rows_read >= self.plan.limit

    def _too_many_are_bad(self, of: int | None) -> bool:
        if self.plan.on_error == "fail":
            return bool(self.ledger.rows_bad)
        allowed = self.plan.tolerated
        return allowed is not None and allowed.exceeded(self.ledger.rows_bad, of)

    def read(
        self, records: Iterator[Record], read: Callable[[bytes], T], label: str
    ) -> Iterator[tuple[Record, T]]:
        """The records that can be read, each with what was read from it."""
        before = self.ledger.rows_read
        for record in records:
            if self.at_limit:
                break
            found = self.read_one(record, read, label)
            if found is not None:
                yield record, found
        self.ledger.add_rows(label, self.ledger.rows_read - before)

    def read_one(self, record: Record, read: Callable[[bytes], T], label: str) -> T | None:
        """What was read from a record; None if it is bad."""
        self.ledger.rows_read += 1
        try:
            return read(record.complete())
        except TwoReadings as error:
            raise error.at(f"{record.within(label)}:{record.number}") from None
        except BadRecord as error:
            holder = record.within(label)
            self.ledger.add_bad(f"{holder}:{record.number}", error)
            if self.quarantine is not None:
                self.quarantine.write(_quarantine_line(error, record, holder))
            return None

    def settle(self) -> None:
        """Raise BadRecords if too many rows are bad, after all rows have been read."""
        ledger, allowed = self.ledger, self.plan.tolerated
        if self._too_many_are_bad(of=ledger.rows_read):
            word = None if allowed is None else allowed.word
            raise BadRecords(
                ledger.rows_bad, ledger.first_bad, ledger.bad_by_kind, word, ledger.rows_read
            )


@contextmanager
def reading_rows(plan: InputPlan, ledger: Ledger) -> Iterator[Rows]:
    """The rows of a plan; the quarantine file appears if the block ends without an error."""
    for note in plan.notes:
        ledger.note(note)
    ledger.skipped_files = [*plan.skipped_files]
    if plan.quarantine is None:
        yield Rows(plan, ledger)
        return
    with open_output(plan.quarantine, plan.inputs) as quarantine:
        yield Rows(plan, ledger, quarantine)


def _quarantine_line(error: BadRecord, record: Record, label: str) -> bytes:
    row = {
        "file": label,
        "line": record.number,
        "byte": record.offset,
        "reason": error.code,
        "message": error.problem,
    }
    # Line ends in JSON are always outside of strings, so a space can replace them.
    data = record.data.rstrip(b"\r\n").replace(b"\n", b" ")
    try:
        row["raw"] = data.decode("utf-8")
    except UnicodeDecodeError:
        row["raw_base64"] = base64.b64encode(data).decode("ascii")
    return encode_line(row)
