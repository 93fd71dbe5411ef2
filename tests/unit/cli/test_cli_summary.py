"""The closing summary."""

from prefpairs.cli.summary import summary_of, summary_text
from prefpairs.report import Report, extract_summary, pair_summary


def _report() -> Report:
    report = Report(
        sources=[("a.jsonl", "generic"), ("b.jsonl", "nat"), ("c.jsonl", "generic")],
        passed_over=["a_failures.jsonl"],
        notes=["a.jsonl is odd\x1b"],
        rows_read=1200,
        rows_used=1190,
        rows_bad=1,
        found=2000,
        groups=500,
    )
    report.rows_dropped.update({"placeholder": 4, "no_score": 5})
    report.dropped.update({"no_score": 6, "empty_answer": 1})
    report.mended["trailing_turn_cut"] = 3
    report.groups_without_pair["all_tied"] = 2
    return report


def test_summary_of_pair() -> None:
    """Inputs, both ledgers with reasons, groups, pairs, notes and the file."""
    report = _report()
    report.add_pair(0.5, 1.0, 0.5)
    report.add_pair(0.15, 0.9, 0.75)
    assert summary_text("pair", report, "o.jsonl").splitlines() == [
        "read as generic     a.jsonl, c.jsonl",
        "read as nat         b.jsonl",
        "passed over         a_failures.jsonl: NeMo Gym writes it beside its rollouts",
        "rows                1,200 read = 1,190 used + 9 dropped + 1 bad",
        "                 4  placeholder: a placeholder line instead of a rollout",
        "                 5  lost every candidate, for the reasons below",
        "candidates          2,000 found = 1,993 kept + 7 dropped",
        "                 6  no_score: the score is missing",
        ("                 1  empty_answer: the model said nothing: no text and no tool call"),
        "noticed             3",
        (
            "                 3  trailing_turn_cut: tool or user turns after the model's last word "
            "were cut off"
        ),
        "groups              500, 2 without a pair",
        "                 2  all_tied: all candidates have the same score",
        (
            "pairs               2; gap 0.325 on average, 0.15 to 0.5; mean score 0.95 chosen, "
            "0.625 rejected"
        ),
        "                    --min-gap 0.2 would leave 1",
        "note: a.jsonl is odd\\x1b",
        "wrote o.jsonl",
    ]


def test_summary_of_extract() -> None:
    """No word about pairs."""
    lines = summary_text("extract", _report(), "-").splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "read",
        "read",
        "passed",
        "rows",
        "candidates",
        "noticed",
        "note:",
    ]


def test_summary_of_nothing() -> None:
    """Zeros, and no file that was written."""
    assert summary_text("pair", Report(), "o.jsonl").splitlines() == [
        "rows                0 read = 0 used + 0 dropped + 0 bad",
        "candidates          0 found = 0 kept + 0 dropped",
        "groups              0",
        "pairs               0",
    ]


def test_many_files_are_one_line() -> None:
    """The first five are named."""
    five = Report(sources=[(f"{number}.jsonl", "nat") for number in range(5)])
    assert summary_text("pair", five, "-").splitlines()[0].endswith(" 3.jsonl, 4.jsonl")
    report = Report(sources=[(f"{number}.jsonl", "nat") for number in range(8)])
    assert summary_text("pair", report, "-").splitlines()[0] == (
        "read as nat         0.jsonl, 1.jsonl, 2.jsonl, 3.jsonl, 4.jsonl and 3 more"
    )


def test_notes_on_how_groups_were_made() -> None:
    """Pairs across prompts and joined tasks are never silent."""
    lines = summary_text("pair", Report(across_prompts=1, joined_tasks=2), "-").splitlines()
    assert lines[-2:] == [
        "note: 1 pair set answers to different prompts against each other",
        "note: --group-by joined the answers to different tasks in 2 groups",
    ]


def test_summary_as_data() -> None:
    """Each command has its own."""
    report = _report()
    assert summary_of("pair", report) == pair_summary(report)
    assert summary_of("extract", report) == extract_summary(report)
