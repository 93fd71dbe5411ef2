"""The main job from a pipe, from a compressed file, and behind `extract`."""

import gzip
import shlex
import shutil
import sys
from pathlib import Path

from bench.cases.agentic import rollouts_of_agents
from bench.cases.pair import ALONE, BASE, JOB, LOOP
from bench.data.plan import Plan
from bench.equality import check_equal
from bench.race import Contender
from bench.results import Claim, Finding
from bench.setting import PEERS, Setting, warm

PIPE, EXTRACT, GZIP = "prefpairs behind cat", "prefpairs behind extract", "prefpairs FILE.gz"
UNPACKED = f"{LOOP} behind gzip -dc"


def streams(setting: Setting) -> Finding:
    """Race inputs that cannot be read twice against the same rollouts in a file."""
    source = setting.file(Plan(format="agentic", rollouts=rollouts_of_agents(setting)))
    packed = _packed(setting, source)
    for path in (source, packed):
        warm(path)
    job = (setting.prefpairs, *JOB, *setting.one_worker)
    extract = shlex.join([setting.prefpairs, "extract", "--quiet", str(source)])
    loop = shlex.join([sys.executable, str(PEERS / "orjson_loop.py"), "/dev/stdin"])
    contenders = [
        Contender(name=LOOP, command=setting.peer(LOOP, "orjson_loop", source).command),
        setting.program(ALONE, (*job[1:], source), setting.output("file.jsonl")),
        _behind(f"cat {shlex.quote(str(source))}", PIPE, job, setting.output("pipe.jsonl")),
        _behind(extract, EXTRACT, job, setting.output("extract.jsonl")),
        Contender(name=UNPACKED, command=_shell(f"gzip -dc {shlex.quote(str(packed))} | {loop}")),
        setting.program(GZIP, (*job[1:], packed), setting.output("gzip.jsonl")),
    ]
    costs = setting.race(contenders)
    pairs = check_equal({one.name: one.output for one in contenders if one.output})
    bounds = [(PIPE, LOOP, 1.2), (GZIP, UNPACKED, 1.0)]
    claims = [
        Claim(
            what=f"CPU of {name}, against {other}",
            value=costs[name].cpu / costs[other].cpu,
            bound=most,
            unit="x",
        )
        for name, other, most in bounds
    ]
    size = source.stat().st_size
    return Finding(
        case="streams",
        title="Rollouts of agents from pipes and compressed files",
        rollouts=rollouts_of_agents(setting),
        input_bytes=size,
        rounds=setting.rounds,
        baseline=LOOP,
        costs=costs,
        claims=claims if setting.scale >= BASE else [],  # below, start-up dominates
        notes=[f"{pairs:,} pairs from {size / 1e6:,.0f} MB; the outputs of all of them are equal"],
    )


def _packed(setting: Setting, source: Path) -> Path:
    """The file, compressed."""
    packed = source.with_name(f"{source.name}.gz")
    if not packed.exists():
        setting.tell(f"writing {packed.name}")
        with source.open("rb") as file, gzip.open(packed, "wb", compresslevel=6) as to:
            shutil.copyfileobj(file, to)
    return packed


def _behind(first: str, name: str, job: tuple[str, ...], output: Path) -> Contender:
    """The job at the end of a pipe."""
    command = _shell(f"{first} | {shlex.join([*job, '-o', str(output)])}")
    return Contender(name=name, command=command, output=output)


def _shell(line: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", line)
