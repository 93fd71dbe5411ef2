"""The laws for ready-made pairs in traces."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from run_in_process import (
    Asked,
    Row,
    lines_of,
    pair_array,
    pair_lines,
    pair_packed,
    pair_piped,
    pair_shards,
)

from hypothesis_examples import examples

WORDS = st.sampled_from(["", " ", "a", "b", "c"])
TURNS = st.builds(
    lambda role, content, error: {"role": role, "content": content, **error},
    st.sampled_from(["user", "assistant", "assistant", "tool"]),
    WORDS,
    st.sampled_from([{}, {}, {"tool_error": "x"}]),
)
EMBEDDED = st.fixed_dictionaries(
    {
        "state_messages": st.lists(
            st.fixed_dictionaries({"role": st.just("user"), "content": WORDS}), max_size=2
        ),
        "chosen": WORDS,
        "rejected": WORDS,
    }
)
TRACES = st.fixed_dictionaries(
    {
        "trace_id": st.sampled_from(["t", "u"]),
        "turns": st.lists(TURNS, max_size=6),
        "final_reward": st.sampled_from([0.0, 0.5, 1.0, None]),
        "dpo_pairs": st.lists(EMBEDDED, max_size=2),
    }
)


def traces() -> st.SearchStrategy[list[Row]]:
    """A few traces with few words, so that there are copies."""
    return st.lists(TRACES, min_size=1, max_size=5)


@examples(150)
@given(rows=traces(), chance=st.randoms(use_true_random=False))
def test_order_does_not_matter(rows: list[Row], chance: Any) -> None:
    """Law 5: shuffled and resharded, the same pairs; with `--order key` in the same order."""
    lines = lines_of(*rows)
    expected = pair_lines(lines, Asked(source="traces"))
    chance.shuffle(lines)
    cut = chance.randrange(len(lines) + 1)
    for other in (
        pair_lines(lines, Asked(source="traces")),
        pair_shards([lines[:cut], lines[cut:]], Asked(source="traces")),
    ):
        assert other.contents() == expected.contents()
        assert other.counts() == expected.counts()
    by_key = Asked(source="traces", order="key")
    shuffled = pair_lines(lines, by_key).without_origins()
    assert shuffled == pair_lines(lines_of(*rows), by_key).without_origins()


@examples(100)
@given(rows=traces())
def test_however_they_are_read(rows: list[Row]) -> None:
    """Law 6: files, compressed files, arrays and pipes give the same lines."""
    lines = lines_of(*rows)
    expected = pair_lines(lines, Asked(source="traces"))
    for other in (
        pair_packed(lines, Asked(source="traces")),
        pair_array(lines, Asked(source="traces")),
        pair_piped(b"".join(lines), Asked(source="traces")),
    ):
        assert other.without_origins() == expected.without_origins()
    grouped = pair_lines(lines[:1], Asked(source="traces", assume_grouped=True))
    assert grouped.lines == pair_lines(lines[:1], Asked(source="traces")).lines


@examples(200)
@given(rows=traces())
def test_they_can_be_trained_on_and_are_accounted_for(rows: list[Row]) -> None:
    """Laws 1 to 4: no scores, different non-empty answers, no duplicates, all counted."""
    outcome = pair_lines(lines_of(*rows), Asked(source="traces"))
    pairs = [row for row in outcome.rows if row["gap"] is None]
    assert len({pair["id"] for pair in pairs}) == len(pairs)
    for pair in pairs:
        assert pair["chosen_score"] is pair["rejected_score"] is None
        assert pair["chosen"] != pair["rejected"]
        assert pair["chosen"][0]["content"].strip()
        assert pair["rejected"][0]["content"].strip()
        assert any(turn["content"].strip() for turn in pair["prompt"])
    ledger = outcome.ledger
    assert sum(stage.kept for stage in ledger.stages) == len(pairs)
    embedded = sum(len(row["dpo_pairs"]) for row in rows)
    assert sum(stage.found for stage in ledger.stages) >= embedded
    assert ledger.rows_read == ledger.rows_used + ledger.rows_dropped.total() == len(rows)
    assert outcome.lines[: len(pairs)] == [
        line for line in outcome.lines if json.loads(line)["gap"] is None
    ]
