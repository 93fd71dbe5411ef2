"""Pairs that rollouts already contain: kept until all rows are read, each of them once."""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.fetch_records import RecordFetcher, Spool
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.identity import digest_pair
from prefpairs.model.json_codec import decode
from prefpairs.model.pair import Pair, digests_of, fullest_first, pair_line, pair_of
from prefpairs.plan import PairPlan


class ReadyPairs:
    """Pairs in a spool; they take about 150 bytes of memory each."""

    def __init__(self, plan: PairPlan, records: RecordFetcher[RowOutcome], ledger: Ledger) -> None:
        self._plan = plan
        self._records = records
        self._ledger = ledger
        self._file: tuple[int, Spool] | None = None
        self._slots: dict[bytes, int] = {}
        self._offsets = array("Q")
        self._lengths = array("I")

    def __len__(self) -> int:
        """How many different pairs there are."""
        return len(self._slots)

    def add(self, pair: Pair) -> None:
        """Take a pair. Of duplicates the fullest is kept, or the first by content."""
        self._counts.found += 1
        slot = self._slots.setdefault(bytes.fromhex(pair.id), len(self._slots))
        if slot < len(self._offsets):
            self._counts.dropped["ready_twice"] += 1
            if fullest_first(self.pair(slot)) <= fullest_first(pair):
                return
        else:
            self._offsets.append(0)
            self._lengths.append(0)
            self._count_contradiction(pair)
        line = pair_line(pair)
        self._offsets[slot], self._lengths[slot] = self._spool[1].append(line), len(line)

    def _count_contradiction(self, pair: Pair) -> None:
        """Count a new pair and the one that prefers the other answer, if there is one."""
        prompt, tools, chosen, rejected = digests_of(
            pair.prompt, pair.tools, pair.chosen, pair.rejected
        )
        if digest_pair(prompt, tools, rejected, chosen) in self._slots:
            self._counts.noticed["contradiction_kept"] += 2

    def lose(self, reasons: Sequence[str]) -> None:
        """Count pairs that cannot be trained on."""
        if reasons:
            self._counts.found += len(reasons)
            self._counts.dropped.update(reasons)

    def pairs(self) -> Iterator[Pair]:
        """All pairs, in order."""
        return map(self.pair, self.slots())

    def slots(self) -> Iterable[int]:
        """The slots of all pairs, in order."""
        if self._plan.options.order == "input":
            return self._slots.values()
        return [slot for _, slot in sorted(self._slots.items())]

    def pair(self, slot: int) -> Pair:
        """The pair in this slot."""
        number, _ = self._spool
        return self._records.fetch(number, self._offsets[slot], self._lengths[slot]).pairs[0]

    @property
    def _spool(self) -> tuple[int, Spool]:
        """A spool of their own and its number, made for the first pair; few inputs have any."""
        if self._file is None:
            spool = Spool(self._plan.temp_dir)
            self._file = self._records.add(spool, _read_back), spool
        return self._file

    @property
    def _counts(self) -> StageCounts:
        """Their counts, which the summary shows before those of all stages."""
        return self._ledger.stage_of_ready_pairs()


def _read_back(line: bytes) -> RowOutcome:
    return RowOutcome(pairs=[pair_of(decode(line))[0]])
