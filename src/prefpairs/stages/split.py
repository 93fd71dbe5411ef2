"""split: each key on one side, by a draw that hangs on the seed and the key alone."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from math import sqrt

from prefpairs.did_you_mean import MOST_TOLD, nearest
from prefpairs.errors import UsageError
from prefpairs.ledger import StageCounts
from prefpairs.model.canonical_json import canonical_json
from prefpairs.model.identity import digest, draw
from prefpairs.model.pair import OTHER_GROUP, Pair
from prefpairs.model.path import MISSING, look_up, paths_of
from prefpairs.option import flag, option, options
from prefpairs.stages.base import IndexedPair, PairReader
from prefpairs.stages.digest_table import DigestTable
from prefpairs.stages.pair_columns import PairColumns, sorted_slots
from prefpairs.stages.sample import DRAWS, bound_of
from prefpairs.stages.split_sides import SIDES, TEST, TRAIN, VAL, LinkedKeys, SideOwners, fill_sides

_SPLIT = "How sides are drawn"
_MOST_KNOWN = 200
"""So many fields of meta are remembered, to be held against one that no pair has."""

_META, _NULL = "meta.", b"null"
_DEVIATIONS, _PART = 5, 0.75
"""A side that has so much less than its share was not drawn from fresh keys."""

_TWO_PROMPTS = (
    "pair {} has answers to two prompts, and only a digest of the second one: what a trainer "
    "would see of it is not known"
)
_WITHOUT_A_VIEW = (
    "without --for, split keeps both prompts on one side, and export drops what would leak"
)


@options
class Split:
    """Which share of the keys goes to which side."""

    val_fraction: float = option(
        0.2, metavar="F", least=0, most=1, panel=_SPLIT, help="The share of val.jsonl."
    )
    test_fraction: float = option(
        0.0, metavar="F", least=0, most=1, panel=_SPLIT, help="The share of test.jsonl."
    )
    by: str = option(
        "prompt",
        metavar="prompt|group|PATH",
        panel=_SPLIT,
        help="What never stands on two sides; meta.example_id keeps the turns of one "
        "conversation together.",
    )
    seed: int = option(0, metavar="N", panel=_SPLIT, help="Seed of the draws.")
    exact: bool = flag(
        panel=_SPLIT,
        help="Fill every side, as near to its share as its prompts allow: for small inputs. "
        "Added data may then move others to another side.",
    )
    like: str | None = option(
        None,
        metavar="OLD_DIR",
        panel=_SPLIT,
        help="Keep each prompt on the side that it has in the files of an earlier split; new "
        "ones are drawn. OLD_DIR may be --out-dir.",
    )

    seen: Callable[[Pair], bytes | None] | None = None
    """The prompt that a trainer sees of a pair, if pairs are split by that."""
    earlier: SideOwners | None = None
    """The sides that keys have in the files of --like, once they are read."""

    def check(self) -> None:
        """Raise for options that do not go together."""
        if self.val_fraction + self.test_fraction > 1:
            raise UsageError("--val-fraction and --test-fraction are more than 1 together")
        if self.by.partition(".")[0] not in Pair._fields:
            near = nearest(self.by, ["prompt", "group"], "prompt, group, or a field of meta")
            raise UsageError(f"--by {self.by}: pairs have no such field", near)
        if self.like is not None and self.exact:
            problem = "--exact does not go with --like: it may move prompts to another side"
            raise UsageError(problem, "leave --exact out")

    name = "split"

    @property
    def holds_back(self) -> bool:
        """Exact shares are known only when all keys are."""
        return self.exact

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        return frozenset({"id", "prompt", "other_prompt"})

    @property
    def sides(self) -> list[str]:
        """The sides that are asked for, and those that keys have had so far."""
        had = [] if self.earlier is None else self.earlier.sides
        shares = zip(SIDES, self._shares, strict=True)
        return [side for side, share in shares if share or side in had]

    @property
    def _shares(self) -> tuple[float, float, float]:
        val, test = Fraction(repr(self.val_fraction)), Fraction(repr(self.test_fraction))
        return float(1 - val - test), self.val_fraction, self.test_fraction

    @property
    def _rest(self) -> int:
        """The side that gets what the others leave: train, if it is asked for."""
        return next(side for side in (TRAIN, TEST, VAL) if self._shares[side])

    def sides_of(
        self, pairs: Iterable[IndexedPair], reader: PairReader, stage: StageCounts
    ) -> Iterator[tuple[IndexedPair, str]]:
        """Each indexed with its side, as they came."""
        keyed = self._keyed(pairs, reader, stage)
        if self.exact:
            yield from self._exactly(keyed, stage)
            return
        numbering, counts = DigestTable(), Counter[int]()
        side_by_draw = self._side_by_draw()
        for indexed, keys in keyed:
            sides = set()
            for key in keys:
                had = None if self.earlier is None else self.earlier.side_of(key)
                side = side_by_draw(key) if had is None else SIDES.index(had)
                sides.add(side)
                if had is None and numbering.number_of(key) == counts.total():
                    counts[side] += 1
            if len(sides) > 1:
                stage.dropped["prompts_apart"] += 1
                continue
            self._notice_old_sides(keys, stage)
            yield indexed, SIDES[sides.pop()]
        self._notice_odd_shares(counts, stage)

    def _side_by_draw(self) -> Callable[[bytes], int]:
        """The sides lie at the two ends of the draws: a test side moves nothing out of val."""
        below, above = bound_of(self.val_fraction), DRAWS - bound_of(self.test_fraction)
        seed, rest = self.seed, self._rest

        def side_of(key: bytes) -> int:
            drawn = draw(seed, "split", key)
            if drawn < below:
                return VAL
            return TEST if drawn >= above else rest

        return side_of

    def _keyed(
        self, pairs: Iterable[IndexedPair], reader: PairReader, stage: StageCounts
    ) -> Iterator[tuple[IndexedPair, list[bytes]]]:
        """Each indexed with the keys that must not stand on two sides: one, or one an answer."""
        known: set[str] = set()
        for indexed in pairs:
            keys = self.keys_of(indexed.prompt, indexed.other_prompt, partial(reader.pair, indexed))
            if keys:
                yield indexed, keys
            else:
                stage.dropped["no_key"] += 1
                known.update(paths_of(reader.pair(indexed).meta))
                if len(known) > 2 * _MOST_KNOWN:  # whatever the order in which they came
                    known = set(sorted(known)[:_MOST_KNOWN])
        if stage.found and stage.dropped["no_key"] == stage.found:
            paths = [f"meta.{path}" for path in sorted(known)[:_MOST_KNOWN]]
            meant = nearest(self.by, ["prompt", "group", *paths], most=MOST_TOLD)
            stage.notes.append(f"no pair has {self.by}; {meant}")

    def keys_of(self, prompt: bytes, other_prompt: bytes, pair: Callable[[], Pair]) -> list[bytes]:
        """The keys of a pair, by the digests of its prompts, or by what `pair` gives."""
        if self.by != "prompt":
            return _keys_at(pair(), self.by)
        if self.seen is None:
            return [*dict.fromkeys(filter(None, (prompt, other_prompt)))]
        if other_prompt:
            raise UsageError(_TWO_PROMPTS.format(pair().id), _WITHOUT_A_VIEW)
        return [self.seen(pair()) or prompt]

    def _notice_old_sides(self, keys: list[bytes], stage: StageCounts) -> None:
        """Count a pair of which a key has had a side."""
        if self.earlier is None or not any(map(self.earlier.side_of, keys)):
            return
        stage.noticed["old_side_kept"] += 1
        if any(map(self.earlier.is_on_several, keys)):
            stage.noticed["old_sides_differ"] += 1

    def _notice_odd_shares(self, counts: Counter[int], stage: StageCounts) -> None:
        """Tell the input of a split that is one side of an earlier one with the same seed."""
        keys = counts.total()
        for side, share in enumerate(self._shares):
            due = share * keys
            unlikely = due - counts[side] > _DEVIATIONS * sqrt(due * (1 - share))
            if unlikely and counts[side] < _PART * due:
                stage.notes.append(
                    f"{SIDES[side]} got {counts[side]:,} of {keys:,} keys where {share:.1%} were "
                    "due: this input seems to be one side of an earlier split with seed "
                    f"{self.seed}; another --seed draws afresh"
                )
                return

    def _exactly(
        self, keyed: Iterable[tuple[IndexedPair, list[bytes]]], stage: StageCounts
    ) -> Iterator[tuple[IndexedPair, str]]:
        """Shares of pairs as near as keys get that are taken in the order of their draws.

        Keys that share a pair go together, so that no pair is lost.
        """
        columns, numbering, joined = PairColumns({"id"}), DigestTable(), LinkedKeys()
        firsts, draws = array("I"), array("Q")
        for indexed, keys in keyed:
            numbers = [numbering.number_of(key) for key in keys]
            for number, key in zip(numbers, keys, strict=True):
                if number == len(draws):
                    draws.append(draw(self.seed, "split", key))
                    joined.add()
            joined.join(numbers[0], numbers[-1])
            columns.add(indexed)
            firsts.append(numbers[0])
        sizes = array("I", bytes(4 * len(draws)))
        for number in firsts:
            sizes[joined.root(number)] += 1
        for number, drawn in enumerate(draws):  # those that go together draw once: the smallest
            root = joined.root(number)
            draws[root] = min(draws[root], drawn)
        order = array("I", sorted_slots(range(len(sizes)), draws.__getitem__))
        side_of = fill_sides(sizes, order, self._shares, self._rest)
        for slot in range(len(columns)):
            yield columns.indexed(slot), SIDES[side_of[joined.root(firsts[slot])]]


def _keys_at(pair: Pair, path: str) -> list[bytes]:
    """The digests of what stands at a path; where the answers differ in it, one an answer."""
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
