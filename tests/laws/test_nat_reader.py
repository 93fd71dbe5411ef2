"""NAT items read as typed structs: the fast reader finds what the general one finds, or nothing."""

import json

import pytest
from corrupted_rows import odd_values
from hypothesis import example, given
from hypothesis import strategies as st
from nat_items import AIMS, STEP_NAME, plain_items, usual_items
from run_in_process import Row

from hypothesis_examples import examples
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.sources import nat

OPTIONS = [ReadOptions(), ReadOptions(cast_score=True), ReadOptions(step_name="x")]
OPTIONS += [ReadOptions(keep_rows=frozenset({"no_score"}))]


def accepted(line: bytes, options: ReadOptions = OPTIONS[0]) -> bool:
    """Whether the fast reader can read an item; if so, its result equals the general reader's."""
    assert is_default_reading(options)
    plain = nat.read_usual(line, options.step_name)
    if plain is None:
        return False
    assert repr(plain) == repr(nat.read_any_shape(line, options, "w.json"))
    return True


@examples(300)
@given(item=usual_items(), ascii_only=st.booleans())
def test_items_of_the_usual_shape_are_known(item: Row, *, ascii_only: bool) -> None:
    """The fast reader reads every item of the usual shape."""
    assert accepted(json.dumps(item, ensure_ascii=ascii_only, indent=2).encode())


@examples(2500)
@given(line=plain_items(), options=st.sampled_from(OPTIONS))
@example(line=b"\n", options=OPTIONS[0])
@example(line=b'{"id":1,"intermediate_steps":[]}', options=OPTIONS[0])
def test_the_short_way_finds_the_same_or_nothing(line: bytes, options: ReadOptions) -> None:
    """Candidates, counts and identity are equal; items with losses are passed on."""
    accepted(line, options)


def test_every_odd_value() -> None:
    """Each odd value once, also in the first step, since random tests would miss some."""
    for has, key, value in odd_values(AIMS):
        item = json.loads(of_outputs("A"))
        step = item["intermediate_steps"][0]
        payload = step["payload"]
        objects = (*payload["data"]["input"], payload["data"], payload, step, item)
        next(one for one in objects if has in one)[key] = value
        accepted(json.dumps(item).encode())


def of_outputs(*outputs: str) -> bytes:
    """An item with these answers to one question."""
    asked = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    steps = [{"input": asked, "output": output, "turn_id": "t", "score": 1.0} for output in outputs]
    payloads = [{"event_type": "TTC_END", "name": STEP_NAME, "data": step} for step in steps]
    return json.dumps({"id": 0, "intermediate_steps": [{"payload": p} for p in payloads]}).encode()


def test_what_one_prompt_held_another_may_keep() -> None:
    """An answer at the end of a prompt is removed only for the candidate that gave it."""
    line = of_outputs("A", "B", "A")
    assert accepted(line)
    reading = nat.read_usual(line, STEP_NAME)
    assert reading
    assert [len(candidate.prompt) for candidate in reading.kept] == [1, 2, 1]
    assert reading.noticed == ["prompt_held_answer"] * 2


@pytest.mark.parametrize("output", ["", " \n", "<think>hm</think>A", "A</think>", "hm think> so"])
def test_what_needs_a_closer_look_takes_the_long_way(output: str) -> None:
    """Empty answers and inline thinking are passed to the general reader."""
    assert not accepted(of_outputs("A", output))
