"""Contamination: prompts that must not be trained on, such as those of a benchmark."""

from prefpairs.model.identity import digest_prompt
from prefpairs.model.message import Text, says_something
from prefpairs.model.tool_calls import number_calls
from prefpairs.stages.digest_table import DigestTable
from prefpairs.stages.near_duplicates import NearTable, Shingles, shingles_of, words_of

PROMPT_FIELDS = (
    "prompt",
    "question",
    "problem",
    "instruction",
    "query",
    "messages",
    "responses_create_params.input",
    "input",
)
"""The fields that hold the prompt in most benchmarks; the first one that a row has is used."""


class ReferencePrompts:
    """The prompts of `dedupe --against`, looked up exactly and, if `near` is set, by similarity."""

    def __init__(self, near: float | None = None) -> None:
        self._digests = DigestTable()
        self._texts: list[str] = []
        self._table = None if near is None else NearTable(near, self._shingles)

    def __len__(self) -> int:
        """The number of different prompts."""
        return len(self._digests)

    def add(self, prompt: Text) -> None:
        """Add a prompt; if it is a chat with one question, add the question by itself too."""
        questions = _questions(prompt)
        for text in (prompt, *(questions if len(questions) == 1 else ())):
            before = len(self._digests)
            new = self._digests.number_of(_digest(text)) == before
            if new and self._table is not None:
                self._texts.append(" ".join(words_of(text)))
                self._table.add(len(self._texts) - 1, shingles_of(text))

    def holds(self, prompt: Text, other: bytes = b"") -> bool:
        """Whether a prompt, a question in it, or the prompt with the digest `other` is included."""
        texts = (prompt, *_questions(prompt))
        if other and self._digests.find(other) >= 0:
            return True
        if any(self._digests.find(_digest(text)) >= 0 for text in texts):
            return True
        if self._table is None:
            return False
        return any(True for text in texts for _ in self._table.near(shingles_of(text)))

    def _shingles(self, number: int) -> Shingles:
        return shingles_of(self._texts[number])


def _questions(prompt: Text) -> list[Text]:
    """The user messages of a chat."""
    if isinstance(prompt, str):
        return []
    return [
        message["content"] if isinstance(message["content"], str) else [message]
        for message in prompt
        if message["role"] == "user" and says_something(message)
    ]


def _digest(text: Text) -> bytes:
    return digest_prompt(text.strip() if isinstance(text, str) else number_calls(text, "")[0])
