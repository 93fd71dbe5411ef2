"""Suggestions on what to do next."""

import pytest

from prefpairs.cli.terminal.next_steps import next_steps, retry_options, why_no_output
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.tool_calls import tool_call
from prefpairs.plan import ReadPlan

RUBBISH = "x" * 300


def _ledger(
    rows: dict[str, int], groups: dict[str, int] | None = None, source: str = "generic"
) -> Ledger:
    ledger = Ledger(rows_read=10, sources=[("r.jsonl", source)])
    ledger.rows_dropped.update(rows)
    ledger.groups_without_pair.update(groups or {})
    return ledger


@pytest.mark.parametrize(
    ("ledger", "hint"),
    [
        (Ledger(), "the input has no rows"),
        (Ledger(rows_read=1), None),
        (
            Ledger(skipped_files=[("r_failures.jsonl", "NeMo Gym")]),
            "NeMo Gym writes such files next to its rollouts; --from generic reads them",
        ),
        (
            _ledger({}, {"no_candidate": 2}),
            "2 groups: all candidates were dropped; see the reasons above",
        ),
        (
            _ledger({"no_ttc_steps": 1}, source="nat"),
            (
                "1 row: the row has no TTC_END step; NAT writes TTC steps only if its "
                "configuration sets "
                "eval.general.output.workflow_output_step_filter: [TTC_END]"
            ),
        ),
        (
            _ledger({"other_step_name": 3, "no_ttc_steps": 1}, source="nat"),
            (
                "3 rows: none of the row's TTC_END steps has the name given by --step-name; "
                "--step-name NAME selects steps with another name"
            ),
        ),
        (
            _ledger({"no_score": 2}),
            ("2 rows: the score is missing; name the field of the score with --score PATH"),
        ),
        (
            _ledger({"placeholder": 5}),
            "5 rows: a placeholder line instead of a rollout",
        ),
        (
            _ledger({"no_score": 9}, {"all_tied": 2, "same_answer": 1}),
            "2 groups: all scores of each group are equal, so no answer is preferred",
        ),
        (
            _ledger({}, {"none_allowed": 1}),
            "1 group: no pair is within --min-gap and the other limits; try wider limits",
        ),
        (
            _ledger({}, {"one_candidate": 4}),
            (
                "4 groups: no prompt has two answers to compare; generate several rollouts per "
                "prompt, or pair answers to different prompts with --strategy stratified "
                "--across-prompts"
            ),
        ),
    ],
)
def test_why_no_output(ledger: Ledger, hint: str | None) -> None:
    """The most frequent reason, with the option that changes it."""
    assert why_no_output("pair", ledger) == hint


def test_why_extract_gave_nothing() -> None:
    """The reasons of groups are ignored."""
    ledger = _ledger({"no_prompt": 1}, {"all_tied": 2})
    assert why_no_output("extract", ledger) == (
        "1 row: the prompt is missing or empty; name the field of the prompt with --prompt PATH"
    )


def test_example_of_a_pair() -> None:
    """One line each, truncated and without control characters."""
    call = [tool_call("search", "{}"), tool_call("f", "{}")]
    ledger = Ledger(
        example=(
            [{"role": "system", "content": "S"}, {"role": "user", "content": "Q\n\x1b[31m"}],
            [{"role": "assistant", "content": "Look.", "tool_calls": call}],
            RUBBISH,
        )
    )
    assert next_steps("pair", ledger, "o.jsonl").splitlines() == [
        "",
        "example",
        "  prompt    Q \\x1b[31m",
        "  chosen    Look. [calls search] [calls f]",
        f"  rejected  {'x' * 240}...",
        "",
        "next: prefpairs split o.jsonl --val-fraction 0.1 --out-dir data",
    ]


def test_no_example_of_nothing() -> None:
    """Without pairs, there is no example."""
    assert next_steps("pair", Ledger(), "o.jsonl") == ""


