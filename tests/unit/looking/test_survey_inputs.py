"""Passes over inputs for commands that look at pairs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines

from prefpairs.analysis.survey import WhatIf
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.survey_inputs import kind_of_inputs, survey
from prefpairs.errors import BadRecords
from prefpairs.files.input_file import Input
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.plan import InputPlan, PairPlan, Plan, ReadPlan
from prefpairs.strategies.options import PairOptions
from run_plans import pair

Row = dict[str, Any]
PAIR = {"prompt": "Q", "chosen": "a", "rejected": "b"}


def written(folder: Path, *files: Sequence[Row | str]) -> list[Input]:
    """Files with these rows."""
    for place, rows in enumerate(files):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{place}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return find_inputs([str(folder / f"{place}.jsonl") for place in range(len(files))])


def rollouts(scores: Sequence[float]) -> list[Row]:
    """Answers to one question with these scores."""
    return [
        {"prompt": "Q", "response": f"A{place}", "score": score}
        for place, score in enumerate(scores)
    ]


def making(inputs: list[Input], strategy: str, options: PairOptions) -> Plan:
    """A plan that makes pairs."""
    read = ReadPlan(inputs=inputs)
    return Plan(read=read, pair=PairPlan(read=read, options=replace(options, strategy=strategy)))


def test_a_larger_gap_may_make_other_pairs(tmp_path: Path) -> None:
    """With a larger gap, 1.0 may pair with 0.0 instead; the run's own bounds apply, too."""
    inputs = written(tmp_path, rollouts([1.0, 0.9, 0.0]))
    plan = making(inputs, "adjacent", PairOptions(min_gap=0.08))
    assert survey(plan, Ledger()).what_if == [
        WhatIf(0.0, 2, 1),
        WhatIf(0.05, 2, 1),
        WhatIf(0.1, 2, 1),
        WhatIf(0.2, 2, 1),
        WhatIf(0.3, 2, 1),
        WhatIf(0.5, 2, 1),
    ]
    plan = making(inputs, "adjacent", PairOptions(min_gap=0.95))
    assert {told.pairs for told in survey(plan, Ledger()).what_if} == {1}


@pytest.mark.parametrize("strategy", ["exhaustive", "adjacent"])
def test_ready_made_pairs_pass_any_gap(tmp_path: Path, strategy: str) -> None:
    """Ready-made pairs are included whatever `--min-gap` is, as in `pair`."""
    asked = {"role": "user", "content": "Q"}
    ready = {"state_messages": [asked], "chosen": "yes", "rejected": "no"}
    traces = [
        {
            "task_id": "t",
            "final_reward": score,
            "turns": [asked, {"role": "assistant", "content": f"A{score}"}],
            "dpo_pairs": pairs,
        }
        for score, pairs in ((1.0, [ready]), (0.9, [{**ready, "state_messages": "R"}]), (0.0, []))
    ]
    inputs = written(tmp_path, traces)
    found = survey(making(inputs, strategy, PairOptions()), Ledger()).what_if
    for told in found:
        output = Lines()
        plan = making(inputs, strategy, PairOptions(min_gap=told.min_gap)).pair
        assert plan is not None
        pair(plan, {WHOLE: output}, Ledger())
        prompts = {json.dumps(row["prompt"]) for row in output.rows()}
        assert (told.pairs, told.prompts) == (len(output.rows()), len(prompts))
    assert [told.pairs for told in found][::5] == [2 + 3 - (strategy == "adjacent"), 4]


def test_only_rollouts_have_figures_of_groups(tmp_path: Path) -> None:
    """Only rollouts have figures about groups."""
    inputs = written(tmp_path, rollouts([1.0, 0.0]))
    found = survey(making(inputs, "best-vs-worst", PairOptions()), Ledger())
    assert found.groups is not None
    assert (found.groups.groups, found.pairs.pairs) == (1, 1)
    (tmp_path / "pairs").mkdir()
    of_pairs = Plan(read=InputPlan(inputs=written(tmp_path / "pairs", [PAIR])))
    assert survey(of_pairs, Ledger()).groups is None


def test_bad_rows_end_it(tmp_path: Path) -> None:
    """Bad rows end the run, since figures of half a file would be wrong."""
    plan = Plan(read=InputPlan(inputs=written(tmp_path, [PAIR, "oops"])))
    with pytest.raises(BadRecords):
        survey(plan, Ledger())


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ([[PAIR]], "pairs"),
        ([[], [PAIR]], "pairs"),
        ([["oops", PAIR]], "pairs"),
        ([rollouts([1.0])], "generic"),
        ([rollouts([1.0]), [PAIR]], "generic"),
        ([["[1]", PAIR]], "pairs"),
        ([['{"chosen": "half"}', "7"], rollouts([1.0])], "generic"),
        ([["7"]], None),
        ([[]], None),
    ],
)
def test_kind_of_inputs(files: list[list[Row | str]], kind: str | None, tmp_path: Path) -> None:
    """The kind is that of the first row that shows it, in any file."""
    assert kind_of_inputs(written(tmp_path, *files)) == kind
