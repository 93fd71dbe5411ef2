"""A fair draw of the next members of a ring, compared with a plain walk."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.model.identity import draw
from prefpairs.strategies.stratified import HashRing

MEMBERS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([0.0, 0.1, 0.2, 0.3]), st.sampled_from("ab")),
    max_size=12,
    unique_by=lambda member: member[0],
)


@given(MEMBERS, st.integers(0, 31), st.integers(1, 4), st.sampled_from([-1.0, 0.0, 0.1, 0.3]))
@examples(400, derandomize=True)
def test_against_a_plain_walk(
    members: list[tuple[int, float, str]], start: int, count: int, highest: float
) -> None:
    """The first members from a hash on, around the ring, that fit and have other answers."""
    hashes = [member[0] for member in members]
    scores = [member[1] for member in members]
    answers = [member[2] for member in members]
    places = range(len(members))
    ring = HashRing(places, scores, lambda at: answers[at].encode(), lambda at: hashes[at])
    fitting = range(sum(score <= highest for score in scores))
    around = sorted(places, key=lambda at: (hashes[at] < start, hashes[at]))
    expected = [at for at in around if answers[at] != "a" and scores[at] <= highest][:count]
    drawn = ring.draw(start, b"a", fitting, lambda at: scores[at] <= highest, count)
    assert (drawn, list(ring.scores)) == (expected, sorted(scores))


def test_some_places_of_a_larger_list() -> None:
    """Positions in a larger list keep their numbers."""
    ring = HashRing([5, 9], [0.0] * 10, lambda _: b"b", lambda at: at)
    drawn = [ring.draw(at, b"a", range(2), lambda _: True, 1) for at in (0, 6, 10)]
    assert drawn == [[5], [9], [5]]


def test_draws_are_spread() -> None:
    """With random hashes, candidates are drawn in proportion to their arc of the ring."""
    ring = HashRing(range(100), [0.0] * 100, lambda _: b"b", lambda at: draw(0, "x", b"%d" % at))
    starts = [draw(0, "y", b"%d" % number) for number in range(10_000)]
    drawn = Counter(ring.draw(at, b"a", range(100), lambda _: True, 1)[0] for at in starts)
    assert len(drawn) > 90
    assert max(drawn.values()) < 1000
