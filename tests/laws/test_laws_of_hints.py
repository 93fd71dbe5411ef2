"""Hints: whatever the traces, both sequences have the same tokens where they are compared."""

import json
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from run_in_process import Collected, Row, lines_of, named_files
from small_tokenizer import CHAT, END, PIECES, TEXTS, TOKENS, decoded

from hypothesis_examples import examples
from prefpairs.chat.hints import hint_of
from prefpairs.chat.template import TemplateFacts
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.ledger import Ledger
from prefpairs.plan import InputPlan, Plan, TracePlan
from prefpairs.targets.base import TraceForm
from prefpairs.targets.sdpo import TARGET
from run_plans import run_plan

assert TOKENS.encode is not None
FACTS = TemplateFacts("dict", reasoning=True, system=True)
HINTS = {"known": "Try {what} \u00e9 assistant", "bare": "No."}
HINT = partial(hint_of, hints=HINTS)
OPTIONS = TraceForm(encode=TOKENS.encode, chat=CHAT, facts=FACTS, hint=HINT)

ERRORS: Any = st.sampled_from([{}, {}, {"tool_error": "bare"}, {"tool_error": "unheard of"}])
ERRORS |= st.builds(lambda what: {"tool_error": "known", "error_meta": {"what": what}}, PIECES)
TURNS = st.builds(
    lambda role, content, error: {"role": role, "content": content, **error},
    st.sampled_from(["user", "assistant", "assistant", "tool"]),
    TEXTS | st.just(""),
    ERRORS,
)


def written(rows: list[Row]) -> tuple[list[Row], Ledger]:
    """What export writes for traces."""
    output, ledger = Collected(), Ledger()
    with named_files({"t.jsonl": b"".join(lines_of(*rows))}) as inputs:
        plan = Plan(read=InputPlan(inputs=inputs), traces=TracePlan(TARGET, OPTIONS))
        run_plan(plan, {WHOLE: output}, ledger, allow_empty=True)
    return [json.loads(line) for line in output.lines], ledger


@examples(200)
@given(turns=st.lists(TURNS, min_size=1, max_size=7), reward=st.sampled_from([None, 0.5, 1]))
def test_both_have_the_same_tokens(turns: list[Row], reward: Any) -> None:
    """The student has the trace's text; the teacher without hints equals it; positions match."""
    asked = {"role": "user", "content": "Q"}
    trace = {"trace_id": "t", "turns": [asked, *turns], "final_reward": reward}
    rows, ledger = written([trace])
    assert ledger.rows_read == ledger.rows_used + ledger.rows_dropped.total() == 1
    for row in rows:
        plain = [{"role": turn["role"], "content": turn["content"]} for turn in [asked, *turns]]
        assert decoded(row["input_ids"]) == CHAT.text(plain, None)
        mask = zip(row["input_ids"], row["response_mask"], strict=True)
        said = "".join(turn["content"] + END for turn in plain if turn["role"] == "assistant")
        assert decoded([token for token, own in mask if own]) == said
        ours = [row["input_ids"][place] for place in row["student_index"]]
        theirs = [row["teacher_input_ids"][place] for place in row["teacher_index"]]
        assert ours == theirs
        assert bool(ours) == bool(row["teacher_input_ids"])
        assert row["teacher_length"] == len(row["teacher_input_ids"])
        (stage,) = ledger.stages
        assert stage.kept == decoded(row["teacher_input_ids"]).count("<|im_start|>system\n")
