"""Pairs through stages, from files to outputs."""

import gzip
import io
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow.parquet import write_table
from rows_and_output import Lines, Row, data_of

from prefpairs.engine.native import VARIABLE
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.errors import BadRecords, InputChanged, NothingCameOut
from prefpairs.fields.pair_row import PairRowOutcome, read_pair_fast
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.identity import digest_prompt
from prefpairs.model.json_codec import encode_line
from prefpairs.model.pair import Pair, pair_line
from prefpairs.plan import ExportPlan, InputPlan, Plan
from prefpairs.stages.base import Stage
from prefpairs.stages.contamination import ReferencePrompts
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split
from prefpairs.targets import target_named
from prefpairs.targets.export_options import ExportOptions
from run_plans import run_plan

ROWS: list[Row] = [
    {
        "prompt": f"Q{number % 10}",
        "chosen": f"A{number % 20}",
        "rejected": "B",
        "chosen_score": number / 10,
        "rejected_score": 0.0,
        "group": f"g{number % 4}",
        "meta": {"number": number},
    }
    for number in range(40)
]
STAGES: dict[str, Stage] = {
    "filter": Filter(min_gap=1.0),
    "dedupe": Dedupe(),
    "dedupe by": Dedupe(by=("prompt",), conflicts="strongest"),
    "dedupe near": Dedupe(near=0.9, near_on="prompt"),
    "fraction": Sample(fraction=0.5),
    "sample": Sample(max_pairs=7),
    "per group": Sample(per_group=2),
    "shuffle": Sample(order="shuffle"),
    "easy first": Sample(max_pairs=9, order="easy-first"),
}


def _plan(folder: Path, contents: Sequence[bytes], stages: Sequence[Stage], **more: Any) -> Plan:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    read = {key: more.pop(key) for key in ("on_error", "limit") if key in more}
    inputs = find_inputs(list(map(str, paths)))
    return Plan(read=InputPlan(inputs=inputs, **read), stages=stages, **more)


def _run(
    folder: Path,
    contents: Sequence[bytes],
    *stages: Stage,
    ledger: Ledger | None = None,
    **more: Any,
) -> list[Row]:
    output = Lines()
    plan = _plan(folder, contents, stages, **more)
    run_plan(plan, {WHOLE: output}, ledger or Ledger(), allow_empty=True)
    return output.rows()


def _split(
    folder: Path, rows: Sequence[Row], split: Split, *stages: Stage, ledger: Ledger | None = None
) -> dict[str, list[Row]]:
    outputs = {side: Lines() for side in split.sides}
    plan = _plan(folder, [data_of(rows)], stages, split=split)
    run_plan(plan, outputs, ledger or Ledger(), allow_empty=True)
    return {side: output.rows() for side, output in outputs.items()}


def _numbers(rows: Sequence[Row]) -> list[int]:
    return [row["meta"]["number"] for row in rows]


def test_no_stages(tmp_path: Path) -> None:
    """Without stages, all pairs come out in order, with their fields, some recomputed."""
    rows = _run(tmp_path, [data_of(ROWS)])
    assert _numbers(rows) == list(range(40))
    assert {key: rows[7][key] for key in ROWS[7]} == ROWS[7]
    assert rows[7]["gap"] == 0.7


@pytest.mark.parametrize("name", STAGES)
def test_what_comes_out_goes_through_again(tmp_path: Path, name: str) -> None:
    """Running the output again loses nothing and changes no byte."""
    once = _run(tmp_path, [data_of(ROWS)], STAGES[name])
    assert 0 < len(once) <= 40
    ledger = Ledger()
    if name != "shuffle":
        assert _run(tmp_path, [data_of(once)], STAGES[name], ledger=ledger) == once
        assert ledger.stages[0].dropped.total() == 0


@pytest.mark.parametrize("name", STAGES)
def test_order_of_lines_changes_no_pair(tmp_path: Path, name: str) -> None:
    """Shuffled and resharded rows give the same pairs."""
    shuffled = ROWS[:]
    random.Random(7).shuffle(shuffled)  # noqa: S311 - a fixed shuffle
    expected = _run(tmp_path, [data_of(ROWS)], STAGES[name])
    parts = [
        data_of(shuffled[:11]),
        data_of(shuffled[11:12]),
        gzip.compress(data_of(shuffled[12:])),
    ]
    found = _run(tmp_path, parts, STAGES[name])
    assert sorted(map(str, found)) == sorted(map(str, expected))


def _as_parquet(data: bytes) -> bytes:
    file = io.BytesIO()
    write_table(pa.Table.from_pylist([json.loads(line) for line in data.splitlines()]), file)
    return file.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        zstd.compress,
        _as_parquet,
        lambda data: b"[" + data.strip().replace(b"\n", b",\n") + b"]",
        lambda data: b"\xef\xbb\xbf" + data,
    ],
    ids=["gzip", "zstd", "parquet", "array", "byte order mark"],
)
@pytest.mark.parametrize("name", ["filter", "dedupe", "easy first"])
def test_packing_changes_nothing(tmp_path: Path, pack: Any, name: str) -> None:
    """The same rows in any container give the same bytes."""
    expected = _run(tmp_path, [data_of(ROWS)], STAGES[name])
    assert _run(tmp_path, [pack(data_of(ROWS))], STAGES[name]) == expected


