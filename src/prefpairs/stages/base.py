"""What a sieve is: entries in, those that stay out, in the order in which they are written."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self

from prefpairs.ledger import StageCounts
from prefpairs.model.pair import Pair
from prefpairs.stages.contamination import Reference
from prefpairs.stages.pair_entry import Entry


class StageFiles(Protocol):
    """The files that stages name, opened for them: stages themselves open nothing."""

    def prompts(
        self, paths: Sequence[str], field: str | None, /, *, near: float | None
    ) -> Reference:
        """The prompts of a benchmark."""
        ...

    def token_counter(self, path: str, /) -> Callable[[str], int]:
        """What counts the tokens of a text, by a tokenizer.json."""
        ...


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
    def benchmarks(self) -> Sequence[str]:
        """The files, directories and patterns of prompts that it reads besides the pairs."""
        ...

    @property
    def tokenizers(self) -> Sequence[str]:
        """The tokenizers that it reads."""
        ...

    def with_files(self, files: StageFiles, /) -> Self:
        """The same with what the files hold that its options name."""
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
        self, entries: Iterable[Entry], texts: Texts, stage: StageCounts, wanted: frozenset[str]
    ) -> Iterator[Entry]:
        """The entries that stay; each loss is counted. `wanted` digests are handed on."""
        ...
