"""The laws over sizes that cross every size in the code: few rows and tiny sizes, or many rows.

`make test` takes up to a few thousand rows, `make stress` takes 100,000.
"""

import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from many_rows import Row, lines_of, pairs_of
from many_rows_oracle import (
    FORMS,
    SCENES,
    Form,
    Kind,
    Left,
    gap_of,
    key_of,
    mixed,
    play,
    rows_for,
    run,
)
from sizes_in_code import SIZES, sizes

from hypothesis_examples import examples

pytestmark = pytest.mark.full

ALL_SMALL = [{name: size.small[at] for name, size in SIZES.items()} for at in (0, 1, -1)]
SMALL = [(name, value) for name, size in SIZES.items() for value in size.small]
every_scene = pytest.mark.parametrize("name", SCENES)


def left_of(name: str, rows: list[Row], form: Form = "file", workers: int = 0) -> Left:
    """The result of a scene, after checking it."""
    scene = SCENES[name]
    with tempfile.TemporaryDirectory() as folder:
        left = play(scene, rows, Path(folder), form, workers)
    scene.check(rows, left)
    return left


class Way(NamedTuple):
    """The form in which rows are given to a run, and the sizes in the code."""

    form: Form
    in_order: bool
    workers: int
    sizes: dict[str, int]


WAYS = st.builds(
    Way,
    st.sampled_from(FORMS),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(ALL_SMALL) | st.lists(st.sampled_from(SMALL), max_size=60).map(dict),
)


@every_scene
@examples(6)
@given(size=st.integers(40, 120), seed=st.integers(0, 99), way=WAYS)
def test_no_size_can_be_seen(name: str, size: int, seed: int, way: Way) -> None:
    """Laws 5 and 6: any sizes, files, order and workers give the result of one file."""
    scene = SCENES[name]
    rows = rows_for(scene.reads, size, seed)
    alone = left_of(name, rows)
    in_order = way.in_order or not scene.any_order
    with sizes(way.sizes):
        workers = way.workers if scene.words[0] == "pair" else 0
        left = left_of(name, rows if in_order else mixed(rows), way.form, workers)
    assert left.contents() == alone.contents()
    if way.form == "file" and in_order and "files.parquet_writer._GROUP" not in way.sizes:
        assert left == alone


@every_scene
def test_thousands_of_rows(name: str) -> None:
    """More than 683 pairs, 1,024 draws, 1,000 rows of Parquet, and more files than may be open."""
    rows = rows_for(SCENES[name].reads, 2500, 1)
    alone = left_of(name, rows)
    sharded = left_of(name, mixed(rows) if SCENES[name].any_order else rows, "shards")
    assert sharded.contents() == alone.contents()


@pytest.mark.stress
@every_scene
def test_a_hundred_thousand_rows(name: str) -> None:
    """Every command on 100,000 rows, with real sizes."""
    left_of(name, rows_for(SCENES[name].reads, 100_000, 2))


@pytest.mark.stress
@every_scene
def test_tens_of_thousands_of_rows_in_any_order(name: str) -> None:
    """More rows than are sorted at once or written by one process, in several files."""
    rows = rows_for(SCENES[name].reads, 34_000, 3)
    alone = left_of(name, rows).contents()
    given_rows = mixed(rows) if SCENES[name].any_order else rows
    workers = 3 if SCENES[name].words[0] == "pair" else 0
    assert left_of(name, given_rows, "shards", workers).contents() == alone
    assert left_of(name, given_rows, "packed").contents() == alone


# Commands with two inputs, and several commands ---------------------------------------------


def _numbers_of_copies(rows: list[Row]) -> dict[tuple[str, str, str], tuple[float, ...]]:
    """The gap and scores of the strongest copy of each content; unknown is lowest."""
    found: dict[tuple[str, str, str], tuple[float, ...]] = {}
    for row in rows:
        gap = gap_of(row)
        scores = (row.get("chosen_score"), row.get("rejected_score"))
        numbers = tuple(-math.inf if one is None else one for one in (gap, *scores))
        found[key_of(row)] = max(numbers, found.get(key_of(row), numbers))
    return found


