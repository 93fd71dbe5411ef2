"""The native core of prefpairs: lines of rollouts in, columns, messages and pairs out."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, final

__version__: str

Columns: TypeAlias = tuple[
    bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes
]
"""Groups (u32), keys of new groups (16 bytes each), their questions (48 bytes), scores (f64),
digests of responses (16 bytes), indexes (i64), offsets (u64), lengths (u32), places in their rows
(u32; nothing where each is the only one), lines (u32, from 0), two marks of references (u64) for
each new group (nothing where none has one), two marks of tasks that are not in their names (u64,
the same), and the digests of these tasks (16 bytes each; nothing where none has one)."""

Reading: TypeAlias = Any
"""What options change about reading: an object with the fields of `NativeReading`."""

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
class DigestTable:
    """Numbers digests in the order in which they first come."""

    def __new__(cls) -> DigestTable: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> bytes: ...
    def number_of(self, digest: bytes, /) -> int:
        """The number of a digest; a new digest gets the next free number."""
    def numbers_of(self, digests: bytes, /) -> array[int]:
        """The numbers of digests that follow each other."""
    def truncate(self, count: int, /) -> None:
        """Forget all digests but so many first ones."""

def pairs_of(
    strategy: str,
    columns: Mapping[str, Any],
    groups: array[int],
    wanted: int,
    least_chosen: float,
    least_gap: float,
    largest_gap: float,
    most_pairs: int | None,
    /,
) -> tuple[int, list[int | tuple[bytes, bytes, int, list[tuple[str, int]], list[tuple[str, int]]]]]:
    """The pairs of best-vs-worst or exhaustive, of the first groups until as many as wanted.

    How many groups these are. Chosen and rejected candidates (u32) of consecutive groups, the
    number of these groups, why some have no pair, and which bounds left out how many pairs;
    between them the groups about which Python must decide.
    """

def by_group(group_of: array[int], numbers: array[int], starts: array[int], /) -> None:
    """Fill in all candidates, group by group in order of arrival, and where groups start (u32).

    `starts` is zero before, and has one more element than there are groups.
    """

def renumbered(
    groups: bytes, lines: bytes, numbers: array[int], lines_before: int, /
) -> list[bytes]:
    """The groups of candidates by other numbers, and lines that follow so many others (u32)."""

@final
class PairMaker:
    """Makes pairs batch by batch, in several threads."""

    def begin(
        self,
        chosen: array[int],
        rejected: array[int],
        columns: Mapping[str, Any],
        open_file: Callable[[int], tuple[OpenFile | bytes, str] | None],
        longest: int,
        size: int,
        /,
    ) -> int:
        """Begin a batch: the first pairs, whose candidates take about `size` bytes; how many.

        The pairs are given by the numbers of their candidates. The columns are those of
        `CandidateColumns.by_name`. `open_file` gives a file, or all its bytes, and its name; None
        where Python must read it, as it must read longer lines.
        """
    def made(self, but: int, /) -> list[PairsMade | tuple[int, int]]:
        """What became of the oldest batches, all but so many.

        The lines of pairs, or the candidates of one that Python must make.
        """

class _Reader:
    """Reads the rows of a format; remembers the questions that they asked."""

    def index(
        self, lines: Sequence[bytes], offsets: Sequence[int], longest: int
    ) -> list[int | tuple[Columns, int, dict[str, int], bytes]]:
        """Columns of lines: of how many rows, what to notice how often, and digests of items.

        Between them are the places of the lines that Python must read: longer ones, and those
        that hold anything unknown here.
        """
    def index_file(
        self,
        opened: OpenFile | bytes,
        lines: tuple[int, int],
        size: int,
        longest: int,
        threads: int,
        /,
    ) -> Iterator[
        tuple[int, list[tuple[Columns, int, dict[str, int], bytes] | tuple[int, int, bytes | None]]]
    ]:
        """What is in the lines of a file that are at `lines`, in windows of `size` bytes.

        Of the lines that begin in a window their number, and columns as `index` gives them. Between
        these are place, offset and bytes of the lines that Python must read: those that hold
        anything unknown here, and longer ones, whose bytes are not given. The threads read on while
        a window is looked at.
        """
    def pair_maker(self, threads: int, /) -> PairMaker:
        """Makes pairs of candidates that were read from files like this."""

@final
class NemoGym(_Reader):
    """Reads rollouts of NeMo Gym."""

    def __new__(cls, reading: Reading) -> NemoGym: ...
    def read(self, line: bytes) -> Row | None:
        """What a row holds; None where Python must read it."""

@final
class Candidates(_Reader):
    """Reads candidates, as `prefpairs extract` writes them."""

    def __new__(cls, reading: Reading) -> Candidates: ...

@final
class Generic(_Reader):
    """Reads rows whose columns are known by their names."""

    def __new__(
        cls,
        reading: Reading,
        columns: Sequence[tuple[str, str]],
        judged: bool,
        narrow: bool,
        of_chats: bool,
    ) -> Generic:
        """Columns that matter, each with what it may hold (see generic.rs).

        Scores of `judged` rows are true or false, `narrow` rows have no other columns, and text in
        place of a prompt `of_chats` may be a chat.
        """

@final
class SeveralAnswers(_Reader):
    """Reads rows with several answers, whose columns are known by their names."""

    def __new__(
        cls,
        reading: Reading,
        of_row: Sequence[tuple[str, str]],
        of_item: Sequence[tuple[str, str]],
        judged: bool,
        of_chats: bool,
        drops_marked: bool,
    ) -> SeveralAnswers:
        """Columns that matter, each with what it may hold (see several_answers.rs).

        The answers are in a list of texts, or in a list of objects, whose columns are those
        `of_item`. Scores of `judged` rows are true or false, text in place of a prompt `of_chats`
        may be a chat. If `drops_marked`, Python reads the rows of answers that were cut off or
        failed.
        """

@final
class Nat(_Reader):
    """Reads items of the NeMo Agent Toolkit, whose candidates are steps of this name."""

    def __new__(cls, reading: Reading, step_name: str) -> Nat: ...

@final
class Pairs:
    """Reads pairs."""

    def __new__(cls) -> Pairs: ...
    def index(self, lines: Sequence[bytes], longest: int, /) -> tuple[bytes, ...]:
        """How each line was read, and the columns of what stages see of its pair.

        0 where Python must read it, 1 where it was read, 2 where it can be copied, too. Then gaps,
        both scores (f64; NaN where unknown) and the digests of an IndexedPair in their order.
        """
