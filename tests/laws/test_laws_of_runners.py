"""A run in steps gives the bytes and counts of a run in one process."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hard_corpus import LONG, gym_rows, write_bad_corpus, write_corpus

from forked_prefpairs import run
from prefpairs.engine.native import VARIABLE, native_core
from prefpairs.stages.split_sides import SIDES
from prefpairs.targets import TARGETS, target_named

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
MODEL = Path(__file__).parents[1] / "cases" / "export" / "tokens" / "model"

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
PART = re.compile(r"(.+)-[0-9]{5}-of-[0-9]{5}[.]jsonl")


def with_engines(cases: Mapping[str, object]) -> pytest.MarkDecorator:
    """Each case with one of the engines in turn; in `make stress`, with the other one, too."""
    every = []
    for number, (name, case) in enumerate(cases.items()):
        for place, engine in enumerate(ENGINES):
            later = native_core() is not None and (number + place) % 2 == 1
            marks = [*engine.marks, *([pytest.mark.stress] if later else [])]
            every.append(pytest.param(case, *engine.values, id=f"{name}-{engine.id}", marks=marks))
    return pytest.mark.parametrize(("case", "engine"), every)


def with_both(cases: Mapping[str, object], quick: str) -> pytest.MarkDecorator:
    """Each case with both engines; `make quick` runs only the case of this name."""
    every = []
    for name, case in cases.items():
        for engine in ENGINES:
            marks = [*engine.marks, *([] if name == quick else [pytest.mark.full])]
            every.append(pytest.param(case, *engine.values, id=f"{name}-{engine.id}", marks=marks))
    assert quick in cases
    return pytest.mark.parametrize(("case", "engine"), every)


def by_words(cases: Sequence[list[str]]) -> dict[str, list[str]]:
    """Arguments by how they are typed."""
    return {" ".join(words) or "-": words for words in cases}


Outcome = tuple[dict[str, bytes], bytes, bytes, list[bytes]]
"""The results of a run by their sides, its summary as JSON, the bad rows, the summary as text."""


def locally(words: Sequence[str], folder: Path, engine: str) -> Outcome:
    """The outcome of a run in one process."""
    many = words[0] == "split" or "--to" in words or has_sides(folder, words)
    where = {"out_dir" if many else "output": "local" if many else "local.jsonl"}
    words = [*words, *options(words, **where), "--summary", "local.json"]
    if "quarantine" in words:
        words += ["--quarantine", "local.bad"]
    done = run(*words, cwd=folder, env={VARIABLE: engine})
    assert done.returncode == 0, done.stderr
    bad, out = folder / "local.bad", folder / "local"
    names = (str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    written = {
        sides_of(words).get(name, name): (out / name).read_bytes()
        for name in names
        if name != "manifest.json"
    }
    return (
        written or {"part": (folder / "local.jsonl").read_bytes()},
        (folder / "local.json").read_bytes(),
        bad.read_bytes() if bad.exists() else b"",
        text_of(done.stderr),
    )


def has_sides(folder: Path, words: Sequence[str]) -> bool:
    """Whether these words run a recipe that writes files in a directory."""
    text = (folder / words[1]).read_text() if words[0] == "run" else ""
    return "[split]" in text or "[export]" in text


def options(words: Sequence[str], **write: str) -> list[str]:
    """Where results go, as the command or its recipe is told."""
    if words[0] == "run":
        return [word for key, value in write.items() for word in ("--set", f"write.{key}={value}")]
    return [word for key, value in write.items() for word in (f"--{key.replace('_', '-')}", value)]


def sides_of(words: Sequence[str]) -> dict[str, str]:
    """The side of each file of rows."""
    files = {side: f"{side}.jsonl" for side in SIDES}
    if "--to" in words:
        files = dict(target_named(words[words.index("--to") + 1]).files)
    return {name: side for side, name in files.items()}


def text_of(stderr: bytes) -> list[bytes]:
    """The summary, without the place of the results and commands that repeat the one typed."""
    lines = stderr.splitlines()
    return [line for line in lines if not (line.startswith(b"wrote ") or b": prefpairs " in line)]


def in_steps(
    words: Sequence[str],
    folder: Path,
    engine: str,
    division: tuple[str, int | None],
    processes: int = 2,
) -> Outcome:
    """The same of a run in steps, each share of which is a process."""
    size, parts = division
    words = [*words, *options(words, out_dir="out"), "--summary", "steps.json"]
    if "quarantine" in words:
        words += ["--quarantine", "steps.bad"]
    words += ["--runner", "shards", "--range-size", size]
    words += [] if parts is None else ["--parts", str(parts)]
    env = {VARIABLE: engine}
    done = run(*words, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr

    def step(number: str, share: str) -> None:
        done = run("shards", number, "out", share, cwd=folder, env=env)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr

    shares = [f"{number}/{processes}" for number in range(processes)]
    rounds = re.findall(rb"prefpairs shards ([0-9]+) out", done.stderr)
    for number in rounds:
        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(step, [number.decode()] * processes, shares))
    done = run("shards", "finish", "out", cwd=folder, env=env)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    out, bad = folder / "out", folder / "steps.bad"
    summary = (folder / "steps.json").read_bytes()
    assert run("verify", "out/manifest.json", cwd=folder).returncode == 0
    bad_rows = bad.read_bytes() if bad.exists() else b""
    return joined_parts(out, parts), summary, bad_rows, text_of(done.stderr)


def joined_parts(out: Path, parts: int | None) -> dict[str, bytes]:
    """The parts of each side, one after the other, and the files around them."""
    names = {path.name for path in out.iterdir()} - {"manifest.json"}
    sides = {found[1] for name in names if (found := PART.fullmatch(name))}
    around = {name for name in names if not PART.fullmatch(name)}
    parts = parts or len(names - around) // len(sides)
    of_side = {side: [f"{side}-{n:05}-of-{parts:05}.jsonl" for n in range(parts)] for side in sides}
    assert names == around.union(*of_side.values())
    joined = {side: b"".join((out / name).read_bytes() for name in of_side[side]) for side in sides}
    return joined | {name: (out / name).read_bytes() for name in around}


@pytest.mark.full
@with_engines(by_words(STRATEGIES))
def test_all_strategies(case: list[str], engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for any division of input and output."""
    files = write_corpus(tmp_path, seed=len(case), long=LONG)
    words = [*PAIR, *case, *files]
    expected = locally(words, tmp_path, engine)
    assert expected[0]["part"]
    assert in_steps(words, tmp_path, engine, ("30KB", 5)) == expected


