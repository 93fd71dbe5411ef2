"""How long a run in steps would take on many machines, and what they would carry.

`python scripts/simulate_run.py` simulates `pair --strategy best-vs-worst` on a cluster: every step
with its own work, its place on a core, and its part of a file system that all of them share.
Nothing is drawn at random, so the same options print the same text.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any

READ_SPEED = 430e6
"""Bytes of rollouts that one core indexes in a second: measured on 596 MB."""
CANDIDATE_SECONDS = 0.5e-6
"""Seconds of one core to rank a candidate in its part: measured on 250,000 of them."""
PAIR_SECONDS = 12e-6
"""Seconds of one core to read two answers again and to write their pair: measured."""
START = 0.15
"""Seconds until a process has loaded the program: measured."""
COLUMNS, GROUP = 52, 64
"""Bytes of columns for a candidate, and for its group in each range: measured."""
RECEIPT = 24
"""Bytes in the receipt of a range for each part: measured."""
MEMORY, READING, WRITING = 40e6, 100, 190
"""Bytes of memory of a step, and more for each candidate that it reads or pairs: measured."""

OPEN_SECONDS, READ_SECONDS = 1e-3, 0.2e-3
"""Seconds to open a file on the shared file system, and to read at a place that is not cached."""
READ_AHEAD = 1e6
"""Bytes of a request where a file is read from beginning to end."""
PAGE = 4096
"""The least that the file system moves for a read at such a place."""
MESSAGES = 5e3
"""Bytes that a scheduler and the driver exchange about a step."""
PAIR = 1.6
"""How many times as long as a rollout a pair is: it has a prompt and two answers."""
STEPS = 1000
"""Steps of each kind: what `pair` plans for 256 GB and more."""
SLOWNESS = 4
"""How many times as long a slow machine takes."""
TICK = 0.1
"""Seconds between two looks at the cluster."""
ROUNDING = 1e-9


def _given(default: float, what: str) -> Any:
    """A field of Job, which is an option of the same name."""
    return field(default=default, metadata={"help": f"{what} (default: {default:g})"})


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is done, and on what."""

    terabytes: float = _given(1.0, "TB of rollouts")
    rollout: int = _given(1500, "bytes of a rollout")
    group: int = _given(8, "rollouts of a prompt, each in another range of the input")
    hot: float = _given(0.01, "the share of all rollouts that one prompt has")
    nodes: int = _given(64, "machines")
    cores: int = _given(16, "cores of a machine")
    slow: int = _given(2, f"machines that take {SLOWNESS} times as long")
    disk: float = _given(20.0, "GB per second of the shared file system")
    requests: float = _given(1.0, "million requests per second of it")
    network: float = _given(3.0, "GB per second of a machine")
    delay: float = _given(0.01, "seconds between the starts of two steps")

    @property
    def rollouts(self) -> float:
        """How many rollouts there are."""
        return self.terabytes * 1e12 / self.rollout

    @property
    def pairs(self) -> float:
        """How many pairs there will be: one of each group."""
        return self.rollouts / self.group


@dataclass
class Step:
    """The work of a step: seconds of a core, bytes and requests of the shared file system."""

    seconds: float
    read: float
    written: float
    requests: float
    memory: float
    left: float = 1.0
    """The share of the work that is still to be done."""
    node: int = -1
    """The machine that it runs on."""


@dataclass(frozen=True)
class Round:
    """What a round of steps took."""

    name: str
    steps: int
    wall: float
    read: float
    written: float
    requests: float
    busiest: float
    """The most bytes that one machine moved."""
    memory: float
    """The memory of the largest step."""


def index_steps(job: Job) -> list[Step]:
    """Each reads a range of the input and writes its columns, divided into parts."""
    size, candidates = job.terabytes * 1e12 / STEPS, job.rollouts / STEPS
    return [
        Step(
            seconds=START + size / READ_SPEED * _unevenness("index", number),
            read=size,
            written=candidates * (COLUMNS + GROUP) + STEPS * RECEIPT,
            requests=size / READ_AHEAD,
            memory=MEMORY + READING * candidates,
        )
        for number in range(STEPS)
    ]


def pair_steps(job: Job) -> list[Step]:
    """Each reads the columns of a part from all ranges, and the texts of its pairs; it writes them.

    One of the parts has the hot prompt.
    """
    pairs = job.pairs / STEPS
    made = []
    for number in range(STEPS):
        hot = job.hot if number == STEPS // 2 else 0
        candidates = job.rollouts * ((1 - job.hot) / STEPS + hot)
        work = candidates * CANDIDATE_SECONDS + pairs * PAIR_SECONDS
        waits = 2 * STEPS * OPEN_SECONDS + 2 * pairs * READ_SECONDS
        columns = candidates * (COLUMNS + GROUP) + STEPS * STEPS * RECEIPT
        made.append(
            Step(
                seconds=START + work * _unevenness("pair", number) + waits,
                read=columns + 2 * pairs * max(job.rollout, PAGE),
                written=pairs * PAIR * job.rollout,
                requests=2 * STEPS + 2 * pairs,
                memory=MEMORY + WRITING * candidates,
            )
        )
    return made


