"""Properties of every strategy, and what each one selects, compared with brute force."""

import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.errors import UnknownWord
from prefpairs.model.number import gap_between
from prefpairs.strategies import ALIASES, STRATEGIES, strategy_named
from prefpairs.strategies.allowed_pairs import AllowedPairs, Group, Positions
from prefpairs.strategies.options import PairOptions

TENTHS = st.sampled_from([number / 10 for number in range(11)])
GROUPS = st.lists(st.tuples(TENTHS, st.sampled_from([b"a", b"b", b"c"])), max_size=8).map(
    lambda members: Group(
        sorted((score for score, _ in members), reverse=True),
        [digest for _, digest in members],
        b"group",
    )
)
OPTIONS = st.builds(
    PairOptions,
    min_gap=st.sampled_from([0.0, 0.1, 0.3]),
    max_gap=st.sampled_from([None, 0.3, 0.7]),
    min_chosen_score=st.sampled_from([None, 0.5]),
    max_pairs_per_group=st.sampled_from([None, 1, 2, 5]),
)
SIZE = 3_000

every_strategy = pytest.mark.parametrize("name", STRATEGIES)
brute_force = examples(150, derandomize=True)


def _pairs(name: str, group: Group, options: PairOptions) -> list[Positions]:
    _, strategy = strategy_named(name)
    return list(strategy(group, options))


def _lower(group: Group, options: PairOptions, score: float) -> list[Positions]:
    """The allowed pairs whose chosen candidate has a score."""
    return [pair for pair in AllowedPairs(group, options) if group.scores[pair[0]] == score]


class Counted(list[Any]):
    """A list that fails if its items are read too often."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        """Count the look."""
        self.looks += 1
        assert self.looks <= 200 * SIZE, "a look at each pair, not at each candidate"
        return super().__getitem__(place)


@every_strategy
@given(GROUPS, OPTIONS)
@brute_force
def test_pairs_are_allowed_and_occur_once(name: str, group: Group, options: PairOptions) -> None:
    """Every strategy gives only allowed pairs, each once."""
    pairs = _pairs(name, group, options)
    assert set(pairs) <= set(AllowedPairs(group, options))
    assert len(set(pairs)) == len(pairs)


@every_strategy
@given(GROUPS, OPTIONS)
@brute_force
def test_a_pair_comes_out_where_one_is_allowed(
    name: str, group: Group, options: PairOptions
) -> None:
    """A group with an allowed pair gives one; only stratified may skip middle scores."""
    allowed = AllowedPairs(group, options)
    if name != "stratified":
        assert bool(_pairs(name, group, options)) == bool(len(allowed))


@given(GROUPS, OPTIONS)
@brute_force
def test_best_vs_worst_is_the_first_of_all(group: Group, options: PairOptions) -> None:
    """The widest gap; of equal gaps, the better chosen candidate."""
    pairs = _pairs("best-vs-worst", group, options)
    assert pairs == list(AllowedPairs(group, options))[:1]


@given(GROUPS, OPTIONS)
@brute_force
def test_best_vs_rest_has_one_chosen_answer(group: Group, options: PairOptions) -> None:
    """The first candidate that can be chosen, against all it may be paired with, widest first."""
    every = list(AllowedPairs(group, options))
    best = min((chosen for chosen, _ in every), default=None)
    pairs = _pairs("best-vs-rest", group, options)
    assert pairs == [pair for pair in every if pair[0] == best]


@given(GROUPS, OPTIONS)
@brute_force
def test_adjacent_takes_the_nearest_lower_score(group: Group, options: PairOptions) -> None:
    """Each score once, against the next allowed lower one; widest first."""
    expected = []
    for score in sorted(set(group.scores), reverse=True):
        lower = _lower(group, options, score)
        nearest = max((group.scores[rejected] for _, rejected in lower), default=None)
        expected += [pair for pair in lower if group.scores[pair[1]] == nearest][:1]
    expected.sort(key=lambda pair: gap_between(group.scores[pair[1]], group.scores[pair[0]]))
    assert _pairs("adjacent", group, options) == expected


@given(GROUPS, OPTIONS)
@brute_force
def test_stratified_leaves_the_middle_out(group: Group, options: PairOptions) -> None:
    """At 0.7 or more against 0.4 or less, widest first."""
    assert _pairs("stratified", group, options) == [
        pair
        for pair in AllowedPairs(group, options)
        if group.scores[pair[0]] >= 0.7 and group.scores[pair[1]] <= 0.4
    ]


@pytest.mark.full
@every_strategy
@pytest.mark.parametrize(
    ("scores", "digests", "options"),
    [
        ("distinct", "same", {}),
        ("tied", "distinct", {}),
        ("tied", "same", {}),
        ("distinct", "distinct", {"max_gap": 0.5 / SIZE}),
        ("steep", "distinct", {"max_gap": 0.1}),
        ("distinct", "distinct", {"min_gap": 2.0}),
        ("distinct", "distinct", {"min_chosen_score": 2.0}),
        ("distinct", "last differs", {}),
    ],
)
def test_awkward_group_costs_no_more_than_its_size(
    name: str, scores: str, digests: str, options: dict[str, Any]
) -> None:
    """3,000 candidates with hardly any allowed pair are not compared two by two."""
    kinds_of_scores: dict[str, Callable[[int], float]] = {
        "distinct": lambda place: 1 - place / SIZE,
        "tied": lambda _: 0.5,
        "steep": lambda place: 1.0 if place < SIZE // 2 else 0.5 - (place % 2) / 20,
    }
    kinds_of_digests: dict[str, Callable[[int], bytes]] = {
        "same": lambda _: b"a",
        "distinct": lambda place: b"%d" % place,
        "last differs": lambda place: b"%d" % (place == SIZE - 1),
    }
    group = Group(
        Counted(sorted(map(kinds_of_scores[scores], range(SIZE)), reverse=True)),
        Counted(map(kinds_of_digests[digests], range(SIZE))),
        b"group",
    )
    _, strategy = strategy_named(name)
    most = 3 if name in {"exhaustive", "stratified", "random"} else SIZE  # these may give n² pairs
    pairs = list(islice(strategy(group, PairOptions(max_pairs_per_group=3, **options)), most))
    assert len(pairs) <= most


@pytest.mark.full
@every_strategy
def test_large_group_is_quick(name: str) -> None:
    """With 40,000 candidates of different scores, 3 pairs take under a second."""
    size = 40_000
    scores = [1 - place / size for place in range(size)]
    group = Group(scores, [b"%d" % place for place in range(size)], b"group")
    _, strategy = strategy_named(name)
    before = time.process_time()
    assert len(list(islice(strategy(group, PairOptions(max_pairs_per_group=3)), 3))) in (1, 3)
    assert time.process_time() - before < 2.4


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("same_prompt", "best-vs-worst"),
        ("same-prompt", "best-vs-worst"),
        ("best_vs_worst", "best-vs-worst"),
        ("sweet_spot", "sweet-spot"),
    ],
)
def test_other_spellings(word: str, name: str) -> None:
    """Hyphen and underscore are interchangeable, and same_prompt is another name."""
    assert strategy_named(word) == strategy_named(name)


@pytest.mark.parametrize("word", ["best", "", "Exhaustive", "best vs worst"])
def test_unknown_word(word: str) -> None:
    """The error has the known names."""
    with pytest.raises(UnknownWord) as caught:
        strategy_named(word)
    assert (caught.value.word, caught.value.known) == (word, [*STRATEGIES, *ALIASES])
