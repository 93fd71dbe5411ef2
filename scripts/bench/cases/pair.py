"""Best against worst by prompt, from shuffled NeMo Gym rollouts: the main job."""

from pathlib import Path

from bench.data.plan import Plan
from bench.equality import check_equal
from bench.race import Contender
from bench.results import Claim, Cost, Finding
from bench.setting import Setting, warm

BASE = 100_000
LARGE = 1_000_000
JOB = ("pair", "--strategy", "same_prompt", "--min-gap", "0.2", "--quiet")
ALONE, DEFAULT = "prefpairs --workers 1", "prefpairs"
PYTHON = "prefpairs --workers 1, Python"
AT_BASE = f"prefpairs, {BASE:,} rollouts"
LOOP = "orjson loop"


def pair(setting: Setting) -> Finding:
    """Race prefpairs against its peers, and compare what they write."""
    return best_against_worst(
        setting,
        Plan(rollouts=setting.scale),
        case="pair",
        title="Best against worst by prompt, shuffled NeMo Gym rollouts of one turn",
        most_of_loop=0.6 if setting.scale >= LARGE else 0.8,
    )


def best_against_worst(
    setting: Setting, plan: Plan, *, case: str, title: str, most_of_loop: float
) -> Finding:
    """The main job on a plan's rollouts, with at most `most_of_loop` times the CPU of the loop."""
    source = setting.file(plan)
    size = source.stat().st_size
    runnable, notes = setting.able(_contenders(setting, plan, source), source)
    warm(source)
    costs = setting.race(runnable)
    outputs = {one.name: one.output for one in runnable if one.output and one.name != AT_BASE}
    pairs = check_equal(outputs)
    equal = f"{pairs:,} pairs from {size / 1e6:,.0f} MB; the outputs of all of them are equal"
    claims = [
        Claim(
            what="CPU with one worker, against the bare orjson loop",
            value=costs[ALONE].cpu / costs[LOOP].cpu,
            bound=most_of_loop,
            unit="x",
        ),
        *(_claims(costs, setting.scale) if case == "pair" else ()),
    ]
    return Finding(
        case=case,
        title=title,
        rollouts=plan.rollouts,
        input_bytes=size,
        rounds=setting.rounds,
        baseline=LOOP,
        costs=costs,
        claims=claims if setting.scale >= BASE else [],  # below, start-up dominates
        notes=[equal, *notes],
    )


def _contenders(setting: Setting, plan: Plan, source: Path) -> list[Contender]:
    """All contenders, and the program at the base scale, to measure the growth of memory."""
    alone = (*JOB, *setting.one_worker)
    loop = setting.peer(LOOP, "orjson_loop", source)
    contenders = [
        Contender(name=LOOP, command=loop.command),  # it writes nothing
        setting.program(DEFAULT, (*JOB, source), setting.output("default.jsonl")),
        setting.program(ALONE, (*alone, source), setting.output("alone.jsonl")),
        setting.python_alone(PYTHON, (*alone, source), setting.output("python.jsonl")),
        setting.peer("DuckDB", "duckdb_sql", source, needs="duckdb"),
        setting.peer("Polars", "polars_lazy", source, needs="polars"),
        setting.peer("plain Python", "plain_python", source),
    ]
    if plan.format == "nemo-gym" and plan.rollouts > BASE:
        base = setting.file(Plan(rollouts=BASE))
        contenders.append(setting.program(AT_BASE, (*JOB, base), setting.output("base.jsonl")))
    return contenders


def _claims(costs: dict[str, Cost], scale: int) -> list[Claim]:
    """The bounds for rollouts with one turn."""
    large = scale >= LARGE
    claims = []
    if "DuckDB" in costs:
        bound = 0.8 if scale > LARGE else 0.6 if large else 0.75
        claims.append(
            Claim(
                what="wall against DuckDB",
                value=costs[DEFAULT].wall / costs["DuckDB"].wall,
                bound=bound,
                unit="x",
            )
        )
    if "plain Python" in costs:
        claims.append(
            Claim(
                what="times as fast as plain Python",
                value=costs["plain Python"].wall / costs[DEFAULT].wall,
                bound=10 if large else 8,
                unit="x",
                least=True,
            )
        )
    return [*claims, _memory(costs, scale)] if scale >= BASE else claims


def _memory(costs: dict[str, Cost], scale: int) -> Claim:
    """Peak memory at the base scale, and growth per further candidate."""
    peak = max(costs[ALONE].peak, costs[DEFAULT].peak)
    if scale == BASE:
        return Claim(what="peak memory", value=peak / 1e6, bound=60, unit="MB")
    return Claim(
        what=f"memory a candidate, above {BASE:,}",
        value=(peak - costs[AT_BASE].peak) / (scale - BASE),
        bound=96,
        unit="bytes",
    )
