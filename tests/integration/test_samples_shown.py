"""Real rollouts with tool calls and thinking, side by side; skipped if the files are missing."""

from pathlib import Path

import pytest

from prefpairs.cli.main import main
from prefpairs.render.escape_and_wrap import columns_of

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "nemo-gym"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")


def _pairs(folder: Path, *words: str) -> str:
    path = str(folder / "pairs.jsonl")
    assert main(["pair", "-q", "--strategy", "exhaustive", *words, "-o", path]) == 0
    return path


@pytest.mark.parametrize("width", [60, 100, 160])
@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ("tau2_synth__5x_same_input_multiturn_tools", "call get_patron_by_id"),
        ("physics_with_judge__25x_5tasks_x5", "thinking"),
        ("text_to_sql__15x_5tasks_x3_noindex", "```sql"),
    ],
)
def test_pairs(
    sample: str, said: str, width: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All rows fit the width, and calls and thinking are shown."""
    pairs = _pairs(tmp_path, "--group-by", "prompt", str(SAMPLES / f"{sample}.jsonl"))
    assert main(["show", "-n", "99", "--full", "--width", str(width), pairs]) == 0
    shown = capfd.readouterr().out.splitlines()
    assert max(map(columns_of, shown)) <= width
    assert any(row.startswith(said) for row in shown)


def test_a_group_of_one_name_is_found_by_its_pairs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The `group` of a pair finds its candidates."""
    rollouts = str(SAMPLES / "physics_with_judge__25x_5tasks_x5.jsonl")
    _pairs(tmp_path, rollouts)
    assert main(["show", "--group", "[null,4]", "--strategy", "exhaustive", rollouts]) == 0
    shown = capfd.readouterr().out
    assert "5 candidates, 6 pairs (exhaustive)" in shown
    assert shown.count("chosen over #3, #4 and #5") == 2
