"""Many entries in compact arrays."""

from collections.abc import Iterator

import pytest

from prefpairs.errors import FileError
from prefpairs.stages.base import IndexedPair
from prefpairs.stages.pair_columns import PairColumns, blocks_of, sorted_slots

DIGESTS = ("id", "prompt", "tools", "chosen", "rejected", "group", "other_prompt")


def _entry(
    number: int, gap: float | None = 0.5, score: float | None = 1.0, worse: float | None = 0.25
) -> IndexedPair:
    digests = {name: bytes([place + 1, number]) * 8 for place, name in enumerate(DIGESTS)}
    place, length = 3 << 48 | number, 10 * number
    return IndexedPair(number, place, length, gap, score, worse, **digests, line_crc=number)


def _store(*entries: IndexedPair) -> PairColumns:
    store = PairColumns(DIGESTS)
    store.add(entries)
    return store


@pytest.mark.parametrize(
    "entry",
    [
        _entry(1),
        _entry(2, 0.0, 0.0),
        _entry(3, None, None, None),
        _entry(4, -8e307, 5e-324, -8e307),
        _entry(7, 0.5, None, 0.0),
        _entry(5)._replace(number=2**40, place=2**63, length=2**32 - 1, line_crc=2**32 - 1),
        _entry(6)._replace(tools=b"", other_prompt=b"", line_crc=0),
    ],
)
def test_entry_comes_back(entry: IndexedPair) -> None:
    """An entry is returned unchanged, also with unknown or missing fields."""
    assert list(_store(entry, entry).of([1])) == [entry]


def test_unneeded_digests() -> None:
    """Digests that are not needed are not stored, and are returned empty."""
    store = PairColumns(["prompt", "id", "id"])
    store.add([_entry(1)])
    expected = _entry(1)._replace(tools=b"", chosen=b"", rejected=b"", group=b"", other_prompt=b"")
    assert store.indexed(0) == expected


def test_add() -> None:
    """Entries are appended, if there are any."""
    store = _store(_entry(1))
    store.add([])
    store.add([_entry(2, None), _entry(1)])
    assert list(store) == [_entry(1), _entry(2, None), _entry(1)]


def test_replace() -> None:
    """Replacing an entry changes all of it, and no other."""
    store = _store(_entry(1), _entry(2), _entry(3))
    changed = _entry(9, None, None)._replace(tools=b"")
    store.replace(1, changed)
    assert list(store) == [_entry(1), changed, _entry(3)]


def test_gap_and_digest_alone() -> None:
    """Gap and digest can be read without the whole entry."""
    store = _store(_entry(1), _entry(2, None)._replace(tools=b""))
    assert [store.gap(slot) for slot in (0, 1)] == [0.5, None]
    assert [store.digest("tools", slot) for slot in (0, 1)] == [_entry(1).tools, b""]


def test_arrived() -> None:
    """Sorted by input number, not by slot."""
    store = _store(_entry(5), _entry(2), _entry(9))
    assert [list(store.arrived(slots)) for slots in ([0, 1, 2], [2, 0])] == [[1, 0, 2], [0, 2]]


def test_of() -> None:
    """Some entries are in the given order, unchanged; others are as they were."""
    store = _store(_entry(1), _entry(2, None), _entry(3), _entry(4))
    some = store.of([3, 1])
    assert (len(some), list(some)) == (2, [_entry(4), _entry(2, None)])
    some.add([_entry(5)])
    assert (some.indexed(2), len(store)) == (_entry(5), 4)


def test_of_some_digests() -> None:
    """Digests that were not kept, or are not wanted, are empty."""
    store = PairColumns(["id", "prompt"])
    store.add([_entry(1)])
    (entry,) = store.of([0], ["id", "tools"])
    assert (entry.id, entry.prompt, entry.tools) == (_entry(1).id, b"", b"")


def test_extend() -> None:
    """All entries of other columns follow; digests that these do not keep are empty."""
    store, other = _store(_entry(1)), PairColumns(["id", "prompt"])
    other.add([_entry(2, None)])
    store.extend(_store(_entry(3), _entry(4)))
    store.extend(other)
    bare = _entry(2, None)._replace(
        tools=b"", chosen=b"", rejected=b"", group=b"", other_prompt=b""
    )
    assert list(store) == [_entry(1), _entry(3), _entry(4), bare]


def test_blocks() -> None:
    """Entries come in blocks of bounded size; those before an error come, too."""

    def entries() -> Iterator[IndexedPair]:
        yield from map(_entry, range(1, 251))
        yield from map(_entry, [1] * 50)
        raise FileError("a", "gone")

    found: list[PairColumns] = []
    with pytest.raises(FileError):
        found.extend(blocks_of(entries()))
    assert [len(block) for block in found] == [256, 44]
    assert [entry for block in found for entry in block] == [
        *map(_entry, range(1, 251)),
        *map(_entry, [1] * 50),
    ]
    assert [len(block) for block in found[0].blocks(range(256))] == [256]


@pytest.mark.parametrize("run", [1, 2, 3, 100])
def test_in_order(monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    """Slots are sorted by key, stably, with runs of any size."""
    monkeypatch.setattr("prefpairs.stages.pair_columns._RUN", run)
    keys = [3, 1, 2, 1, 3, 2, 1, 0]
    assert list(sorted_slots(iter([7, 6, 5, 4, 3, 2, 1, 0]), keys.__getitem__)) == [
        *(7, 6, 3, 1),
        *(5, 2, 4, 0),
    ]
    assert list(sorted_slots([], keys.__getitem__)) == []
