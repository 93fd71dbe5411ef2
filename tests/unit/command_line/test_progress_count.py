"""How far a run has come."""

from array import array

from prefpairs.ledger import Progress, Step, ValidationLedger


def test_bytes_of_inputs_are_counted_first() -> None:
    """Nobody here knows how many there will be."""
    progress = Progress()
    progress.add_bytes(100)
    progress.add_bytes(20)
    assert progress.step == Step("reading", 120, None, "bytes")


def test_others_count_beside_us() -> None:
    """What they count is seen as they go, and ours once they have ended."""
    progress, beside = Progress(), array("Q", [0, 0])
    progress.add_bytes(100)
    progress.watch_workers(beside)
    beside[1] = 7
    assert progress.step.done == 107
    progress.workers_ended()
    beside[1] = 9
    assert (progress.own_bytes, progress.step.done) == (107, 107)


def test_next_step() -> None:
    """Whoever begins it says at any time how far it is."""
    progress, done = Progress(), [0]
    progress.begin_step(lambda: Step("writing", done[0], 10, "pairs"))
    done[0] = 4
    assert progress.step == Step("writing", 4, 10, "pairs")


def test_hashing() -> None:
    """Bytes are counted from zero again."""
    progress = Progress()
    progress.add_bytes(100)
    progress.begin_hashing(50)
    progress.add_bytes(30)
    assert progress.step == Step("hashing", 30, 50, "bytes")


def test_validation_ledgers_are_equal_whatever_their_progress() -> None:
    """What was found has nothing to do with how it was looked for."""
    one, other = ValidationLedger(), ValidationLedger()
    one.progress.add_bytes(5)
    assert one == other