@pytest.mark.full
@with_engines({f"{size}-{parts}": (size, parts) for size, parts in DIVISIONS})
def test_all_divisions(case: tuple[str, int], engine: str, tmp_path: Path) -> None:
    """Bytes and counts are the same for ranges of a few lines, and for one with all lines."""
    files = write_corpus(tmp_path, long=LONG)
    words = [*PAIR, "--strategy", "exhaustive", *files]
    expected = locally(words, tmp_path, engine)
    assert in_steps(words, tmp_path, engine, case, processes=3) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("command", [PAIR, ("extract",)], ids=["pair", "extract"])
def test_bad_rows(command: tuple[str, ...], engine: str, tmp_path: Path) -> None:
    """Bad rows are counted, and quarantined with their line numbers."""
    words = [*command, "--on-error", "quarantine", *write_bad_corpus(tmp_path)]
    expected = locally(words, tmp_path, engine)
    assert expected[2].count(b"\n") == 32
    division = "2KB", 3 if command == PAIR else None
    assert in_steps(words, tmp_path, engine, division) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", ["3KB", "200KB"])
def test_extract(size: str, engine: str, tmp_path: Path) -> None:
    """Candidates have the origins, with the numbers of lines, of a run in one process."""
    files = write_corpus(tmp_path, seed=3, long=LONG)
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
    """Pairs keep the order of the input; unreadable ones are quarantined."""
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


SPLITS: tuple[list[str], ...] = (
    [],
    ["--test-fraction", "0.3", "--seed", "5"],
    ["--by", "group", "--val-fraction", "0.5"],
    ["--by", "meta.num_candidates", "--val-fraction", "0.3"],
    ["--like", "earlier", "--test-fraction", "0.1"],
    ["--for", "trl"],
)