def finish_step() -> Step:
    """It reads all receipts and moves all parts."""
    receipts = STEPS * STEPS * RECEIPT
    requests = 4 * STEPS
    seconds = START + requests * OPEN_SECONDS
    return Step(seconds, receipts, 0, requests, MEMORY + 4 * receipts)


def _unevenness(purpose: str, number: int) -> float:
    """From 1 to 1.2: steps of the same size do not take the same time."""
    drawn = blake2b(f"{purpose} {number}".encode(), digest_size=4).digest()
    return 1 + 0.2 * int.from_bytes(drawn) / 2**32


def simulated(name: str, steps: Sequence[Step], job: Job) -> Round:
    """Let the cores take the steps in order, and all that run share what they share."""
    free = [core % job.nodes for core in range(job.nodes * job.cores)]
    waiting, running = [*reversed(steps)], list[Step]()
    moved = [0.0] * job.nodes
    ticks, started = 0, 0
    while waiting or running:
        while waiting and free and started * job.delay <= ticks * TICK:
            step = waiting.pop()
            step.node = free.pop(0)
            moved[step.node] += step.read + step.written
            running.append(step)
            started += 1
        ticks += 1
        for step, share in _progress(running, job):
            step.left -= share
        free += [step.node for step in running if step.left <= ROUNDING]
        running = [step for step in running if step.left > ROUNDING]
    return Round(
        name,
        len(steps),
        ticks * TICK,
        sum(step.read for step in steps),
        sum(step.written for step in steps),
        sum(step.requests for step in steps),
        max(moved),
        max(step.memory for step in steps),
    )


def _progress(running: Sequence[Step], job: Job) -> Iterator[tuple[Step, float]]:
    """The share of its work that each step does in a tick; nobody gets more than an equal part."""
    on_node = [0] * job.nodes
    for step in running:
        on_node[step.node] += 1
    for step in running:
        slowness = SLOWNESS if step.node >= job.nodes - job.slow else 1
        speed = min(
            job.disk * 1e9 / len(running), job.network * 1e9 / slowness / on_node[step.node]
        )
        seconds = max(
            step.seconds * slowness,
            (step.read + step.written) / speed,
            step.requests * len(running) / (job.requests * 1e6),
        )
        yield step, TICK / seconds


def report(job: Job) -> Iterator[str]:
    """What a run takes, what is carried, and what was assumed."""
    rounds = [
        simulated("round 1", index_steps(job), job),
        simulated("round 2", pair_steps(job), job),
        simulated("finish", [finish_step()], job),
    ]
    millions = job.rollouts / 1e6, job.pairs / 1e6
    yield f"{job.terabytes:g} TB: {millions[0]:,.0f} M rollouts, {millions[1]:,.0f} M pairs"
    yield f"{job.nodes} machines with {job.cores} cores"
    yield ""
    rows = {
        "": [each.name for each in rounds],
        "steps": [f"{each.steps:,}" for each in rounds],
        "wall, s": [f"{each.wall:,.0f}" for each in rounds],
        "read, GB": [f"{each.read / 1e9:,.1f}" for each in rounds],
        "written, GB": [f"{each.written / 1e9:,.1f}" for each in rounds],
        "requests, million": [f"{each.requests / 1e6:,.1f}" for each in rounds],
        "most by one machine, GB": [f"{each.busiest / 1e9:,.1f}" for each in rounds],
        "memory of the largest step, MB": [f"{each.memory / 1e6:,.0f}" for each in rounds],
    }
    for name, cells in rows.items():
        yield (f"{name:31}" + "".join(f"{cell:>10}" for cell in cells)).rstrip()
    seconds = sum(each.wall for each in rounds)
    messages = MESSAGES * sum(each.steps for each in rounds) / 1e6
    yield ""
    yield f"In all: {seconds:,.0f} s"
    yield f"Driver: {messages:,.0f} MB of messages, {rounds[-1].read / 1e6:,.0f} MB of receipts"
    yield from _assumptions(job)


def _assumptions(job: Job) -> Iterator[str]:
    """What was not measured."""
    opening, reading = OPEN_SECONDS * 1000, READ_SECONDS * 1000
    yield ""
    yield "Assumed:"
    yield f"- shared file system: {job.disk:g} GB/s and {job.requests:g} M requests/s;"
    yield f"  {opening:g} ms to open a file;"
    yield f"  {reading:g} ms and {PAGE:,} bytes to read an answer again"
    yield f"- a machine: {job.network:g} GB/s; {job.slow} of them take {SLOWNESS} times as long"
    yield f"- a step starts every {job.delay:g} s; equal steps differ by up to a fifth"
    yield f"- the {job.group} rollouts of a prompt are in {job.group} ranges; one prompt has"
    yield f"  {job.hot:.0%} of all rollouts"


def main(words: Sequence[str]) -> int:
    """Print the report on what the options say."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for each in fields(Job):
        about = each.metadata["help"]
        parser.add_argument(
            f"--{each.name}", type=type(each.default), default=each.default, help=about
        )
    print("\n".join(report(Job(**vars(parser.parse_args(words))))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
