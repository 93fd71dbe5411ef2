"""Groups written by several processes, some of which fail."""

import multiprocessing
import os
import signal
from collections.abc import Iterable, Mapping

import pytest
from rows_and_output import Lines

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.pairs.write_workers import WriteWorkers
from prefpairs.engine.processes import CAN_FORK
from prefpairs.errors import InputChanged
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not CAN_FORK, reason="several write only where one can fork"),
]
OURS = os.getpid()


def _write(groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger) -> None:
    """Write a line and a pair for each group, except every third."""
    for group in groups:
        ledger.groups += 1
        if group % 3:
            outputs[WHOLE].write(b"%d\n" % group)
            ledger.add_pair(group / 10, 1.0, None)
            ledger.lines_written[WHOLE] += 1
            ledger.example = ledger.example or (group, "A", "B")
        else:
            ledger.groups_without_pair["all_tied"] += 1


def _dies(groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger) -> None:
    groups = [*groups]
    if os.getpid() != OURS and 7 in groups:
        outputs[WHOLE].write(b"half of it\n")
        os.kill(os.getpid(), signal.SIGKILL)
    _write(groups, outputs, ledger)


@pytest.mark.parametrize("number", [1, 2, 3, 20])
@pytest.mark.parametrize("write", [_write, _dies])
def test_order_and_counts_are_those_of_one(number: int, write: object) -> None:
    """Output and counts equal those of one process, for any number, even if some die."""
    expected, alone = Lines(), Ledger()
    _write(range(12), {WHOLE: expected}, alone)
    output, ledger = Lines(), Ledger()
    WriteWorkers(write, range(12), number, None).write({WHOLE: output}, ledger)  # type: ignore[arg-type]
    assert output.lines == expected.lines
    assert (ledger.groups, ledger.groups_without_pair) == (12, {"all_tied": 4})
    assert (ledger.pairs, ledger.lines_written, ledger.example) == (8, {WHOLE: 8}, (1, "A", "B"))
    assert ledger.gaps.summary() == alone.gaps.summary() == {"mean": 0.6, "min": 0.1, "max": 1.1}
    assert (ledger.chosen_scores.count, ledger.rejected_scores.count) == (8, 0)
    assert ledger.pairs_at_gap == alone.pairs_at_gap
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("write", [_write, _dies])
def test_progress(write: object) -> None:
    """All groups are counted once, those of workers while they run."""
    ledger, seen = Ledger(), []

    class Watching(Lines):
        def write(self, line: bytes, /) -> object:
            seen.append(ledger.progress.step)
            return super().write(line)

    workers = WriteWorkers(write, range(300), 2, None)  # type: ignore[arg-type]
    workers.write({WHOLE: Watching()}, ledger)
    assert {(step.activity, step.total, step.unit) for step in seen} == {("writing", 300, "groups")}
    assert max(step.done for step in seen) == 300
    assert ledger.progress.step.done == 300


def test_errors_are_raised_by_the_parent(capfd: pytest.CaptureFixture[str]) -> None:
    """An error in a worker is raised in the parent, which writes the group again."""

    def write(groups: Iterable[int], outputs: Mapping[str, Output], ledger: Ledger) -> None:
        groups = [*groups]
        if 3 in groups:
            raise InputChanged("r.jsonl")
        _write(groups, outputs, ledger)

    with pytest.raises(InputChanged):
        WriteWorkers(write, range(4), 2, None).write({WHOLE: Lines()}, Ledger())
    assert multiprocessing.active_children() == []
    assert capfd.readouterr() == ("", "")
