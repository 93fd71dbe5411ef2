"""The length of values as JSON; shared values are measured once."""

from collections import Counter
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.files.lines import json_line
from prefpairs.files.pickle_size_check import SizeCheck
from prefpairs.files.pickle_values import Damaged, NotRead

SINGLE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab")
VALUES = st.recursive(
    SINGLE, lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner), max_leaves=20
)


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, dict)):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _shared(value: Any) -> dict[int, Any]:
    times = Counter(map(id, _containers(value)))
    return {id(one): one for one in _containers(value) if times[id(one)] > 1}


def _fits(sizes: SizeCheck, value: Any) -> bool:
    try:
        sizes.check({}, {"": value})
    except Damaged:
        return False
    return True


@given(VALUES, st.integers(1, 4), st.integers(0, 300))
def test_what_is_shared_counts_in_full(value: Any, times: int, room: int) -> None:
    """The verdict does not depend on what was measured before, or on what is shared."""
    several = [value] * times
    values = [value, several, [several, value], value]
    sizes = SizeCheck(_shared(values), room)
    assert [_fits(sizes, one) for one in values] == [
        _fits(SizeCheck({}, room), one) for one in values
    ]


@given(VALUES)
def test_no_value_is_longer_than_it_was_measured(value: Any) -> None:
    """If a value fits a limit, its JSON does."""
    size = len(json_line(value).replace(b" ", b""))
    assert not _fits(SizeCheck({}, size // 2 - 2), value)


def test_what_many_name_is_looked_at_once() -> None:
    """A value with a billion numbers, shared a thousand times, is measured in under a second."""
    value: list[Any] = [0] * 250
    levels = [value := [value] * 250 for _ in range(3)]
    sizes = SizeCheck({id(one): one for one in (*levels, levels[0][0])}, 1_000_000_000)
    begin = process_time()
    assert not any(_fits(sizes, levels[-1]) for _ in range(1000))
    assert process_time() - begin < 1


@pytest.mark.parametrize("inner", [NotRead(7, "no"), "x" * 900])
def test_what_holds_something_refused_is_refused(inner: Any) -> None:
    """A rejected value is rejected again when it is reached through another value."""
    middle = [inner]
    above = {"a": [middle, 1]}
    sizes = SizeCheck(_shared([middle, above, middle, above]), 800)
    assert [_fits(sizes, one) for one in (above, middle, [1], [above], {"b": middle})] == [
        False, False, True, False, False,
    ]  # fmt: skip


def test_values_that_hold_themselves() -> None:
    """Cyclic values, and values that lead to them, are rejected; others next to them are not."""
    one: list[Any] = [1]
    other = {"one": one}
    one.append(other)
    sizes = SizeCheck({id(one): one, id(other): other}, 1 << 30)
    assert [_fits(sizes, value) for value in ([other], one, [1, [2]])] == [False, False, True]


def test_the_reason_is_given_each_time() -> None:
    """The reason is the original one, not the assumption about values being measured."""
    middle = [NotRead(7, "no")]
    sizes = SizeCheck(_shared([middle, middle]), 800)
    for _ in range(2):
        with pytest.raises(Damaged) as caught:
            sizes.check({}, {"": middle})
        assert (caught.value.place, caught.value.problem) == (7, "no")
