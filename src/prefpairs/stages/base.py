"""What a stage is: blocks of indexed pairs in, those that stay out, in the order of the output."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from prefpairs.ledger import StageCounts
from prefpairs.model.identity import digest_pair
from prefpairs.model.pair import Pair

if TYPE_CHECKING:
    from prefpairs.stages.contamination import ReferencePrompts
    from prefpairs.stages.pair_columns import PairColumns

DIGESTS = ("id", "prompt", "tools", "chosen", "rejected", "group", "other_prompt")
"""The digests of an indexed pair."""


class IndexedPair(NamedTuple):
    """A pair without its text: numbers, digests, and the place to read the text from.

    `number` counts the pairs of the input.
    """

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
    """The CRC-32 of its line if that is exactly the line that would be written, else 0."""

    def reversed_id(self) -> bytes:
        """The id of the pair that prefers the other answer."""
        return digest_pair(self.prompt, self.tools, self.rejected, self.chosen)

    def strength(self) -> tuple[float, float, bytes]:
        """A sort key, strongest first: gap, chosen score, id; unknown numbers are weakest."""
        return descending(self.gap), descending(self.chosen_score), self.id


def descending(number: float | None) -> float:
    """A key that sorts large numbers first and unknown ones last."""
    return float("inf") if number is None else -number


class StageFiles(Protocol):
    """Opens the files that the options of stages name: stages themselves open nothing."""

    def prompts(
        self, paths: Sequence[str], field: str | None, /, *, near: float | None
    ) -> "ReferencePrompts":
        """The prompts of a benchmark."""
        ...

    def token_counter(self, path: str, /) -> Callable[[str], int]:
        """A function that counts the tokens of a text with a tokenizer.json."""
        ...


class PairReader(Protocol):
    """Reads the text of indexed pairs."""

    def pair(self, indexed: IndexedPair, /) -> Pair:
        """The pair with its text: in memory if its block came last, otherwise read."""
        ...

    def pair_in(self, pairs: "PairColumns", slot: int, /) -> Pair:
        """The same by its slot, which is quicker if it is in memory."""
        ...


class Stage(Protocol):
    """One stage of a pipeline. Pure: it depends on its arguments only."""

    @property
    def name(self) -> str:
        """The command it belongs to."""
        ...

    @property
    def benchmarks(self) -> Sequence[str]:
        """The files, directories and patterns of prompts that it reads in addition to the pairs."""
        ...

    @property
    def tokenizers(self) -> Sequence[str]:
        """The tokenizers that it reads."""
        ...

    def with_files(self, files: StageFiles, /) -> Self:
        """The same stage with the contents of the files that its options name."""
        ...

    @property
    def holds_back(self) -> bool:
        """Whether it collects pairs before it passes any on, so that they must be read again."""
        ...

    @property
    def picks(self) -> bool:
        """Whether it may keep few pairs of many, so that work on all of them should be small."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """The digests that it uses."""
        ...

    def select(
        self,
        blocks: "Iterable[PairColumns]",
        reader: PairReader,
        counts: StageCounts,
        wanted: frozenset[str],
    ) -> "Iterator[PairColumns]":
        """The pairs that stay, with their `wanted` digests; each dropped pair is counted."""
        ...
