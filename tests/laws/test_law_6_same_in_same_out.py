"""Law 6: the same input, options and version give the same bytes on any machine."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import content_of
from rollouts_of_any_format import (
    STRATEGIES,
    asked,
    contest_rows,
    every_kind_of_gym_row,
    gym_rows,
    lines,
    nat_rows,
    pair_options,
)
from run_in_process import Asked, Row, input_of, lines_of, pair_lines

from hypothesis_examples import examples
from prefpairs.cli.main import main
from prefpairs.strategies.options import PairOptions

MACHINES = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONOPTIMIZE": "1"},
]


RUN_ALL = """
import json, os, sys
from prefpairs.cli.main import main
for number, words in enumerate(json.load(sys.stdin)):
    codes = main([*words, "-o", f"{number}.jsonl", "--summary", f"{number}.json"])
    with open(f"{number}.code", "w") as file:
        file.write(str(codes))
os.remove("rows.jsonl")
"""


def words_of(asked: Asked) -> list[str]:
    """The command-line arguments for these options."""
    options = asked.options
    named = {
        "strategy": asked.strategy,
        "min-gap": options.min_gap,
        "max-gap": options.max_gap,
        "min-chosen-score": options.min_chosen_score,
        "high-threshold": options.high_threshold,
        "low-threshold": options.low_threshold,
        "max-pairs-per-group": None if asked.across_prompts else options.max_pairs_per_group,
        "rejected-per-chosen": options.rejected_per_chosen if asked.across_prompts else None,
        "seed": options.seed,
        "order": asked.order,
    }
    words = [f"--{name}={value}" for name, value in named.items() if value is not None]
    return ["pair", "rows.jsonl", *words, *["--across-prompts"] * asked.across_prompts]


def every_way(options: PairOptions) -> list[list[str]]:
    """The arguments for all strategies, in both orders, and for `extract`."""
    plans = [Asked(strategy=strategy, options=options) for strategy in STRATEGIES]
    plans += [Asked(strategy="stratified", options=options, across_prompts=True)]
    ordered = [replace(plan, order="key") for plan in plans]
    return [*map(words_of, [*plans, *ordered]), ["extract", "rows.jsonl"]]


def written_by(given_lines: list[bytes], runs: list[list[str]], machine: dict[str, str]) -> Row:
    """All files and messages of these runs with a machine's settings, by file name."""
    with input_of(given_lines) as given_input:
        folder = Path(given_input.path).parent
        done = subprocess.run(
            [sys.executable, "-c", RUN_ALL],
            input=json.dumps(runs).encode(),
            cwd=folder,
            env={**os.environ, **machine},
            capture_output=True,
            check=True,
        )
        written = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        assert str(folder).encode() not in b"".join([*written.values(), done.stderr])
    return {**written, "stdout": done.stdout, "stderr": done.stderr}


@pytest.mark.full
def test_every_strategy_writes_the_same_on_two_machines() -> None:
    """Hash seed, locale, time zone and folder change no byte of output, summary and messages."""
    given_lines = lines_of(*every_kind_of_gym_row(400))
    runs = every_way(PairOptions(max_pairs_per_group=3))
    here, there = (written_by(given_lines, runs, machine) for machine in MACHINES)
    assert [here[f"{number}.code"] for number in range(len(runs))] == [b"0"] * len(runs)
    assert min(len(here[f"{number}.jsonl"].splitlines()) for number in range(len(runs))) > 5
    assert here == there


@examples(3)
@given(rows=st.one_of(gym_rows(), contest_rows(), nat_rows()), options=pair_options())
def test_hash_seed_locale_and_place_do_not_matter(rows: list[Row], options: PairOptions) -> None:
    """Any rows and options give the same files on every machine, even if there is no result."""
    here, there = (written_by(lines_of(*rows), every_way(options), machine) for machine in MACHINES)
    assert here == there


@examples(100)
@given(given_lines=lines(), asked=asked())
def test_the_same_run_twice_writes_the_same_bytes(given_lines: list[bytes], asked: Asked) -> None:
    """Two runs in one process write the same bytes."""
    once, again = pair_lines(given_lines, asked), pair_lines(given_lines, asked)
    assert (once.lines, once.counts()) == (again.lines, again.counts())


def test_compressed_output_holds_no_time_and_no_name() -> None:
    """A .gz contains neither a time nor a file name, only the pairs."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.0},
    )
    with input_of(rows) as given_input:
        folder = Path(given_input.path).parent
        outputs = [folder / "pairs.jsonl.gz", folder / "other.jsonl.gz"]
        for output in outputs:
            assert main(["pair", given_input.path, "-o", str(output), "--quiet"]) == 0
        first, second = (output.read_bytes() for output in outputs)
    assert first == second
    assert (first[3], first[4:8]) == (0, bytes(4))
    assert gzip.decompress(first) == b"".join(pair_lines(rows, Asked()).lines)


def identity_of(pair: Row) -> tuple[str, ...]:
    """The four contents that identify a pair."""
    tools = json.dumps(pair.get("tools", []), sort_keys=True)
    answers = (content_of(pair[side], "assistant") for side in ("chosen", "rejected"))
    return content_of(pair["prompt"], "user"), tools, *answers


@examples(150)
@given(given_lines=lines(), more=lines(), asked=asked())
def test_the_id_of_a_pair_is_its_contents(
    given_lines: list[bytes], more: list[bytes], asked: Asked
) -> None:
    """Pairs with the same prompt, tools and answers have one ID, from whatever file."""
    pairs = [*pair_lines(given_lines, asked).rows, *pair_lines(more, asked).rows]
    names = {(identity_of(pair), pair["id"]) for pair in pairs}
    assert (
        len(names) == len({identity for identity, _ in names}) == len({name for _, name in names})
    )


def test_ids_are_public_interface() -> None:
    """These IDs never change without a new identity version."""
    tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    calls = [{"function": {"name": "add", "arguments": '{"b": 2, "a": 1}'}}]
    said = [{"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": calls}]
    plain = {"prompt": "Q", "response": "B", "score": 0.0}
    rows = [
        {**plain, "response": "A", "score": 1.0},
        plain,
        {**plain, "response": said, "score": 1.0, "tools": tools},
        {**plain, "tools": tools},
    ]
    ids = [pair["id"] for pair in pair_lines(lines_of(*rows), Asked()).rows]
    assert ids == ["51061a7da6fc41b821a1d411f1834972", "3784a6c8a9935b8d62e4eb66b31b4949"]
