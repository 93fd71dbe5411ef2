"""What a sieve knows of a pair without its text."""

from typing import NamedTuple

from prefpairs.model.identity import digest_pair

DIGEST = 16
"""The length of a digest."""


class Entry(NamedTuple):
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
    seal: int = 0
    """32 bits of a digest of its line where that is just what would be written of it, else 0."""

    def reversed_id(self) -> bytes:
        """The id of the pair that prefers the other answer."""
        return digest_pair(self.prompt, self.tools, self.rejected, self.chosen)

    def strength(self) -> tuple[float, float, bytes]:
        """What the strongest come first by: gap, chosen score, id; unknown is weakest."""
        return falling(self.gap), falling(self.chosen_score), self.id


def falling(number: float | None) -> float:
    """A key that sorts large numbers first and unknown ones last."""
    return float("inf") if number is None else -number