def test_next_step_of_extract() -> None:
    """Candidates in a file suggest `pair`; those in a pipe suggest nothing."""
    assert next_steps("extract", Ledger(), "c.jsonl") == (
        "\nnext: prefpairs pair c.jsonl -o pairs.jsonl\n"
    )
    assert next_steps("extract", Ledger(), "-") == ""


def _stage(name: str, **dropped: int) -> StageCounts:
    stage = StageCounts(name, found=9)
    stage.dropped.update(dropped)
    return stage


@pytest.mark.parametrize(
    ("command", "stages", "hint"),
    [
        (
            "filter",
            [_stage("filter", gap_too_small=1, too_long=2)],
            "filter dropped 2 pairs: a text is longer than its maximum",
        ),
        (
            "dedupe",
            [_stage("sample"), _stage("dedupe", in_reference=1)],
            ("dedupe dropped 1 pair: its prompt, or a near-duplicate, is in a file of --against"),
        ),
        ("sample", [_stage("sample")], None),
    ],
)
def test_why_stages_gave_nothing(command: str, stages: list[StageCounts], hint: str | None) -> None:
    """Names the stage that lost pairs, and its most frequent reason."""
    assert why_no_output(command, Ledger(rows_read=9, stages=stages)) == hint


def test_why_no_row_was_a_pair() -> None:
    """If no stage lost pairs, the losses before them are named."""
    ledger = _ledger({"sides_equal": 3})
    ledger.stages.append(_stage("dedupe"))
    assert why_no_output("dedupe", ledger) == "3 rows: chosen and rejected have the same content"


@pytest.mark.parametrize("command", ["pair", "dedupe", "filter", "sample"])
def test_next_step_of_pairs(command: str) -> None:
    """Pairs in a file suggest `split`, with a quoted name; those in a pipe suggest nothing."""
    ledger = Ledger(example=("Q", "A", "B"))
    example = "\nexample\n  prompt    Q\n  chosen    A\n  rejected  B\n"
    step = "\nnext: prefpairs split o\\x1b.jsonl --val-fraction 0.1 --out-dir data\n"
    assert next_steps(command, ledger, "o\x1b.jsonl") == example + step
    assert next_steps(command, ledger, "-") == example


def test_no_step_after_a_split() -> None:
    """After a split, no next step is suggested."""
    ledger = Ledger(example=("Q", "A", "B"))
    assert "next" not in next_steps("split", ledger, "d/train.jsonl")


@pytest.mark.parametrize(
    ("files", "without_pair", "choices"),
    [
        (2, {"no_candidate": 1}, [("--group-by", "file"), ("--keep-rows", "conflicting_scores")]),
        (1, {"no_candidate": 1, "one_candidate": 2}, [("--keep-rows", "conflicting_scores")]),
        (2, {"no_candidate": 1, "all_tied": 1}, []),
    ],
)
def test_retry_options_where_answers_were_judged_twice(
    files: int, without_pair: dict[str, int], choices: list[tuple[str, str]]
) -> None:
    """Options that let them compete; the one about files is offered only if there are several."""
    ledger = Ledger(sources=[("nat", f"{number}.json") for number in range(files)])
    ledger.candidates_dropped.update(conflicting_scores=4)
    ledger.groups_without_pair.update(without_pair)
    ledger.groups = sum(without_pair.values())
    assert list(retry_options(ledger, ReadPlan(inputs=[]))) == choices
    told = "the same answers were judged twice with different scores"
    ledger.rows_read = 4
    assert (why_no_output("pair", ledger) == told) == bool(choices)
    ledger.groups += 1  # one with a pair, which another stage dropped
    assert list(retry_options(ledger, ReadPlan(inputs=[]))) == []
    ledger.groups -= 1
    ledger.candidates_dropped.clear()
    assert list(retry_options(ledger, ReadPlan(inputs=[]))) == []
