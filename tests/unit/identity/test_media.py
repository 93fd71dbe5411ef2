"""Images and other media have one form, wherever they are in a row."""

from typing import Any

import pytest

from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.fields.join_question_columns import whole_question
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.message import read_messages, with_media

IMAGES = [{"type": "image", "image": "a.png"}, {"type": "image", "image": "b.png"}]
ASKED = [{"role": "user", "content": [*IMAGES, {"type": "text", "text": "Who?"}]}]


@pytest.mark.parametrize(("key", "value"), [("images", ["a.png", "b.png"]), ("image", "a.png")])
def test_one_form(key: str, value: Any) -> None:
    """A column of rollouts or pairs, or a key of the message, gives the same prompt."""
    count = len(value) if isinstance(value, list) else 1
    expected = [{"role": "user", "content": [*IMAGES[:count], {"type": "text", "text": "Who?"}]}]
    row = {"prompt": "Who?", key: value}
    assert whole_question(row, "prompt", "Who?", ReadOptions(), []) == expected
    pair = unwrap({**row, "chosen": "a", "rejected": "b"}, "trl")
    assert pair["prompt"] == expected
    message = {"role": "user", "content": "Who?", key: value}
    assert read_messages([message], "prompt") == expected


def test_places_are_filled() -> None:
    """If the prompt has as many placeholders as images, they are filled in order."""
    places = [{"type": "image"}, {"type": "text", "text": "Who?"}, {"type": "image"}]
    prompt = [{"role": "user", "content": places}]
    filled = [IMAGES[0], places[1], IMAGES[1]]
    assert with_media(prompt, IMAGES) == [{"role": "user", "content": filled}]


def test_without_a_user() -> None:
    """Without a user message, they become one."""
    system = {"role": "system", "content": "Look."}
    assert with_media([system], IMAGES) == [system, {"role": "user", "content": IMAGES}]
