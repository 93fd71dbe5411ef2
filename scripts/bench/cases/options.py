"""The main job with options that change how each rollout is read."""

from pathlib import Path

from bench.cases.agentic import rollouts_of_agents
from bench.cases.pair import ALONE, BASE, JOB, LOOP
from bench.data.plan import Plan
from bench.race import Contender
from bench.results import Claim, Finding
from bench.setting import Setting, warm

WITH = (
    ("--group-by", "prompt"),
    ("--group-by", "prompt,_ng_task_index"),
    ("--score", "reward"),
    ("--lower-is-better",),
    ("--reasoning", "drop"),
    ("--response-part", "final"),
    ("--keep", "_ng_task_index"),
)
MOST = 1.2


def options(setting: Setting) -> Finding:
    """Measure what an option costs, one after the other."""
    source = setting.file(Plan(format="agentic", rollouts=rollouts_of_agents(setting)))
    warm(source)
    contenders = [
        Contender(name=LOOP, command=setting.peer(LOOP, "orjson_loop", source).command),
        _with(setting, ALONE, (), source),
        *(_with(setting, " ".join(words), words, source) for words in WITH),
    ]
    costs = setting.race(contenders)
    claims = [
        Claim(
            what=f"CPU with {' '.join(words)}, against the loop",
            value=costs[" ".join(words)].cpu / costs[LOOP].cpu,
            bound=MOST,
            unit="x",
        )
        for words in WITH
    ]
    return Finding(
        case="options",
        title="Rollouts of agents with options of reading",
        rollouts=rollouts_of_agents(setting),
        input_bytes=source.stat().st_size,
        rounds=setting.rounds,
        baseline=LOOP,
        costs=costs,
        claims=claims if setting.scale >= BASE else [],  # below, start-up dominates
        notes=[],
    )


def _with(setting: Setting, name: str, words: tuple[str, ...], source: Path) -> Contender:
    """The job with these options."""
    output = setting.output(f"{'_'.join(words) or 'alone'}.jsonl".replace("/", "_"))
    return setting.program(name, (*JOB, *words, *setting.one_worker, source), output)
