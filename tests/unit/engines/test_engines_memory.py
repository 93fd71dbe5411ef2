"""What was seen before, in a fixed space."""

from xxhash import xxh3_128_digest

from prefpairs.engines.memory import Memory


def test_every_key_is_new_once() -> None:
    """No key is taken for another one, and none is forgotten while there is room."""
    keys = [xxh3_128_digest(b"%d" % number) for number in range(1000)]
    memory = Memory()
    assert [memory.has(key) for key in keys] == [False] * 1000
    assert sum(memory.has(key) for key in keys) >= 998
