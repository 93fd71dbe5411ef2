"""What each command must do with many rows, computed with plain Python dicts and sets.

A scene is a run of the program and a check of its results. The check holds for any number of rows,
in any order, in any files, with any number of workers.
"""

import gzip
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from threading import Thread
from typing import Any, Literal, NamedTuple

import pair_oracle
from backports import zstd
from many_rows import (
    Row,
    generic_rows_of,
    gym_rows_of,
    lines_of,
    near_pairs_of,
    pairs_of,
    rollouts_of,
)

from prefpairs.cli.main import main

Kind = Literal["pairs", "near pairs", "rollouts", "grouped", "gym", "generic"]
Form = Literal["file", "shards", "packed", "zstd", "array", "pipe"]
FORMS: tuple[Form, ...] = ("file", "shards", "packed", "zstd", "array", "pipe")
_ORIGINS = frozenset({"origin", "chosen_origin", "rejected_origin"})


class Left(NamedTuple):
    """The messages and files of a run, by file name."""

    said: str
    files: dict[str, bytes]

    def rows(self, name: str = "out.jsonl") -> list[Row]:
        """The rows of a file."""
        data = self.files[name]
        if name.endswith(".parquet"):
            import pyarrow as pa
            from pyarrow.parquet import read_table

            return list(read_table(pa.BufferReader(data)).to_pylist())
        return [json.loads(line) for line in _lines(data)]

    def contents(self) -> dict[str, Counter[str]]:
        """The contents of the files, without origins and order."""
        return {
            name: Counter(
                json.dumps({key: row[key] for key in row if key not in _ORIGINS | {"inputs"}})
                for row in self.rows(name)
            )
            for name in self.files
        }


def _lines(data: bytes) -> list[bytes]:
    """The lines of a file, or the whole file if it is one indented object."""
    return [data] if data.startswith(b"{\n") else data.splitlines()


class Scene(NamedTuple):
    """Arguments of a command, the rows it reads, and the check of its results."""

    words: list[str]
    reads: Kind
    check: "Callable[[list[Row], Left], None]"
    any_order: bool = True


def rows_for(kind: Kind, size: int, seed: int) -> list[Row]:
    """The rows that a scene reads."""
    if kind == "pairs":
        return pairs_of(size, seed)
    if kind == "near pairs":
        return near_pairs_of(size, seed)
    rollouts = rollouts_of(size, seed)
    if kind == "grouped":
        return sorted(rollouts, key=lambda row: str(row["group"]))
    if kind == "rollouts":
        return rollouts
    return gym_rows_of(rollouts) if kind == "gym" else generic_rows_of(rollouts)


def mixed(rows: Sequence[Row]) -> list[Row]:
    """The same rows, shuffled."""
    return Random(7).sample(rows, len(rows))  # noqa: S311 - not for secrets


def play(
    scene: Scene, rows: Sequence[Row], folder: Path, form: Form = "file", workers: int = 0
) -> Left:
    """Run a scene with these rows in this form, without checking the results."""
    output, bench = folder / "out", folder / "bench.jsonl"
    output.mkdir()
    places = {"OUT": str(output), "HERE": str(folder), "SIZE": str(len(rows))}
    words = list(scene.words)
    for name, place in places.items():
        words = [word.replace(name, place) for word in words]
    if workers:
        words += ["--workers", str(workers)]
    if bench.name in " ".join(words):
        asked = sorted({row["prompt"] for row in rows})[::3]
        bench.write_bytes(lines_of([{"prompt": prompt} for prompt in asked]))
    with _given(rows, folder, form) as path:
        said, told = run(words[0], str(path), *words[1:])
    files = {path.name: path.read_bytes() for path in sorted(output.iterdir())}
    if told:
        files["stdout"] = told.encode()
    said = said.replace(f" --workers {workers}", "")  # notes repeat commands as typed
    return Left(said.replace(str(folder), ""), files)


def run(*words: str) -> tuple[str, str]:
    """Run the program, which must succeed, and return its messages and standard output."""
    with TemporaryFile() as told, redirect_stderr(said := StringIO()):
        before = os.dup(1)
        os.dup2(told.fileno(), 1)
        try:
            code = main(list(words))
        finally:
            os.dup2(before, 1)
            os.close(before)
        assert code == 0, said.getvalue()
        told.seek(0)
        return said.getvalue(), told.read().decode()


