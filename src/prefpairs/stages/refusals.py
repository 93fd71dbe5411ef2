"""Answers that refuse to answer, told by how they begin. English only."""

import re
from typing import Any

from prefpairs.model.message import Text

APOLOGIES = (
    "i'm sorry",
    "i am sorry",
    "i'm really sorry",
    "i'm very sorry",
    "sorry",
    "i apologize",
    "i apologise",
    "my apologies",
    "apologies",
    "unfortunately",
)
UNABLE = (
    "i can't",
    "i cannot",
    "i can not",
    "i won't",
    "i will not",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
)
DOINGS = (
    "answer",
    "assist",
    "comply",
    "complete",
    "continue",
    "create",
    "discuss",
    "do",
    "engage",
    "fulfil",
    "fulfill",
    "generate",
    "give",
    "help",
    "offer",
    "participate",
    "produce",
    "provide",
    "share",
    "support",
    "write",
)
DECLINES = (
    "i must decline",
    "i have to decline",
    "i'm not comfortable",
    "i don't feel comfortable",
    "as an ai",
    "as a language model",
    "as a large language model",
)
"""An answer refuses, in any case, if it begins with an apology and one of UNABLE or DECLINES, with
one of UNABLE and one of DOINGS or the end of the sentence, or with one of DECLINES."""

_BEFORE = re.compile(r"(?:\s*<think>.*?</think>)?[^a-z]*", re.DOTALL)
_REFUSAL = re.compile(
    rf"(?:{'|'.join(APOLOGIES)})\W+(?:but\W+)?(?:{'|'.join((*UNABLE, *DECLINES))})\b"
    rf"|(?:{'|'.join(UNABLE)})(?:\s+(?:{'|'.join(DOINGS)})\b(?!\s+but\b)|\s*(?:[.!,;:]|$))"
    rf"|(?:{'|'.join(DECLINES)})\b"
)


def is_refusal(answer: Text) -> bool:
    """Whether an answer begins by refusing.

    >>> is_refusal("I\u2019m sorry, but I can\u2019t help with that."), is_refusal("Sure.")
    (True, False)
    """
    said = answer if isinstance(answer, str) else _first_words(answer)
    opening = said.lower().replace("\u2019", "'")
    before = _BEFORE.match(opening)
    return bool(_REFUSAL.match(opening, before.end() if before else 0))


def _first_words(messages: list[dict[str, Any]]) -> str:
    spoken = (turn["content"] for turn in messages if turn["role"] == "assistant")
    return next((content for content in spoken if isinstance(content, str)), "")
