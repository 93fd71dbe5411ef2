"""Values as JSON: different values stay different."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from prefpairs.files.lines import json_line
from prefpairs.model.json_codec import decode

BYTES = st.binary(max_size=3) | st.sampled_from([b"\xff1", b"\xfe1", "\ufffd1".encode()])
WHOLE = st.integers(-(10**38), 10**38)


@given(BYTES, BYTES)
def test_bytes_are_told_apart(one: bytes, other: bytes) -> None:
    """Different bytes never become the same text, or questions would be confused."""
    assert (decode(json_line([one])) == decode(json_line([other]))) == (one == other)


@given(WHOLE, st.integers(-2, 2))
def test_whole_decimals_are_told_apart(number: int, further: int) -> None:
    """Integers beyond a float's precision stay distinct, since they may be IDs."""
    lines = [json_line([Decimal(number)]), json_line([Decimal(number + further)])]
    assert decode(lines[0]) == [number]
    assert (lines[0] == lines[1]) == (further == 0)