@contextmanager
def _given(rows: Sequence[Row], folder: Path, form: Form) -> Iterator[Path]:
    """Write the rows to one or several files, and return the paths for the command line."""
    path, data = folder / "rows.jsonl", lines_of(rows)
    if form == "pipe":
        os.mkfifo(path)
        Thread(target=path.write_bytes, args=(data,), daemon=True).start()
        yield path
        return
    if form == "shards":
        path = folder / "parts"
        path.mkdir()
        number = min(40, len(rows))  # more than may be open at once
        for part in range(number):
            start, end = len(rows) * part // number, len(rows) * (part + 1) // number
            (path / f"{part:03}.jsonl").write_bytes(lines_of(rows[start:end]))
    elif form == "packed":
        path = folder / "rows.jsonl.gz"
        path.write_bytes(gzip.compress(data, 1))
    elif form == "zstd":
        path, half = folder / "rows.jsonl.zst", len(data) // 2
        path.write_bytes(zstd.compress(data[:half]) + zstd.compress(data[half:]))  # two frames
    elif form == "array":
        path = folder / "rows.json"
        path.write_text(json.dumps(rows, indent=1))
    else:
        path.write_bytes(data)
    yield path


# Pairs ------------------------------------------------------------------------------------


def key_of(row: Row) -> tuple[str, str, str]:
    """The content by which two of these pairs are the same."""
    return row["prompt"], row["chosen"], row["rejected"]


def gap_of(row: Row) -> float | None:
    """The gap of a pair with known scores."""
    if row.get("chosen_score") is None:
        return None
    return float(row["chosen_score"] - row["rejected_score"])


def rank_of(row: Row) -> tuple[float, float]:
    """The sort key for strength, strongest first; unknown scores come last."""
    gap = gap_of(row)
    return (math.inf, math.inf) if gap is None else (-gap, -row["chosen_score"])


def numbers_of(rows: Iterable[Row]) -> list[int]:
    """The pairs by their numbers."""
    return [row["meta"]["n"] for row in rows]


def strongest(rows: Sequence[Row]) -> dict[tuple[str, str, str], int]:
    """The position of the strongest pair of each content; ties go by content, then order."""
    best: dict[tuple[str, str, str], tuple[Any, int]] = {}
    for place, row in enumerate(rows):
        rank = (rank_of(row), f"{row['meta']['n']},")
        known = best.get(key_of(row))
        if known is None or rank < known[0]:
            best[key_of(row)] = rank, place
    return {key: place for key, (_, place) in best.items()}


def uncontradicted(rows: Sequence[Row], how: str) -> list[int]:
    """The positions of the strongest pairs, without those that lose to their opposite."""
    best = strongest(rows)
    staying = []
    for (prompt, chosen, rejected), place in best.items():
        other = best.get((prompt, rejected, chosen))
        if other is not None and how != "keep":
            ours, theirs = gap_of(rows[place]), gap_of(rows[other])
            wins = ours is not None and (theirs is None or ours > theirs)
            if how == "drop" or not wins:
                continue
        staying.append(place)
    return sorted(staying)


def _check_dedupe(how: str) -> Callable[[list[Row], Left], None]:
    def check(rows: list[Row], left: Left) -> None:
        expected = uncontradicted(rows, how)
        assert numbers_of(left.rows()) == [rows[place]["meta"]["n"] for place in expected]

    return check


def _check_dedupe_by_prompt(rows: list[Row], left: Left) -> None:
    best: dict[str, list[Row]] = {}
    for row in (rows[place] for place in uncontradicted(rows, "drop")):
        held = best.setdefault(row["prompt"], [row])
        if rank_of(row) <= rank_of(held[0]):
            best[row["prompt"]] = [row] if rank_of(row) < rank_of(held[0]) else [*held, row]
    found = left.rows()
    assert len(found) == len(best)
    for row in found:
        assert row["meta"]["n"] in numbers_of(best[row["prompt"]])


def _check_near(rows: list[Row], left: Left) -> None:
    best: dict[str, Row] = {}
    for row in rows:
        said = row["chosen"].lower()
        if said not in best or rank_of(row) < rank_of(best[said]):
            best[said] = row
    found = {row["chosen"].lower(): row for row in left.rows()}
    assert len(left.rows()) == len(found) == len(best)
    for said, row in found.items():
        known = gap_of(best[said]) is not None
        assert row["meta"]["n"] == best[said]["meta"]["n"] or not known


def _check_against(rows: list[Row], left: Left) -> None:
    asked = {*sorted({row["prompt"] for row in rows})[::3]}
    expected = uncontradicted([row for row in rows if row["prompt"] not in asked], "keep")
    assert len(left.rows()) == len(expected)
    assert not asked & {row["prompt"] for row in left.rows()}


