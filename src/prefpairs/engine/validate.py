"""validate: what a trainer would do with each row of its dataset, and prompts on two sides."""

import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prefpairs.dataset.column_types import InferredColumns
from prefpairs.dataset.convert_pair import trainer_prompt
from prefpairs.dataset.prompt_prefix_check import PromptPrefixCheck
from prefpairs.dataset.row_checks import FATAL, LengthLimit, check_row
from prefpairs.dataset.row_rules import Effect, Finding
from prefpairs.errors import BadInput, BadRecord, NotJson
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input
from prefpairs.ledger import ValidationLedger
from prefpairs.model.json_codec import decode_counting, encode, encode_sorted
from prefpairs.stages.digest_table import DigestTable
from prefpairs.targets.base import Target


class FirstPlaces:
    """Where each prompt was first: some 50 bytes a prompt."""

    def __init__(self, sides: Mapping[Input, str]) -> None:
        self._sides = sides
        self._files = list(sides)
        self._number_of = {given: number for number, given in enumerate(sides)}
        self._prompts = DigestTable()
        self._file_of = array("I")
        self._line_of = array("Q")

    def elsewhere(self, prompt: bytes, source: Input, line: int) -> str | None:
        """The place where a prompt was before, if that is on another side than this row."""
        number = self._prompts.number_of(prompt)
        if number == len(self._file_of):
            self._file_of.append(self._number_of[source])
            self._line_of.append(line)
        first = self._files[self._file_of[number]]
        if self._sides[first] == self._sides[source]:
            return None
        return f"{first.label}:{self._line_of[number]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatePlan:
    """Which files are held against the rules of which trainer."""

    inputs: Sequence[Input]
    target: Target
    length: LengthLimit | None = None
    batch: int = 0
    slicing: PromptPrefixCheck | None = None
    """The chat template by which the trainer cuts answers."""
    typed: frozenset[Input] = frozenset()
    """The files whose columns all have a type in a card next to them."""
    sides: Mapping[Input, str] = field(default_factory=dict)
    """The side of each file, where there are several to compare."""
    limit: int | None = None


class Verdict(NamedTuple):
    """A finding and its line; line 0 is the file as a whole."""

    label: str
    line: int
    finding: Finding
    elsewhere: str = ""
    """The place on another side that has the same prompt."""

    @property
    def sentence(self) -> str:
        """What the finding means, and which other place it is about."""
        return self.finding.sentence + (f", in {self.elsewhere}" if self.elsewhere else "")


def validate(plan: ValidatePlan, ledger: ValidationLedger) -> Iterator[Verdict]:
    """All that a trainer would lose, and what should be known about the rest."""
    shapes: list[set[str]] = []
    places = FirstPlaces(plan.sides) if plan.sides else None
    for source in plan.inputs:
        with open_input(source, ledger.progress.add_bytes) as opened:
            typed = plan.target.typed and not (opened.parquet or source in plan.typed)
            reading = _FileReading(plan, source, ledger, typed, places)
            for record in opened.records:
                if plan.limit is not None and ledger.rows_read >= plan.limit:
                    break
                yield from reading.row(record)
            yield from reading.end(shapes)


