"""All pairs of each turn in NAT's `workflow_output.json`: one indented array."""

from dataclasses import replace
from pathlib import Path

from bench.cases.pair import PYTHON
from bench.data.plan import Plan
from bench.equality import check_equal
from bench.race import Contender
from bench.results import Claim, Cost, Finding
from bench.setting import PEERS, Setting, warm

JOB = ("pair", "--from", "nat", "--strategy", "exhaustive", "--min-gap", "0.2", "--quiet")
NAME, QUARTER, BUILDER = "prefpairs --workers 1", "prefpairs, a quarter of it", "NAT's builder"


def nat(setting: Setting) -> Finding:
    """Race prefpairs against NAT's builder, if it is installed, and a plain script."""
    plan = Plan(format="nat", rollouts=setting.scale * 4 // 5, per_task=4, answer_length=600)
    source = setting.file(plan)
    quarter = setting.file(replace(plan, rollouts=plan.rollouts // 4))
    size = source.stat().st_size
    runnable, reasons = setting.able(_contenders(setting, source, quarter), source)
    warm(source)
    costs = setting.race(runnable)
    outputs = {one.name: one.output for one in runnable if one.output and one.name != QUARTER}
    pairs = check_equal(outputs, scores=False)
    notes = [f"{pairs:,} pairs from {size / 1e6:,.0f} MB; the outputs of all of them are equal"]
    if not setting.nat_python:
        notes.append(f"{BUILDER}: no --nat-python names a Python that has it")
    return Finding(
        case="nat",
        title="All pairs of NAT's workflow_output.json",
        rollouts=plan.rollouts,
        input_bytes=size,
        rounds=setting.rounds,
        baseline=NAME,
        costs=costs,
        claims=_claims(costs, plan.rollouts - plan.rollouts // 4),
        notes=[*notes, *reasons],
    )


def _contenders(setting: Setting, source: Path, quarter: Path) -> list[Contender]:
    """All contenders."""
    words = (*JOB, *setting.one_worker)
    contenders = [
        setting.program(NAME, (*words, source), setting.output("nat.jsonl")),
        setting.python_alone(PYTHON, (*words, source), setting.output("python.jsonl")),
        setting.program(QUARTER, (*words, quarter), setting.output("quarter.jsonl")),
        setting.peer("plain Python", "plain_nat", source),
    ]
    if setting.nat_python:
        peer = setting.peer(BUILDER, "nat_builder", source)
        command = (setting.nat_python, str(PEERS / "nat_builder.py"), *peer.command[2:])
        contenders.append(replace(peer, command=command))
    return contenders


def _claims(costs: dict[str, Cost], more: int) -> list[Claim]:
    """An eighth of the builder's CPU, and memory that does not grow with the text."""
    growth = Claim(
        what="memory a candidate, above a quarter of the file",
        value=max(0, costs[NAME].peak - costs[QUARTER].peak) / more,
        bound=96,
        unit="bytes",
    )
    if BUILDER not in costs:
        return [growth]
    share = Claim(
        what="CPU against NAT's builder",
        value=costs[NAME].cpu / costs[BUILDER].cpu,
        bound=1 / 8,
        unit="x",
    )
    return [share, growth]
