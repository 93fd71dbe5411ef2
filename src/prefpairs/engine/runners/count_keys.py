"""How many keys a split drew for each side, over all steps: a key may occur in several."""

from collections.abc import Iterator, Sequence

from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_output import KEYS, Wrote
from prefpairs.engine.runners.step_plan import Work
from prefpairs.model.identity import DIGEST

_MOST_HELD = 1_000_000
"""Keys that are compared at a time: 100 MB. Those that begin with the same byte stay together."""


def keys_of_sides(work: Work, phase: Phase, wrote: Sequence[Wrote]) -> list[int]:
    """The number of different keys of each side."""
    if not wrote:
        return []
    found, before = [], [0] * len(wrote)
    for side in range(len(wrote[0].keys)):
        counts = [step.keys[side] for step in wrote]
        different = 0
        for first, end in _ranges([sum(column) for column in zip(*counts, strict=True)]):
            held: set[bytes] = set()
            for step, counted in enumerate(counts):
                number = sum(counted[first:end])
                held.update(_keys(work, phase, step, before[step], number))
                before[step] += number
            different += len(held)
        found.append(different)
    return found


def _ranges(counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of first bytes with few keys each, in which all bytes are."""
    first = held = 0
    for byte, count in enumerate(counts):
        if held and held + count > _MOST_HELD:
            yield first, byte
            first, held = byte, 0
        held += count
    yield first, len(counts)


def _keys(work: Work, phase: Phase, step: int, before: int, number: int) -> Iterator[bytes]:
    """Keys of a step, of which so many come before."""
    if not number:
        return
    name = f"{step_name(phase.last, step)}/{KEYS}"
    content = work.folder.read_at(name, before * DIGEST, number * DIGEST)
    for place in range(0, len(content), DIGEST):
        yield content[place : place + DIGEST]
