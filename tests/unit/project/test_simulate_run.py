"""The simulation of a run on many machines: what its clock shows, and what its report says."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from simulate_run import Job, Step, index_steps, pair_steps, report, simulated

QUICK = Job(nodes=2, cores=2, slow=0, delay=0)


def step(seconds: float = 0.01, read: float = 0, written: float = 0, requests: float = 0) -> Step:
    """A step with this much work."""
    return Step(seconds, read, written, requests, memory=0)


def wall(job: Job, *steps: Step) -> float:
    """The seconds that steps take, to a tenth."""
    return round(simulated("round 1", steps, job).wall, 1)


def test_each_core_does_a_step_at_a_time() -> None:
    """Four cores do eight steps of a second in two seconds."""
    assert wall(QUICK, *(step(1) for _ in range(8))) == 2.0


def test_machines_share_the_file_system() -> None:
    """Bytes and requests pass at the speed of the whole file system, even if cores are free."""
    fast = replace(QUICK, network=1000.0)
    assert wall(fast, *(step(read=10e9, written=10e9) for _ in range(4))) == 4.0
    assert wall(fast, *(step(requests=1e6) for _ in range(3))) == 3.0


def test_steps_of_a_machine_share_its_network() -> None:
    """Two machines of 1 GB/s move 8 GB in four seconds."""
    assert wall(replace(QUICK, network=1.0), *(step(read=2e9) for _ in range(4))) == 4.0


def test_a_slow_machine_holds_up_a_round() -> None:
    """The steps of a slow machine take four times as long, whether they compute or move bytes."""
    slow = replace(QUICK, slow=1, network=1.0)
    assert wall(slow, *(step(1) for _ in range(4))) == 4.0
    assert wall(slow, *(step(read=1e9) for _ in range(2))) == 4.0


def test_a_scheduler_starts_steps_one_after_the_other() -> None:
    """With half a second between two starts, the fourth one starts after a second and a half."""
    assert wall(replace(QUICK, delay=0.5), *(step(1) for _ in range(4))) == 2.5


def test_a_hot_prompt_is_in_one_part() -> None:
    """The step of its part takes more memory and time; no other step does."""
    plain, hot = pair_steps(Job(hot=0)), pair_steps(Job(hot=0.5))
    assert sorted(each.memory for each in hot)[-2] < plain[0].memory
    assert max(each.memory for each in hot) > 100 * plain[0].memory
    assert max(each.seconds for each in hot) > max(each.seconds for each in plain) + 100


def test_all_of_the_input_is_read_once() -> None:
    """The ranges make up the input, and the columns and receipts that are written are read."""
    job = Job(terabytes=2)
    assert sum(each.read for each in index_steps(job)) == pytest.approx(2e12)
    columns = sum(each.written for each in index_steps(job))
    texts = sum(2 * job.pairs / 1000 * 4096 for _ in range(1000))
    read = sum(each.read for each in pair_steps(job))
    assert read == pytest.approx(columns + texts + 999 * 1000 * 1000 * 24)


def test_the_same_options_print_the_same() -> None:
    """Nothing depends on chance or time; an input of twice the size takes longer."""
    small = Job(terabytes=0.1, nodes=4)
    first, again = [*report(small)], [*report(small)]
    assert first == again
    assert first[0] == "0.1 TB: 67 M rollouts, 8 M pairs"
    assert first != [*report(replace(small, terabytes=0.2))]
