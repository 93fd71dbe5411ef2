"""Pairs that a row of rollouts already contains; they must meet the same rules as all pairs.

Their answers have no scores, so the pairs have no gap, and bounds on scores do not apply.
"""

from typing import Any

from prefpairs.errors import NotJson
from prefpairs.fields.make_candidate import (
    Answer,
    group_of,
    meta_of,
    refuse_unfinished_thinking,
    split_turns,
    task_of,
    tokens_of,
)
from prefpairs.fields.pair_row import sides_equal
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, Unusable
from prefpairs.model.candidate import Candidate
from prefpairs.model.identity import digest_prompt
from prefpairs.model.json_codec import decode
from prefpairs.model.message import Text, asks_something
from prefpairs.model.pair import Pair, digests_of, make_pair, without_scores

_FENCE = "```"


def add_pair(
    better: Answer, worse: Answer, options: ReadOptions, label: str, reading: RowOutcome
) -> None:
    """Add a pair to the outcome of its row, or the reason why it cannot be used.

    Of the worse answer only the response, its tokens and its meta are used.
    """
    try:
        pair = _pair(better, worse, options, label, reading.noticed)
    except Unusable as loss:
        reading.pairs_lost.append(loss.reason)
    else:
        reading.pairs.append(pair)


def _pair(
    answer: Answer, other: Answer, options: ReadOptions, label: str, noticed: list[str]
) -> Pair:
    if answer.response is None or other.response is None:
        raise Unusable("no_response")
    asked = answer.prompt or []
    for response in (answer.response, other.response):
        refuse_unfinished_thinking(asked, response, options, noticed)
    prompt, chosen = split_turns(asked, answer.response, options, answer, noticed)
    same, rejected = split_turns(asked, other.response, options, answer, noticed)
    if digest_prompt(prompt) != digest_prompt(same):
        raise Unusable("environment_differs")
    if not asks_something(prompt):
        raise Unusable("no_prompt")
    tools = answer.tools or None
    digests = digests_of(prompt, tools, chosen, rejected)
    if reason := sides_equal(digests):
        raise Unusable(reason)
    if _is_structure(chosen) != _is_structure(rejected):
        noticed.append("format_differs")
    task = task_of(answer)
    group = group_of(answer.group or task, prompt, answer, options, label)
    better, worse = (
        Candidate(
            group,
            prompt,
            said,
            0.0,
            tools=tools,
            tokens=tokens_of(one, options, noticed),
            meta=meta_of(one, task, options),
        )
        for one, said in ((answer, chosen), (other, rejected))
    )
    pair = make_pair(better, worse, digests, digests.prompt)
    return without_scores(pair)


def _is_structure(answer: Text) -> bool:
    """Whether an answer is tool calls or JSON, not prose."""
    if isinstance(answer, str):
        return _is_json(answer)
    return any(turn.get("tool_calls") or _is_json(turn["content"]) for turn in answer)


def _is_json(content: Any) -> bool:
    """Whether a text is a JSON object or list, possibly in a code fence.

    >>> _is_json('[{"type": "text", "text": "Hi"}]'), _is_json("[see below]"), _is_json("Hi")
    (True, False, False)
    """
    if not isinstance(content, str):
        return False
    text = content.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.strip("`").removeprefix("json").strip()
    if not text.startswith(("{", "[")):
        return False
    try:
        decode(text.encode())
    except NotJson:
        return False
    return True
