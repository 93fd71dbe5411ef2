"""The memory that the values of a line take, compared with the estimate."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import NotJson
from prefpairs.model import memory_guard
from prefpairs.model.json_codec import decode

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30),
    lambda inside: st.lists(inside, max_size=6) | st.dictionaries(st.text(max_size=9), inside),
    max_leaves=12,
)
COPIES = 500
SMALL = 2000
"""The memory of small objects around any value."""


def taken(line: bytes) -> int:
    """The peak memory while a line is decoded."""
    tracemalloc.start()
    try:
        msgspec.json.decode(line)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def allowed(line: bytes) -> int:
    """The estimate for a line, including its texts at four bytes per character."""
    return memory_guard.memory_of(line) + SMALL


@examples(60)
@given(VALUES, st.booleans())
def test_no_value_takes_more_than_its_signs_stand_for(value: Any, as_text: bool) -> None:
    """Repeated values of any kind, in any spelling, take no more than estimated."""
    line = json.dumps([value] * COPIES, ensure_ascii=as_text, separators=(",", ":"))
    assert taken(data := line.encode("utf-8", "replace")) <= allowed(data)


@examples(60)
@given(VALUES, st.integers(min_value=1, max_value=3000), st.text(max_size=3))
def test_no_object_takes_more_than_its_signs_stand_for(value: Any, members: int, of: str) -> None:
    """The same for objects with any number of different keys."""
    line = json.dumps({f"{of}{n:x}": value for n in range(members)}, separators=(",", ":")).encode()
    assert taken(line) <= allowed(line)


@pytest.mark.parametrize("unit", ["{},", "[],", '"",', '{"":0},', "0,", '"ab",', "[0],", "[[]],"])
def test_light_lines_need_no_look(unit: str) -> None:
    """Lines below a length cannot exceed the limit, so they are not checked."""
    line = f"[{unit * 1000}0]".encode()
    most = memory_guard._MOST / memory_guard.LIGHT  # noqa: SLF001
    assert memory_guard._weight(line) <= len(line) * most  # noqa: SLF001


@given(st.lists(st.text(alphabet='ab"\\,:[]{}', max_size=12), min_size=1, max_size=30), st.data())
def test_signs_in_texts_stand_for_nothing(texts: list[str], data: st.DataObject) -> None:
    """Brackets in strings do not count, however they are escaped, with any block size."""
    line = json.dumps(texts, separators=(",", ":")).encode()
    plain = json.dumps(["" for _ in texts], separators=(",", ":")).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_guard, "_PIECE", data.draw(st.integers(min_value=1, max_value=50)))
        found = memory_guard._weight_outside_strings(line, 1 << 62)  # noqa: SLF001
    assert found == memory_guard._weight(plain)  # noqa: SLF001


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a line whose values take too much; long texts are fine."""
    monkeypatch.setattr(memory_guard, "_MOST", 1000)
    monkeypatch.setattr(memory_guard, "CHECKED_FROM", 10)
    assert decode(b'{"a":"%b"}' % (b"{},[]:" * 1000)) == {"a": "{},[]:" * 1000}
    with pytest.raises(NotJson, match="its values would take more memory") as caught:
        decode(b"[%b0]" % (b"{}," * 1000))
    assert caught.value.code == "too_many_values"
