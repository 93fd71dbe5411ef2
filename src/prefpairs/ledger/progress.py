"""How far a run has come. Engines keep count as they go; whoever wants to tell of it looks in."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

Verb = Literal["reading", "pairing", "comparing", "writing", "hashing"]


class Step(NamedTuple):
    """What a run is doing, and how much of it is done; nobody may know how much there is to do."""

    verb: Verb
    done: int
    total: int | None
    unit: str


class Course:
    """The steps of a run. The first of them is to read its inputs."""

    def __init__(self) -> None:
        self.passed = 0
        """The bytes that were read in this step, packed ones as they are packed."""
        self._look: Callable[[], Step] | None = None
        self._beside: Sequence[int] = ()

    def pass_by(self, count: int) -> None:
        """Count bytes; files call it once for each large block that they read."""
        self.passed += count

    def count_beside(self, counts: Sequence[int]) -> None:
        """Let other processes count, too, in memory that they share with us."""
        self._beside = counts

    def join_beside(self) -> None:
        """They have ended: what they counted is ours."""
        counted, self._beside = sum(self._beside), ()
        self.passed += counted

    @property
    def bytes(self) -> int:
        """The bytes that were read in this step by all processes."""
        return self.passed + sum(self._beside)

    def turn_to(self, look: Callable[[], Step]) -> None:
        """Begin another step: `look` says at any time how far it is."""
        self.passed = 0
        self._look = look

    def turn_to_hashing(self, total: int) -> None:
        """Begin to hash files that are so long together."""
        self.turn_to(lambda: Step("hashing", self.bytes, total, "bytes"))

    @property
    def step(self) -> Step:
        """What is being done now. How long the inputs are is not known here."""
        return Step("reading", self.bytes, None, "bytes") if self._look is None else self._look()
