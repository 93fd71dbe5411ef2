"""Digests to numbers."""

from prefpairs.sieves.numbering import Numbering


def _digest(number: int) -> bytes:
    return number.to_bytes(16, "little")


def test_numbers_follow_first_arrival() -> None:
    """A digest that comes again keeps its number."""
    numbering = Numbering()
    numbers = [numbering.number_of(_digest(digest)) for digest in (7, 3, 7, 9, 3)]
    assert (numbers, len(numbering)) == ([0, 1, 0, 2, 1], 3)


def test_find_takes_nothing_in() -> None:
    """What has no number has none afterwards, either."""
    numbering = Numbering()
    numbering.number_of(_digest(1))
    found = [numbering.find(_digest(digest)) for digest in (1, 2, 2)]
    assert (found, len(numbering)) == ([0, -1, -1], 1)


def test_digest_of_zeros() -> None:
    """It is a digest like any other."""
    numbering = Numbering()
    assert (numbering.find(_digest(0)), numbering.number_of(_digest(0))) == (-1, 0)


def test_numbers_outlast_growth() -> None:
    """The table grows several times, and nobody's number changes."""
    numbering = Numbering()
    digests = [_digest(number * 0x9E3779B97F4A7C15 % 2**128) for number in range(10_000)]
    assert [numbering.number_of(digest) for digest in digests] == list(range(10_000))
    assert [numbering.find(digest) for digest in digests] == list(range(10_000))


def test_digests_that_fall_on_one_slot() -> None:
    """Equal first halves are no equal digests, before and after the table has grown."""
    numbering = Numbering()
    digests = [_digest(number << 64) for number in range(700)]
    assert [numbering.number_of(digest) for digest in digests] == list(range(700))
    assert [numbering.find(digest) for digest in (digests[0], digests[699], _digest(1))] == [
        0,
        699,
        -1,
    ]


def test_digests_that_somebody_else_keeps() -> None:
    """They are not kept twice, and numbers are the same."""
    kept = bytearray()
    numbering = Numbering(kept)
    numbers = []
    for digest in (*range(3000), *range(3000)):
        numbers.append(numbering.number_of(_digest(digest)))
        if numbers[-1] == len(kept) // 16:
            kept += _digest(digest)
    assert numbers == [*range(3000), *range(3000)]
    assert (len(kept), numbering.find(_digest(2999)), numbering.find(_digest(3000))) == (
        48_000,
        2999,
        -1,
    )
