"""What a sieve is: entries in, those that stay out, in the order in which they are written."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from prefpairs.ledger import Stage
from prefpairs.model.pair import Pair
from prefpairs.stages.pair_entry import Entry


class Texts(Protocol):
    """Where the pairs behind the entries are."""

    def pair(self, entry: Entry, /) -> Pair:
        """The pair itself: at hand for the entry that came last, else fetched."""
        ...


class Sieve(Protocol):
    """One stage of a pipeline. Pure: what it may know is what it is given."""

    @property
    def name(self) -> str:
        """The command it belongs to."""
        ...

    @property
    def holds_back(self) -> bool:
        """Whether entries wait in it, so that their pairs have to be fetched again."""
        ...

    @property
    def picks(self) -> bool:
        """Whether few may be left of many, so that little should be done for all."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        ...

    def sieve(
        self, entries: Iterable[Entry], texts: Texts, stage: Stage, wanted: frozenset[str]
    ) -> Iterator[Entry]:
        """The entries that stay; each loss is counted. `wanted` digests are handed on."""
        ...