def _subset(rows: Sequence[Row], left: Left) -> list[Row]:
    """Check that the output rows are some of the input rows."""
    found = left.rows()
    assert not Counter(map(_content, found)) - Counter(map(_content, rows))
    return found


def _content(row: Row) -> tuple[Any, ...]:
    return *key_of(row), row["meta"]["n"], row.get("chosen_score")


def _check_max_pairs(most: int) -> Callable[[list[Row], Left], None]:
    def check(rows: list[Row], left: Left) -> None:
        assert len(_subset(rows, left)) == min(most, len(rows))

    return check


def _check_fraction(rows: list[Row], left: Left) -> None:
    found = _subset(rows, left)
    different = len({key_of(row) for row in rows})
    drawn = len({key_of(row) for row in found})
    assert abs(drawn - different / 2) <= 5 * math.sqrt(different / 4)
    kept = {key_of(row) for row in found}  # copies share their draw
    assert len(found) == sum(key_of(row) in kept for row in rows)


def _check_per_group(rows: list[Row], left: Left) -> None:
    sizes = Counter(row["group"] for row in rows)
    found = Counter(row["group"] for row in _subset(rows, left))
    assert found == {group: min(2, size) for group, size in sizes.items()}


def _check_order(order: str) -> Callable[[list[Row], Left], None]:
    def check(rows: list[Row], left: Left) -> None:
        found = left.rows()
        assert Counter(map(_content, found)) == Counter(map(_content, rows))
        if order == "shuffle":
            return
        gaps = [-math.inf if (gap := gap_of(row)) is None else gap for row in found]
        known = gaps[: len(gaps) - gaps.count(-math.inf)]
        assert -math.inf not in known
        assert known == sorted(known, reverse=order == "easy-first")

    return check


def _check_split(by: Callable[[Row], Any], share: float) -> Callable[[list[Row], Left], None]:
    def check(rows: list[Row], left: Left) -> None:
        sides = {name: left.rows(f"{name}.jsonl") for name in ("train", "val", "test")}
        together = [row for side in sides.values() for row in side]
        assert Counter(map(_content, together)) == Counter(map(_content, rows))
        keys = {name: {by(row) for row in side} for name, side in sides.items()}
        different = sum(map(len, keys.values()))
        assert different == len({by(row) for row in rows})
        for name in ("val", "test"):
            assert abs(len(keys[name]) - different * share) <= 5 * math.sqrt(different * share) + 1

    return check


def _check_exact(rows: list[Row], left: Left) -> None:
    val, train = left.rows("val.jsonl"), left.rows("train.jsonl")
    assert Counter(map(_content, val + train)) == Counter(map(_content, rows))
    assert not {row["prompt"] for row in val} & {row["prompt"] for row in train}
    largest = max(Counter(row["prompt"] for row in rows).values())
    assert abs(len(val) - 0.25 * len(rows)) <= largest


def _check_filter(rows: list[Row], left: Left) -> None:
    expected = [row for row in rows if (gap_of(row) or 0) >= len(rows)]
    assert numbers_of(left.rows()) == numbers_of(expected)


def _as_exported(rows: list[Row]) -> list[tuple[str, str, str]]:
    """In order, but the first row with scores comes first, so loaders infer column types."""
    scored = next((place for place, row in enumerate(rows) if gap_of(row) is not None), 0)
    first = sorted({0, scored})
    order = [*first, *(place for place in range(len(rows)) if place not in first)]
    return [key_of(rows[place]) for place in order]


def _check_trl(rows: list[Row], left: Left) -> None:
    assert [key_of(row) for row in left.rows()] == _as_exported(rows)


def _check_openai(rows: list[Row], left: Left) -> None:
    found = [
        (
            row["input"]["messages"][-1]["content"],
            row["preferred_output"][-1]["content"],
            row["non_preferred_output"][-1]["content"],
        )
        for row in left.rows()
    ]
    assert found == [key_of(row) for row in rows]


def _check_nemo_rl(rows: list[Row], left: Left) -> None:
    found = [(row["prompt"][-1]["content"], row["chosen"], row["rejected"]) for row in left.rows()]
    assert found == _as_exported(rows)


def _check_kto(rows: list[Row], left: Left) -> None:
    labels: dict[tuple[str, str], set[bool]] = {}
    for row in rows:
        labels.setdefault((row["prompt"], row["chosen"]), set()).add(True)
        labels.setdefault((row["prompt"], row["rejected"]), set()).add(False)
    found = [
        (row["prompt"][-1]["content"], row["completion"][-1]["content"], row["label"])
        for row in left.rows()
    ]
    assert Counter(found) == Counter(
        (*answer, *label) for answer, label in labels.items() if len(label) == 1
    )
    turns: Counter[str] = Counter()
    order = []
    for prompt, _, _ in found:
        order.append(turns[prompt])
        turns[prompt] += 1
    assert order == sorted(order)


