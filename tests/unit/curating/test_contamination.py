"""Reference prompts that must not be trained on."""

import pytest

from prefpairs.model.message import Message, Text
from prefpairs.stages.contamination import ReferencePrompts

QUESTION = "Which of the many rivers of the old country is the longest one of all"
NEARLY = "which of the many rivers of the old country is the longest one of them"


def _said(*words: str, system: str | None = None) -> list[Message]:
    turns: list[Message] = [{"role": "system", "content": system}] if system else []
    roles = ("user", "assistant") * len(words)
    return turns + [
        {"role": role, "content": word} for role, word in zip(roles, words, strict=False)
    ]


@pytest.mark.parametrize(
    ("known", "prompt", "holds"),
    [
        ("Q", "Q", True),
        ("Q", "q", False),
        ("Q", " Q\n", True),
        (" Q\n", "Q", True),
        ("Q", "Q R", False),
        ("Q", _said("Q"), True),
        (_said("Q"), "Q", True),
        (_said("Q", system="S"), "Q", True),
        (_said("Q", system="S"), _said("Q", system="T"), True),
        ("Q", _said("Hi", "Ho", " Q "), True),
        ("A", _said("Hi", "A", "Q"), False),
        ("S", _said("Q", system="S"), False),
        (_said("Hi", "Ho", "Q"), _said("Hi", "Ho", "Q"), True),
        (_said("Hi", "Ho", "Q"), "Q", False),
        (_said("Hi", "Ho", "Q"), _said("Hi", "Hm", "Q"), False),
    ],
)
def test_exactly(known: Text, prompt: Text, holds: bool) -> None:
    """Matches a whole prompt, or the only question of a chat."""
    reference = ReferencePrompts()
    reference.add(known)
    assert reference.holds(prompt) is holds


@pytest.mark.parametrize(
    ("known", "prompt", "holds"),
    [
        (QUESTION, NEARLY, True),
        (QUESTION, "Which river is the longest one", False),
        (QUESTION, _said("Hi", "Ho", NEARLY), True),
        (QUESTION, _said(" ".join(map(str, range(40))), NEARLY, "Why"), False),
        (_said(QUESTION, system="You are a kind teacher of geography"), NEARLY, True),
        (_said(QUESTION, "The Elbe", "Why"), _said(NEARLY, "The Elbe", "Why"), True),
        ("Q", "q", True),
        ("Q", "R", False),
    ],
)
def test_nearly(known: Text, prompt: Text, holds: bool) -> None:
    """Matches if enough five-word shingles agree, ignoring case."""
    reference = ReferencePrompts(0.5)
    reference.add("an entry of no interest that stands before")
    reference.add(known)
    assert reference.holds(prompt) is holds


def test_near_is_not_exact() -> None:
    """Without a threshold, only equal prompts match."""
    reference = ReferencePrompts()
    reference.add(QUESTION)
    assert (reference.holds(NEARLY), reference.holds(QUESTION)) == (False, True)


def test_nothing_is_held_by_nothing() -> None:
    """An empty reference matches nothing."""
    assert (
        ReferencePrompts().holds("Q"),
        ReferencePrompts(0.5).holds("Q"),
        len(ReferencePrompts()),
    ) == (False,) * 2 + (0,)


def test_length() -> None:
    """Different prompts count once; the question in a chat with other messages counts, too."""
    reference = ReferencePrompts(0.9)
    for prompt in ("Q", "Q ", _said("Q"), _said("R", system="S")):
        reference.add(prompt)
    assert len(reference) == 3
