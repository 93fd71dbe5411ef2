"""What was seen before, in a fixed space."""

from hashlib import sha256

from prefpairs.engine.seen_rows import Memory


def test_every_key_is_new_once() -> None:
    """No key is taken for another one, and none is forgotten while there is room."""
    keys = [sha256(b"%d" % number).digest()[:16] for number in range(1000)]
    memory = Memory()
    assert [memory.has(key) for key in keys] == [False] * 1000
    assert sum(memory.has(key) for key in keys) >= 998