def test_pipe_and_file(tmp_path: Path) -> None:
    """Unseekable input is spooled, and keeps its position."""
    pipe, file = tmp_path / "pipe", tmp_path / "file.jsonl"
    os.mkfifo(pipe)
    file.write_bytes(data_of(ROWS[25:]))
    writer = Thread(target=lambda: pipe.write_bytes(data_of(ROWS[:25])))
    writer.start()
    output = Lines()
    read = InputPlan(inputs=find_inputs([str(pipe), str(file)]))
    plan = Plan(read=read, stages=[Dedupe()], temp_dir=str(tmp_path))
    run_plan(plan, {WHOLE: output}, Ledger())
    writer.join()
    assert output.rows() == _run(tmp_path, [data_of(ROWS)], Dedupe())
    assert sorted(os.listdir(tmp_path)) == ["0.jsonl", "file.jsonl", "pipe"]


def test_several_stages(tmp_path: Path) -> None:
    """Several stages in one run give the same as in several runs."""
    chain: list[Stage] = [
        Sample(fraction=0.9),
        Dedupe(),
        Filter(max_gap=3.5),
        Sample(per_group=3, max_pairs=8),
    ]
    ledger = Ledger()
    together = _run(tmp_path, [data_of(ROWS)], *chain, ledger=ledger)
    apart = ROWS
    for one in chain:
        apart = _run(tmp_path, [data_of(apart)], one)
    assert together == apart
    stages = [(stage.name, stage.found, stage.kept) for stage in ledger.stages]
    assert [name for name, *_ in stages] == ["sample", "dedupe", "filter", "sample"]
    flow = [number for _, found, kept in stages for number in (found, kept)]
    assert flow[0] == 40
    assert flow[1:-1:2] == flow[2::2]
    assert flow[-1] == ledger.pairs == len(together) == 8


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", STAGES)
def test_stage_before_a_split(tmp_path: Path, name: str, exact: bool) -> None:
    """The split after a stage is the one that its pairs would get alone."""
    rows = [
        {**row, "meta": {**row["meta"], "prompt_of_rejected": digest_prompt(f"Q{n % 7}").hex()}}
        for n, row in enumerate(ROWS)
    ]
    split = Split(val_fraction=0.4, test_fraction=0.2, exact=exact)
    together = _split(tmp_path, rows, split, STAGES[name])
    apart = _split(tmp_path, _run(tmp_path, [data_of(rows)], STAGES[name]), split)
    assert together == apart
    assert any(together.values())


def test_split(tmp_path: Path) -> None:
    """Each pair goes to one split, in order and counted."""
    ledger = Ledger()
    sides = _split(tmp_path, ROWS, Split(val_fraction=0.4, test_fraction=0.2), ledger=ledger)
    assert sorted(number for rows in sides.values() for number in _numbers(rows)) == [*range(40)]
    assert all(_numbers(rows) == sorted(_numbers(rows)) for rows in sides.values())
    assert ledger.sides == {side: len(rows) for side, rows in sides.items()}
    prompts = [{row["prompt"] for row in rows} for rows in sides.values()]
    assert sum(map(len, prompts)) == len(set.union(*prompts)) == 10
    (stage,) = ledger.stages
    assert (stage.name, stage.found, stage.kept) == ("split", 40, 40)


def test_side_that_came_out_empty(tmp_path: Path) -> None:
    """An empty split is reported with a hint, unless the whole result is empty."""
    ledger = Ledger()
    _split(tmp_path, ROWS[:1], Split(val_fraction=0.0, test_fraction=1e-9), ledger=ledger)
    assert ledger.sides == {"train": 1, "test": 0}
    assert ledger.stages[0].notes == [
        "test came out empty: on small inputs --exact fills every side"
    ]
    quiet, joined = Ledger(), Ledger()
    _split(tmp_path, [], Split(), ledger=quiet)
    _split(tmp_path, ROWS[:1], Split(exact=True), ledger=joined)
    assert (quiet.stages[0].notes, joined.stages[0].notes) == (
        [],
        ["val came out empty: too few keys, or all of them hang together"],
    )


def test_nothing_came_out(tmp_path: Path) -> None:
    """An empty result is an error, unless it is allowed."""
    output = Lines()
    for split, outputs in (
        (None, {WHOLE: output}),
        (Split(), dict.fromkeys(Split().sides, output)),
    ):
        plan = _plan(tmp_path, [data_of(ROWS)], [Filter(min_gap=99)], split=split)
        with pytest.raises(NothingCameOut) as caught:
            run_plan(plan, outputs, Ledger())
        assert (caught.value.what, output.lines) == ("pair", [])
    assert _run(tmp_path, [data_of(ROWS)], Filter(min_gap=99)) == []