def write_pairs(folder: Path, seed: int, **long: int) -> list[str]:
    """Write two files of pairs, one of them twice, some of which cannot be read."""
    files = write_corpus(folder, seed=seed, **long)
    made = run(
        *PAIR, "--strategy", "adjacent", "--num-candidates", *files, "-o", "pairs.jsonl", cwd=folder
    )
    assert made.returncode == 0, made.stderr
    lines = (folder / "pairs.jsonl").read_bytes().splitlines()
    lines[10] = lines[10].replace(b'"rejected":', b'"rejected_not":')
    lines.insert(20, b"torn")
    (folder / "pairs.jsonl").write_bytes(b"\r\n\n".join(lines[:-90]))
    (folder / "more.jsonl").write_bytes(b"\n".join(lines[-100:]))
    return ["--on-error", "quarantine", "pairs.jsonl", "more.jsonl", "empty.jsonl"]


@with_both(by_words(SPLITS), quick="--by group --val-fraction 0.5")
def test_split(case: list[str], engine: str, tmp_path: Path) -> None:
    """The parts of each side are its local file, and all keys are counted once."""
    read = write_pairs(tmp_path, seed=5)
    earlier = ["split", "--seed", "9", "--out-dir", "earlier", "more.jsonl"]
    assert run(*earlier, cwd=tmp_path).returncode == 0
    words = ["split", *case, *read]
    expected = locally(words, tmp_path, engine)
    assert expected[0]["train"]
    assert in_steps(words, tmp_path, engine, ("20KB", None)) == expected


DEDUPES: tuple[list[str], ...] = (
    [],
    ["--conflicts", "drop"],
    ["--conflicts", "strongest", "--by", "prompt"],
    ["--by", "prompt,chosen"],
    ["--against", "benchmark.jsonl"],
)


