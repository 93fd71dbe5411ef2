"""Law 2: the two answers of a pair differ in content, and neither is empty."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import as_chat, content_of
from rollouts_of_any_format import (
    ARGUMENTS,
    CALL_IDS,
    SILENCE,
    STRATEGIES,
    Items,
    asked,
    gym_outputs,
    lines,
)
from run_in_process import Asked, Row, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.strategies.options import PairOptions

EVERY_PAIR = PairOptions(high_threshold=0.0, low_threshold=1.0, max_pairs_per_group=100)


def says_something(text: Any) -> bool:
    """Whether an answer has text or a tool call of the model."""
    turns = [turn for turn in as_chat(text, "assistant") if turn["role"] == "assistant"]
    return any(turn["content"].strip() or turn.get("tool_calls") for turn in turns)


def gym_row(output: Items, reward: float) -> Row:
    """A rollout of one task."""
    return {
        "responses_create_params": {"input": "Q"},
        "response": {"output": output},
        "reward": reward,
    }


def forms_of(words: str) -> list[Any]:
    """An answer as text, as a chat, and as a chat with reasoning."""
    turn = {"role": "assistant", "content": words}
    return [words, [turn], [{**turn, "reasoning_content": "hm"}]]


@examples(400)
@given(given_lines=lines(), asked=asked())
def test_the_answers_of_a_pair_differ_and_say_something(
    given_lines: list[bytes], asked: Asked
) -> None:
    """No pair has the same content twice, or an answer without text and calls."""
    for pair in pair_lines(given_lines, asked).rows:
        chosen, rejected = pair["chosen"], pair["rejected"]
        assert content_of(chosen, "assistant") != content_of(rejected, "assistant")
        assert says_something(chosen)
        assert says_something(rejected)


@examples(100)
@given(output=gym_outputs(), ids=st.permutations(CALL_IDS), strategy=st.sampled_from(STRATEGIES))
def test_random_call_ids_and_spelling_do_not_make_an_answer_another(
    output: Items, ids: list[str], strategy: str
) -> None:
    """The same output with other call IDs, item IDs and argument spelling does not pair."""
    renamed = dict(zip(CALL_IDS, (f"fresh_{name}" for name in ids), strict=True))
    other = [_respelled(item, renamed) for item in output]
    rows = lines_of(gym_row(output, 1.0), gym_row(other, 0.0))
    assert pair_lines(rows, Asked(strategy=strategy, options=EVERY_PAIR)).lines == []


def _respelled(item: Row, renamed: dict[str, str]) -> Row:
    changed = {**item, "id": "another", "status": None}
    if "call_id" in item:
        changed["call_id"] = renamed.get(item["call_id"], item["call_id"])
    if item.get("arguments") in ARGUMENTS[:2]:
        changed["arguments"] = ARGUMENTS[1 - ARGUMENTS.index(item["arguments"])]
    return changed


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "said",
    [
        *SILENCE,
        "<think>hm</think>",
        "<think>never ends",
        "hm</think> \n",
        [{"role": "assistant", "content": None}],
        [{"role": "assistant", "content": " ", "reasoning_content": "hm"}],
        [{"role": "user", "content": "words of another"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "\t"}]}],
    ],
    ids=json.dumps,
)
def test_an_empty_answer_is_never_in_a_pair(strategy: str, said: Any) -> None:
    """Empty answers, thinking alone, and other roles' text are no answer, on either side."""
    for score in (2.0, 0.0):
        rows = lines_of(
            {"prompt": "Q", "response": said, "score": score},
            {"prompt": "Q", "response": "A", "score": 1.0},
        )
        outcome = pair_lines(rows, Asked(strategy=strategy, options=EVERY_PAIR))
        reason = "unfinished_thinking" if said == "<think>never ends" else "empty_answer"
        assert (outcome.lines, outcome.ledger.candidates_dropped) == ([], {reason: 1})


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("words", ["a", "A ", "A\u2028", "\uff21", "A\n"])
def test_answers_that_differ_at_all_may_pair(strategy: str, words: str) -> None:
    """Contents are compared exactly, without case folding, trimming or normalization."""
    for one, other in zip(forms_of("A"), forms_of(words), strict=True):
        rows = lines_of(
            {"prompt": "Q", "response": one, "score": 1.0},
            {"prompt": "Q", "response": other, "score": 0.0},
        )
        outcome = pair_lines(rows, Asked(strategy=strategy, options=EVERY_PAIR))
        assert [(pair["chosen"], pair["rejected"]) for pair in outcome.rows] == [(one, other)]
