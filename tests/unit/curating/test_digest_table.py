"""A table from digests to numbers."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.engine.native import digest_table, native_core
from prefpairs.model import memory_guard
from prefpairs.stages.digest_table import DigestTable

KINDS = [DigestTable, *([native_core().DigestTable] if native_core() else [])]
"""Of Python, and of the native core."""


def _digest(number: int) -> bytes:
    return number.to_bytes(16, "little")


def test_numbers_follow_first_arrival() -> None:
    """Numbers follow first occurrence; a repeated digest keeps its number."""
    numbering = DigestTable()
    numbers = [numbering.number_of(_digest(digest)) for digest in (7, 3, 7, 9, 3)]
    assert (numbers, len(numbering)) == ([0, 1, 0, 2, 1], 3)


def test_find_takes_nothing_in() -> None:
    """`find` adds nothing."""
    numbering = DigestTable()
    numbering.number_of(_digest(1))
    found = [numbering.find(_digest(digest)) for digest in (1, 2, 2)]
    assert (found, len(numbering)) == ([0, -1, -1], 1)


def test_digest_of_zeros() -> None:
    """The digest of all zeros works like any other."""
    numbering = DigestTable()
    assert (numbering.find(_digest(0)), numbering.number_of(_digest(0))) == (-1, 0)


def test_numbers_outlast_growth() -> None:
    """Numbers stay the same while the table grows."""
    numbering = DigestTable()
    digests = [_digest(number * 0x9E3779B97F4A7C15 % 2**128) for number in range(10_000)]
    assert [numbering.number_of(digest) for digest in digests] == list(range(10_000))
    assert [numbering.find(digest) for digest in digests] == list(range(10_000))


def test_digests_that_fall_on_one_slot() -> None:
    """Digests with equal first halves are told apart, before and after the table grows."""
    numbering = DigestTable()
    digests = [_digest(number << 64) for number in range(700)]
    assert [numbering.number_of(digest) for digest in digests] == list(range(700))
    assert [numbering.find(digest) for digest in (digests[0], digests[699], _digest(1))] == [
        0,
        699,
        -1,
    ]


@pytest.mark.parametrize("first_slots", [1, 2, 4, 8, 1024])
@given(digests=st.lists(st.integers(0, 40) | st.integers(0, 2**128 - 1), max_size=60))
def test_same_as_a_dict(first_slots: int, digests: list[int]) -> None:
    """Behaves like a dict, at every step of growth."""
    with patch("prefpairs.stages.digest_table._FIRST_SLOTS", first_slots):
        numbering = DigestTable()
    known: dict[bytes, int] = {}
    for digest in map(_digest, digests):
        assert numbering.find(digest) == known.get(digest, -1)
        assert numbering.number_of(digest) == known.setdefault(digest, len(known))
        assert list(numbering) == list(known)
    assert [numbering.find(digest) for digest in known] == list(known.values())


@pytest.mark.parametrize("kind", KINDS)
def test_digests_come_back_by_their_numbers(kind: type[DigestTable]) -> None:
    """A digest that is known keeps its number while the table grows."""
    numbering = kind()
    for number in range(3000):
        assert len(numbering) == number
        assert numbering.number_of(_digest(number << 64)) == number
        assert numbering.number_of(_digest(number // 2 << 64)) == number // 2
    assert [numbering[number] for number in (0, 2999)] == [_digest(0), _digest(2999 << 64)]


@pytest.mark.parametrize("kind", KINDS)
def test_digests_that_follow_each_other(kind: type[DigestTable]) -> None:
    """Some are known, and some come twice."""
    numbering = kind()
    numbering.number_of(_digest(3))
    numbers = numbering.numbers_of(b"".join(map(_digest, [5, 3, 4, 5])))
    assert (numbers.typecode, numbers.tolist()) == ("I", [1, 0, 2, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_digests_are_new_again(kind: type[DigestTable]) -> None:
    """The first ones keep their numbers."""
    numbering = kind()
    numbering.numbers_of(b"".join(map(_digest, range(3000))))
    numbering.truncate(2)
    numbers = [numbering.number_of(_digest(digest)) for digest in (9, 1, 3, 0)]
    assert (numbers, len(numbering), numbering[2]) == ([2, 1, 3, 0], 4, _digest(9))


def test_the_core_is_not_used_where_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without memory the core would end the process."""
    monkeypatch.setattr(memory_guard, "LIMITED", True)
    assert isinstance(digest_table(), DigestTable)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("digest", [b"", b"fifteen bytes  ", b"seventeen bytes  "])
def test_only_digests_have_numbers(digest: bytes, kind: type[DigestTable]) -> None:
    """Digests of a wrong length are rejected."""
    numbering = kind()
    with pytest.raises(ValueError, match="a digest has 16 bytes"):
        numbering.number_of(digest)
    assert (numbering.number_of(_digest(1)), numbering[0], len(numbering)) == (0, _digest(1), 1)
