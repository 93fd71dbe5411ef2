"""Law 6: the same input, options and version give the same bytes, on any machine, at any time."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from laws_driver import Asked, Row, examples, input_of, lines_of, pair_lines
from laws_oracle import content_of
from laws_rollouts import asked, contest_rows, gym_rows, lines

from prefpairs.cli.main import main

MACHINES = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "PYTHONOPTIMIZE": "1"},
]


class Written(NamedTuple):
    """All that a run of the program left behind."""

    code: int
    stdout: bytes
    stderr: bytes
    summary: bytes


def words_of(asked: Asked) -> list[str]:
    """The options of the command line that ask for this."""
    options = asked.options
    named = {
        "strategy": asked.strategy,
        "min-gap": options.min_gap,
        "max-gap": options.max_gap,
        "min-chosen-score": options.min_chosen_score,
        "high-threshold": options.high_threshold,
        "low-threshold": options.low_threshold,
        "max-pairs-per-group": None if asked.across_prompts else options.max_pairs,
        "rejected-per-chosen": options.rejected_per_chosen if asked.across_prompts else None,
        "seed": options.seed,
    }
    words = [f"--{name}={value}" for name, value in named.items() if value is not None]
    return words + ["--across-prompts"] * asked.across_prompts


def run_program(given_lines: list[bytes], asked: Asked, machine: dict[str, str]) -> Written:
    """Run the program in a folder of its own, in another environment."""
    with input_of(given_lines) as given_input:
        folder = Path(given_input.path).parent
        words = ["pair", "rows.jsonl", "--summary", "summary.json", *words_of(asked)]
        done = subprocess.run(
            [sys.executable, "-m", "prefpairs", *words],
            cwd=folder,
            env={**os.environ, **machine},
            capture_output=True,
            check=False,
        )
        summary = (folder / "summary.json").read_bytes()
        assert str(folder).encode() not in done.stdout + done.stderr + summary
    return Written(done.returncode, done.stdout, done.stderr, summary)


@examples(4)
@given(rows=gym_rows(), more=contest_rows(), asked=asked())
def test_hash_seed_locale_and_place_do_not_matter(
    rows: list[Row], more: list[Row], asked: Asked
) -> None:
    """Two machines write the same bytes to standard output, standard error and the summary."""
    for given_rows in (rows, more):
        here, there = (run_program(lines_of(*given_rows), asked, machine) for machine in MACHINES)
        assert here.code in (0, 3)
        assert here == there


@examples(100)
@given(given_lines=lines(), asked=asked())
def test_the_same_run_twice_writes_the_same_bytes(given_lines: list[bytes], asked: Asked) -> None:
    """What one run leaves in memory does not steer the next."""
    once, again = pair_lines(given_lines, asked), pair_lines(given_lines, asked)
    assert (once.lines, once.counts()) == (again.lines, again.counts())


def test_compressed_output_holds_no_time_and_no_name() -> None:
    """A .gz holds neither when nor under which name it was made, and the pairs themselves."""
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
    """The four contents that name a pair."""
    tools = json.dumps(pair.get("tools", []), sort_keys=True)
    answers = (content_of(pair[side], "assistant") for side in ("chosen", "rejected"))
    return content_of(pair["prompt"], "user"), tools, *answers


@examples(150)
@given(given_lines=lines(), more=lines(), asked=asked())
def test_the_id_of_a_pair_is_its_contents(
    given_lines: list[bytes], more: list[bytes], asked: Asked
) -> None:
    """Pairs of the same prompt, tools and answers have one id, whatever file they came from."""
    pairs = [*pair_lines(given_lines, asked).rows, *pair_lines(more, asked).rows]
    names = {(identity_of(pair), pair["id"]) for pair in pairs}
    assert (
        len(names) == len({identity for identity, _ in names}) == len({name for _, name in names})
    )


def test_ids_are_public_interface() -> None:
    """These ids never change without a new major version."""
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
    assert ids == ["cc530829b29a50a1f014fab50a587b62", "15f1b48d227fa3bf336d0c8da58df6af"]
