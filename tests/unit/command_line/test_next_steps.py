"""What to do next."""

import pytest

from prefpairs.cli.terminal.next_steps import next_steps, ways_out, why_nothing
from prefpairs.engine.plan import ReadPlan
from prefpairs.ledger import Report, Stage
from prefpairs.model.tool_calls import tool_call

RUBBISH = "x" * 300


def _report(rows: dict[str, int], groups: dict[str, int] | None = None) -> Report:
    report = Report(rows_read=10)
    report.rows_dropped.update(rows)
    report.groups_without_pair.update(groups or {})
    return report


@pytest.mark.parametrize(
    ("report", "hint"),
    [
        (Report(), "there were no rows to read"),
        (Report(rows_read=1), None),
        (
            Report(passed_over=["r_failures.jsonl"]),
            "NeMo Gym writes such files beside its rollouts; --from generic reads them",
        ),
        (
            _report({}, {"no_candidate": 2}),
            "2 groups: no group has a candidate left; see the reasons above",
        ),
        (
            _report({"no_ttc_steps": 1}),
            (
                "1 row: the row has no TTC_END step; NAT leaves TTC steps out of its files "
                "unless the configuration says "
                "eval.general.output.workflow_output_step_filter: [TTC_END]"
            ),
        ),
        (
            _report({"other_step_name": 3, "no_ttc_steps": 1}),
            (
                "3 rows: none of the row's TTC_END steps has the name given by --step-name; "
                "--step-name NAME takes steps of another name"
            ),
        ),
        (
            _report({"no_score": 2}),
            ("2 rows: the score is missing; --score PATH names the field that holds the score"),
        ),
        (
            _report({"placeholder": 5}),
            "5 rows: a placeholder line instead of a rollout",
        ),
        (
            _report({"no_score": 9}, {"all_tied": 2, "same_answer": 1}),
            "2 groups: in every group all scores are equal, so nothing is preferred",
        ),
        (
            _report({}, {"none_allowed": 1}),
            "1 group: --min-gap and the other bounds leave no pair; try smaller ones",
        ),
        (
            _report({}, {"one_candidate": 4}),
            (
                "4 groups: no prompt has two answers to compare; generate several rollouts per "
                "prompt, or compare answers to different prompts with --strategy stratified "
                "--across-prompts"
            ),
        ),
    ],
)
def test_why_nothing(report: Report, hint: str | None) -> None:
    """The most frequent reason, with the option that changes it."""
    assert why_nothing("pair", report) == hint


def test_why_extract_gave_nothing() -> None:
    """Groups are none of its business."""
    report = _report({"no_prompt": 1}, {"all_tied": 2})
    assert why_nothing("extract", report) == (
        "1 row: the prompt is missing or empty; --prompt PATH names the field that holds the prompt"
    )


def test_example_of_a_pair() -> None:
    """One line each, nothing in them steers a terminal, long ones are cut."""
    call = [tool_call("search", "{}"), tool_call("f", "{}")]
    report = Report(
        example=(
            [{"role": "system", "content": "S"}, {"role": "user", "content": "Q\n\x1b[31m"}],
            [{"role": "assistant", "content": "Look.", "tool_calls": call}],
            RUBBISH,
        )
    )
    assert next_steps("pair", report, "o.jsonl").splitlines() == [
        "",
        "example",
        "  prompt    Q \\x1b[31m",
        "  chosen    Look. [calls search] [calls f]",
        f"  rejected  {'x' * 240}...",
        "",
        "next: prefpairs split o.jsonl --val-fraction 0.1 --out-dir data",
    ]


def test_no_example_of_nothing() -> None:
    """Nothing was made, nothing is shown."""
    assert next_steps("pair", Report(), "o.jsonl") == ""


def test_next_step_of_extract() -> None:
    """Candidates in a file are for `pair`; in a pipe somebody takes them already."""
    assert next_steps("extract", Report(), "c.jsonl") == (
        "\nnext: prefpairs pair c.jsonl -o pairs.jsonl\n"
    )
    assert next_steps("extract", Report(), "-") == ""


def _stage(name: str, **dropped: int) -> Stage:
    stage = Stage(name, found=9)
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
def test_why_sieves_gave_nothing(command: str, stages: list[Stage], hint: str | None) -> None:
    """The stage that lost pairs, and its most frequent reason."""
    assert why_nothing(command, Report(rows_read=9, stages=stages)) == hint


def test_why_no_row_was_a_pair() -> None:
    """What was lost before any stage counts where no stage lost anything."""
    report = _report({"sides_equal": 3})
    report.stages.append(_stage("dedupe"))
    assert why_nothing("dedupe", report) == "3 rows: chosen and rejected have the same content"


@pytest.mark.parametrize("command", ["pair", "dedupe", "filter", "sample"])
def test_next_step_of_pairs(command: str) -> None:
    """Pairs in a file are for `split`, also under an odd name; in a pipe somebody takes them."""
    report = Report(example=("Q", "A", "B"))
    example = "\nexample\n  prompt    Q\n  chosen    A\n  rejected  B\n"
    step = "\nnext: prefpairs split o\\x1b.jsonl --val-fraction 0.1 --out-dir data\n"
    assert next_steps(command, report, "o\x1b.jsonl") == example + step
    assert next_steps(command, report, "-") == example


def test_no_step_after_a_split() -> None:
    """Its files are what is trained on."""
    report = Report(example=("Q", "A", "B"))
    assert "next" not in next_steps("split", report, "d/train.jsonl")


@pytest.mark.parametrize(
    ("files", "without_pair", "choices"),
    [
        (2, {"no_candidate": 1}, [("--group-by", "file"), ("--keep-rows", "conflicting_scores")]),
        (1, {"no_candidate": 1, "one_candidate": 2}, [("--keep-rows", "conflicting_scores")]),
        (2, {"no_candidate": 1, "all_tied": 1}, []),
    ],
)
def test_ways_out_where_answers_were_judged_twice(
    files: int, without_pair: dict[str, int], choices: list[tuple[str, str]]
) -> None:
    """Options that let them compete; files are runs only if there are several."""
    report = Report(sources=[("nat", f"{number}.json") for number in range(files)])
    report.dropped.update(conflicting_scores=4)
    report.groups_without_pair.update(without_pair)
    report.groups = sum(without_pair.values())
    assert list(ways_out(report, ReadPlan(inputs=[]))) == choices
    told = "the same answers were judged twice, with different scores"
    report.rows_read = 4
    assert (why_nothing("pair", report) == told) == bool(choices)
    report.groups += 1  # one with a pair, which another stage dropped
    assert list(ways_out(report, ReadPlan(inputs=[]))) == []
    report.groups -= 1
    report.dropped.clear()
    assert list(ways_out(report, ReadPlan(inputs=[]))) == []
