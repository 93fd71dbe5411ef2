"""How far a run has come.

The engine counts as it works; the progress bar looks from time to time.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

Activity = Literal["reading", "pairing", "comparing", "writing", "hashing"]


class Step(NamedTuple):
    """What a run is doing, and how much of it is done. The total may be unknown."""

    activity: Activity
    done: int
    total: int | None
    unit: str


class Progress:
    """The steps of a run. The first one is always to read its inputs."""

    def __init__(self) -> None:
        self.own_bytes = 0
        """The bytes this process has read in this step; of compressed files, compressed bytes."""
        self._current_step: Callable[[], Step] | None = None
        self._worker_bytes: Sequence[int] = ()

    def add_bytes(self, count: int) -> None:
        """Count bytes that were read. Files call it once for each large block."""
        self.own_bytes += count

    def watch_workers(self, worker_bytes: Sequence[int]) -> None:
        """Count what worker processes read, too; they write it into shared memory."""
        self._worker_bytes = worker_bytes

    def workers_ended(self) -> None:
        """Add the bytes of the workers to our own, since their memory goes away."""
        counted, self._worker_bytes = sum(self._worker_bytes), ()
        self.own_bytes += counted

    @property
    def bytes_read(self) -> int:
        """The bytes that all processes have read in this step."""
        return self.own_bytes + sum(self._worker_bytes)

    def begin_step(self, current_step: Callable[[], Step]) -> None:
        """Begin another step. `current_step` may be called at any time."""
        self.own_bytes = 0
        self._current_step = current_step

    def begin_hashing(self, total: int) -> None:
        """Begin to hash files of `total` bytes."""
        self.begin_step(lambda: Step("hashing", self.bytes_read, total, "bytes"))

    @property
    def step(self) -> Step:
        """What the run is doing now. The length of the inputs is not known here."""
        if self._current_step is None:
            return Step("reading", self.bytes_read, None, "bytes")
        return self._current_step()
