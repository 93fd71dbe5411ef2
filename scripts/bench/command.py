"""`python scripts/bench`: its options, and what they do."""

import argparse
import sys
from pathlib import Path
from subprocess import CalledProcessError

from bench.cases import CASES
from bench.cases.exhaustive import PairsMissing
from bench.cases.pair import AT_BASE
from bench.data.command import generate
from bench.equality import OutputsDiffer
from bench.machine import this_machine
from bench.pages import write_docs
from bench.race import ContenderFailed, remove
from bench.results import GROWTH, Finding, Results, load, save
from bench.setting import Setting
from bench.tables import finding_text, machine_text

HOME = Path(__file__).parents[2]
SCALES = (10_000, 100_000, 1_000_000, 10_000_000)
LARGE = 1_000_000


def main(words: list[str]) -> int:
    """Run the benchmark, or write made-up data: `python scripts/bench generate`."""
    if words[:1] == ["generate"]:
        return generate(words[1:])
    options = _parser().parse_args(words)
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "results.json"
    results = load(file, this_machine())
    print(machine_text(results.machine), flush=True)
    try:
        results = _growth(options, results) if options.growth else _cases(options, results)
    except (ContenderFailed, OutputsDiffer, PairsMissing, CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        print(getattr(error, "stderr", None) or "", file=sys.stderr, end="")
        return 1
    if options.write_docs:
        write_docs(results)
    return 0


def _cases(options: argparse.Namespace, results: Results) -> Results:
    """Run the requested cases at one scale."""
    setting = _setting(options, options.scale)
    for name in options.only:
        results = _note(options, results, CASES[name](setting))
        setting.clear()
    return results


def _growth(options: argparse.Namespace, results: Results) -> Results:
    """Run the main job at every scale up to the requested one; large files are deleted."""
    for scale in (size for size in SCALES if size <= options.scale):
        setting = _setting(options, scale)
        results = _note(options, results, _of_growth(CASES["pair"](setting)))
        setting.clear()
        if scale >= LARGE and not options.keep_data:
            remove(options.folder / "data")
    return results


def _of_growth(finding: Finding) -> Finding:
    """The finding, filed separately from the main job's own, without the run at the base scale."""
    costs = {name: cost for name, cost in finding.costs.items() if name != AT_BASE}
    return finding.model_copy(update={"case": GROWTH, "costs": costs})


def _note(options: argparse.Namespace, results: Results, finding: Finding) -> Results:
    """Show a finding and save it."""
    print(f"\n{finding_text(finding)}", flush=True)
    results = results.with_finding(finding)
    save(results, options.folder / "results.json")
    return results


def _setting(options: argparse.Namespace, scale: int) -> Setting:
    """The settings, with fewer rounds if a round is long."""
    usual = 5 if scale < LARGE else 3 if scale == LARGE else 1
    return Setting(
        folder=options.folder,
        scale=scale,
        rounds=options.rounds or usual,
        prefpairs=options.prefpairs,
        nat_python=options.nat_python,
        quiet=options.quiet,
    )


def _names(words: str) -> list[str]:
    """Names of cases, separated by commas."""
    names = words.split(",")
    if unknown := [name for name in names if name not in CASES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(CASES)}")
    return names


def _parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python scripts/bench", description=main.__doc__)
    add = parser.add_argument
    add("--scale", type=int, default=100_000, metavar="N", help="rollouts (default: 100000)")
    add("--only", type=_names, default=list(CASES), metavar="CASE,...", help=", ".join(CASES))
    add("--rounds", type=int, default=0, metavar="N", help="the best of N counts")
    add("--growth", action="store_true", help="the main job at 10k, 100k, ... up to --scale")
    add("--write-docs", action="store_true", help="rewrite the tables of docs/performance.md")
    add("--folder", type=Path, default=HOME / ".bench", help="data and results (.bench)")
    add("--keep-data", action="store_true", help="keep large files after --growth")
    add("--prefpairs", default=_beside_python(), help="the program to measure")
    add("--nat-python", default="", metavar="PATH", help="a Python that has NAT's builder")
    add("--quiet", action="store_true", help="no word on what is being done")
    return parser


def _beside_python() -> str:
    """The prefpairs of this environment."""
    return str(Path(sys.executable).parent / "prefpairs")
