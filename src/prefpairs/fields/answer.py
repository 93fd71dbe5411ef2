"""From what a source found in a row to a candidate: the steps that all sources share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Literal, NamedTuple, Protocol

from prefpairs.errors import BadField
from prefpairs.fields.alternatives import Place, WeightedScore
from prefpairs.fields.answer_parts import only_answer_at
from prefpairs.fields.rollout_tokens import Decoder
from prefpairs.model.candidate import Candidate, read_text
from prefpairs.model.canonical_json import canonical_json
from prefpairs.model.identity import BY_PROMPT, digest_prompt, group_of_prompt
from prefpairs.model.json_codec import finite
from prefpairs.model.marks import MARKS, marked_sides
from prefpairs.model.message import (
    RENDERED,
    Message,
    Text,
    Unclear,
    as_chat,
    asks_something,
    drop_reasoning,
    says_something,
    split_reasoning,
)
from prefpairs.model.number import LARGEST_SCORE, read_score, round_score
from prefpairs.model.pair import Pair
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.tool_calls import number_calls

TASK = "source_task"
"""The key in meta of a task that the group does not name."""


class Unrender(Protocol):
    """A chat template turned round."""

    def messages(self, text: str) -> list[Message] | None:
        """The messages of which the template makes just this text, if there are any.

        Raises Unclear where several conversations give the text without its special tokens.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How rows are read: the options of `extract`, made once and handed to every source."""

    scores: tuple[tuple[str, float], ...] = ()
    lower_is_better: bool = False
    cast_score: bool = False
    prompt: str | None = None
    response: str | None = None
    context: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    group_by: tuple[str, ...] | Literal["auto", "prompt", "file"] = "auto"
    step_name: str = "dpo_candidate_move"
    response_part: Literal["full", "final"] = "full"
    reasoning: Literal["keep", "drop"] = "keep"
    keep: tuple[str, ...] = ()
    keep_rows: frozenset[str] = frozenset()
    drop_rows: frozenset[str] = frozenset()
    decoder: Decoder | None = None
    unrender: Unrender | None = None


def as_they_stand(options: ReadOptions) -> bool:
    """Whether nothing is asked for that a plain row would not give by itself."""
    nothing_asked = ReadOptions(
        step_name=options.step_name,
        context=options.context,
        ignore=options.ignore,
        cast_score=options.cast_score,
        keep_rows=options.keep_rows,
        drop_rows=options.drop_rows,
        decoder=options.decoder,
        unrender=options.unrender,
    )
    return options == nothing_asked


class Answer(NamedTuple):
    """One answer as a source found it; `row` is what the paths of the options point into."""

    row: Any
    prompt: Text | None
    response: Text | None
    scores: Sequence[WeightedScore]
    task: Sequence[Any] | None = None
    group: str | None = None
    index: int | None = None  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    origin: str = ""
    tools: list[Any] | None = None
    tokens: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    inline_reasoning: bool = True
    prompt_tokens: str = ""
    """What tells prompts of other tokens apart, where the text was not what the model saw."""
    place: Place | None = None
    """Which of several answers in its row it is."""

    def look_up(self, path: str) -> Any:
        """What stands at a path; through the list that answers come from, for this one."""
        return look_up(self.row, path) if self.place is None else self.place.look_up(self.row, path)


@dataclass(slots=True)
class Reading:
    """What became of one row: the candidates it gave, and a reason for each loss.

    `pairs` are those that stood ready in it, and `pairs_lost` the reasons for which some are unfit.
    `places` numbers the kept among all that were found, from 1. `row_lost` is a reason of the
    row's own; `item` is the identity of a row that should stand once.
    """

    kept: list[Candidate] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    pairs_lost: list[str] = field(default_factory=list)
    mends: list[str] = field(default_factory=list)
    row_lost: str | None = None
    item: bytes | None = None
    shown: tuple[tuple[str, ...], ...] = ()
    """What the row shows of how all of them must be read (see shown.py)."""


class Lost(Exception):
    """A well-formed record is unfit, for a reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def refine(answer: Answer, options: ReadOptions, label: str, reading: Reading) -> None:
    """Add the answer to what the row gave, as a candidate or as a loss."""
    try:
        candidate = _candidate(answer, options, label, reading)
    except Lost as loss:
        reading.lost.append(loss.reason)
    else:
        reading.kept.append(candidate)
        reading.places.append(len(reading.kept) + len(reading.lost))


