"""Answers that refuse."""

import pytest
from run_stage import said

from prefpairs.model.message import Text
from prefpairs.stages.answer_defects import is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        "I cannot help with that.",
        "  \n I CANNOT help.",
        "I\u2019m sorry, but I can\u2019t help.",
        "Sorry, but I can't do that.",
        "I apologize, but I cannot help.",
        "I apologise, but I'm unable to help.",
        "As an AI, I have no body.",
        said("I must decline."),
        [{"role": "tool", "content": "42"}, *said("I won't help to tell.")],
        "I can't.",
        "I cannot",
        "Unfortunately, I will not say.",
    ],
)
def test_refusals(answer: Text) -> None:
    """A refusal is recognized by its beginning."""
    assert is_refusal(answer) is True


@pytest.mark.parametrize(
    "answer",
    [
        "Sure. I cannot say more.",
        "I cannot stress enough how good it is.",
        "I'm sorry, I can see why. Here it is.",
        "I can't helplessly watch.",
        "Icannot",
        "I apologize, but here it is.",
        "",
        "An AI, as an AI",
        said("Yes", "I cannot "),
        [{"role": "user", "content": "I cannot see"}, *said("Look here.")],
    ],
)
def test_no_refusals(answer: Text) -> None:
    """The same words elsewhere are no refusal."""
    assert is_refusal(answer) is False
