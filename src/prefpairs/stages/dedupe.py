"""dedupe: one of each; what is left does not depend on the order of arrival."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from prefpairs.ledger import Stage
from prefpairs.model.identity import digest
from prefpairs.stages.base import Texts
from prefpairs.stages.contamination import Reference
from prefpairs.stages.digest_table import Numbering
from prefpairs.stages.distinct_pairs import Distinct
from prefpairs.stages.entry_columns import in_order
from prefpairs.stages.near_duplicates import NearTable, Remembered, Shingles, likeness, shingles_of
from prefpairs.stages.pair_entry import DIGEST, Entry

SAME_IN = ("content", "prompt", "chosen", "rejected")
"""What pairs can be the same in; content is prompt, tools, chosen and rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedupe:
    """Of pairs that are the same in `by` the strongest stays."""

    by: tuple[str, ...] = ("content",)
    conflicts: Literal["keep", "drop", "strongest"] = "keep"
    near: float | None = None
    near_on: Literal["prompt", "chosen", "both"] = "both"
    reference: Reference | None = None

    name = "dedupe"
    holds_back = True
    picks = False

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        return frozenset({"id", "prompt", "tools", "chosen", "rejected", "other_prompt"})

    def sieve(
        self, entries: Iterable[Entry], texts: Texts, stage: Stage, wanted: frozenset[str]
    ) -> Iterator[Entry]:
        """One entry of each kind, as they came."""
        if self.reference is not None:
            entries = _outside(self.reference, entries, texts, stage)
        distinct = Distinct({*wanted, *self._keys}, texts)
        for entry in entries:
            if not distinct.add(entry):
                stage.dropped["duplicate"] += 1
        if self.near is not None:
            stage.to_weigh = len(distinct)
        slots = self._settle_conflicts(distinct, stage)
        if self._keys:
            slots = _strongest_by(self._keys, distinct, slots, stage)
        if self.near is not None:
            slots = self._apart(distinct, slots, texts, stage, self.near)
        yield from distinct.arrived(slots)

    def _apart(
        self, distinct: Distinct, slots: Sequence[int], texts: Texts, stage: Stage, threshold: float
    ) -> Sequence[int]:
        """The slots that are near no stronger one that stays."""

        def prompt_at(slot: int) -> Shingles:
            return shingles_of(texts.pair(distinct.entry(slot)).prompt)

        def chosen_at(slot: int) -> Shingles:
            return shingles_of(texts.pair(distinct.entry(slot)).chosen)

        shingles_at = prompt_at if self.near_on == "prompt" else chosen_at
        table, prompts = NearTable(threshold, shingles_at), Remembered(prompt_at)
        kept = array("I")
        stage.to_weigh = len(slots)
        for slot in in_order(slots, distinct.strength):
            stage.weighed += 1
            shingles = shingles_at(slot)
            near = table.near(shingles)
            if self.near_on == "both":
                near = (at for at in near if likeness(prompts(slot), prompts(at)) >= threshold)
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

    def _settle_conflicts(self, distinct: Distinct, stage: Stage) -> Sequence[int]:
        """The slots of the pairs that no other one contradicts, or that win over it."""
        slots = range(len(distinct))
        staying = array("I", (slot for slot in slots if not self._loses(distinct, slot, stage)))
        if lost := len(distinct) - len(staying):
            stage.dropped["contradiction"] += lost
        return staying

    def _loses(self, distinct: Distinct, slot: int, stage: Stage) -> bool:
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
    reference: Reference, entries: Iterable[Entry], texts: Texts, stage: Stage
) -> Iterator[Entry]:
    for entry in entries:
        if reference.holds(texts.pair(entry).prompt, entry.other_prompt):
            stage.dropped["in_reference"] += 1
        else:
            yield entry


def _strongest_by(
    keys: Sequence[str], distinct: Distinct, slots: Sequence[int], stage: Stage
) -> Sequence[int]:
    """The strongest slot of each key."""
    numbering, best = Numbering(), array("I")
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