@pytest.mark.parametrize("name", STAGES)
def test_bad_row(tmp_path: Path, name: str) -> None:
    """A bad row is an error or skipped; skipping it leaves the rest unchanged."""
    torn = data_of(ROWS[:20]) + b"{torn\n" + data_of(ROWS[20:])
    with pytest.raises(BadRecords):
        _run(tmp_path, [torn], STAGES[name])
    expected = _run(tmp_path, [data_of(ROWS)], STAGES[name])
    assert _run(tmp_path, [torn], STAGES[name], on_error="skip") == expected


def test_nothing_is_written_after_a_bad_row(tmp_path: Path) -> None:
    """After a bad row nothing is written, not even held-back pairs."""
    for one in (Filter(min_gap=0), Dedupe(), Sample(max_pairs=9)):
        output = Lines()
        plan = _plan(tmp_path, [b"{torn\n" + data_of(ROWS)], [one])
        with pytest.raises(BadRecords):
            run_plan(plan, {WHOLE: output}, Ledger())
        assert output.lines == []


@pytest.mark.parametrize("name", ["dedupe", "sample", "shuffle"])
def test_input_that_changes_while_pairs_are_written(tmp_path: Path, name: str) -> None:
    """An input that changes while pairs are written is an error, even after the last of them."""

    class Meddler(Lines):
        def write(self, line: bytes, /) -> object:
            with (tmp_path / "0.jsonl").open("ab") as file:
                file.write(b"\n")
            return super().write(line)

    plan = _plan(tmp_path, [data_of(ROWS[:1])], [STAGES[name]])
    with pytest.raises(InputChanged) as caught:
        run_plan(plan, {WHOLE: Meddler()}, Ledger())
    assert caught.value.path == "0.jsonl"


def test_report_of_a_run(tmp_path: Path) -> None:
    """The ledger has rows, stages, pairs, and an example pair."""
    ledger = Ledger()
    _run(tmp_path, [data_of(ROWS), b""], STAGES["dedupe"], ledger=ledger)
    assert (ledger.rows_read, ledger.rows_used, ledger.pairs) == (40, 40, 20)
    assert ledger.gaps.summary() == {"mean": 2.95, "min": 2.0, "max": 3.9}
    assert (ledger.example, ledger.notes) == (("Q0", "A0", "B"), ["1.jsonl is empty"])
    assert ledger.stages[0].dropped == {"duplicate": 20}


@pytest.mark.parametrize(
    ("asked", "to", "fetched"),
    [
        (Dedupe(), None, 0),
        (Sample(order="shuffle"), None, 0),
        (Sample(max_pairs=20), None, 20),
        (Dedupe(), "trl", 20),
    ],
    ids=["dedupe", "shuffle", "few of many", "to a trainer"],
)
def test_lines_of_ours_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Stage, to: str | None, fetched: int
) -> None:
    """Our own lines are decoded at most once, and copied.

    If lines are not written, or few of many are, they are not even compared. This holds for Python;
    the native core decodes none of them in Python.
    """
    ours = _run(tmp_path, [data_of(ROWS)], Dedupe())
    lines = [encode_line(row) for row in ours]
    reads: list[bytes] = []
    compared: list[Pair] = []

    def read(line: bytes) -> PairRowOutcome | None:
        reads.append(line)
        return read_pair_fast(line)

    def encoded(pair: Pair) -> bytes:
        compared.append(pair)
        return pair_line(pair)

    monkeypatch.setenv(VARIABLE, "0")
    monkeypatch.setattr("prefpairs.engine.pairs.pairs_from_files.read_pair_fast", read)
    monkeypatch.setattr("prefpairs.engine.pairs.pairs_from_files.pair_line", encoded)
    export = None if to is None else ExportPlan(target=target_named(to), options=ExportOptions())
    plan, output = _plan(tmp_path, [b"".join(lines)], [asked], export=export), Lines()
    run_plan(plan, {WHOLE: output}, Ledger())
    assert (len(reads), len(output.lines)) == (20 + fetched, 20)
    assert len(compared) == (20 if fetched == 0 else 0)


def test_limit(tmp_path: Path) -> None:
    """A limit counts the rows of all files together."""
    parts = [data_of(ROWS[:3]), data_of(ROWS[3:])]
    assert _numbers(_run(tmp_path, parts, Sample(max_pairs=99), limit=5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("before", [[], [Sample(order="shuffle")], [Dedupe()]])
def test_reference_that_holds_the_prompt_of_the_rejected_answer(
    tmp_path: Path, before: list[Stage]
) -> None:
    """That prompt is known only by its digest, which earlier stages pass on."""
    reference = ReferencePrompts()
    reference.add("Q9")
    across = {"prompt_of_rejected": digest_prompt("Q9").hex(), "number": 1}
    rows = [{"prompt": "Q1", "chosen": "A", "rejected": "B", "meta": across}, ROWS[0]]
    assert _numbers(_run(tmp_path, [data_of(rows)], *before, Dedupe(reference=reference))) == [0]
