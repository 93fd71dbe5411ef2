"""dedupe: keeps one pair of each kind, whatever the order of the input."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Self

from prefpairs.errors import OptionNeeds, UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.identity import DIGEST, digest
from prefpairs.option import option, options
from prefpairs.stages.base import PairReader, StageFiles
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
from prefpairs.stages.pair_columns import DistinctPairs, PairColumns, sorted_slots

SAME_IN = ("content", "prompt", "chosen", "rejected")
"""The fields of --by; content is prompt, tools, chosen and rejected."""


_SAME = "Duplicates"
_NOT_TRAINED = "Benchmarks"


@options
class Dedupe:
    """Of the pairs that agree in `by`, the strongest stays."""

    by: tuple[str, ...] = option(
        ("content",),
        choices=SAME_IN,
        panel=_SAME,
        help="Pairs that agree in all of these are duplicates. content is prompt, tools, chosen "
        "and rejected.",
    )
    conflicts: str = option(
        "keep",
        choices=("keep", "drop", "strongest"),
        panel=_SAME,
        help="For pairs that prefer opposite answers to the same prompt: keep both (and count "
        "them), drop both, or keep the one with the wider gap.",
    )
    near: float | None = option(
        None,
        metavar="SHARE",
        least=LEAST_SIMILARITY,
        most=1,
        panel=_SAME,
        help="Drop pairs that share this fraction of their five-word sequences with a stronger "
        "pair. 0.9 tolerates one changed word in 100, 0.8 one in 45, 0.5 one in 15.",
    )
    near_on: str | None = option(
        None,
        choices=("prompt", "chosen", "both"),
        panel=_SAME,
        help="What must be a near-duplicate: the prompt, the chosen answer, or both (default).",
    )
    against: list[str] | None = option(
        None,
        metavar="FILE",
        panel=_NOT_TRAINED,
        help="Drop pairs whose prompt, or a question in it, occurs in this benchmark or "
        "validation file; with --near, also near-duplicates. Repeatable.",
    )
    against_field: str | None = option(
        None,
        metavar="PATH",
        panel=_NOT_TRAINED,
        help=f"Path of the prompts in it (default: the first of {', '.join(PROMPT_FIELDS)}).",
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
            raise UsageError("--against -: standard input is for the pairs", "name a file")
        if self.against_field is not None and not self.against:
            raise OptionNeeds("--against-field", "--against")
        if self.near_on is not None and self.near is None:
            raise OptionNeeds("--near-on", "--near")
        if not self.by:
            raise UsageError("--by is empty", f"one of {', '.join(SAME_IN)}")

    @property
    def benchmarks(self) -> Sequence[str]:
        """The files of prompts that it reads."""
        return self.against or ()

    def with_files(self, files: StageFiles) -> Self:
        """The same stage with the prompts of the files that it names."""
        if not self.against:
            return self
        reference = files.prompts(self.against, self.against_field, near=self.near)
        return replace(self, reference=reference)

    @property
    def needs(self) -> frozenset[str]:
        """The digests that it uses."""
        return frozenset({"id", "prompt", "tools", "chosen", "rejected", "other_prompt"})

    def select(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[PairColumns]:
        """One pair of each kind, in the order of the input."""
        new = self.not_in_reference(blocks, reader, counts)
        yield from self.distinct(new, reader, counts, wanted)

    def not_in_reference(
        self, blocks: Iterable[PairColumns], reader: PairReader, counts: StageCounts
    ) -> Iterable[PairColumns]:
        """The pairs whose prompts are not among those of `against`."""
        if self.reference is None:
            return blocks
        return _not_in_reference(self.reference, blocks, reader, counts)

    def distinct(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        wanted: frozenset[str] = frozenset(),
    ) -> Iterator[PairColumns]:
        """One pair of each kind of those that are compared, in the order of the input."""
        distinct = DistinctPairs({*wanted, *self._keys}, reader)
        for block in blocks:
            if copies := len(block) - distinct.add(block):
                counts.dropped["duplicate"] += copies
        if self.near is not None:
            counts.to_compare = len(distinct)
        slots = self._settle_conflicts(distinct, counts)
        if self._keys:
            slots = _strongest_by(self._keys, distinct, slots, counts)
        if self.near is not None:
            slots = self._without_near(distinct, slots, reader, counts, self.near)
        yield from distinct.arrived(slots)

    def _without_near(
        self,
        distinct: DistinctPairs,
        slots: Sequence[int],
        reader: PairReader,
        counts: StageCounts,
        threshold: float,
    ) -> Sequence[int]:
        """The slots of the pairs that are no near-duplicate of a stronger pair that stays."""

        def shingles_of_prompt(slot: int) -> Shingles:
            return shingles_of(reader.pair(distinct.indexed(slot)).prompt)

        def shingles_of_chosen(slot: int) -> Shingles:
            return shingles_of(reader.pair(distinct.indexed(slot)).chosen)

        near_on = self.near_on or "both"
        shingles_in = shingles_of_prompt if near_on == "prompt" else shingles_of_chosen
        table, prompts = NearTable(threshold, shingles_in), ShingleCache(shingles_of_prompt)
        kept = array("I")
        counts.to_compare = len(slots)
        for slot in sorted_slots(slots, distinct.strength):
            counts.compared += 1
            shingles = shingles_in(slot)
            near = table.near(shingles)
            if near_on == "both":
                near = (at for at in near if similarity(prompts(slot), prompts(at)) >= threshold)
            if next(near, None) is None:
                table.add(slot, shingles)
                kept.append(slot)
            else:
                counts.dropped["near_duplicate"] += 1
        return kept

    @property
    def _keys(self) -> tuple[str, ...]:
        """The digests in which pairs of different content may agree."""
        return () if "content" in self.by else self.by

    def _settle_conflicts(self, distinct: DistinctPairs, counts: StageCounts) -> Sequence[int]:
        """The slots of the pairs that no other pair contradicts, or that win over it."""
        slots = range(len(distinct))
        stays = bytearray(b"\1") * len(distinct)
        for slot, opposite in distinct.opposites():
            if self.conflicts == "keep":
                counts.noticed["contradiction_kept"] += 1
            elif self.conflicts == "drop" or not _has_wider_gap(distinct, slot, opposite):
                counts.dropped["contradiction"] += 1
                stays[slot] = 0
        return slots if all(stays) else array("I", compress(slots, stays))


def _has_wider_gap(distinct: DistinctPairs, slot: int, opposite: int) -> bool:
    ours, theirs = distinct.gap(slot), distinct.gap(opposite)
    return ours is not None and (theirs is None or ours > theirs)


def _not_in_reference(
    reference: ReferencePrompts,
    blocks: Iterable[PairColumns],
    reader: PairReader,
    counts: StageCounts,
) -> Iterator[PairColumns]:
    for block in blocks:
        kept = array("I")
        for slot in range(len(block)):
            prompt, other = reader.pair_in(block, slot).prompt, block.digest("other_prompt", slot)
            if reference.holds(prompt, other):
                counts.dropped["in_reference"] += 1
            else:
                kept.append(slot)
        yield block.of(kept)


def _strongest_by(
    keys: Sequence[str], distinct: DistinctPairs, slots: Sequence[int], counts: StageCounts
) -> Sequence[int]:
    """The slot of the strongest pair of each key."""
    table, best = DigestTable(), array("I")
    for slot in slots:
        key = b"".join(distinct.digest(name, slot).ljust(DIGEST, b"\0") for name in keys)
        number = table.number_of(key if len(keys) == 1 else digest("keys", key))
        if number == len(best):
            best.append(slot)
            continue
        counts.dropped["duplicate"] += 1
        if distinct.strength(slot) < distinct.strength(best[number]):
            best[number] = slot
    return best
