"""In which order single answers stand."""

from itertools import permutations

from prefpairs.targets.unpaired import Single, in_turn, single_of


def _singles(words: str) -> list[Single]:
    """Answers as `prompt answer label` in three letters each."""
    return [Single(word[:1].encode(), word[:2].encode(), word[2] == "+") for word in words.split()]


def test_single_of() -> None:
    """Its digests see prompt, tools and answer, however keys are ordered."""
    row = {"prompt": [{"role": "user", "content": "Q"}], "completion": "A", "label": True}
    same = {"label": True, "completion": "A", "prompt": [{"content": "Q", "role": "user"}]}
    single = single_of(row)
    assert single == single_of({**same, "score": 1.0})._replace(score=None)
    assert single.label is True
    others = [single_of({**row, **more}) for more in ({"tools": "[1]"}, {"completion": "B"})]
    assert others[0].prompt != single.prompt == others[1].prompt
    assert len({single.answer, *(other.answer for other in others)}) == 3


def test_prompts_take_turns() -> None:
    """Each prompt once, then each again that has more."""
    singles = _singles("pa+ pb- pc+ qa+ qb- ra+")
    order = in_turn(singles)
    assert not order.left_out
    prompts = [singles[at].prompt for at in order.positions]
    assert set(prompts[:3]) == {b"p", b"q", b"r"}
    assert set(prompts[3:5]) == {b"p", b"q"}
    assert prompts[5:] == [b"p"]


def test_answers_that_come_again() -> None:
    """Once, if the labels agree, and else never."""
    order = in_turn(_singles("pa+ pb- pa+ pa+ pc+ pc- pc+"))
    assert sorted(order.positions) == [0, 1]
    assert order.left_out == {"answer_repeated": 2, "label_contradicted": 3}
    assert in_turn(_singles("pa+ qa-")).left_out == {}
    assert in_turn([]) == ([], {})


def test_order_of_arrival() -> None:
    """It changes nothing."""
    singles = _singles("pa+ pb- qa+ qa+ qc-")
    orders = {
        tuple(given[at].answer for at in in_turn(given).positions)
        for given in permutations(singles)
    }
    assert len(orders) == 1


def test_an_answer_with_several_scores() -> None:
    """The highest one stays, wherever it stood; one that is not known is none."""
    scored = [Single(b"p", b"a", True, score) for score in (None, 0.5, 0.9)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        singles = [scored[place] for place in order]
        assert [singles[at].score for at in in_turn(singles).positions] == [0.9]
