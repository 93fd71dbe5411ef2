"""Pairs that stood ready in rollouts: put aside until all rows were read, each of them once."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prefpairs.fields.answer import Reading
from prefpairs.files.record_files import Spool
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.json_codec import decode
from prefpairs.model.pair import Pair, fullest_first, pair_line, pair_of

if TYPE_CHECKING:
    from prefpairs.engine.record_fetch import Candidates
    from prefpairs.plan import PairPlan


class ReadyPairs:
    """Takes pairs as rows give them, and gives them back in order; some 150 bytes each."""

    def __init__(self, plan: "PairPlan", library: "Candidates", ledger: Ledger) -> None:
        self._plan = plan
        self._library = library
        self._ledger = ledger
        self._spool: tuple[int, Spool] | None = None
        self._stage: StageCounts | None = None
        self._slots: dict[bytes, int] = {}
        self._offsets = array("Q")
        self._lengths = array("I")

    def __len__(self) -> int:
        """How many different ones there are."""
        return len(self._slots)

    def add(self, pair: Pair) -> None:
        """Take a pair. Of copies the fullest stays, then the first by content, never by arrival."""
        self._counted.found += 1
        slot = self._slots.setdefault(bytes.fromhex(pair.id), len(self._slots))
        if slot < len(self._offsets):
            self._counted.dropped["ready_twice"] += 1
            if fullest_first(self.pair(slot)) <= fullest_first(pair):
                return
        else:
            self._offsets.append(0)
            self._lengths.append(0)
        line = pair_line(pair)
        self._offsets[slot], self._lengths[slot] = self._shelf[1].append(line), len(line)

    def lose(self, reasons: Sequence[str]) -> None:
        """Count pairs that nobody could train on."""
        if reasons:
            self._counted.found += len(reasons)
            self._counted.dropped.update(reasons)

    def pairs(self) -> Iterator[Pair]:
        """All of them, in order."""
        return map(self.pair, self.slots())

    def slots(self) -> Iterable[int]:
        """The places that they took, in order."""
        if self._plan.options.order == "input":
            return self._slots.values()
        return [slot for _, slot in sorted(self._slots.items())]

    def pair(self, slot: int) -> Pair:
        """The pair that took this place."""
        number, _ = self._shelf
        return self._library.record(number, self._offsets[slot], self._lengths[slot]).pairs[0]

    @property
    def _shelf(self) -> tuple[int, Spool]:
        """Where they are put aside; few inputs have any."""
        if self._spool is None:
            spool = Spool(self._plan.temp_dir)
            self._spool = self._library.add(spool, spool.label, _read_back), spool
        return self._spool

    @property
    def _counted(self) -> StageCounts:
        """Their ledger, which is told of before those of all stages that they go through."""
        if self._stage is None:
            self._stage = StageCounts("ready-made")
            self._ledger.stages.insert(0, self._stage)
        return self._stage


def _read_back(line: bytes) -> Reading:
    return Reading(pairs=[pair_of(decode(line))[0]])
