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
AT_BASE = f"prefpairs, {BASE:,} rollouts"
LOOP = "orjson loop"


def pair(setting: Setting) -> Finding:
    """Race prefpairs against its peers, and compare what they write."""
    plan = Plan(rollouts=setting.scale)
    source = setting.file(plan)
    size = source.stat().st_size
    runnable, notes = setting.able(_contenders(setting, source), source)
    warm(source)
    costs = setting.race(runnable)
    outputs = {one.name: one.output for one in runnable if one.output and one.name != AT_BASE}
    pairs = check_equal(outputs)
    equal = f"{pairs:,} pairs from {size / 1e6:,.0f} MB; the outputs of all of them are equal"
    return Finding(
        case="pair",
        title="Best against worst by prompt, shuffled NeMo Gym rollouts",
        rollouts=setting.scale,
        input_bytes=size,
        rounds=setting.rounds,
        baseline=DEFAULT,
        costs=costs,
        claims=_claims(costs, setting.scale),
        notes=[equal, *notes],
    )


def _contenders(setting: Setting, source: Path) -> list[Contender]:
    """Everyone who takes part; the program at the base scale too, for the growth of memory."""
    alone = (*JOB, *setting.one_worker)
    contenders = [
        setting.peer(LOOP, "orjson_loop", source),
        setting.program(ALONE, (*alone, source), setting.output("alone.jsonl")),
        setting.program(DEFAULT, (*JOB, source), setting.output("default.jsonl")),
        setting.peer("DuckDB", "duckdb_sql", source, needs="duckdb"),
        setting.peer("Polars", "polars_lazy", source, needs="polars"),
        setting.peer("plain Python", "plain_python", source),
    ]
    # The loop writes nothing.
    contenders[0] = Contender(name=LOOP, command=contenders[0].command)
    if setting.scale > BASE:
        base = setting.file(Plan(rollouts=BASE))
        contenders.append(setting.program(AT_BASE, (*JOB, base), setting.output("base.jsonl")))
    return contenders


def _claims(costs: dict[str, Cost], scale: int) -> list[Claim]:
    """The figures to reach; what start-up costs hides them below the base scale."""
    large = scale >= LARGE
    claims = [
        Claim(
            what="CPU with one worker, against the bare orjson loop",
            value=costs[ALONE].cpu / costs[LOOP].cpu,
            bound=1.3 if large else 1.5,
            unit="x",
        )
    ]
    if "DuckDB" in costs:
        claims.append(
            Claim(
                what="wall against DuckDB",
                value=costs[DEFAULT].wall / costs["DuckDB"].wall,
                bound=0.7 if large else 0.85,
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
    return [*claims, _memory(costs, scale)] if scale >= BASE else []


def _memory(costs: dict[str, Cost], scale: int) -> Claim:
    """The peak at the base scale, and what each candidate adds above it."""
    peak = max(costs[ALONE].peak, costs[DEFAULT].peak)
    if scale == BASE:
        return Claim(what="peak memory", value=peak / 1e6, bound=60, unit="MB")
    return Claim(
        what=f"memory a candidate, above {BASE:,}",
        value=(peak - costs[AT_BASE].peak) / (scale - BASE),
        bound=96,
        unit="bytes",
    )
