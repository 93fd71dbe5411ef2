"""`make bench` at a tiny scale: all cases run, contenders agree, and the docs are written."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from bench.cases import CASES
from bench.cases.pair import BASE
from bench.cases.runners import LOCAL, RAY, SHARDS, runners
from bench.chart import growth_chart
from bench.command import main
from bench.equality import OutputsDiffer, check_equal, check_same_bytes
from bench.machine import this_machine
from bench.pages import write_docs
from bench.race import Contender, ContenderFailed, once
from bench.results import GROWTH, Cost, Finding, Results, load, save
from bench.setting import Setting

HOME = Path(__file__).parents[2]
SCALE = 400
PROGRAM = shutil.which("prefpairs", path=str(Path(sys.executable).parent))

needs_program = pytest.mark.skipif(PROGRAM is None, reason="prefpairs is not beside this Python")


@needs_program
@pytest.mark.parametrize("name", CASES)
def test_case_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each case measures itself, and the contenders' outputs are equal."""
    words = ["--scale", str(SCALE), "--rounds", "1", "--folder", str(tmp_path), "--only", name]
    assert main([*words, "--quiet"]) == 0
    results = load(tmp_path / "results.json", this_machine())
    assert [finding.case for finding in results.findings] == [name]
    assert results.findings[0].title in capsys.readouterr().out
    assert not (tmp_path / "output").exists()


@needs_program
def test_runners_with_and_without_ray(tmp_path: Path) -> None:
    """Ray is measured with its workers if it is installed; otherwise, a note says so."""
    assert PROGRAM is not None
    setting = Setting(folder=tmp_path, scale=SCALE, rounds=1, prefpairs=PROGRAM, quiet=True)
    finding = runners(setting)
    assert "the same bytes by all of them" in finding.notes[0]
    if find_spec("ray") is None:
        assert [*finding.costs] == [LOCAL, SHARDS]
        assert finding.notes[1:] == [f"{RAY}: ray is not installed"]
    else:
        assert [*finding.costs] == [LOCAL, SHARDS, RAY]
        assert finding.costs[RAY].peak > finding.costs[LOCAL].peak


@needs_program
def test_it_starts_as_the_makefile_starts_it(tmp_path: Path) -> None:
    """`python scripts/bench` finds its own modules; --growth stops at the given scale."""
    words = ["--growth", "--scale", "10000", "--rounds", "1", "--folder", str(tmp_path), "--quiet"]
    program = [sys.executable, "scripts/bench", *words]
    ran = subprocess.run(program, cwd=HOME, check=True, capture_output=True, text=True)
    assert "10,000" in ran.stdout
    assert ran.stderr == ""
    assert str(tmp_path) not in (tmp_path / "results.json").read_text("utf-8")


def test_generate(tmp_path: Path) -> None:
    """Generates data for other measurements."""
    path = tmp_path / "rollouts.jsonl"
    words = ["generate", "--format", "generic", "--rollouts", "16", "--seed", "5", "-o", str(path)]
    assert main(words) == 0
    assert len(path.read_bytes().splitlines()) == 16


def test_memory_and_time_are_those_of_the_largest_and_of_all(tmp_path: Path) -> None:
    """Two children of 60 MB give a peak of 60 MB, while their CPU times are added up."""
    child = "bytearray(60_000_000); sum(range(3_000_000))"
    parent = f"import subprocess, sys; [subprocess.run([sys.executable, '-c', {child!r}])] * 1"
    script = tmp_path / "parent.py"
    script.write_text(parent, "utf-8")
    alone = once(Contender(name="child", command=(sys.executable, "-c", child)))
    both = once(Contender(name="parent", command=(sys.executable, str(script))))
    assert 60e6 < alone.peak < 90e6
    assert 60e6 < both.peak < 90e6
    assert both.cpu > 0.5 * alone.cpu


def test_a_failure_is_an_error() -> None:
    """A contender that fails raises an error, so that failing is not measured as fast."""
    command = (sys.executable, "-c", "raise SystemExit('no luck')")
    with pytest.raises(ContenderFailed, match="no luck"):
        once(Contender(name="unlucky", command=command))


def test_unequal_outputs_are_found(tmp_path: Path) -> None:
    """Outputs may differ in order and format, but not in a score or a character of text."""
    pair = {"prompt": "Q", "chosen": "A", "rejected": "B", "chosen_score": 1, "rejected_score": 0}
    chat = {**pair, "chosen": [{"role": "assistant", "content": "A"}]}
    other = {**pair, "prompt": "Q2"}
    files = {"one": [pair, other], "two": [other, chat], "three": [other, {**pair, "chosen": "a"}]}
    paths = {}
    for name, rows in files.items():
        paths[name] = tmp_path / name
        paths[name].write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert check_equal({name: paths[name] for name in ("one", "two")}) == 2
    with pytest.raises(OutputsDiffer, match="one and three"):
        check_equal(paths)


def test_parts_have_the_bytes_of_a_file(tmp_path: Path) -> None:
    """Parts of a folder count in the order of their names; other files do not count."""
    (tmp_path / "file").write_bytes(b"abc")
    for name, parts in {"good": [b"a", b"bc"], "bad": [b"bc", b"a"]}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_bytes(b"{}")
        for number, part in enumerate(parts):
            (tmp_path / name / f"part-{number}").write_bytes(part)
    assert check_same_bytes({name: tmp_path / name for name in ("file", "good")}) == 3
    with pytest.raises(OutputsDiffer, match="file and bad disagree: 3 and 3 bytes"):
        check_same_bytes({name: tmp_path / name for name in ("file", "bad")})


def test_docs_and_chart(tmp_path: Path) -> None:
    """Blocks between markers are rewritten, the rest stays; the chart has each contender."""
    page = tmp_path / "performance.md"
    blocks = [f"<!-- begin {name} -->\nold\n<!-- end {name} -->\n" for name in ("pair", GROWTH)]
    page.write_text("".join(["Mine.\n", *blocks]), "utf-8")
    results = Results(machine=this_machine()).with_finding(_finding(BASE))
    for scale in (10_000, BASE):
        finding = _finding(scale).model_copy(update={"case": GROWTH})
        results = results.with_finding(finding)
    write_docs(results, tmp_path)
    text = page.read_text("utf-8")
    assert text.startswith("Mine.\n<!-- begin pair -->\n**Title, 100,000**")
    assert "old" not in text
    assert "1.00 s, 10 MB" in text
    assert "DuckDB" in (tmp_path / "performance" / "growth.svg").read_text("utf-8")
    assert growth_chart(results.of(GROWTH)).count("<polyline") == 4


def test_results_of_another_machine_are_not_mixed(tmp_path: Path) -> None:
    """A results file from another machine is replaced."""
    path = tmp_path / "results.json"
    save(Results(machine=this_machine(), findings=[_finding(BASE)]), path)
    assert load(path, this_machine()).findings == [_finding(BASE)]
    other = this_machine().model_copy(update={"cores": 4096})
    assert load(path, other).findings == []


def _finding(scale: int) -> Finding:
    """A result with two contenders."""
    cost = Cost(wall=scale / 1e5, cpu=scale / 1e5, peak=scale * 100)
    return Finding(
        case="pair",
        title="Title",
        rollouts=scale,
        input_bytes=1,
        rounds=1,
        baseline="prefpairs",
        costs={"prefpairs": cost, "DuckDB": cost},
        claims=[],
    )
