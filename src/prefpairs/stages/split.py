"""split: assigns each key to one side, by a draw that depends only on the seed and the key."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import filterfalse
from math import sqrt
from typing import NamedTuple

from prefpairs.did_you_mean import MOST_TOLD, nearest
from prefpairs.errors import OptionsConflict, UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.identity import canonical_json, digest, draw, draws
from prefpairs.model.pair import OTHER_GROUP, Pair
from prefpairs.model.path import MISSING, look_up, paths_of
from prefpairs.option import flag, option, options
from prefpairs.stages.base import PairReader
from prefpairs.stages.digest_table import NO_DIGEST, DigestTable, digest_at
from prefpairs.stages.pair_columns import PairColumns, some_at_a_time, sorted_slots
from prefpairs.stages.sample import DRAWS, bound_of
from prefpairs.stages.split_sides import SIDES, TEST, TRAIN, VAL, LinkedKeys, SideOwners, fill_sides

_SPLIT = "Splitting"
_MOST_KNOWN = 200
"""The number of meta fields that are remembered, to suggest one for a --by that no pair has."""

_META, _NULL = "meta.", b"null"
_DEVIATIONS, _PART = 5, 0.75
"""A side that falls this far below its share was not drawn from fresh keys."""

_TWO_PROMPTS = (
    "pair {} has answers to two prompts but only a digest of the second one, so the prompt that "
    "a trainer would see is not known"
)
_WITHOUT_FOR = (
    "without --for, split keeps both prompts on one side, and export drops pairs that would leak"
)


class _Keyed(NamedTuple):
    """Pairs with the keys that must not be on two sides.

    A pair has one key, and another one if its answers differ in it; zeros stand for none.
    """

    pairs: PairColumns
    keys: bytes | bytearray
    others: bytes | bytearray

    def other_keys(self) -> list[tuple[int, bytes]]:
        """The slots of pairs with two keys, and the second one."""
        if self.others == bytes(len(self.others)):
            return []
        slots = range(len(self.pairs))
        return [(slot, key) for slot in slots if (key := digest_at(self.others, slot)) != NO_DIGEST]

    def keys_of(self, slot: int) -> list[bytes]:
        """The keys of a pair."""
        keys = digest_at(self.keys, slot), digest_at(self.others, slot)
        return [key for key in keys if key != NO_DIGEST]


class DrawnKeys:
    """The side of each key: that of an earlier split, or else drawn when the key first comes."""

    def __init__(self, draw_sides: Callable[[bytes], bytes], earlier: SideOwners | None) -> None:
        self._draw_sides = draw_sides
        self._earlier = earlier
        self._table = DigestTable()
        self._sides = bytearray()
        self.counts = [0] * len(SIDES)
        """How many keys were drawn for each side."""

    def sides_of(self, keys: bytes | bytearray) -> list[int]:
        """The sides of keys that follow each other."""
        numbers = self._table.numbers_of(keys)
        if new := self._table.since(len(self._sides)):
            self._add(new)
        return [self._sides[number] for number in numbers]

    def _add(self, keys: bytes) -> None:
        for slot, side in enumerate(self._draw_sides(keys)):
            key = digest_at(keys, slot)
            known = None if self._earlier is None else self._earlier.side_of(key)
            self.counts[side] += known is None
            self._sides.append(side if known is None else SIDES.index(known))

    def drawn_for(self, side: int) -> list[bytes]:
        """The keys that were drawn for a side, sorted."""
        known = zip(self._table, self._sides, strict=True)
        drawn = sorted(key for key, given in known if given == side)
        return drawn if self._earlier is None else [*filterfalse(self._earlier.side_of, drawn)]


class SplitFacts:
    """What is known of a split only once all pairs were seen."""

    def __init__(self) -> None:
        self.drawn: DrawnKeys | None = None
        self._fields: set[str] = set()
        """Fields of pairs without a key, to suggest one."""

    def add_fields(self, paths: Iterable[str]) -> None:
        """Remember fields; of many, those that are first by name, whatever comes when."""
        self._fields.update(paths)
        if len(self._fields) > 2 * _MOST_KNOWN:
            self._fields = set(self.fields)

    @property
    def fields(self) -> list[str]:
        """The fields that a note may suggest."""
        return sorted(self._fields)[:_MOST_KNOWN]


@options
class Split:
    """The shares of the sides, and what the pairs are split by."""

    val_fraction: float = option(
        0.2, metavar="F", least=0, most=1, panel=_SPLIT, help="Fraction of pairs for val.jsonl."
    )
    test_fraction: float = option(
        0.0, metavar="F", least=0, most=1, panel=_SPLIT, help="Fraction of pairs for test.jsonl."
    )
    by: str = option(
        "prompt",
        metavar="prompt|group|PATH",
        panel=_SPLIT,
        help="What must not appear in two splits. meta.example_id keeps the turns of one "
        "conversation together.",
    )
    seed: int = option(0, metavar="N", panel=_SPLIT, help="Seed of random draws.")
    exact: bool = flag(
        panel=_SPLIT,
        help="Make each split as close to its fraction as its prompts allow, for small inputs. "
        "Adding data may then move prompts to another split.",
    )
    like: str | None = option(
        None,
        metavar="OLD_DIR",
        panel=_SPLIT,
        help="Keep each prompt in the split that it has in the files of an earlier split; draw "
        "only new ones. OLD_DIR may be --out-dir.",
    )

    seen: Callable[[Pair], bytes | None] | None = None
    """The prompt that a trainer sees, if pairs are split by that instead of their own prompt."""
    earlier: SideOwners | None = None
    """The sides of the keys in the files of --like, once they have been read."""

    def check(self) -> None:
        """Raise for options that do not go together."""
        if self.val_fraction + self.test_fraction > 1:
            raise UsageError("--val-fraction and --test-fraction are more than 1 together")
        if self.by.partition(".")[0] not in Pair._fields:
            near = nearest(self.by, ["prompt", "group"], "prompt, group, or a field of meta")
            raise UsageError(f"--by {self.by}: pairs have no such field", near)
        if self.like is not None and self.exact:
            reason = "it may move prompts to another side"
            raise OptionsConflict("--exact", "--like", reason=reason, hint="omit --exact")

    name = "split"

    @property
    def holds_back(self) -> bool:
        """Whether pairs are collected first; exact shares need all keys."""
        return self.exact

    @property
    def needs(self) -> frozenset[str]:
        """The digests that it uses."""
        return frozenset({"id", "prompt", "other_prompt"})

    @property
    def sides(self) -> list[str]:
        """The sides that are requested, and those of an earlier split."""
        earlier = [] if self.earlier is None else self.earlier.sides
        shares = zip(SIDES, self._shares, strict=True)
        return [side for side, share in shares if share or side in earlier]

    @property
    def _shares(self) -> tuple[float, float, float]:
        val, test = Fraction(repr(self.val_fraction)), Fraction(repr(self.test_fraction))
        return float(1 - val - test), self.val_fraction, self.test_fraction

    @property
    def _rest(self) -> int:
        """The side that gets the remaining keys: train, if it is requested."""
        return next(side for side in (TRAIN, TEST, VAL) if self._shares[side])

    def sides_of(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        facts: SplitFacts | None = None,
    ) -> Iterator[tuple[PairColumns, list[str]]]:
        """Each pair with its side, in the order of the input.

        `facts` collects what only all pairs together show, if these are not all of them.
        """
        own = SplitFacts() if facts is None else facts
        own.drawn = own.drawn or DrawnKeys(self._draw_sides, self.earlier)
        keyed = self._keyed(blocks, reader, counts, own)
        if self.exact:
            yield from self._exactly(keyed)
        else:
            yield from self._by_draws(keyed, own.drawn, counts)
        if facts is None:
            self.note(own.drawn.counts, own, counts)

    def _by_draws(
        self, keyed: Iterable[_Keyed], drawn: DrawnKeys, counts: StageCounts
    ) -> Iterator[tuple[PairColumns, list[str]]]:
        """Each pair with the side of its keys."""
        for some in keyed:
            sides = drawn.sides_of(some.keys)
            others = some.other_keys()
            theirs = drawn.sides_of(b"".join(key for _, key in others))
            apart = {
                slot for (slot, _), side in zip(others, theirs, strict=True) if side != sides[slot]
            }
            self._count_earlier_sides(some, apart, counts)
            if not apart:
                yield some.pairs, [SIDES[side] for side in sides]
                continue
            counts.dropped["prompts_apart"] += len(apart)
            kept = [slot for slot in range(len(sides)) if slot not in apart]
            yield some.pairs.of(kept), [SIDES[sides[slot]] for slot in kept]

    def note(self, keys: Sequence[int], facts: SplitFacts, counts: StageCounts) -> None:
        """Note what all pairs together show, given how many keys were drawn for each side."""
        if counts.found and counts.dropped["no_key"] == counts.found:
            paths = [f"meta.{path}" for path in facts.fields]
            meant = nearest(self.by, ["prompt", "group", *paths], most=MOST_TOLD)
            counts.notes.append(f"no pair has {self.by}; {meant}")
        self._note_odd_shares(keys, counts)

    def _draw_sides(self, keys: bytes) -> bytes:
        """Sides by draw: val takes low draws and test high ones, so a test side changes no val."""
        below, above = bound_of(self.val_fraction), DRAWS - bound_of(self.test_fraction)
        rest = self._rest
        return bytes(
            VAL if drawn < below else TEST if drawn >= above else rest
            for drawn in draws(self.seed, "split", keys)
        )

    def _keyed(
        self,
        blocks: Iterable[PairColumns],
        reader: PairReader,
        counts: StageCounts,
        facts: SplitFacts,
    ) -> Iterator[_Keyed]:
        """Pairs with the keys that must not be on two sides: one, or one for each answer."""
        for block in blocks:
            if self.by == "prompt" and self.seen is None:
                yield _Keyed(block, block.digests("prompt"), block.digests("other_prompt"))
                continue
            kept, keys, others = array("I"), bytearray(), bytearray()
            for slot, indexed in enumerate(block):
                found = self.keys_of(
                    indexed.prompt, indexed.other_prompt, partial(reader.pair, indexed)
                )
                if found:
                    kept.append(slot)
                    keys += found[0]
                    others += found[1] if len(found) > 1 else NO_DIGEST
                    continue
                counts.dropped["no_key"] += 1
                facts.add_fields(paths_of(reader.pair(indexed).meta))
            yield _Keyed(block.of(kept), keys, others)

    def keys_of(self, prompt: bytes, other_prompt: bytes, pair: Callable[[], Pair]) -> list[bytes]:
        """The keys of a pair, from the digests of its prompts or from the pair itself."""
        if self.by != "prompt":
            return _keys_at(pair(), self.by)
        if self.seen is None:
            return [*dict.fromkeys(filter(None, (prompt, other_prompt)))]
        if other_prompt:
            raise UsageError(_TWO_PROMPTS.format(pair().id), _WITHOUT_FOR)
        return [self.seen(pair()) or prompt]

    def _count_earlier_sides(self, keyed: _Keyed, apart: set[int], counts: StageCounts) -> None:
        """Count the pairs of which a key had a side in the earlier split."""
        if self.earlier is None:
            return
        for slot in range(len(keyed.pairs)):
            keys = keyed.keys_of(slot)
            if slot in apart or not any(map(self.earlier.side_of, keys)):
                continue
            counts.noticed["old_side_kept"] += 1
            if any(map(self.earlier.is_in_several, keys)):
                counts.noticed["old_sides_differ"] += 1

    def _note_odd_shares(self, keys_of_side: Sequence[int], counts: StageCounts) -> None:
        """Note if the input seems to be one side of an earlier split with the same seed."""
        keys = sum(keys_of_side)
        for side, share in enumerate(self._shares):
            due = share * keys
            unlikely = due - keys_of_side[side] > _DEVIATIONS * sqrt(due * (1 - share))
            if unlikely and keys_of_side[side] < _PART * due:
                counts.notes.append(
                    f"{SIDES[side]} got {keys_of_side[side]:,} of {keys:,} keys where "
                    f"{share:.1%} was expected: this input seems to be one side of an earlier "
                    f"split with seed {self.seed}; use another --seed"
                )
                return

    def _exactly(self, keyed: Iterable[_Keyed]) -> Iterator[tuple[PairColumns, list[str]]]:
        """Sides filled with keys in the order of their draws, as near to the shares as possible.

        Keys of one pair go to the same side, so that no pair is lost.
        """
        columns, table, linked = PairColumns({"id"}), DigestTable(), LinkedKeys()
        firsts = array("I")
        for some in keyed:
            numbers = table.numbers_of(some.keys)
            links = [(numbers[slot], table.number_of(key)) for slot, key in some.other_keys()]
            linked.grow(len(table))
            for one, other in links:
                linked.link(one, other)
            columns.extend(some.pairs)
            firsts.extend(numbers)
        drawn = array("Q", (draw(self.seed, "split", key) for key in table))
        sizes = array("I", bytes(4 * len(drawn)))
        for number in firsts:
            sizes[linked.root(number)] += 1
        for number, own in enumerate(drawn):  # linked keys have one draw, the smallest of theirs
            root = linked.root(number)
            drawn[root] = min(drawn[root], own)
        order = array("I", sorted_slots(range(len(sizes)), drawn.__getitem__))
        side_of = fill_sides(sizes, order, self._shares, self._rest)
        for slots in some_at_a_time(range(len(columns))):
            roots = (linked.root(firsts[slot]) for slot in slots)
            yield columns.of(slots), [SIDES[side_of[root]] for root in roots]


def _keys_at(pair: Pair, path: str) -> list[bytes]:
    """The digests of the values at a path; one for each answer if they differ in it."""
    row = pair._asdict()
    meta = row["meta"] or {}
    if path == "group":
        values = [pair.group, meta.get(OTHER_GROUP, pair.group)]
    elif (value := look_up(row, path)) is not MISSING:
        values = [value]
    elif path.startswith(_META):
        name = path.removeprefix(_META)
        values = [look_up(meta, f"{side}_{name}") for side in ("chosen", "rejected")]
    else:
        return []
    if any(value is MISSING for value in values):
        return []
    written = [canonical_json(value) for value in values]  # NaN is written as null
    keys = dict.fromkeys(digest("key", value) for value in written)
    return [] if _NULL in written else list(keys)