def _candidate(answer: Answer, options: ReadOptions, label: str, reading: Reading) -> Candidate:
    score = _score(answer, options)
    prompt, response = _texts(answer, options, reading.mends)
    if isinstance(prompt, str) and options.unrender is not None:
        prompt, answer = _unrendered(prompt, answer, options.unrender, reading.mends)
    prompt, response = fair_turns(prompt, response, options, answer, reading.mends)
    if not asks_something(prompt):
        raise Lost("no_prompt")
    task = task_of(answer)
    tokens = tokens_of(answer, options, reading.mends)
    meta = meta_of(answer, task, options)
    for reason in options.drop_rows & MARKS.keys():
        if any(marked_sides(meta, reason)):
            raise Lost(reason)
    return Candidate(
        group_of(answer.group or task, prompt, answer, options, label),
        prompt,
        response,
        score,
        answer.index,
        answer.origin,
        answer.tools or None,
        tokens,
        meta,
    )


def _unrendered(
    prompt: str, answer: Answer, unrender: Unrender, mends: list[str]
) -> tuple[Text, Answer]:
    """The messages of which a template made the prompt; the prompt where that is not sure."""
    try:
        chat = unrender.messages(prompt)
    except Unclear:
        mends.append("template_unclear")
        return prompt, answer
    if chat is None:
        mends.append("template_differs")
        return prompt, answer
    meta = {key: value for key, value in (answer.meta or {}).items() if key != RENDERED}
    return chat, answer._replace(meta=meta, inline_reasoning=True)


def tokens_of(answer: Answer, options: ReadOptions, mends: list[str]) -> dict[str, Any] | None:
    """The tokens that came with an answer, unless its words are no longer those of the tokens."""
    named = options.prompt is not None or options.response is not None
    changed = named or options.reasoning == "drop" or options.response_part == "final"
    if answer.tokens is None or not changed:
        return answer.tokens
    mends.append("tokens_left_out")
    return None


def _score(answer: Answer, options: ReadOptions) -> float:
    scores = answer.scores
    if options.scores:
        scores = [(path, weight, look_up(answer.row, path)) for path, weight in options.scores]
    if any(value is MISSING or value is None for _, _, value in scores):
        if "no_score" not in options.keep_rows:
            raise Lost("no_score")
        return 0.0
    parts = [
        weight * read_score(value, path, cast=options.cast_score) for path, weight, value in scores
    ]
    if not abs(sum(parts)) <= LARGEST_SCORE:
        raise Lost("score_not_finite")
    return round_score(-fsum(parts) if options.lower_is_better else fsum(parts))


def _texts(answer: Answer, options: ReadOptions, mends: list[str]) -> tuple[Text, Text]:
    """What the user's paths name, else what the source found."""
    prompt, response = answer.prompt, answer.response
    if options.prompt is not None:
        given = look_up(answer.row, options.prompt)
        prompt = None if given in (MISSING, None) else read_text(given, options.prompt)
    if options.response is not None:
        response = only_answer_at(answer.row, options.response, mends)
    if response is None:
        raise Lost("no_response")
    if isinstance(prompt, str) and not prompt.strip():
        prompt = []
    return prompt or [], response


def fair_turns(
    prompt: Text, response: Text, options: ReadOptions, answer: Answer, mends: list[str]
) -> tuple[Text, Text]:
    """The prompt and the model's own turn: from its first word to its last."""
    if isinstance(response, str):
        return number_calls(prompt, _fair_text(response, options, answer))
    if end := _end_of_prompt(as_chat(prompt, "user"), response):
        prompt, response = response[:end], response[end:]
        mends.append("prompt_in_response")
    spoken = [place for place, turn in enumerate(response) if turn["role"] == "assistant"]
    if not spoken:
        raise Lost("empty_answer")
    first, last = spoken[0], spoken[-1]
    if first > 0:
        prompt = as_chat(prompt, "user") + response[:first]
        mends.append("leading_turn_moved")
    if last + 1 < len(response):
        mends.append("trailing_turn_cut")
    turns = [_with_reasoning(turn, options, answer) for turn in response[first : last + 1]]
    if options.response_part == "final":
        turns = _final(turns, mends)
    if not any(says_something(turn) for turn in turns if turn["role"] == "assistant"):
        raise Lost("empty_answer")
    return number_calls(prompt, turns)