def _opposite(key: tuple[str, str, str]) -> tuple[str, str, str]:
    return key[0], key[2], key[1]


def _changed(rows: list[Row]) -> list[Row]:
    """Rows of which some are removed, flipped, rescored or new."""
    changed = []
    for number, row in enumerate(mixed(rows)):
        if number % 5 == 2:
            changed.append({**row, "chosen": row["rejected"], "rejected": row["chosen"]})
        elif number % 5 == 3 and "chosen_score" in row:
            changed.append({**row, "chosen_score": row["chosen_score"] + 1})
        elif number % 5 == 4:
            changed.append({**row, "chosen": f"new {number}"})
        elif number % 5 != 1:
            changed.append(row)
    return changed


def _check_diff(rows: list[Row], folder: Path) -> None:
    (folder / "before.jsonl").write_bytes(lines_of(rows))
    (folder / "after.jsonl").write_bytes(lines_of(_changed(rows)))
    (folder / "same.jsonl").write_bytes(lines_of(mixed(rows)))
    _, told = run("diff", "--json", str(folder / "before.jsonl"), str(folder / "after.jsonl"))
    before, after = _numbers_of_copies(rows), _numbers_of_copies(_changed(rows))
    lost, added = before.keys() - after.keys(), after.keys() - before.keys()
    flipped = {key for key in lost if _opposite(key) in after and _opposite(key) not in before}
    back = {key for key in added if _opposite(key) in before and _opposite(key) not in after}
    kept = before.keys() & after.keys()
    assert json.loads(told)["pairs"] == {
        "kept": len(kept),
        "rescored": sum(before[key] != after[key] for key in kept),
        "lost": len(lost - flipped),
        "added": len(added - back),
        "flipped": len(flipped),
    }
    run("diff", "--exit-code", str(folder / "before.jsonl"), str(folder / "same.jsonl"))


RECIPE = """
[read]
inputs = ["{folder}/rows.jsonl"]
[pair]
strategy = "exhaustive"
max_pairs_per_group = 3
[dedupe]
conflicts = "drop"
[sample]
per_group = 2
order = "shuffle"
[split]
val_fraction = 0.5
[write]
out_dir = "{folder}/out"
"""


def _check_recipe(rows: list[Row], folder: Path) -> None:
    """A recipe writes the bytes of a pipe."""
    (folder / "rows.jsonl").write_bytes(lines_of(rows))
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder))
    run("run", "-q", str(folder / "recipe.toml"))
    one, two, three = (str(folder / f"{name}.jsonl") for name in ("one", "two", "three"))
    pairing = ["pair", "-q", "--strategy=exhaustive", "--max-pairs-per-group=3"]
    run(*pairing, str(folder / "rows.jsonl"), "-o", one)
    run("dedupe", "-q", "--conflicts=drop", one, "-o", two)
    run("sample", "-q", "--per-group=2", "--order=shuffle", two, "-o", three)
    run("split", "-q", "--val-fraction=0.5", three, "--out-dir", str(folder / "piped"))
    for side in ("train.jsonl", "val.jsonl"):
        assert (folder / "out" / side).read_bytes() == (folder / "piped" / side).read_bytes()
        assert (folder / "out" / side).stat().st_size


