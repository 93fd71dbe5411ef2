"""Answers that refuse to answer, and answers that were truncated."""

import re
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.model.json_codec import decode
from prefpairs.model.marks import marked_sides
from prefpairs.model.message import Text
from prefpairs.model.pair import Pair

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
"""An answer is a refusal if it begins, in any letter case, with an apology and one of UNABLE or
DECLINES; with one of UNABLE and one of DOINGS or the end of the sentence; or with one of DECLINES.
English only."""

_BEFORE = re.compile(r"(?:\s*<think>.*?</think>)?[^a-z]*", re.DOTALL)
_REFUSAL = re.compile(
    rf"(?:{'|'.join(APOLOGIES)})\W+(?:but\W+)?(?:{'|'.join((*UNABLE, *DECLINES))})\b"
    rf"|(?:{'|'.join(UNABLE)})(?:\s+(?:{'|'.join(DOINGS)})\b(?!\s+but\b)|\s*(?:[.!,;:]|$))"
    rf"|(?:{'|'.join(DECLINES)})\b"
)


def is_refusal(answer: Text) -> bool:
    """Whether an answer begins with a refusal.

    >>> is_refusal("I\u2019m sorry, but I can\u2019t help with that."), is_refusal("Sure.")
    (True, False)
    """
    text = answer if isinstance(answer, str) else _first_text(answer)
    opening = text.lower().replace("\u2019", "'")
    before = _BEFORE.match(opening)
    return bool(_REFUSAL.match(opening, before.end() if before else 0))


def _first_text(messages: list[dict[str, Any]]) -> str:
    contents = (turn["content"] for turn in messages if turn["role"] == "assistant")
    return next((content for content in contents if isinstance(content, str)), "")


_THOUGHT = re.compile(r"^[ \t]*<think>", re.MULTILINE)
_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)([^`]*)$")


def is_truncated(pair: Pair) -> bool:
    """Whether an answer was truncated: its source says so, or something in it is not closed.

    >>> is_truncated(Pair("", "", "Q", "<think>hm", "no", None, None, None, None, None, "", ""))
    True
    """
    return any(truncated_sides(pair))


def truncated_sides(pair: Pair) -> tuple[bool, bool]:
    """Whether the chosen and whether the rejected answer was truncated.

    >>> truncated_sides(Pair("", "", "Q", "```", "no", None, None, None, None, None, "", ""))
    (True, False)
    """
    chosen, rejected = marked_sides(pair.meta, "incomplete")
    return chosen or _has_no_end(pair.chosen), rejected or _has_no_end(pair.rejected)


def _has_no_end(answer: Text) -> bool:
    """Whether it has an open thought, an open code block, or a call with incomplete arguments."""
    if isinstance(answer, str):
        return _is_open(answer)
    turns = [turn for turn in answer if turn["role"] == "assistant"]
    if not turns:
        return False
    calls = [call["function"]["arguments"] for call in turns[-1].get("tool_calls", [])]
    content = turns[-1]["content"]
    return (isinstance(content, str) and _is_open(content)) or any(map(_is_incomplete, calls))


def _is_open(text: str) -> bool:
    """Whether a thought or a code block in a text is not closed."""
    last_end = text.rfind("</think>") + 1
    return _THOUGHT.search(text, last_end) is not None or _has_open_block(text)


def _has_open_block(text: str) -> bool:
    opened = ""
    for line in text.splitlines() if "```" in text or "~~~" in text else ():
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not opened:
            opened = fence[1]
        elif fence[1].startswith(opened) and not fence[2].strip():
            opened = ""
    return bool(opened)


def _is_incomplete(arguments: str) -> bool:
    try:
        decode(arguments.encode())
    except NotJson:
        return bool(arguments.strip())
    return False