def write_copies(folder: Path, seed: int) -> list[str]:
    """Write pairs, and copies of them that have other scores, fields or the opposite preference."""
    read = write_pairs(folder, seed)
    chance = Random(seed)  # noqa: S311 - rows for a test
    pairs = [json.loads(line) for line in (folder / "more.jsonl").read_bytes().split(b"\n")]
    prompts = [{"prompt": pair["prompt"]} for pair in pairs if chance.random() < 0.1]
    for pair in pairs:
        kind = chance.randrange(5)
        if kind == 0:
            pair["chosen"], pair["rejected"] = pair["rejected"], pair["chosen"]
        elif kind == 1:
            pair["chosen_score"] += 1
        elif kind == 2:
            pair["meta"] = {"seen": chance.randrange(9)}
        elif kind == 3:
            pair["rejected"] += " or not"
    lines = [json.dumps(pair).encode() for pair in pairs for _ in range(chance.randrange(1, 4))]
    chance.shuffle(lines)
    (folder / "copies.jsonl").write_bytes(b"\n".join(lines))
    (folder / "array.json").write_text(json.dumps(pairs))
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[::2]), mtime=0))
    (folder / "benchmark.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in prompts))
    return [*read, "copies.jsonl", "array.json", "packed.jsonl.gz"]


@with_both(by_words(DEDUPES), quick="--conflicts strongest --by prompt")
def test_dedupe(case: list[str], engine: str, tmp_path: Path) -> None:
    """Surviving pairs keep the order of the input, wherever their copies are."""
    words = ["dedupe", *case, *write_copies(tmp_path, seed=7)]
    expected = locally(words, tmp_path, engine)
    counts = json.loads(expected[1])["stages"]["dedupe"]
    assert counts["dropped"]["duplicate"] > 100
    assert "contradiction" in {*counts["dropped"]} or counts["noticed"]["contradiction_kept"]
    for size in ("15KB", "4MB"):
        assert in_steps(words, tmp_path, engine, (size, None)) == expected


RECIPES = {
    "rows": '[pair]\norder = "key"\n[filter]\nmin_gap = 0.2\n[sample]\nfraction = 0.7',
    "once": """
[pair]
order = "key"
strategy = "exhaustive"
max_pairs_per_group = 9
[filter]
min_gap = 0.1
[dedupe]
by = "prompt,chosen"
conflicts = "strongest"
[filter]
max_length_ratio = 50.0
""".replace("[filter]\nmax", "[sample]\nfraction = 0.8\n#"),
    "sides": """
[pair]
order = "key"
strategy = "adjacent"
[dedupe]
[filter]
min_gap = 0.05
[split]
val_fraction = 0.3
test_fraction = 0.2
""",
    "extract": "[extract]",
    "dataset": """
[pair]
order = "key"
[dedupe]
[sample]
fraction = 0.9
[split]
val_fraction = 0.3
[export]
to = "trl"
""",
    "rows_as_they_come": '[pair]\norder = "key"\n[filter]\nmin_gap = 0.1\n[export]\nto = "openai"',
}


@with_both({name: name for name in RECIPES}, quick="dataset")
def test_recipes_of_rollouts(case: str, engine: str, tmp_path: Path) -> None:
    """Recipes with several stages give the bytes and counts of a run in one process."""
    files = write_corpus(tmp_path, seed=8)
    (tmp_path / "again.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    text = f"[read]\ninputs = {json.dumps([*files, 'again.jsonl'])}\n{RECIPES[case]}\n"
    (tmp_path / "recipe.toml").write_text(text)
    words = ["run", "recipe.toml"]
    expected = locally(words, tmp_path, engine)
    assert all(expected[0].values())
    for division in (("30KB", 5), ("1GB", 3)) if case != "extract" else (("30KB", None),):
        assert in_steps(words, tmp_path, engine, division) == expected
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    assert manifest["recipe"]["path"] == "../recipe.toml"
    assert manifest["counts"].keys() <= json.loads(expected[1]).keys()


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_recipes_of_pairs(engine: str, tmp_path: Path) -> None:
    """Stages before `dedupe` run as pairs are indexed; bad rows are quarantined once."""
    read = write_copies(tmp_path, seed=9)
    text = f"""
[read]
inputs = {json.dumps(read[2:])}
on_error = "skip"
[filter]
min_gap = 0.1
[dedupe]
against = ["benchmark.jsonl"]
[sample]
fraction = 0.9
seed = 3
[split]
by = "group"
"""
    (tmp_path / "sides.toml").write_text(text)
    words = ["run", "sides.toml"]
    expected = locally(words, tmp_path, engine)
    counts = json.loads(expected[1])["stages"]
    assert [*counts] == ["filter", "dedupe", "sample", "split"]
    assert all(counts[name]["dropped"] for name in ("filter", "dedupe", "sample"))
    for size in ("15KB", "4MB"):
        assert in_steps(words, tmp_path, engine, (size, None)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stages", ["", "[filter]\nmin_gap = 0.1\n[split]\n", "[dedupe]\n"])
def test_recipes_of_datasets(stages: str, engine: str, tmp_path: Path) -> None:
    """A dataset is written by whichever round has its rows, with the same result."""
    read = write_pairs(tmp_path, seed=3)
    text = f'[read]\ninputs = {json.dumps(read[2:])}\non_error = "skip"\n{stages}'
    (tmp_path / "dataset.toml").write_text(f'{text}[export]\nto = "llamafactory"\n')
    words = ["run", "dataset.toml"]
    expected = locally(words, tmp_path, engine)
    assert {"train", "dataset_info.json"} <= expected[0].keys()
    for size in ("15KB", "4MB"):
        assert in_steps(words, tmp_path, engine, (size, None)) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["answer", "ground_truth"])
def test_references_that_differ_between_steps(column: str, engine: str, tmp_path: Path) -> None:
    """Both end if answers to one prompt have different references; the commands do the same."""
    rows = [
        {"prompt": f"Q{at % 30}", "response": f"A{at}", "score": at % 7, column: f"{at // 45}"}
        for at in range(90)
    ]
    write_lines(tmp_path / "a.jsonl", rows[:50])
    write_lines(tmp_path / "b.jsonl", rows[50:])
    words = [*PAIR, "a.jsonl", "b.jsonl"]
    where = ["--out-dir", "out", "--runner", "shards", "--range-size", "1KB", "--parts", "3"]
    env = {VARIABLE: engine}
    expected = run(*words, cwd=tmp_path, env=env)
    assert run(*words, *where, cwd=tmp_path, env=env).returncode == 0
    for number in "12":
        assert run("shards", number, "out", cwd=tmp_path, env=env).returncode == 0
    found = run("shards", "finish", "out", cwd=tmp_path, env=env)
    assert (found.returncode, found.stderr.splitlines()[0]) == (2, expected.stderr.splitlines()[0])
    assert f'30 prompts have different references in "{column}"'.encode() in found.stderr
    for by in (f"prompt,{column}", "prompt"):
        assert f"--group-by {by} ".encode() in found.stderr
        decided = [*PAIR, "--group-by", by, "a.jsonl", "b.jsonl"]
        assert in_steps(decided, tmp_path, engine, ("1KB", 3)) == locally(decided, tmp_path, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_tasks_that_grouping_joins_between_steps(engine: str, tmp_path: Path) -> None:
    """The pairs, with their tasks, and the note on groups of several tasks are those of one run."""
    asked = ((f"Q{at % 20}", f"A{at}", at % 7, at // 45 + at % 3) for at in range(90))
    rows = [gym_rollout(*row) for row in asked]
    write_lines(tmp_path / "a.jsonl", rows[:50])
    write_lines(tmp_path / "b.jsonl", rows[50:])
    words = [*PAIR, "--group-by", "prompt", "a.jsonl", "b.jsonl"]
    expected = locally(words, tmp_path, engine)
    assert "--group-by put answers to different tasks together" in str(expected)
    assert in_steps(words, tmp_path, engine, ("2KB", 3)) == expected


def gym_rollout(prompt: str, answer: str, reward: float, task: int) -> dict[str, Any]:
    """A rollout of NeMo Gym."""
    said = {"type": "message", "role": "assistant", "content": answer}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": prompt}]},
        "response": {"output": [said]},
        "reward": reward,
        "_ng_task_index": task,
        "_ng_rollout_index": task % 2,
    }


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    """Write rows as lines of JSON."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.full
def test_what_only_all_pairs_show_of_a_split(tmp_path: Path) -> None:
    """Notes on fractions, empty splits and unknown keys are those of a local run."""
    pairs = [{"prompt": f"Q{n % 300}?", "chosen": f"{n}", "rejected": "no"} for n in range(600)]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    drawn = ("split", "--val-fraction", "0.5", "--out-dir", "sides", "pairs.jsonl")
    assert run(*drawn, cwd=tmp_path).returncode == 0
    for words, note in (
        (["--val-fraction", "0.5", "sides/train.jsonl"], b"seems to be one side"),
        (["--test-fraction", "0.0001", "pairs.jsonl"], b"came out empty"),
        (["--by", "meta.nowhere", "--allow-empty", "pairs.jsonl"], b"no pair has meta.nowhere"),
    ):
        expected = locally(["split", *words], tmp_path, "1")
        assert any(note in line for line in expected[3])
        assert in_steps(["split", *words], tmp_path, "1", ("5KB", None)) == expected


OF_ROWS = [
    name
    for name in TARGETS
    if not ((target := target_named(name)).containers or target.unpaired or target.tally)
    and not target.needs_tokenizer
]
"""The targets whose datasets can be written in steps, without a model."""


@with_both({name: name for name in OF_ROWS}, quick="trl")
def test_export(case: str, engine: str, tmp_path: Path) -> None:
    """The rows that tell the types of columns go first, and all files are those of a local run."""
    words = ["export", "--to", case, *write_pairs(tmp_path, seed=6)]
    expected = locally(words, tmp_path, engine)
    assert len(expected[0]["train"]) > 10_000
    assert in_steps(words, tmp_path, engine, ("20KB", None)) == expected


@pytest.mark.full
@pytest.mark.parametrize("words", [["--max-tokens", "200"], ["--pad-to", "700"]])
def test_export_to_tokens(words: list[str], tmp_path: Path) -> None:
    """The tokenizer cuts and pads the same in each step, and what is too long is counted once."""
    words = ["export", "--to", "tokens", "--tokenizer", str(MODEL), *words]
    words += ["--lossy", "flatten", *write_pairs(tmp_path, seed=6)]
    expected = locally(words, tmp_path, "1")
    assert len(expected[0]["train"]) > 10_000
    assert json.loads(expected[1])["stages"]["export"]["dropped"]["too_many_tokens"]
    assert in_steps(words, tmp_path, "1", ("20KB", None)) == expected


@with_both({name: name for name in ("trl", "openai", "nemo-rl")}, quick="openai")
def test_pair_to_a_target(case: str, engine: str, tmp_path: Path) -> None:
    """`pair --to` writes the same dataset as in one process."""
    files = write_corpus(tmp_path, seed=7)
    words = [*PAIR, "--strategy", "exhaustive", "--to", case, *files]
    expected = locally(words, tmp_path, engine)
    assert in_steps(words, tmp_path, engine, ("30KB", 5)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["trl", "openai", "customizer-rl"])
def test_export_of_sides(target: str, engine: str, tmp_path: Path) -> None:
    """No prompt that the trainer sees is in two sides, and all files are those of a local run."""
    write_pairs(tmp_path, seed=8)
    lines = (tmp_path / "pairs.jsonl").read_bytes().split(b"\r\n\n")
    sides = {"train": lines, "val": lines[5::9], "test": lines[::9]}
    for side, own in sides.items():
        (tmp_path / f"{side}.jsonl").write_bytes(b"\n".join([*own, b"torn"]))
    files = [f"{side}.jsonl" for side in sides]
    words = ["export", "--to", target, "--on-error", "quarantine", *files]
    expected = locally(words, tmp_path, engine)
    assert json.loads(expected[1])["stages"]["export"]["dropped"]["prompt_on_other_side"] > 10
    assert in_steps(words, tmp_path, engine, ("10KB", None)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "words",
    [["filter", "--min-gap", "0.1"], ["split"], ["dedupe"], ["export", "--to", "trl"]],
    ids=itemgetter(0),
)
def test_pairs_that_fit_in_no_buffer(words: list[str], engine: str, tmp_path: Path) -> None:
    """Lines of pairs may be longer than every buffer and range."""
    words = [*words, *write_pairs(tmp_path, seed=9, long=LONG)]
    expected = locally(words, tmp_path, engine)
    assert any(len(line) > LONG for rows in expected[0].values() for line in rows.splitlines())
    assert in_steps(words, tmp_path, engine, ("300KB", None)) == expected


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_rollouts_that_fit_in_no_buffer(engine: str, tmp_path: Path) -> None:
    """The same for rollouts, and for pairs on their way through the stages of a recipe."""
    files = write_corpus(tmp_path, seed=8, long=LONG)
    text = f"[read]\ninputs = {json.dumps(files)}\n{RECIPES['dataset']}\n"
    (tmp_path / "recipe.toml").write_text(text)
    words = ["run", "recipe.toml"]
    expected = locally(words, tmp_path, engine)
    assert any(len(line) > LONG for rows in expected[0].values() for line in rows.splitlines())
    assert in_steps(words, tmp_path, engine, ("30KB", 5)) == expected


def plain_pairs(count: int) -> list[dict[str, Any]]:
    """Pairs of texts without scores."""
    return [{"prompt": f"Q{n}?", "chosen": f"A{n}", "rejected": f"B{n}"} for n in range(count)]


def test_fields_that_come_late(tmp_path: Path) -> None:
    """Rows with new fields move to the front, wherever they are; all rows get the columns."""
    pairs = plain_pairs(300)
    pairs[100] |= {"chosen_score": 1.5, "rejected_score": 0.5}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    pairs[299] |= {
        "chosen": [{"role": "assistant", "content": "", "tool_calls": [call]}],
        "tools": [tool],
    }
    for name, own in (("a.jsonl", pairs[:90]), ("b.jsonl", pairs[90:])):
        (tmp_path / name).write_text("".join(f"{json.dumps(pair)}\n" for pair in own))
    words = ["export", "--to", "trl", "a.jsonl", "b.jsonl"]
    expected = locally(words, tmp_path, "1")
    lines = expected[0]["train"].splitlines()
    assert b'"name":"f"' in lines[2]
    assert b'"score_chosen":1.5' in lines[1]
    assert all(b'"tools":' in line for line in lines)
    for size in ("2KB", "1GB"):
        assert in_steps(words, tmp_path, "1", (size, None)) == expected
    assert any(b"template" in line for line in expected[3])


def test_an_export_that_fails(tmp_path: Path) -> None:
    """Texts that load as dates, which only all rows together show, end both runs with one error."""
    pairs = [{**pair, "prompt": f"2026-01-{n + 10}"} for n, pair in enumerate(plain_pairs(20))]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    words = ["export", "--to", "axolotl", "pairs.jsonl", "--out-dir"]
    local = run(*words, "local", cwd=tmp_path)
    steps = ["--runner", "shards", "--range-size", "200"]
    assert run(*words, "out", *steps, cwd=tmp_path).returncode == 0
    for number in ("1", "2", "3"):
        assert run("shards", number, "out", cwd=tmp_path).returncode == 0
    done = run("shards", "finish", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (local.returncode, local.stderr)
    assert done.returncode == 1
    assert not [*(tmp_path / "out").glob("train-*")]


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
