"""The main job by each runner on the same rollouts, with the same bytes as the result."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.cases.pair import BASE, JOB
from bench.data.plan import Plan
from bench.equality import check_same_bytes
from bench.race import Contender, ContenderFailed, once
from bench.ray_cluster import PROCESSES, RayCluster, ray_cluster
from bench.results import Claim, Cost, Finding, least
from bench.setting import Setting, warm

PROCESSES_AT_ONCE = 2
LOCAL, SHARDS = "local", f"shards, {PROCESSES_AT_ONCE} processes"
RAY = f"ray, {PROCESSES_AT_ONCE} CPUs, once its cluster runs"
MOST_SECONDS, MOST_BYTES = 5, 100
QUARTER = 4
PATIENCE = 60.0
"""Seconds until a cluster that has started takes its first run."""


def runners(setting: Setting) -> Finding:
    """Race the runners; that of Ray only where it is installed, on Linux."""
    plan = Plan(rollouts=setting.scale)
    source = setting.file(plan)
    warm(source)
    local = setting.program(LOCAL, _job(source), setting.output("runners.jsonl"))
    contenders = [local, _shards(setting, source)]
    ray = _on_ray(setting, RAY, source)
    notes = [*filter(None, [ray.why_not(0), "" if PROCESSES.is_dir() else f"{RAY}: no /proc"])]
    claims: list[Claim] = []
    if notes:
        costs = setting.race(contenders)
    else:
        quarter = setting.file(replace(plan, rollouts=max(8, setting.scale // QUARTER)))
        with ray_cluster(PROCESSES_AT_ONCE) as cluster:
            ray = _on_ray(setting, RAY, source, cluster)
            less = _on_ray(setting, "ray, a quarter of it", quarter, cluster)
            _first_run(less)
            costs, drivers = _race_with(cluster, setting, [*contenders, ray], ray)
            growth = max(0, drivers.peak - once(less).peak)
        claims = _claims(costs, growth / (setting.scale - setting.scale // QUARTER))
        alone = setting.race([_on_ray(setting, "ray, with its cluster", source)])
        seconds = next(iter(alone.values())).wall
        megabytes = drivers.peak / 1e6
        notes = [
            f"Ray with a cluster that is started for the run: {seconds:.3f} s",
            f"the process that drives Ray takes {drivers.cpu:.3f} s of CPU and {megabytes:,.0f} MB",
        ]
    outputs = {one.name: one.output for one in (*contenders, ray) if one.output}
    size = check_same_bytes({name: outputs[name] for name in costs})
    return Finding(
        case="runners",
        title="Best against worst in key order, by each runner",
        rollouts=setting.scale,
        input_bytes=source.stat().st_size,
        rounds=setting.rounds,
        baseline=LOCAL,
        costs=costs,
        claims=claims if setting.scale >= BASE else [],
        notes=[f"{size / 1e6:,.0f} MB of pairs, the same bytes by all of them", *notes],
    )


def _job(source: Path) -> tuple[str, ...]:
    """The main job in an order that no runner has to see all rows for."""
    return (*JOB, "--order", "key", str(source))


def _shards(setting: Setting, source: Path) -> Contender:
    """Plan, and both rounds with two processes at a time, finish."""
    folder = setting.output("shards")
    program, where = shlex.quote(setting.prefpairs), shlex.quote(str(folder))
    shares = f"seq 0 {PROCESSES_AT_ONCE - 1} | xargs -P {PROCESSES_AT_ONCE} -I{{}}"
    words = [setting.prefpairs, *_job(source), "--runner", "shards", "--out-dir", str(folder)]
    lines = [
        shlex.join(words),
        *(
            f"{shares} {program} shards {kind} -q {where} {{}}/{PROCESSES_AT_ONCE}"
            for kind in (1, 2)
        ),
        f"{program} shards finish -q {where}",
    ]
    return Contender(name=SHARDS, command=("/bin/sh", "-c", " && ".join(lines)), output=folder)


def _on_ray(
    setting: Setting, name: str, source: Path, cluster: RayCluster | None = None
) -> Contender:
    """The same on a cluster that runs, or on one of its own."""
    runner = "ray" if cluster is None else f"ray:{cluster.address}"
    folder = setting.output("ray")
    return Contender(
        name=name,
        command=(setting.prefpairs, *_job(source), "--runner", runner, "--out-dir", str(folder)),
        output=folder,
        needs="ray",
        variables={} if cluster is None else cluster.variables,
    )


def _first_run(contender: Contender) -> None:
    """Run it until the cluster takes it; its workers have started then."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            once(contender)
        except ContenderFailed:
            if time.monotonic() > until:
                raise
            time.sleep(1)
        else:
            return


def _race_with(
    cluster: RayCluster, setting: Setting, contenders: Sequence[Contender], ray: Contender
) -> tuple[dict[str, Cost], Cost]:
    """A race to which Ray's processes add their cost; and the cost of the driver alone."""
    costs: dict[str, list[Cost]] = {one.name: [] for one in contenders}
    drivers = []
    for number in range(1, setting.rounds + 1):
        setting.tell(f"round {number} of {setting.rounds}")
        for one in contenders:
            with cluster.watched() as watch:
                found = once(one)
            if one is ray:
                drivers.append(found)
                found = watch.added_to(found)
            costs[one.name].append(found)
    return {name: least(found) for name, found in costs.items()}, least(drivers)


def _claims(costs: dict[str, Cost], growth: float) -> list[Claim]:
    """The bounds."""
    return [
        Claim(
            what="wall of ray above that of local",
            value=costs[RAY].wall - costs[LOCAL].wall,
            bound=MOST_SECONDS,
            unit="s",
        ),
        Claim(
            what="memory of Ray's driver for each rollout more",
            value=growth,
            bound=MOST_BYTES,
            unit="bytes",
        ),
    ]
