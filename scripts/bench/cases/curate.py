"""Pairs of 3.7 KB through `dedupe`, `sample`, `split` and `export`."""

import subprocess
from pathlib import Path

from bench.data.plan import Plan
from bench.race import Contender
from bench.results import Claim, Cost, Finding
from bench.setting import Setting, warm

ANSWER_LENGTH = 1500
"""Makes pairs of 3.7 KB."""
FLOOR = 150
COPY = "orjson copy"


def curate(setting: Setting) -> Finding:
    """Race the commands that read pairs; the copy is there to compare with."""
    source = _pairs(setting)
    warm(source)
    size = source.stat().st_size
    contenders = [setting.peer(COPY, "orjson_copy", source), *_commands(setting, source)]
    costs = setting.race(contenders)
    return Finding(
        case="curate",
        title="Pairs through dedupe, sample, split, export",
        rollouts=setting.scale,
        input_bytes=size,
        rounds=setting.rounds,
        baseline=COPY,
        costs=costs,
        claims=[_claim(name, cost, size) for name, cost in costs.items() if name != COPY],
        notes=[f"{setting.scale:,} pairs of {size / setting.scale / 1000:.1f} KB each"],
    )


def _pairs(setting: Setting) -> Path:
    """A pair for each of `scale` tasks, made by the program itself."""
    path = setting.data / f"pairs-{setting.scale}.jsonl"
    if not path.exists():
        plan = Plan(
            rollouts=2 * setting.scale,
            per_task=2,
            order="grouped",
            rewards="distinct",
            answer_length=ANSWER_LENGTH,
        )
        source = setting.file(plan)
        setting.tell(f"pairing {source.name}")
        words = [setting.prefpairs, "pair", "--quiet", str(source), "-o", str(path)]
        subprocess.run(words, check=True)
        source.unlink()
    return path


def _commands(setting: Setting, source: Path) -> list[Contender]:
    """The four commands."""
    folder = setting.output("split")
    split = setting.program("split", ("split", "--quiet", "--out-dir", folder, source))
    return [
        setting.program("dedupe", ("dedupe", "--quiet", source), setting.output("dedupe.jsonl")),
        setting.program(
            "sample",
            ("sample", "--quiet", "--fraction", "0.5", source),
            setting.output("sample.jsonl"),
        ),
        Contender(name=split.name, command=split.command, output=folder),
        setting.program(
            "export",
            ("export", "--quiet", "--to", "trl", source),
            setting.output("export.jsonl"),
        ),
    ]


def _claim(name: str, cost: Cost, size: int) -> Claim:
    """Bytes of input a second of CPU."""
    return Claim(
        what=f"{name}, a second of one core",
        value=size / cost.cpu / 1e6,
        bound=FLOOR,
        unit="MB",
        least=True,
    )