@dataclass(slots=True)
class _FileReading:
    """One file on its way through the rules."""

    plan: ValidatePlan
    source: Input
    ledger: ValidationLedger
    guessed: bool
    """Types are guessed from the rows that come first."""
    places: FirstPlaces | None
    columns: InferredColumns = field(default_factory=InferredColumns)
    first: tuple[set[str], type] | None = None
    rows: int = 0
    fine: int = 0
    lost: bool = False
    elsewhere: str = ""
    prompt: bytes = b""
    labels: set[Any] = field(default_factory=set)

    def row(self, record: Record) -> Iterator[Verdict]:
        """Judge one row."""
        self.rows += 1
        found = list(self._of_record(record))
        lost = any(finding.effect is not Effect.WARNING for finding in found)
        self.ledger.add_row([finding[:2] for finding in found], lost=lost)
        self.fine += not lost
        self.lost = self.lost or any(finding.effect is Effect.NO_LOAD for finding in found)
        for finding in found:
            place = self.elsewhere if finding.effect is Effect.LEAK else ""
            yield Verdict(self.source.label, record.number, finding, place)

    def end(self, shapes: list[set[str]]) -> Iterator[Verdict]:
        """Judge the file as a whole."""
        found = list(self._of_file(shapes))
        self.ledger.add_file([finding[:2] for finding in found])
        if self.lost or any(finding.effect is not Effect.WARNING for finding in found):
            self.ledger.add_lost_file(self.source.label, self.fine)
        for finding in found:
            yield Verdict(self.source.label, 0, finding)
        if self.columns.shape not in shapes:  # shards are mostly alike
            shapes.append(self.columns.shape)

    def _of_record(self, record: Record) -> Iterator[Finding]:
        try:
            row, surrogates = decode_counting(record.complete())
        except NotJson as error:
            if error.code == "line_too_long":
                place = f"{self.source.label}:{record.number}"
                raise BadInput(
                    place, error.problem, "--max-line SIZE allows longer lines"
                ) from None
            yield Finding(Effect.NO_LOAD, "bad_json")
            return
        if not isinstance(row, dict):
            yield Finding(Effect.NO_LOAD, "not_an_object")
            return
        if surrogates:
            yield Finding(Effect.NO_LOAD, "surrogate")
        if _has_key_twice(record.data, row):
            yield Finding(Effect.NO_LOAD, "key_twice")
        if self.guessed:
            yield from self.columns.see(row, record.offset)
        yield from self._of_first_row(row)
        found = check_row(row, self.plan.target.rules, self.plan.length)
        yield from found
        if self.places is not None and not any(finding.effect in FATAL for finding in found):
            yield from self._of_other_sides(row, record.number, self.places)
        if self.plan.slicing is not None:
            yield from self.plan.slicing.findings(row)
        if self.plan.target.unpaired:
            yield from self._of_neighbours(row)

    def _of_first_row(self, row: dict[str, Any]) -> Iterator[Finding]:
        """What the first row decides for all: which columns there are, and texts or chats."""
        steady = {*self.plan.target.rules.steady}
        columns, form = row.keys() & steady, type(row.get("chosen", row.get("completion")))
        if self.first is None:
            self.first = columns, form
            return
        for name in sorted(columns ^ self.first[0]):
            yield Finding(Effect.CRASH, "missing_column", name)
        if steady and {form, self.first[1]} == {str, list}:
            yield Finding(Effect.CRASH, "forms_differ")

    def _of_other_sides(
        self, row: dict[str, Any], line: int, places: FirstPlaces
    ) -> Iterator[Finding]:
        try:
            prompt = trainer_prompt(row, self.plan.target.rules)
        except BadRecord:  # no trainer finds a prompt in it, either
            return
        if place := places.elsewhere(prompt, self.source, line):
            self.elsewhere = place
            yield Finding(Effect.LEAK, "prompt_on_two_sides", "prompt")

    def _of_neighbours(self, row: dict[str, Any]) -> Iterator[Finding]:
        if "label" in row:
            self.labels.add(bool(row["label"]))
        prompt = encode_sorted(row.get("prompt"))
        if prompt == self.prompt:
            yield Finding(Effect.WARNING, "same_neighbour", "prompt")
        self.prompt = prompt

    def _of_file(self, shapes: list[set[str]]) -> Iterator[Finding]:
        rules = self.plan.target.rules
        if self.guessed:
            yield from self.columns.settle(self.plan.target.trained_columns)
        ending = os.path.splitext(self.source.path)[1]
        if rules.suffixes and not self.source.is_stdin and ending not in rules.suffixes:
            yield Finding(Effect.NO_LOAD, "file_name")
        if rules.together and self.guessed and any(self.columns.shape - shape for shape in shapes):
            yield Finding(Effect.WARNING, "files_differ")
        if self.plan.limit is not None:
            return
        if self.rows and self.rows < (self.plan.batch or rules.batch):
            yield Finding(Effect.WARNING, "fewer_than_a_batch")
        if self.rows and self.rows < rules.least:
            yield Finding(Effect.WARNING, "too_few_rows")
        if not self.rows:
            yield Finding(Effect.NO_LOAD, "no_rows")
        if len(self.labels) == 1 and self.rows > 1:
            yield Finding(Effect.WARNING, "one_label", "label")


def _has_key_twice(data: bytes, row: dict[str, Any]) -> bool:
    """Whether an object of the row has a key twice, which Arrow refuses."""
    if encode(row) == data.rstrip():
        return False  # nothing was lost when it was read; this check takes 2 us instead of 20
    twice = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal twice
        twice = twice or len({key for key, _ in pairs}) < len(pairs)

    json.loads(data, object_pairs_hook=look)
    return twice
