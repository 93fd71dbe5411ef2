"""Where prompt, response and score are looked for."""

from typing import Any

import pytest

from prefpairs.errors import OtherRows
from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.guess import Fields, find_fields

ONE = {"prompt": "", "response": "", "score": 0.0}
MANY = {"question": "", "responses": [""], "rewards": [0.0]}
CHAT = {"messages": [{"role": "user", "content": ""}], "reward": 0}


def _fields(*rows: tuple[dict[str, Any], int]) -> Fields:
    return find_fields(rows, ReadOptions())[0]


def test_names_that_never_meet_are_all_used() -> None:
    """Files of several shapes are read together, each row by the names it has."""
    fields = _fields((ONE, 3), (MANY, 2), (CHAT, 1))
    assert fields.prompts == ("prompt", "question", "messages")
    assert fields.responses == ("response", "responses")
    assert fields.scores == ("score", "rewards", "reward")
    assert fields.scores_of_several == ("rewards", "score", "reward")


def test_names_in_one_row_are_two_things() -> None:
    """Beside a response an answer is the right one; a row that lost its response has none."""
    fields = _fields(({**ONE, "answer": ""}, 19), ({"prompt": "", "answer": "", "score": 0}, 1))
    assert fields.responses == ("response",)


def test_a_name_that_few_rows_have_is_not_the_likeliest() -> None:
    """A reward in four rows of a hundred does not hide the score of all."""
    assert _fields((ONE, 96), ({**ONE, "reward": 1}, 4)).scores == ("score",)


@pytest.mark.parametrize("rows", [[(ONE, 1), (MANY, 1)], [(MANY, 1), (ONE, 1)]])
def test_the_order_of_rows_does_not_count(rows: list[tuple[dict[str, Any], int]]) -> None:
    """Names are ranked by the list of names and by how many rows have them."""
    assert _fields(*rows) == _fields((ONE, 1), (MANY, 1))


def test_a_conversation_is_one_only_by_its_name() -> None:
    """A chat prompt whose row lost its response is no conversation."""
    fields = _fields((ONE, 1), (CHAT, 1))
    assert (fields.is_conversation("messages"), fields.is_conversation("prompt")) == (True, False)


def test_pairs_are_no_rollouts() -> None:
    """Rows that hold chosen and rejected are told apart from rows that lack a field."""
    with pytest.raises(OtherRows, match="preference pairs already"):
        _fields(({"prompt": "", "chosen": "", "rejected": ""}, 1))
