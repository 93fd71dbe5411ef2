"""Law 11 for commands that take pairs or rollouts: no row decides for the others.

Whatever the order of rows, and however they are cut into files, the result is the same: figures of
pairs, figures of rollouts, or an error that names the option for either.
"""

import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.cli.main import main

PAIR = {"prompt": "Q", "chosen": "good", "rejected": "bad"}
OPENAI = {
    "input": {"messages": [{"role": "user", "content": "Q"}]},
    "preferred_output": [{"role": "assistant", "content": "good"}],
    "non_preferred_output": [{"role": "assistant", "content": "bad"}],
}
ROLLOUTS = [{"prompt": "Q", "response": f"A{number}", "score": number} for number in range(3)]
GYM = {
    "responses_create_params": {"input": "Q"},
    "response": {
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "A"}],
            }
        ]
    },
    "reward": 1.0,
}
SCORED_PAIR = {**ROLLOUTS[0], "rejected": "bad"}
"""The columns of a rollout, and one that only pairs have."""

PAIRS: list[Any] = [PAIR, OPENAI, SCORED_PAIR]
OF_NEITHER: list[Any] = [{"prompt": "Q", "chosen": "half"}, 7, "text", None]

ALIKE = ("rows", "candidates", "groups", "scores", "pairs", "prompts", "duplicates", "gaps")
"""Figures without file names."""


def figures_of(rows: list[Any], cuts: int, command: str = "stats") -> tuple[int, Any]:
    """The exit code and figures of a command on rows in this many files."""
    with tempfile.TemporaryDirectory() as folder:
        for place in range(cuts):
            lines = [json.dumps(row) + "\n" for row in rows[place::cuts]]
            (Path(folder) / f"{place}.jsonl").write_text("".join(lines))
        output = Path(folder) / "out"
        words = [command, "-q", "--on-error", "skip", folder, "-o", str(output)]
        code = main([*words, "--json"] if command == "stats" else words)
        if code or command != "stats":
            return code, None
        found = json.loads(output.read_bytes())
    return code, {key: found.get(key) for key in ALIKE}


@examples(60)
@given(
    rows=st.lists(st.sampled_from([*PAIRS, *ROLLOUTS, GYM, *OF_NEITHER]), max_size=6),
    chance=st.randoms(use_true_random=False),
    cuts=st.integers(1, 3),
)
def test_no_order_decides_what_rows_are(rows: list[Any], chance: Random, cuts: int) -> None:
    """Shuffled and cut differently, the same is rejected and the same is reported."""
    code, found = figures_of(rows, 1)
    shuffled = chance.sample(rows, len(rows))
    assert figures_of(shuffled, cuts) == (code, found)
    of_pairs = any(row in PAIRS for row in rows)
    of_rollouts = any(row in ROLLOUTS or row == GYM for row in rows)
    assert (code == 2) == (of_pairs and of_rollouts)


@pytest.mark.parametrize("command", ["stats", "report"])
@pytest.mark.parametrize("rows", [[PAIR, ROLLOUTS[1]], [ROLLOUTS[1], PAIR], [GYM, SCORED_PAIR]])
def test_a_mixture_is_refused_with_two_commands(
    command: str, rows: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    """A mixture is rejected with a command for each reading."""
    assert figures_of(rows, 1, command)[0] == 2
    told = capfd.readouterr().err
    source = "nemo-gym" if GYM in rows else "generic"
    assert "0.jsonl:2: some rows are pairs, and others are rollouts" in told
    assert f"{command} --from pairs" in told
    assert f"{command} --from {source}" in told


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_pair_far_behind(workers: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A pair among rollouts is found at any distance, by any process."""
    rows = [{**row, "prompt": f"Q{number}"} for number in range(50) for row in ROLLOUTS]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, PAIR]))
        assert main(["stats", "--workers", workers, str(path)]) == 2
    assert "r.jsonl:151: some rows are pairs" in capfd.readouterr().err
