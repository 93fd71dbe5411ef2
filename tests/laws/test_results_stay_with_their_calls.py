"""Law 3 within a conversation: a result belongs to the call that it answered in the row."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows_with_tool_calls import SOURCES, Dialogue, bindings_of, dialogues, pair_row, rows_of
from run_in_process import Asked, Row, extract_lines, lines_of, pair_lines
from stages_in_process import staged_lines

from hypothesis_examples import examples
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.message import as_chat
from prefpairs.model.pair import pair_line, pair_of
from prefpairs.stages.dedupe import Dedupe

CHANCE = st.randoms(use_true_random=False)
ASKED = [{"role": "user", "content": "Q"}]
OPEN = [
    *ASKED,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for name in ("abc", "def")
        ],
    },
]


@pytest.mark.parametrize("source", SOURCES)
@examples(150)
@given(dialogue=dialogues(), chance=CHANCE)
def test_results_are_bound_as_in_the_rows(source: str, dialogue: Dialogue, chance: Random) -> None:
    """Results keep their calls in both answers, also if one is text with the other's prompt."""
    (pair,) = pair_lines(lines_of(*rows_of(source, dialogue, chance)), Asked()).rows
    for place, side in enumerate(("chosen", "rejected")):
        assert bindings_of(pair, side) == dialogue.bindings(place)


@pytest.mark.parametrize("source", SOURCES)
@examples(100)
@given(dialogue=dialogues(), chance=CHANCE)
def test_extract_then_pair_is_pair_with_calls(
    source: str, dialogue: Dialogue, chance: Random
) -> None:
    """`extract | pair` gives the bytes of `pair`, whatever call IDs the rows have."""
    rows = lines_of(*rows_of(source, dialogue, chance))
    pairs = pair_lines(rows, Asked())
    assert pair_lines(extract_lines(rows, ReadOptions()).lines, Asked()).lines == pairs.lines
    others = pair_lines(lines_of(*rows_of(source, dialogue, chance)), Asked())
    assert others.without_origins() == pairs.without_origins()


@examples(200)
@given(dialogue=dialogues(), chance=CHANCE)
def test_ids_in_pairs_of_others_say_which_call_and_no_more(
    dialogue: Dialogue, chance: Random
) -> None:
    """Foreign pairs that differ only in IDs are one pair, in which each result keeps its call."""
    lines = {pair_line(pair_of(pair_row(dialogue, chance))[0]) for _ in range(3)}
    (line,) = lines
    for place, side in enumerate(("chosen", "rejected")):
        assert bindings_of(json.loads(line), side) == dialogue.bindings(place)


@examples(200)
@given(several=st.lists(dialogues(), min_size=1, max_size=3), chance=CHANCE)
def test_our_own_pairs_keep_their_bytes(several: list[Dialogue], chance: Random) -> None:
    """The same across prompts, where the rejected answer refers to another prompt's calls."""
    rows = lines_of(*(row for one in several for row in rows_of("generic", one, chance)))
    for across in (False, True):
        asked = Asked(strategy="stratified", across_prompts=across)
        for line in pair_lines(rows, asked).lines:
            assert pair_line(pair_of(json.loads(line))[0]) == line


def _answering(name: str) -> list[Row]:
    said = {"role": "assistant", "content": "hm"}
    return [said, {"role": "tool", "tool_call_id": name, "content": "X"}, said]


def test_answers_that_differ_in_the_call_of_a_result_are_two() -> None:
    """A pair of such answers is kept, and so are two pairs with one of them each."""
    abc, other = _answering("abc"), _answering("def")
    no = [{"role": "assistant", "content": "no"}]
    rows = [{"prompt": OPEN, "chosen": abc, "rejected": said} for said in (other, no)]
    rows.append({"prompt": OPEN, "chosen": other, "rejected": no})
    found = staged_lines(lines_of(*rows), Dedupe())
    assert len(found.lines) == len(rows)


@pytest.mark.parametrize("name", ["call_8", "abc", "", None])
def test_a_result_without_a_call_has_no_id(name: Any) -> None:
    """A result without a call loses its ID, which would refer to another call after renumbering."""
    result = {"role": "tool", "tool_call_id": name, "content": "X"}
    bare = {"role": "tool", "content": "X"}
    pair, expected = (
        pair_of({"prompt": [*ASKED, message], "chosen": "A", "rejected": "B"})[0]
        for message in (result, bare)
    )
    assert pair == expected


@examples(100)
@given(dialogue=dialogues(), chance=CHANCE)
def test_conversations_of_trinity_part_where_their_content_does(
    dialogue: Dialogue, chance: Random
) -> None:
    """Different IDs on the two sides of a ready-made pair do not end the shared prompt."""
    one, other = pair_row(dialogue, chance), pair_row(dialogue, chance)
    pairs = []
    for theirs in (one, other):
        chosen = [*one["prompt"], *as_chat(one["chosen"], "assistant")]
        rejected = [*theirs["prompt"], *as_chat(theirs["rejected"], "assistant")]
        row = {"eid": {}, "chosen_messages": chosen, "rejected_messages": rejected}
        pairs.append(pair_lines(lines_of(row), Asked(source="trinity")).without_origins())
    assert pairs[0] == pairs[1] != []