def _end_of_prompt(asked: list[Message], response: list[Message]) -> int:
    """Where the prompt ends in a response that is the whole conversation; 0 in any other.

    A system message before it belongs to it.
    """
    for before in (0, 1):
        end = before + len(asked)
        told = all(turn["role"] == "system" for turn in response[:before])
        if asked and told and response[before:end] == asked:
            return end
    return 0


def _fair_text(response: str, options: ReadOptions, answer: Answer) -> Text:
    """Text stays text, unless thinking has to be taken apart from what was said."""
    if options.reasoning == "keep" and not (answer.inline_reasoning and "think>" in response):
        if not response or response.isspace():
            raise Lost("empty_answer")
        return response
    said = {"role": "assistant", "content": response}
    if answer.inline_reasoning or options.reasoning == "drop":
        said = split_reasoning(said)
    if options.reasoning == "drop":
        said = drop_reasoning(said)
    if not says_something(said):
        raise Lost("empty_answer")
    return [said] if "reasoning_content" in said else said["content"]


def _with_reasoning(turn: Message, options: ReadOptions, answer: Answer) -> Message:
    if turn["role"] != "assistant":
        return turn
    split = split_reasoning(turn) if answer.inline_reasoning else turn
    return drop_reasoning(split) if options.reasoning == "drop" else split


def _final(turns: list[Message], mends: list[str]) -> list[Message]:
    """The model's last words alone, without the calls and results they may rest on."""
    texts = [turn for turn in turns if turn["role"] == "assistant" and says_text(turn)]
    if not texts:
        raise Lost("empty_answer")
    if any(turn["role"] == "tool" for turn in turns):
        mends.append("final_rests_on_tools")
    return [{key: value for key, value in texts[-1].items() if key != "tool_calls"}]


def says_text(turn: Message) -> bool:
    """Whether a message holds words, tool calls aside."""
    return says_something({"content": turn["content"]})


def task_of(answer: Answer) -> str | None:
    """The source's own name of the task, where it has one; a prompt is no name."""
    if answer.group is not None:
        return None if answer.group.startswith(BY_PROMPT) else answer.group
    return None if answer.task is None else canonical_json(answer.task).decode()


def group_of(
    task: str | None, prompt: Text, answer: Answer, options: ReadOptions, label: str
) -> str:
    """Whom an answer competes with, as --group-by says; never one whose prompt has other tokens."""
    apart = answer.prompt_tokens
    if options.group_by in ("auto", "file", "prompt"):
        group = None if options.group_by == "prompt" else task
        if not group:
            group = group_of_prompt(digest_prompt(prompt)) + (apart and f":{apart}")
        return canonical_json([label, group]).decode() if options.group_by == "file" else group
    values = [answer.look_up(path) for path in options.group_by]
    if any(value is MISSING or value is None for value in values):
        raise Lost("no_group")
    return canonical_json([*values, apart] if apart else values).decode()


def meta_of(answer: Answer, task: str | None, options: ReadOptions) -> dict[str, Any] | None:
    """What the source and --keep name; and the task, where the group does not tell it."""
    if not options.keep and options.group_by == "auto":
        return answer.meta or None
    meta = dict(answer.meta or {})
    if task is not None and options.group_by not in ("auto", "file"):
        meta.setdefault(TASK, task)
    kept = {path: answer.look_up(path) for path in options.keep}
    found = {path: finite(value) for path, value in kept.items() if value is not MISSING}
    return {**meta, **found} or None


def expect_object(row: Any) -> dict[str, Any]:
    """The row, which must be a JSON object."""
    if not isinstance(row, dict):
        raise BadField("row", row, "a JSON object")
    return row
