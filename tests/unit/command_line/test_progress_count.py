"""How far a run is."""

from array import array

from prefpairs.ledger import Progress, Step, ValidationLedger


def test_bytes_of_inputs_are_counted_first() -> None:
    """Bytes are counted before the total is known."""
    progress = Progress()
    progress.add_bytes(100)
    progress.add_bytes(20)
    assert progress.step == Step("reading", 120, None, "bytes")


def test_bytes_of_workers_are_added() -> None:
    """Bytes of workers are added while they run, and kept when they have ended."""
    progress, beside = Progress(), array("Q", [0, 0])
    progress.add_bytes(100)
    progress.watch_workers(beside)
    beside[1] = 7
    assert progress.step.done == 107
    progress.workers_ended()
    beside[1] = 9
    assert (progress.own_bytes, progress.step.done) == (107, 107)


def test_next_step() -> None:
    """A step reports its position whenever it is asked."""
    progress, done = Progress(), [0]
    progress.begin_step(lambda: Step("writing", done[0], 10, "pairs"))
    done[0] = 4
    assert progress.step == Step("writing", 4, 10, "pairs")


def test_hashing() -> None:
    """Hashing counts bytes from zero again."""
    progress = Progress()
    progress.add_bytes(100)
    progress.begin_hashing(50)
    progress.add_bytes(30)
    assert progress.step == Step("hashing", 30, 50, "bytes")


def test_validation_ledgers_are_equal_whatever_their_progress() -> None:
    """Ledgers are equal even if their progress differs."""
    one, other = ValidationLedger(), ValidationLedger()
    one.progress.add_bytes(5)
    assert one == other
