"""Pairs of 3.7 KB through `dedupe`, `sample`, `split` and `export`."""

import subprocess
from pathlib import Path

from bench.data.plan import Plan
from bench.race import Contender
from bench.results import Claim, Cost, Finding
from bench.setting import Setting, warm

ANSWER_LENGTH = 1500
"""The generator's settings for pairs of 3.7 KB."""
MOST_OF_COPY = {"dedupe": 1.2, "sample": 1.0, "split": 1.0}
LEAST_OF_EXPORT = 150
COPY = "orjson copy"


def curate(setting: Setting) -> Finding:
    """Race the commands that read pairs, with a plain copy for comparison."""
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
        claims=_claims(costs, size),
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


def _claims(costs: dict[str, Cost], size: int) -> list[Claim]:
    """CPU against the copy; for `export`, which writes other rows, input bytes per second."""
    claims = [
        Claim(
            what=f"CPU of {name}, against the copy",
            value=costs[name].cpu / costs[COPY].cpu,
            bound=most,
            unit="x",
        )
        for name, most in MOST_OF_COPY.items()
    ]
    speed = Claim(
        what="export, a second of one core",
        value=size / costs["export"].cpu / 1e6,
        bound=LEAST_OF_EXPORT,
        unit="MB",
        least=True,
    )
    return [*claims, speed]
