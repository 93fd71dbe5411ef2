"""filter: pairs that pass every condition stay; the others are lost to the first they fail."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from prefpairs.errors import NotJson
from prefpairs.records.message import Text, flat_text
from prefpairs.records.pair import Pair
from prefpairs.records.wire import decode
from prefpairs.report import Stage
from prefpairs.sieves.entry import Entry
from prefpairs.sieves.protocol import Texts

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
_OPEN_THOUGHT = re.compile(r"^\s*<think>(?!.*</think>)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^`]*)$")
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete", "truncated"})
_MARK = re.compile(
    r"(?:^|\.|^chosen_|^rejected_)(?:finish_reason|stop_reason|status|incomplete_details|truncated)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a pair must be like. Lengths are in characters of all that a text says."""

    min_gap: float | None = None
    max_gap: float | None = None
    min_chosen_score: float | None = None
    max_chosen_score: float | None = None
    min_rejected_score: float | None = None
    max_rejected_score: float | None = None
    min_prompt_chars: int | None = None
    max_prompt_chars: int | None = None
    min_answer_chars: int | None = None
    max_answer_chars: int | None = None
    max_length_ratio: float | None = None
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] | None = None
    drop_truncated: bool = False
    drop_refusals: bool = False

    name = "filter"
    holds_back = False
    needs = frozenset[str]()

    def sieve(
        self, entries: Iterable[Entry], texts: Texts, stage: Stage, wanted: frozenset[str]
    ) -> Iterator[Entry]:
        """The entries whose pairs pass."""
        for entry in entries:
            if (reason := self.why_not(texts.pair(entry))) is None:
                yield entry
            else:
                stage.dropped[reason] += 1

    def why_not(self, pair: Pair) -> str | None:
        """The first condition that a pair fails."""
        return (
            self._by_numbers(pair)
            or self._by_lengths(pair)
            or ("truncated" if self.drop_truncated and is_truncated(pair) else None)
            or ("refusal" if self.drop_refusals and is_refusal(pair.chosen) else None)
            or self._by_tokens(pair)
        )

    def _by_numbers(self, pair: Pair) -> str | None:
        gap = _outside(pair.gap, self.min_gap, self.max_gap)
        chosen = _outside(pair.chosen_score, self.min_chosen_score, self.max_chosen_score)
        rejected = _outside(pair.rejected_score, self.min_rejected_score, self.max_rejected_score)
        if None in (gap, chosen, rejected):
            return "score_unknown"
        if gap:
            return "gap_too_small" if gap < 0 else "gap_too_large"
        if outside := chosen or rejected:
            return "score_too_low" if outside < 0 else "score_too_high"
        return None

    def _by_lengths(self, pair: Pair) -> str | None:
        prompt = len(flat_text(pair.prompt))
        shorter, longer = sorted((len(flat_text(pair.chosen)), len(flat_text(pair.rejected))))
        if _outside(shorter, self.min_answer_chars, None) or _outside(
            prompt, self.min_prompt_chars, None
        ):
            return "too_short"
        if _outside(longer, None, self.max_answer_chars) or _outside(
            prompt, None, self.max_prompt_chars
        ):
            return "too_long"
        if self.max_length_ratio is not None and longer > self.max_length_ratio * shorter:
            return "length_ratio"
        return None

    def _by_tokens(self, pair: Pair) -> str | None:
        if self.max_tokens is None or self.count_tokens is None:
            return None
        count = self.count_tokens
        answer = max(count(flat_text(pair.chosen)), count(flat_text(pair.rejected)))
        too_many = count(flat_text(pair.prompt)) + answer > self.max_tokens
        return "too_many_tokens" if too_many else None


def _outside(number: float | None, least: float | None, most: float | None) -> int | None:
    """-1 below the bounds, 1 above them, 0 within; nothing where the number is not known.

    >>> _outside(3, 1, 2), _outside(None, None, 2), _outside(None, None, None)
    (1, None, 0)
    """
    if least is None and most is None:
        return 0
    if number is None:
        return None
    if least is not None and number < least:
        return -1
    return int(most is not None and number > most)


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


def is_truncated(pair: Pair) -> bool:
    """Whether an answer was cut off: its source says so, or something in it never ends.

    >>> is_truncated(Pair("", "", "Q", "<think>hm", "no", None, None, None, None, None, "", ""))
    True
    """
    meta = pair.meta or {}
    if any(_says_cut_off(value) for name, value in meta.items() if _MARK.search(name)):
        return True
    return _never_ends(pair.chosen) or _never_ends(pair.rejected)


def _says_cut_off(value: Any) -> bool:
    if isinstance(value, dict):  # as {"reason": "max_output_tokens"}
        return any(map(_says_cut_off, value.values()))
    return value is True or (isinstance(value, str) and value.lower() in _CUT_OFF)


def _never_ends(answer: Text) -> bool:
    """An open thought, an open block of code, or a tool call whose arguments are torn."""
    if isinstance(answer, str):
        return _is_open(answer)
    spoken = [turn for turn in answer if turn["role"] == "assistant"]
    if not spoken:
        return False
    calls = [call["function"]["arguments"] for call in spoken[-1].get("tool_calls", [])]
    content = spoken[-1]["content"]
    return (isinstance(content, str) and _is_open(content)) or any(map(_is_torn, calls))


def _is_open(text: str) -> bool:
    """Whether a thought or a block of code in a text never ends."""
    return _OPEN_THOUGHT.search(text) is not None or _has_open_block(text)


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


def _is_torn(arguments: str) -> bool:
    try:
        decode(arguments.encode())
    except NotJson:
        return bool(arguments.strip())
    return False
