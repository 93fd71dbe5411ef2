"""The native core of prefpairs: lines of rollouts in, columns, messages and pairs out."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

__version__: str

Columns: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]
"""Groups (u32), keys of new groups (16 bytes each), their questions (48 bytes), scores (f64),
digests of responses (16 bytes), indexes (i64), offsets (u64), lengths (u32), nothing, and lines
(u32, from 0)."""

Row: TypeAlias = tuple[
    tuple[bytes, bytes, bytes],
    list[dict[str, Any]],
    list[dict[str, Any]],
    float,
    int | None,
    bytes,
    bool,
]
"""The raw request, agent and task; turns before the model's first word; the response; score, index,
digest of the response; whether turns behind the model's last word were cut."""

PairsMade: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""The lines of pairs, their gaps, and the scores of both sides (f64)."""

@final
class OpenFile:
    """A file that the core reads from, even after its descriptor is closed."""

    def __new__(cls, descriptor: int) -> OpenFile: ...

@final
class NemoGym:
    """Reads rollouts of NeMo Gym; remembers the questions that they asked."""

    def __new__(cls) -> NemoGym: ...
    def index(
        self, lines: Sequence[bytes], offset: int, longest: int
    ) -> list[int | tuple[Columns, int, int]]:
        """Columns of consecutive lines, with how many rows had turns moved, and cut.

        Between them are the places of the lines that Python must read: longer ones, and those
        that hold anything unknown here.
        """
    def pairs(
        self,
        chosen: array[int],
        rejected: array[int],
        columns: Mapping[str, Any],
        open_file: Callable[[int], tuple[OpenFile | bytes, str] | None],
        longest: int,
        size: int,
        threads: int,
        /,
    ) -> tuple[int, list[int | PairsMade]]:
        """How many pairs were looked at, and their lines, or the place of one for Python to make.

        These are the first ones, whose candidates take about `size` bytes.
        The pairs are given by the numbers of their candidates. The columns are those of
        `CandidateColumns.by_name`. `open_file` gives a file, or all its bytes, and its name; None
        where Python must read it, as it must read longer lines.
        """
    def read(self, line: bytes) -> Row | None:
        """What a row holds; None where Python must read it."""