def _check_parquet(rows: list[Row], left: Left) -> None:
    assert [key_of(row) for row in left.rows("out.parquet")] == _as_exported(rows)


def _check_stats(rows: list[Row], left: Left) -> None:
    told = json.loads(left.files["out.jsonl"])
    different = {key_of(row) for row in rows}
    ways: dict[Any, set[str]] = {}
    for prompt, chosen, rejected in different:
        ways.setdefault((prompt, frozenset({chosen, rejected})), set()).add(chosen)
    preferred = {(row["prompt"], row["chosen"]) for row in rows}
    expected = {
        "pairs": len(rows),
        "prompts": len({row["prompt"] for row in rows}),
        "duplicates": len(rows) - len(different),
        "contradictions": sum(len(way) == 2 for way in ways.values()),
        "both_sides": len(preferred & {(row["prompt"], row["rejected"]) for row in rows}),
        "pairs_without_gap": sum(gap_of(row) is None for row in rows),
    }
    assert {name: told[name] for name in expected} == expected
    assert told["gap"]["count"] == len(rows) - expected["pairs_without_gap"]
    assert told["gap"]["max"] == max(gap for row in rows if (gap := gap_of(row)) is not None)


# Rollouts ---------------------------------------------------------------------------------

_READ: dict[Kind, Callable[[Row], list[Row]]] = {
    "grouped": pair_oracle.read_candidate,
    "rollouts": pair_oracle.read_candidate,
    "gym": pair_oracle.read_gym,
    "generic": pair_oracle.read_generic,
}


def _check_pairs_of(kind: Kind, strategy: str) -> Callable[[list[Row], Left], None]:
    def check(rows: list[Row], left: Left) -> None:
        contents = pair_oracle.Contents(rows, _READ[kind])
        bounds = pair_oracle.Bounds(min_gap=0.1)
        expected = pair_oracle.pairs(contents, strategy, bounds)
        assert Counter(map(pair_oracle.expected_of, left.rows())) == expected

    return check


def _check_lawful(most: int | None) -> Callable[[list[Row], Left], None]:
    """Every pair is allowed, no group exceeds its maximum, and each group that can has one."""

    def check(rows: list[Row], left: Left) -> None:
        contents = pair_oracle.Contents(rows, pair_oracle.read_candidate)
        bounds = pair_oracle.Bounds(min_gap=0.1)
        every = pair_oracle.pairs(contents, "exhaustive", bounds)
        found = Counter(map(pair_oracle.expected_of, left.rows()))
        assert not found - every
        possible = Counter[str]()
        for pair, times in every.items():
            possible[pair.prompt] += times
        made = Counter[str]()
        for pair, times in found.items():
            made[pair.prompt] += times
        limit = math.inf if most is None else most
        assert made == {prompt: min(limit, number) for prompt, number in possible.items()}

    return check


def _check_across(rows: list[Row], left: Left) -> None:
    contents = pair_oracle.Contents(rows, pair_oracle.read_candidate)
    scores = [one.score for members in contents.groups.values() for one in members]
    highs = sum(score >= pair_oracle.decimal(0.7) for score in scores)
    found = left.rows()
    assert len(found) == 2 * highs
    for row in found:
        assert (row["chosen_score"] >= 0.7, row["rejected_score"] <= 0.4) == (True, True)
    sides = Counter((row["chosen_origin"], row["rejected_origin"]) for row in found)
    assert set(sides.values()) == {1}


def _check_extract(rows: list[Row], left: Left) -> None:
    found = Counter(
        (row["prompt"], row["response"], row["score"], row["index"]) for row in left.rows()
    )
    expected = Counter(
        (row["prompt"], row["response"], float(f"{row['score']:.15g}"), row["index"])
        for row in rows
    )
    assert found == expected


def _check_stats_of_rollouts(rows: list[Row], left: Left) -> None:
    told = json.loads(left.files["out.jsonl"])
    contents = pair_oracle.Contents(rows, pair_oracle.read_candidate)
    expected = pair_oracle.pairs(contents, "best-vs-worst", pair_oracle.Bounds())
    assert (told["pairs"], told["rows"]["read"]) == (expected.total(), len(rows))


_OUT = ["-o", "OUT/out.jsonl"]


def _pairing(kind: Kind, strategy: str) -> Scene:
    words = ["pair", "--strategy", strategy, "--min-gap", "0.1", *_OUT]
    return Scene(words, kind, _check_pairs_of(kind, strategy))