def _check_samples_nest(rows: list[Row], folder: Path) -> None:
    """Law 7: a smaller sample is part of a larger one; more rows move no pair to another split."""
    path, more = folder / "rows.jsonl", folder / "more.jsonl"
    path.write_bytes(lines_of(rows))
    more.write_bytes(lines_of(pairs_of(len(rows) // 2, 77)))
    samples = []
    for most in (1, len(rows) // 3, len(rows) // 2, len(rows) - 1):
        output = folder / f"sample-{most}.jsonl"
        run("sample", "-q", f"--max-pairs={most}", str(path), "-o", str(output))
        samples.append(Counter(output.read_bytes().splitlines()))
    for smaller, larger in pairwise(samples):
        assert not smaller - larger
    run("split", "-q", str(path), "--out-dir", str(folder / "few"))
    run("split", "-q", str(path), str(more), "--out-dir", str(folder / "many"))
    for side in ("train.jsonl", "val.jsonl"):
        few, many = ((folder / name / side).read_bytes().splitlines() for name in ("few", "many"))
        assert not {json.loads(line)["id"] for line in few} - {
            json.loads(line)["id"] for line in many
        }


def _check_show(rows: list[Row], folder: Path) -> None:
    """A pair is found by its ID, wherever it is."""
    path, ids = folder / "rows.jsonl", folder / "with-ids.jsonl"
    path.write_bytes(lines_of(rows))
    run("dedupe", "-q", str(path), "-o", str(ids))
    written = [json.loads(line) for line in ids.read_bytes().splitlines()]
    wanted = [written[0], written[len(written) // 2], written[-1]]
    names = ",".join(row["id"] for row in wanted)
    _, told = run("show", "--no-pager", "--id", names, str(ids))
    places = [line.split()[-2] for line in told.splitlines() if line.startswith("── ")]
    numbers = [1, len(written) // 2 + 1, len(written)]
    assert places == [f"with-ids.jsonl:{number}" for number in numbers]
    assert all(row["id"] in told for row in wanted)


SEVERAL: dict[str, tuple[Kind, Callable[[list[Row], Path], None]]] = {
    "diff": ("pairs", _check_diff),
    "run": ("rollouts", _check_recipe),
    "sample and split": ("pairs", _check_samples_nest),
    "show": ("pairs", _check_show),
}
each_of_several = pytest.mark.parametrize("name", SEVERAL)


@each_of_several
@examples(6)
@given(size=st.integers(60, 120), seed=st.integers(0, 99), small=st.sampled_from(ALL_SMALL))
def test_several_commands_and_no_size(
    name: str, size: int, seed: int, small: dict[str, int]
) -> None:
    """Several commands in a row give the same with tiny sizes."""
    reads, check = SEVERAL[name]
    with tempfile.TemporaryDirectory() as folder, sizes(small):
        check(rows_for(reads, size, seed), Path(folder))


@each_of_several
@pytest.mark.parametrize("size", [2500, pytest.param(100_000, marks=pytest.mark.stress)])
def test_several_commands_and_many_rows(name: str, size: int, tmp_path: Path) -> None:
    """The same at real sizes."""
    reads, check = SEVERAL[name]
    check(rows_for(reads, size, 4), tmp_path)


# Single sizes -------------------------------------------------------------------------------


@pytest.mark.stress
def test_more_files_than_16_bits_hold(tmp_path: Path) -> None:
    """Positions in 70,000 files stay distinct, which is more than 16 bits can number."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(70_000):
        row = {"prompt": f"Q{number % 69_999}", "chosen": "a", "rejected": "b"}
        (folder / f"{number:05}.jsonl").write_bytes(lines_of([row]))
    run("dedupe", "-q", str(folder), "-o", str(tmp_path / "out.jsonl"))
    found = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["prompt"] for line in found] == [f"Q{at}" for at in range(69_999)]


def test_more_scores_than_are_remembered(tmp_path: Path) -> None:
    """Scores and gaps are rounded alike before and after the caches overflow."""
    scores = [0.1 * number + 0.2 for number in range(6000)] * 2
    rows = [
        {"prompt": f"Q{at}", "response": said, "score": score - (said == "b") * 0.1}
        for at, score in enumerate(scores)
        for said in "ab"
    ]
    (tmp_path / "rows.jsonl").write_bytes(lines_of(rows))
    run("pair", "-q", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "out.jsonl"))
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert len(found) == 12_000
    for row, score in zip(found, scores, strict=True):
        high, low = Decimal(f"{score:.15g}"), Decimal(f"{score - 0.1:.15g}")
        assert (row["chosen_score"], row["gap"]) == (float(high), float(high - low))
