"""The summary at the end of a run."""

from prefpairs.cli.terminal.summary_text import early_losses, losses_text, summary_text
from prefpairs.driver import summary_of
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.ledger.summaries import extract_summary, pair_input_summary, pair_summary
from prefpairs.plan import InputPlan, PairPlan, Plan, ReadPlan


def _ledger() -> Ledger:
    ledger = Ledger(
        sources=[("a.jsonl", "generic"), ("b.jsonl", "nat"), ("c.jsonl", "generic")],
        skipped_files=[("a_failures.jsonl", "NeMo Gym")],
        notes=["a.jsonl is odd\x1b"],
        rows_read=1200,
        rows_used=1190,
        rows_bad=1,
        candidates_found=2000,
        groups=500,
    )
    ledger.rows_dropped.update({"placeholder": 4, "no_score": 5})
    ledger.candidates_dropped.update({"no_score": 6, "empty_answer": 1})
    ledger.noticed["trailing_turn_cut"] = 3
    ledger.groups_without_pair["all_tied"] = 2
    return ledger


def test_summary_of_pair() -> None:
    """Inputs, both ledgers with reasons, groups, pairs, notes and the output file."""
    ledger = _ledger()
    ledger.add_pair(0.5, 1.0, 0.5)
    ledger.add_pair(0.15, 0.9, 0.75)
    assert summary_text("pair", ledger, "o.jsonl").splitlines() == [
        "read as generic     a.jsonl, c.jsonl",
        "read as nat         b.jsonl",
        "skipped             a_failures.jsonl: NeMo Gym writes it next to its rollouts",
        "rows                1,200 read = 1,190 used + 9 dropped + 1 bad",
        "                 4  placeholder: a placeholder line instead of a rollout",
        "                 5  rows lost every candidate, for the reasons below",
        "candidates          2,000 found = 1,993 kept + 7 dropped",
        "                 6  no_score: the score is missing",
        ("                 1  empty_answer: the answer is empty: it has no text and no tool call"),
        "noticed             3",
        (
            "                 3  trailing_turn_cut: tool or user turns after the model's last turn "
            "were removed"
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
    """The summary of extract says nothing about pairs."""
    lines = summary_text("extract", _ledger(), "-").splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "read",
        "read",
        "skipped",
        "rows",
        "candidates",
        "noticed",
        "note:",
    ]


def test_summary_of_nothing() -> None:
    """The summary of nothing has zeros and no output file."""
    assert summary_text("pair", Ledger(), "o.jsonl").splitlines() == [
        "rows                0 read = 0 used + 0 dropped + 0 bad",
        "candidates          0 found = 0 kept + 0 dropped",
        "groups              0",
        "pairs               0",
    ]


def test_many_files_are_one_line() -> None:
    """Many files are on one line, with the first five named."""
    five = Ledger(sources=[(f"{number}.jsonl", "nat") for number in range(5)])
    assert summary_text("pair", five, "-").splitlines()[0].endswith(" 3.jsonl, 4.jsonl")
    ledger = Ledger(sources=[(f"{number}.jsonl", "nat") for number in range(8)])
    assert summary_text("pair", ledger, "-").splitlines()[0] == (
        "read as nat         0.jsonl, 1.jsonl, 2.jsonl, 3.jsonl, 4.jsonl and 3 more"
    )


def test_notes_on_how_groups_were_made() -> None:
    """Notes report pairs across prompts and joined tasks."""
    lines = summary_text(
        "pair", Ledger(across_prompts=1, groups_of_several_tasks=2), "-"
    ).splitlines()
    assert lines[-2:] == [
        "note: 1 pair with answers to different prompts",
        "note: in 2 groups, --group-by put answers to different tasks together",
    ]


def test_summary_as_data() -> None:
    """Plans that extract, make pairs or read pairs have different summaries."""
    ledger, read = _ledger(), ReadPlan()
    made, extracted = Plan(read=read, pair=PairPlan(read=read)), Plan(read=read)
    assert summary_of(made, ledger) == {"identity": 2, **pair_summary(ledger)}
    assert summary_of(extracted, ledger) == {"identity": 2, **extract_summary(ledger)}
    given = Plan(read=InputPlan())
    assert summary_of(given, ledger) == {"identity": 2, **pair_input_summary(ledger)}


def test_summary_of_stages() -> None:
    """Rows, stages with reasons and notes, pairs and splits; no candidates or groups."""
    dedupe = StageCounts("dedupe", found=1500, notes=["odd\x1b"])
    dedupe.dropped.update({"contradiction": 2, "duplicate": 3})
    dedupe.noticed["contradiction_kept"] = 4
    ledger = Ledger(
        sources=[("p.jsonl", "pairs")],
        notes=["first"],
        rows_read=1501,
        rows_used=1500,
        stages=[dedupe, StageCounts("split", found=1495)],
        sides={"train": 1, "val": 2, "test": 0},
    )
    ledger.rows_dropped["sides_equal"] = 1
    for gap in (0.05, 0.1, 0.6):
        ledger.add_pair(gap, 1.0, 1.0 - gap)
    assert summary_text("split", ledger, "d/train.jsonl, d/val.jsonl").splitlines() == [
        "read as pairs       p.jsonl",
        "rows                1,501 read = 1,500 used + 1 dropped + 0 bad",
        "                 1  sides_equal: chosen and rejected have the same content",
        "dedupe              1,500 found = 1,495 kept + 5 dropped",
        "                 3  duplicate: same as another pair in the --by fields",
        (
            "                 2  contradiction: another pair prefers the other answer; --conflicts "
            "sets what happens to both"
        ),
        "noticed             4",
        (
            "                 4  contradiction_kept: another pair prefers the other answer "
            "(dedupe --conflicts)"
        ),
        "split               1,495 found = 1,495 kept + 0 dropped",
        (
            "pairs               3; gap 0.25 on average, 0.05 to 0.6; mean score 1 chosen, 0.75 "
            "rejected"
        ),
        "train               1 pair, 33.3%",
        "val                 2 pairs, 66.7%",
        "test                0 pairs, 0.0%",
        "note: first",
        "note: odd\\x1b",
        "wrote d/train.jsonl, d/val.jsonl",
    ]


def test_pairs_without_scores() -> None:
    """Unknown scores are omitted."""
    ledger = Ledger()
    ledger.add_pair(None, None, None)
    assert summary_text("dedupe", ledger, "-").splitlines()[-1] == "pairs               1"
    ledger.add_pair(0.5, None, 0.25)
    assert summary_text("dedupe", ledger, "-").splitlines()[-1] == (
        "pairs               2; gap 0.5 on average, 0.5 to 0.5"
    )


def test_sides_of_nothing() -> None:
    """Empty splits have no percentages and no output file."""
    ledger = Ledger(sides={"train": 0, "val": 0})
    assert summary_text("split", ledger, "d/train.jsonl").splitlines()[-2:] == [
        "train               0 pairs",
        "val                 0 pairs",
    ]


def test_losses() -> None:
    """Only losses and notes are shown; nothing if there are none."""
    assert losses_text(_ledger()).splitlines() == [
        "rows                1,200 read = 1,190 used + 9 dropped + 1 bad",
        "                 4  placeholder: a placeholder line instead of a rollout",
        "                 5  rows lost every candidate, for the reasons below",
        "note: a.jsonl is odd\\x1b",
    ]
    assert losses_text(Ledger(rows_read=9, rows_used=9)) == ""
    assert losses_text(Ledger(rows_bad=1)).startswith("rows  ")


def test_early_losses() -> None:
    """Losses of rows and candidates, each reason once."""
    assert early_losses(_ledger()) == [
        "                 6  no_score: the score is missing",
        "                 4  placeholder: a placeholder line instead of a rollout",
        "                 1  empty_answer: the answer is empty: it has no text and no tool call",
    ]
    assert early_losses(Ledger()) == []
