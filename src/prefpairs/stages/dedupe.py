"""dedupe: one of each; what is left does not depend on the order of arrival."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from prefpairs.errors import UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.identity import DIGEST, digest
from prefpairs.option import option, options
from prefpairs.stages.base import IndexedPair, PairReader, StageFiles
from prefpairs.stages.contamination import PROMPT_FIELDS, ReferencePrompts
from prefpairs.stages.digest_table import DigestTable
from prefpairs.stages.near_duplicates import (
    LEAST_SIMILARITY,
    NearTable,
    ShingleCache,
    Shingles,
    shingles_of,
    similarity,
)
from prefpairs.stages.pair_columns import DistinctPairs, sorted_slots

SAME_IN = ("content", "prompt", "chosen", "rejected")
"""What pairs can be the same in; content is prompt, tools, chosen and rejected."""


_SAME = "What counts as the same"
_NOT_TRAINED = "What must not be trained on"


@options
class Dedupe:
    """Of pairs that are the same in `by` the strongest stays."""

    by: tuple[str, ...] = option(
        ("content",),
        choices=SAME_IN,
        panel=_SAME,
        help="Pairs that agree in these are the same; several, with commas, count together. "
        "content is prompt, tools, chosen and rejected.",
    )
    conflicts: str = option(
        "keep",
        choices=("keep", "drop", "strongest"),
        panel=_SAME,
        help="A over B here and B over A there, for the same prompt: keep both (and say how "
        "many), drop both, or keep the one with the wider gap.",
    )
    near: float | None = option(
        None,
        metavar="SHARE",
        least=LEAST_SIMILARITY,
        most=1,
        panel=_SAME,
        help="Drop pairs that have this share of their runs of five words in common with a "
        "stronger one; 0.9 forgives one changed word in 100, 0.8 one in 45, 0.5 one in 15.",
    )
    near_on: str | None = option(
        None,
        choices=("prompt", "chosen", "both"),
        panel=_SAME,
        help="What must be near: the prompt, the chosen answer, or each of them (default).",
    )
    against: list[str] | None = option(
        None,
        metavar="FILE",
        panel=_NOT_TRAINED,
        help="Drop pairs whose prompt, or a question asked in it, stands in this file of a "
        "benchmark or of validation data; with --near, also nearly. Repeatable.",
    )
    against_field: str | None = option(
        None,
        metavar="PATH",
        panel=_NOT_TRAINED,
        help=f"Where prompts stand in it (default: the first of {', '.join(PROMPT_FIELDS)}).",
    )
    reference: ReferencePrompts | None = None
    """The prompts of `against`, once they have been read."""

    name = "dedupe"
    holds_back = True
    picks = False
    tokenizers = ()

    def check(self) -> None:
        """Raise for options that do not go together."""
        if "-" in (self.against or ()):
            raise UsageError("--against -: standard input is for pairs", "name a file")
        if self.against_field is not None and not self.against:
            raise UsageError("--against-field goes with --against")
        if self.near_on is not None and self.near is None:
            raise UsageError("--near-on goes with --near")
        if not self.by:
            raise UsageError("--by names nothing", f"one of {', '.join(SAME_IN)}")

    @property
    def benchmarks(self) -> Sequence[str]:
        """The files of prompts that it reads."""
        return self.against or ()

    def with_files(self, files: StageFiles) -> Self:
        """The same with the prompts of the files that it names."""
        if not self.against:
            return self
        reference = files.prompts(self.against, self.against_field, near=self.near)
        return replace(self, reference=reference)

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        return frozenset({"id", "prompt", "tools", "chosen", "rejected", "other_prompt"})

    def select(
        self,
        pairs: Iterable[IndexedPair],
        reader: PairReader,
        stage: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[IndexedPair]:
        """One indexed of each kind, as they came."""
        if self.reference is not None:
            pairs = _outside(self.reference, pairs, reader, stage)
        distinct = DistinctPairs({*wanted, *self._keys}, reader)
        for indexed in pairs:
            if not distinct.add(indexed):
                stage.dropped["duplicate"] += 1
        if self.near is not None:
            stage.to_compare = len(distinct)
        slots = self._settle_conflicts(distinct, stage)
        if self._keys:
            slots = _strongest_by(self._keys, distinct, slots, stage)
        if self.near is not None:
            slots = self._apart(distinct, slots, reader, stage, self.near)
        yield from distinct.arrived(slots)

    def _apart(
        self,
        distinct: DistinctPairs,
        slots: Sequence[int],
        reader: PairReader,
        stage: StageCounts,
        threshold: float,
    ) -> Sequence[int]:
        """The slots that are near no stronger one that stays."""

        def prompt_at(slot: int) -> Shingles:
            return shingles_of(reader.pair(distinct.indexed(slot)).prompt)

        def chosen_at(slot: int) -> Shingles:
            return shingles_of(reader.pair(distinct.indexed(slot)).chosen)

        near_on = self.near_on or "both"
        shingles_at = prompt_at if near_on == "prompt" else chosen_at
        table, prompts = NearTable(threshold, shingles_at), ShingleCache(prompt_at)
        kept = array("I")
        stage.to_compare = len(slots)
        for slot in sorted_slots(slots, distinct.strength):
            stage.compared += 1
            shingles = shingles_at(slot)
            near = table.near(shingles)
            if near_on == "both":
                near = (at for at in near if similarity(prompts(slot), prompts(at)) >= threshold)
            if next(near, None) is None:
                table.add(slot, shingles)
                kept.append(slot)
            else:
                stage.dropped["near_duplicate"] += 1
        return kept

    @property
    def _keys(self) -> tuple[str, ...]:
        """The digests by which pairs of different content can be the same."""
        return () if "content" in self.by else self.by

    def _settle_conflicts(self, distinct: DistinctPairs, stage: StageCounts) -> Sequence[int]:
        """The slots of the pairs that no other one contradicts, or that win over it."""
        slots = range(len(distinct))
        staying = array("I", (slot for slot in slots if not self._loses(distinct, slot, stage)))
        if lost := len(distinct) - len(staying):
            stage.dropped["contradiction"] += lost
        return staying

    def _loses(self, distinct: DistinctPairs, slot: int, stage: StageCounts) -> bool:
        opposite = distinct.opposite(slot)
        if opposite < 0:
            return False
        if self.conflicts == "keep":
            stage.noticed["contradiction_kept"] += 1
            return False
        ours, theirs = distinct.gap(slot), distinct.gap(opposite)
        wins = ours is not None and (theirs is None or ours > theirs)
        return self.conflicts == "drop" or not wins


def _outside(
    reference: ReferencePrompts,
    pairs: Iterable[IndexedPair],
    reader: PairReader,
    stage: StageCounts,
) -> Iterator[IndexedPair]:
    for indexed in pairs:
        if reference.holds(reader.pair(indexed).prompt, indexed.other_prompt):
            stage.dropped["in_reference"] += 1
        else:
            yield indexed


def _strongest_by(
    keys: Sequence[str], distinct: DistinctPairs, slots: Sequence[int], stage: StageCounts
) -> Sequence[int]:
    """The strongest slot of each key."""
    numbering, best = DigestTable(), array("I")
    for slot in slots:
        key = b"".join(distinct.digest(name, slot).ljust(DIGEST, b"\0") for name in keys)
        number = numbering.number_of(key if len(keys) == 1 else digest("keys", key))
        if number == len(best):
            best.append(slot)
            continue
        stage.dropped["duplicate"] += 1
        if distinct.strength(slot) < distinct.strength(best[number]):
            best[number] = slot
    return best
