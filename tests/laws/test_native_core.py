"""The native core finds what Python finds, or nothing: rows, columns, counts and bytes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts_of_any_format import every_kind_of_gym_row, gym_rows, nat_rows, pair_options
from run_in_process import Asked, Outcome, Row, extract_lines, pair_lines
from usual_rollouts import CALLED, ITEMS, RESULT, SAID, plain_lines, usual_rollouts

from hypothesis_examples import examples
from native_and_python import (
    LONGEST,
    core,
    known,
    needs_core,
    opened,
    paired,
    read_by_python,
)
from prefpairs.cli.main import main
from prefpairs.engine.native import VARIABLE, with_core
from prefpairs.errors import PrefpairsError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.strategies.options import PairOptions
from scan_in_process import indexed, indexed_by_core

pytestmark = needs_core
SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "nemo-gym"


def line_of(row: Row, *, ascii_only: bool = True) -> bytes:
    """A row as a line."""
    return json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") + b"\n"


def rollout(asked: list[Row], *output: Row, **more: object) -> bytes:
    """A rollout as a line."""
    row = {"responses_create_params": {"input": asked}, "response": {"output": [*output]}}
    return line_of({**row, "reward": 1.0, **more})


@examples(300)
@given(row=usual_rollouts(), ascii_only=st.booleans())
def test_rows_of_one_turn_are_known(row: Row, *, ascii_only: bool) -> None:
    """The core reads all rows with one turn."""
    assert known(line_of(row, ascii_only=ascii_only))


@examples(2500)
@given(line=plain_lines())
def test_nearly_usual_rows(line: bytes) -> None:
    """For almost usual rows, the core finds what Python finds, or nothing."""
    known(line)


@examples(600)
@given(rows=gym_rows(), ascii_only=st.booleans())
def test_rows_with_tools_and_several_turns(rows: list[Row], *, ascii_only: bool) -> None:
    """The same for calls, results, reasoning, other turns and prompts with a history."""
    for row in rows:
        known(line_of(row, ascii_only=ascii_only))


@examples(1000)
@given(
    items=st.lists(
        st.sampled_from(ITEMS),
        max_size=8,
    ),
    place=st.integers(0, 8),
)
def test_results_are_bound_to_the_same_calls(items: list[Row], place: int) -> None:
    """Results belong to the same calls with repeated or missing IDs, and calls in the prompt."""
    asked = [{"role": "user", "content": "Q"}, *items[:place]]
    known(rollout(asked, *items[place:], SAID))
    known(rollout(asked, *items[place:]))


@examples(1000)
@given(score=st.floats(-1e308, 1e308), digits=st.integers(0, 20))
def test_scores(score: float, digits: int) -> None:
    """Scores are rounded to 15 digits, however they are written."""
    for text in (repr(score), f"{score:.{digits}e}", f"{score:.{digits}f}"):
        known(
            rollout([{"role": "user", "content": "Q"}], SAID).replace(b"1.0}", f"{text}}}".encode())
        )


@examples(300)
@given(
    given_lines=st.lists(plain_lines(), max_size=6),
    rows=gym_rows(),
    chance=st.randoms(),
    at_once=st.sampled_from([1, 7, 100, 1000, 5000, 1 << 20]),
    threads=st.integers(1, 4),
    end=st.sampled_from([b"", b"\n", b" " * 40_000 + b"\n\r\n"]),
)
def test_columns_counts_and_bad_rows_of_a_file(  # noqa: PLR0913 - the lines and their ranges
    *,
    given_lines: list[bytes],
    rows: list[Row],
    chance: object,
    at_once: int,
    threads: int,
    end: bytes,
) -> None:
    """The core and Python agree; rows that the core passes to Python keep their position."""
    lines = [*given_lines, *map(line_of, rows)] * 2
    chance.shuffle(lines)  # type: ignore[attr-defined]
    lines = [*lines, end, b"".join(lines[:1]).rstrip(b"\n")]
    quick = opened()
    by_python = indexed(lines, quick._replace(native=None))
    assert indexed(lines, with_core(quick)) == by_python
    assert indexed_by_core(lines, with_core(quick), at_once, threads) == by_python


def test_core_that_has_forgotten_all_questions() -> None:
    """A core that was told to begin again numbers groups from the start."""
    lines = [rollout([{"role": "user", "content": text}], SAID) for text in "ABCBDA"]
    used = core()
    for given_lines in (lines, lines[1:], lines[::-1]):
        found = indexed_by_core(given_lines, opened(), 2 * len(lines[0]), 2, used)
        assert found == indexed(given_lines, opened())
        used.begin()


@examples(150)
@given(
    rows=gym_rows(),
    others=nat_rows(),
    strategy=st.sampled_from(["best-vs-worst", "exhaustive", "random"]),
    options=pair_options(),
    read=st.sampled_from(
        [
            ReadOptions(),
            ReadOptions(keep_rows=frozenset({"masked", "no_score", "incomplete"})),
            ReadOptions(ignore=("agent_ref.name", "mask_sample")),
            ReadOptions(reasoning="drop"),
        ]
    ),
)
def test_pairs_and_summaries(
    rows: list[Row], others: list[Row], strategy: str, options: PairOptions, read: ReadOptions
) -> None:
    """Output, ledgers and notes are equal, to the byte."""
    lines = [*map(line_of, rows), b"no JSON\n", *map(line_of, others), *map(line_of, rows)]
    asked = Asked(strategy=strategy, options=options, read=read)
    found = []
    for word in ("0", "require"):
        with patch.dict(os.environ, {VARIABLE: word}):
            found.append((_told_by(pair_lines, lines, asked), _told_by(extract_lines, lines, read)))
    assert found[0] == found[1]


def _told_by(run: Callable[..., Outcome], lines: list[bytes], asked: object) -> object:
    """The lines, counts and notes of a run, or its error."""
    try:
        outcome = run(lines, asked)
    except PrefpairsError as error:
        return repr(error)
    return outcome.lines, outcome.counts(), outcome.ledger.notes


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.full), "2"])
def test_a_run_of_the_command(tmp_path: Path, workers: str) -> None:
    """Pairs and summary have the same bytes with both engines and any number of workers."""
    lines = [line_of(row) for row in every_kind_of_gym_row(3000)]
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    words = ["pair", "--quiet", "--workers", workers, str(tmp_path / "in.jsonl")]
    for word in ("0", "require"):
        out = ["-o", str(tmp_path / f"{word}.jsonl"), "--summary", str(tmp_path / f"{word}.json")]
        with patch.dict(os.environ, {VARIABLE: word}):
            assert main([*words, *out, "--on-error", "skip"]) == 0
    for suffix in ("jsonl", "json"):
        python, native = ((tmp_path / f"{word}.{suffix}").read_bytes() for word in ("0", "require"))
        assert python == native
        assert python


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")
def test_all_that_nemo_gym_published_is_known() -> None:
    """The core reads every published row that becomes a candidate."""
    files = [path.read_bytes() for path in SAMPLES.glob("*.jsonl")]
    lines = [line for data in files for line in data.splitlines(keepends=True)]
    python = [reading for line in lines if (reading := read_by_python(line)) and reading.kept]
    assert (len(python), sum(map(known, lines))) == (80, 80)
    read = [(line, core().read(line, "")) for line in lines]
    assert sum(paired(line, [found[0]], core()) for line, found in read if found) == 80


def test_long_lines_and_deep_ones_are_handed_up() -> None:
    """Overlong and deep lines go to Python, which checks their memory before parsing."""
    line = rollout([{"role": "user", "content": "Q"}], SAID)
    long, deep = line[:-2] + b" " * LONGEST + b"}\n", line[:-2] + b',"x":' + b"[" * 200_000 + b"\n"
    given_lines = [line, long, deep, line]
    found = [one for one in core().index(given_lines, [0] * 4, LONGEST) if isinstance(one, int)]
    assert found == [1, 2]
    data = b"".join(given_lines)
    ((number, parts),) = core().index_file(data, (0, len(data)), len(data), LONGEST, 1)
    handed_up = [(part[0], part[2]) for part in parts if isinstance(part[0], int)]
    assert (number, handed_up) == (4, [(1, None), (2, deep)])
    assert core().read(long, "") is None
    assert core().read(deep, "") is None


def test_a_failure_of_the_core_is_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A panic in the core exits 70 with its message, like any other bug."""

    class Broken:
        def __init__(self, _: object) -> None:
            """Take the options."""

        def read(self, _: bytes) -> None:
            """Fail like a panic in the core."""
            raise RuntimeError("the native core failed: index out of bounds")

    monkeypatch.setattr("prefpairs_native.NemoGym", Broken)
    (tmp_path / "in.jsonl").write_bytes(rollout([{"role": "user", "content": "Q"}], SAID))
    assert main(["pair", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]) == 70
    assert "the native core failed: index out of bounds" in capfd.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_result_without_an_id_answers_a_call_without_a_name() -> None:
    """Results without an ID match a call by name; an empty name is not a missing one."""
    calls = [{**CALLED, "call_id": ""}, {**CALLED, "name": "", "call_id": "z"}]
    assert known(
        rollout([{"role": "user", "content": "Q"}], *calls, {**RESULT, "call_id": ""}, SAID)
    )