SCENES: dict[str, Scene] = {
    **{f"pair {name}": _pairing("rollouts", name) for name in pair_oracle.STRATEGIES},
    "pair gym": _pairing("gym", "best-vs-worst"),
    "pair gym exhaustive": _pairing("gym", "exhaustive"),
    "pair generic": _pairing("generic", "best-vs-worst"),
    "pair random": Scene(
        ["pair", "--strategy", "random", "--max-pairs-per-group", "3", "--min-gap", "0.1", *_OUT],
        "rollouts",
        _check_lawful(3),
    ),
    "pair sweet-spot": Scene(
        ["pair", "--strategy", "sweet-spot", "--min-gap", "0.1", *_OUT],
        "rollouts",
        _check_lawful(1),
    ),
    "pair as grouped": Scene(
        ["pair", "--assume-grouped", "--strategy=adjacent", "--min-gap=0.1", *_OUT],
        "grouped",
        _check_pairs_of("grouped", "adjacent"),
        any_order=False,
    ),
    "pair across prompts": Scene(
        ["pair", "--strategy=stratified", "--across-prompts", "--rejected-per-chosen=2", *_OUT],
        "rollouts",
        _check_across,
    ),
    "extract": Scene(["extract", *_OUT], "rollouts", _check_extract),
    "stats of rollouts": Scene(
        ["stats", "--json", "-o", "OUT/out.jsonl"], "rollouts", _check_stats_of_rollouts
    ),
    "dedupe": Scene(["dedupe", *_OUT], "pairs", _check_dedupe("keep")),
    "dedupe drop": Scene(["dedupe", "--conflicts=drop", *_OUT], "pairs", _check_dedupe("drop")),
    "dedupe strongest": Scene(
        ["dedupe", "--conflicts=strongest", *_OUT], "pairs", _check_dedupe("strongest")
    ),
    "dedupe by prompt": Scene(
        ["dedupe", "--by=prompt", "--conflicts=drop", *_OUT], "pairs", _check_dedupe_by_prompt
    ),
    "dedupe near": Scene(
        ["dedupe", "--near=0.9", "--near-on=chosen", *_OUT], "near pairs", _check_near
    ),
    "dedupe against": Scene(
        ["dedupe", "--against=HERE/bench.jsonl", *_OUT], "pairs", _check_against
    ),
    "sample 1": Scene(["sample", "--max-pairs=1", *_OUT], "pairs", _check_max_pairs(1)),
    "sample 600": Scene(["sample", "--max-pairs=600", *_OUT], "pairs", _check_max_pairs(600)),
    "sample fraction": Scene(["sample", "--fraction=0.5", *_OUT], "pairs", _check_fraction),
    "sample per group": Scene(["sample", "--per-group=2", *_OUT], "pairs", _check_per_group),
    **{
        f"sample {order}": Scene(["sample", "--order", order, *_OUT], "pairs", _check_order(order))
        for order in ("shuffle", "easy-first", "hard-first")
    },
    "split": Scene(
        ["split", "--val-fraction=0.2", "--test-fraction=0.2", "--out-dir=OUT", "--allow-empty"],
        "pairs",
        _check_split(lambda row: row["prompt"], 0.2),
    ),
    "split by group": Scene(
        [
            *("split", "--by=group", "--val-fraction=0.2", "--test-fraction=0.2"),
            *("--out-dir=OUT", "--allow-empty"),
        ],
        "pairs",
        _check_split(lambda row: row["group"], 0.2),
    ),
    "split exact": Scene(
        ["split", "--exact", "--val-fraction=0.25", "--out-dir=OUT", "--allow-empty"],
        "pairs",
        _check_exact,
    ),
    "export trl": Scene(["export", "--to=trl", "--text", *_OUT], "pairs", _check_trl),
    "export trl-kto": Scene(["export", "--to=trl-kto", *_OUT], "pairs", _check_kto),
    "export openai": Scene(["export", "--to=openai", *_OUT], "pairs", _check_openai),
    "export nemo-rl": Scene(["export", "--to=nemo-rl", *_OUT], "pairs", _check_nemo_rl),
    "export parquet": Scene(
        ["export", "--to=trl", "--text", "-o", "OUT/out.parquet"], "pairs", _check_parquet
    ),
    "filter": Scene(["filter", "--min-gap=SIZE", *_OUT], "pairs", _check_filter),
    "stats": Scene(["stats", "--json", "-o", "OUT/out.jsonl"], "pairs", _check_stats),
}
