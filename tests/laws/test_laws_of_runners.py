"""A run in steps gives the bytes and counts of a run in one process."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hard_corpus import write_bad_corpus, write_corpus

from forked_prefpairs import run
from prefpairs.engine.native import VARIABLE, native_core

STRATEGIES: tuple[list[str], ...] = (
    [],
    ["--strategy", "exhaustive", "--min-gap", "0.2"],
    ["--strategy", "stratified"],
    ["--strategy", "adjacent", "--max-gap", "0.9"],
    ["--strategy", "best-vs-rest", "--num-candidates"],
    ["--strategy", "random", "--max-pairs-per-group", "3", "--seed", "7"],
    ["--strategy", "sweet-spot", "--min-chosen-score", "0.3"],
    ["--group-by", "prompt", "--keep-rows", "conflicting_scores"],
    ["--drop-rows", "conflicting_scores", "--lower-is-better"],
)
SAMPLES = Path(__file__).parents[2] / "sample_data"

DIVISIONS = (("3KB", 1), ("40KB", 7), ("5MB", 2), ("1GB", 64))

ENGINES = [
    pytest.param("0", id="python"),
    pytest.param(
        "1",
        id="native",
        marks=pytest.mark.skipif(native_core() is None, reason="the native core is not installed"),
    ),
]


def locally(words: Sequence[str], folder: Path, engine: str) -> tuple[bytes, bytes, bytes]:
    """The pairs, the summary and the bad rows of a run in one process."""
    words = ["pair", "--order", "key", *words, "-o", "local.jsonl", "--summary", "local.json"]
    if "quarantine" in words:
        words += ["--quarantine", "local.bad"]
    done = run(*words, cwd=folder, env={VARIABLE: engine})
    assert done.returncode == 0, done.stderr
    bad = folder / "local.bad"
    return (
        (folder / "local.jsonl").read_bytes(),
        (folder / "local.json").read_bytes(),
        bad.read_bytes() if bad.exists() else b"",
    )


def in_steps(
    words: Sequence[str], folder: Path, engine: str, division: tuple[str, int], processes: int = 2
) -> tuple[bytes, bytes, bytes]:
    """The same from a run in steps, with a process for each share."""
    size, parts = division
    words = ["pair", "--order", "key", *words, "--out-dir", "out", "--summary", "steps.json"]
    if "quarantine" in words:
        words += ["--quarantine", "steps.bad"]
    words += ["--runner", "shards", "--range-size", size, "--parts", str(parts)]
    env = {VARIABLE: engine}
    done = run(*words, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr

    def step(kind: str, share: str) -> None:
        done = run("shards", kind, "out", share, cwd=folder, env=env)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr

    for kind in ("map", "reduce"):
        with ThreadPoolExecutor(processes) as pool:
            shares = [f"{number}/{processes}" for number in range(processes)]
            list(pool.map(step, [kind] * processes, shares))
    done = run("shards", "finish", "out", cwd=folder, env=env)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    out, bad = folder / "out", folder / "steps.bad"
    names = sorted(path.name for path in out.iterdir())
    assert names == ["manifest.json", *(f"part-{n:05}-of-{parts:05}.jsonl" for n in range(parts))]
    pairs = b"".join((out / name).read_bytes() for name in names[1:])
    summary = (folder / "steps.json").read_bytes()
    assert run("verify", "out/manifest.json", cwd=folder).returncode == 0
    return pairs, summary, bad.read_bytes() if bad.exists() else b""


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("words", STRATEGIES, ids=[" ".join(words) or "-" for words in STRATEGIES])
def test_all_strategies(words: list[str], engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for any division of input and output."""
    files = write_corpus(tmp_path, seed=len(words))
    expected = locally([*words, *files], tmp_path, engine)
    assert expected[0]
    assert in_steps([*words, *files], tmp_path, engine, ("30KB", 5)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("size", "parts"), DIVISIONS)
def test_all_divisions(size: str, parts: int, engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for ranges of a few lines, and for one with all lines."""
    files = write_corpus(tmp_path)
    words = ["--strategy", "exhaustive", *files]
    expected = locally(words, tmp_path, engine)
    assert in_steps(words, tmp_path, engine, (size, parts), processes=3) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_rows(engine: str, tmp_path: Path) -> None:
    """Bad rows are counted, and quarantined with their line numbers."""
    words = ["--on-error", "quarantine", *write_bad_corpus(tmp_path)]
    expected = locally(words, tmp_path, engine)
    assert expected[2].count(b"\n") == 32
    assert in_steps(words, tmp_path, engine, ("2KB", 3)) == expected


def test_items_and_tasks_are_compared_across_pieces(tmp_path: Path) -> None:
    """Repeated IDs, and groups shared by several tasks, are counted as in a local run."""
    document = (SAMPLES / "nat_workflow_output.json").read_bytes()
    for name in ("one.json", "two.json", "three.json"):
        (tmp_path / name).write_bytes(document)
    rows = [
        {"prompt": f"Q {n % 20}", "response": f"a {n}", "score": n % 3, "task_id": n % 50, "set": 1}
        for n in range(120)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ["--group-by", "prompt", "rows.jsonl", "one.json", "two.json", "three.json"]
    expected = locally(words, tmp_path, "1")
    summary = json.loads(expected[1])
    assert summary["noticed"]["repeated_item_id"] > 0
    assert any("several tasks" in note for note in summary["notes"]) or summary
    assert in_steps(words, tmp_path, "1", ("1KB", 4)) == expected
