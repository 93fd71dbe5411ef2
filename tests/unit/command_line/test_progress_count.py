"""How far a run has come."""

from array import array

from prefpairs.ledger.progress import Course, Step
from prefpairs.ledger.validation_report import Judgement


def test_bytes_of_inputs_are_counted_first() -> None:
    """Nobody here knows how many there will be."""
    course = Course()
    course.pass_by(100)
    course.pass_by(20)
    assert course.step == Step("reading", 120, None, "bytes")


def test_others_count_beside_us() -> None:
    """What they count is seen as they go, and ours once they have ended."""
    course, beside = Course(), array("Q", [0, 0])
    course.pass_by(100)
    course.count_beside(beside)
    beside[1] = 7
    assert course.step.done == 107
    course.join_beside()
    beside[1] = 9
    assert (course.passed, course.step.done) == (107, 107)


def test_next_step() -> None:
    """Whoever begins it says at any time how far it is."""
    course, done = Course(), [0]
    course.turn_to(lambda: Step("writing", done[0], 10, "pairs"))
    done[0] = 4
    assert course.step == Step("writing", 4, 10, "pairs")


def test_hashing() -> None:
    """Bytes are counted from zero again."""
    course = Course()
    course.pass_by(100)
    course.turn_to_hashing(50)
    course.pass_by(30)
    assert course.step == Step("hashing", 30, 50, "bytes")


def test_judgements_are_equal_whatever_their_course() -> None:
    """What was found has nothing to do with how it was looked for."""
    one, other = Judgement(), Judgement()
    one.course.pass_by(5)
    assert one == other
