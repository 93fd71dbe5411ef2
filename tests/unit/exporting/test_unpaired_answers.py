"""The order of single answers."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefpairs.dataset.row_rules import Row
from prefpairs.dataset.unpaired_answers import Ordered, UnpairedAnswers
from prefpairs.model.identity import digest, draw
from prefpairs.model.json_codec import encode_sorted


def _row(word: str, score: float | None = None) -> Row:
    """An answer from `prompt answer label`, one character each."""
    row: Row = {"prompt": word[0], "completion": word[1], "label": word[2] == "+"}
    return row if score is None else {**row, "score": score}


def _rows(words: str) -> list[Row]:
    return [_row(word) for word in words.split()]


def _in_turn(rows: Sequence[Row]) -> Ordered:
    singles = UnpairedAnswers()
    for row in rows:
        singles.add([row])
    assert len(singles) == len(rows)
    return singles.ordered()


def test_contents() -> None:
    """Digests cover prompt, tools and answer, whatever the key order."""
    row = {"prompt": [{"role": "user", "content": "Q"}], "completion": "A", "label": True}
    same = {"label": True, "completion": "A", "prompt": [{"content": "Q", "role": "user"}]}
    assert _in_turn([row, same]).omitted == {"answer_repeated": 1}
    assert _in_turn([row, {**row, "tools": "[1]"}, {**row, "completion": "B"}]).omitted == {}


def test_prompts_take_turns() -> None:
    """Each prompt once, then again those with more answers."""
    rows = _rows("pa+ pb- pc+ qa+ qb- ra+")
    order = _in_turn(rows)
    assert not order.omitted
    prompts = [rows[at]["prompt"] for at in order.positions]
    assert set(prompts[:3]) == {"p", "q", "r"}
    assert set(prompts[3:5]) == {"p", "q"}
    assert prompts[5:] == ["p"]


def test_answers_that_come_again() -> None:
    """Once if the labels agree, otherwise never."""
    order = _in_turn(_rows("pa+ pb- pa+ pa+ pc+ pc- pc+"))
    assert sorted(order.positions) == [0, 1]
    assert order.omitted == {"answer_repeated": 2, "label_contradicted": 3}
    assert _in_turn(_rows("pa+ qa-")).omitted == {}
    assert (list(_in_turn([]).positions), _in_turn([]).omitted) == ([], {})


def test_answers_to_one_prompt() -> None:
    """The answers to one prompt can be added together."""
    rows = _rows("pa+ pb- pc+")
    singles = UnpairedAnswers()
    singles.add(rows)
    assert singles.ordered() == _in_turn(rows)


def test_order_of_arrival() -> None:
    """The result does not depend on the input order."""
    rows = _rows("pa+ pb- qa+ qa+ qc-")
    orders = {
        tuple(came[at]["completion"] for at in _in_turn(came).positions)
        for came in permutations(rows)
    }
    assert len(orders) == 1


def test_an_answer_with_several_scores() -> None:
    """The highest score is kept, in any order; unknown ones do not count."""
    scores = [None, -1.5, 0.0, 0.5, 0.9]
    for came in permutations(scores):
        order = _in_turn([_row("pa+", score) for score in came])
        assert [came[at] for at in order.positions] == [0.9]
    assert list(_in_turn([_row("pa+"), _row("pa+", -2.0)]).positions) == [1]
    assert list(_in_turn([_row("pa+", -0.0), _row("pa+", 0.0)]).positions) == [0]


def _plainly(rows: Sequence[Row]) -> tuple[list[int], Counter[str]]:
    """The same order, computed with sets and counts."""
    asked = [encode_sorted([row["prompt"], row.get("tools")]) for row in rows]
    answers = [
        digest("answer", digest("question", prompt) + encode_sorted(row["completion"]))
        for prompt, row in zip(asked, rows, strict=True)
    ]
    labels: defaultdict[bytes, set[bool]] = defaultdict(set)
    for answer, row in zip(answers, rows, strict=True):
        labels[answer].add(row["label"])

    def rank(at: int) -> tuple[bytes, bool, float]:
        score = rows[at].get("score")
        return answers[at], score is None, -(score or 0.0)

    left_out: Counter[str] = Counter()
    seen: set[bytes] = set()
    rounds: Counter[bytes] = Counter()
    places: list[tuple[int, int, bytes, int]] = []
    for at in sorted(range(len(rows)), key=rank):
        if len(labels[answers[at]]) > 1:
            left_out["label_contradicted"] += 1
        elif answers[at] in seen:
            left_out["answer_repeated"] += 1
        else:
            seen.add(answers[at])
            prompt = digest("question", asked[at])
            places.append((rounds[prompt], draw(0, "unpaired", prompt), prompt, at))
            rounds[prompt] += 1
    return [place[-1] for place in sorted(places)], left_out


_SCORES: Any = st.one_of(st.none(), st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 1.0]))
_ANSWERS = st.builds(
    lambda prompt, answer, label, score: _row(f"{prompt}{answer}{label}", score),
    *map(st.sampled_from, ("pqr", "abcd", "+++-")),
    _SCORES,
)


@given(st.lists(_ANSWERS, max_size=20))
def test_strings_sort_as_what_they_say(rows: list[Row]) -> None:
    """Sort keys have the order of labels, scores, turns and draws."""
    order = _in_turn(rows)
    assert (list(order.positions), order.omitted) == _plainly(rows)
