"""What a stage is: indexed pairs in, those that stay out, in the order to write them in."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, Self

from prefpairs.ledger import StageCounts
from prefpairs.model.identity import digest_pair
from prefpairs.model.pair import Pair
from prefpairs.stages.contamination import ReferencePrompts


class IndexedPair(NamedTuple):
    """A pair by its digests; `number` is its place in the input, `place` leads to its text."""

    number: int
    place: int
    length: int
    gap: float | None
    chosen_score: float | None
    rejected_score: float | None
    id: bytes
    prompt: bytes
    tools: bytes
    chosen: bytes
    rejected: bytes
    group: bytes
    other_prompt: bytes = b""
    line_crc: int = 0
    """32 bits of a digest of its line where that is just what would be written of it, else 0."""

    def reversed_id(self) -> bytes:
        """The id of the pair that prefers the other answer."""
        return digest_pair(self.prompt, self.tools, self.rejected, self.chosen)

    def strength(self) -> tuple[float, float, bytes]:
        """What the strongest come first by: gap, chosen score, id; unknown is weakest."""
        return descending(self.gap), descending(self.chosen_score), self.id


def descending(number: float | None) -> float:
    """A key that sorts large numbers first and unknown ones last."""
    return float("inf") if number is None else -number


class StageFiles(Protocol):
    """The files that stages name, opened for them: stages themselves open nothing."""

    def prompts(
        self, paths: Sequence[str], field: str | None, /, *, near: float | None
    ) -> ReferencePrompts:
        """The prompts of a benchmark."""
        ...

    def token_counter(self, path: str, /) -> Callable[[str], int]:
        """What counts the tokens of a text, by a tokenizer.json."""
        ...


class PairReader(Protocol):
    """Where the pairs behind the pairs are."""

    def pair(self, indexed: IndexedPair, /) -> Pair:
        """The pair itself: at hand for the indexed that came last, else fetched."""
        ...


class Stage(Protocol):
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
        """Whether pairs wait in it, so that their pairs have to be fetched again."""
        ...

    @property
    def picks(self) -> bool:
        """Whether few may be left of many, so that little should be done for all."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """The digests it looks at."""
        ...

    def select(
        self,
        pairs: Iterable[IndexedPair],
        reader: PairReader,
        stage: StageCounts,
        wanted: frozenset[str],
    ) -> Iterator[IndexedPair]:
        """The pairs that stay; each loss is counted. `wanted` digests are handed on."""
        ...
