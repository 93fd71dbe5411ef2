"""A run in steps gives the bytes and counts of a run in one process."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hard_corpus import gym_rows, write_bad_corpus, write_corpus

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


PAIR = ("pair", "--order", "key")

Outcome = tuple[bytes, bytes, bytes, list[bytes]]
"""The results of a run, its summary as JSON, the bad rows, and the summary as text."""


def locally(words: Sequence[str], folder: Path, engine: str) -> Outcome:
    """The outcome of a run in one process."""
    words = [*words, "-o", "local.jsonl", "--summary", "local.json"]
    if "quarantine" in words:
        words += ["--quarantine", "local.bad"]
    done = run(*words, cwd=folder, env={VARIABLE: engine})
    assert done.returncode == 0, done.stderr
    bad = folder / "local.bad"
    return (
        (folder / "local.jsonl").read_bytes(),
        (folder / "local.json").read_bytes(),
        bad.read_bytes() if bad.exists() else b"",
        text_of(done.stderr),
    )


def text_of(stderr: bytes) -> list[bytes]:
    """The summary, without the place of the results and commands that repeat the one typed."""
    return [line for line in stderr.splitlines()[:-1] if b": prefpairs " not in line]


def in_steps(
    words: Sequence[str],
    folder: Path,
    engine: str,
    division: tuple[str, int | None],
    processes: int = 2,
) -> Outcome:
    """The same of a run in steps, each share of which is a process."""
    size, parts = division
    words = [*words, "--out-dir", "out", "--summary", "steps.json"]
    if "quarantine" in words:
        words += ["--quarantine", "steps.bad"]
    words += ["--runner", "shards", "--range-size", size]
    words += [] if parts is None else ["--parts", str(parts)]
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
    parts = parts or len(names) - 1
    assert names == ["manifest.json", *(f"part-{n:05}-of-{parts:05}.jsonl" for n in range(parts))]
    pairs = b"".join((out / name).read_bytes() for name in names[1:])
    summary = (folder / "steps.json").read_bytes()
    assert run("verify", "out/manifest.json", cwd=folder).returncode == 0
    bad_rows = bad.read_bytes() if bad.exists() else b""
    return pairs, summary, bad_rows, text_of(done.stderr)


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("words", STRATEGIES, ids=[" ".join(words) or "-" for words in STRATEGIES])
def test_all_strategies(words: list[str], engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for any division of input and output."""
    files = write_corpus(tmp_path, seed=len(words))
    words = [*PAIR, *words, *files]
    expected = locally(words, tmp_path, engine)
    assert expected[0]
    assert in_steps(words, tmp_path, engine, ("30KB", 5)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("size", "parts"), DIVISIONS)
def test_all_divisions(size: str, parts: int, engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for ranges of a few lines, and for one with all lines."""
    files = write_corpus(tmp_path)
    words = [*PAIR, "--strategy", "exhaustive", *files]
    expected = locally(words, tmp_path, engine)
    assert in_steps(words, tmp_path, engine, (size, parts), processes=3) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("command", [PAIR, ("extract",)], ids=["pair", "extract"])
def test_bad_rows(command: tuple[str, ...], engine: str, tmp_path: Path) -> None:
    """Bad rows are counted, and quarantined with their line numbers."""
    words = [*command, "--on-error", "quarantine", *write_bad_corpus(tmp_path)]
    expected = locally(words, tmp_path, engine)
    assert expected[2].count(b"\n") == 32
    division = "2KB", 3 if command == PAIR else None
    assert in_steps(words, tmp_path, engine, division) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", ["3KB", "200KB"])
def test_extract(size: str, engine: str, tmp_path: Path) -> None:
    """Candidates have the origins, with the numbers of lines, of a run in one process."""
    files = write_corpus(tmp_path, seed=3)
    (tmp_path / "trinity.jsonl").write_bytes((SAMPLES / "trinity_experiences.jsonl").read_bytes())
    words = ["extract", *files, "trinity.jsonl"]
    expected = locally(words, tmp_path, engine)
    assert in_steps(words, tmp_path, engine, (size, None)) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "words",
    [["filter", "--min-gap", "0.3"], ["sample", "--fraction", "0.4"]],
    ids=["filter", "sample"],
)
def test_stages_of_one_pair_at_a_time(words: list[str], engine: str, tmp_path: Path) -> None:
    """Pairs come out in the order of the input; those that cannot be read are put aside."""
    files = write_corpus(tmp_path, seed=4)
    made = run(*PAIR, *files, "-o", "pairs.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    lines = (tmp_path / "pairs.jsonl").read_bytes().splitlines()
    lines[10] = lines[10].replace(b'"rejected":', b'"rejected_not":')
    lines.insert(20, b"torn")
    (tmp_path / "pairs.jsonl").write_bytes(b"\r\n\n".join(lines[:-9]))
    (tmp_path / "more.jsonl").write_bytes(b"\n".join(lines[-9:]))
    words = [*words, "--on-error", "quarantine", "pairs.jsonl", "more.jsonl", "empty.jsonl"]
    expected = locally(words, tmp_path, engine)
    assert expected[2].count(b"\n") == 2
    assert in_steps(words, tmp_path, engine, ("20KB", None)) == expected


def test_items_and_tasks_are_compared_across_pieces(tmp_path: Path) -> None:
    """Repeated IDs, and groups shared by several tasks, are counted as in a local run."""
    document = (SAMPLES / "nat_workflow_output.json").read_bytes()
    for name in ("one.json", "two.json", "three.json"):
        (tmp_path / name).write_bytes(document)
    rows = [
        {**row, "responses_create_params": {"input": f"Question {number % 3}?"}}
        for number, row in enumerate(gym_rows(Random(0), 120, answers=4))  # noqa: S311 - rows for a test
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = [*PAIR, "--group-by", "prompt", "rows.jsonl", "one.json", "two.json", "three.json"]
    expected = locally(words, tmp_path, "1")
    summary = json.loads(expected[1])
    assert summary["noticed"]["repeated_item_id"] > 0
    assert any(b"answers to different tasks" in line for line in expected[3])
    assert in_steps(words, tmp_path, "1", ("1KB", 4)) == expected
