"""All 28 pairs of each group of 8, where most of the work is writing."""

from bench.data.plan import Plan
from bench.results import Claim, Finding
from bench.setting import Setting

NAME, COPY = "prefpairs --workers 1", "orjson copy of its output"
PYTHON = "prefpairs --workers 1, Python"


class PairsMissing(Exception):
    """Some pairs were not written."""

    def __init__(self, written: int, wanted: int) -> None:
        super().__init__(f"{written:,} pairs written, {wanted:,} wanted")


def exhaustive(setting: Setting) -> Finding:
    """Race `pair --strategy exhaustive` against a copy of what it writes."""
    plan = Plan(rollouts=setting.scale // 5 // 8 * 8, rewards="distinct")
    source, output = setting.file(plan), setting.output("exhaustive.jsonl")
    words = ("pair", "--strategy", "exhaustive", "--quiet", *setting.one_worker, source)
    contenders = [
        setting.program(NAME, words, output),
        setting.python_alone(PYTHON, words, setting.output("python.jsonl")),
        setting.peer(COPY, "orjson_copy", output),
    ]
    costs = setting.race(contenders)
    with output.open("rb") as file:
        lines = sum(1 for _ in file)
    if lines != (wanted := plan.rollouts // 8 * 28):
        raise PairsMissing(lines, wanted)
    written = output.stat().st_size
    claim = Claim(
        what="time against the copy",
        value=costs[NAME].wall / costs[COPY].wall,
        bound=0.9,
        unit="x",
    )
    return Finding(
        case="exhaustive",
        title="All pairs of groups of 8",
        rollouts=plan.rollouts,
        input_bytes=source.stat().st_size,
        rounds=setting.rounds,
        baseline=COPY,
        costs=costs,
        claims=[claim],
        notes=[f"{lines:,} pairs, {written / 1e6:,.0f} MB written"],
    )
