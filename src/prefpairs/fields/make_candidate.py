"""Makes a candidate of an answer that a source found in a row: the steps all sources share."""

from collections.abc import Sequence
from contextlib import suppress
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from prefpairs.errors import BadField, MeansNothing, TwoReadings
from prefpairs.fields.read_options import ReadOptions, Unrender, group_key
from prefpairs.fields.row_outcome import RowOutcome, Unusable, drop_unless_kept
from prefpairs.model.candidate import Candidate, Reference, read_text
from prefpairs.model.identity import BY_PROMPT, canonical_json, digest_prompt, group_of_prompt
from prefpairs.model.json_codec import finite
from prefpairs.model.marks import MARKS, marked_sides
from prefpairs.model.message import (
    END_OF_THINKING,
    RENDERED,
    Message,
    Text,
    Unclear,
    as_chat,
    asks_something,
    drop_reasoning,
    is_unfinished_thinking,
    opens_thinking,
    says_something,
    split_reasoning,
)
from prefpairs.model.number import LARGEST_SCORE, read_score, round_score
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.tool_calls import number_calls
from prefpairs.reasons import UNFINISHED

if TYPE_CHECKING:
    from prefpairs.fields.answers_in_row import Place, WeightedScore

MAKERS = ("--prefer", "--over", "--by")
TASK = "source_task"
"""The key in `meta` for the task, where the group does not identify it."""


class Answer(NamedTuple):
    """One answer as a source found it; paths in options start at `row`."""

    row: Any
    prompt: Text | None
    response: Text | None
    scores: "Sequence[WeightedScore]"
    task: Sequence[Any] | None = None
    group: str | None = None
    index: int | None = None  # type: ignore[assignment]  # hides tuple.index, which is not used
    origin: str = ""
    tools: list[Any] | None = None
    tokens: dict[str, Any] | None = None
    meta: dict[str, Any] | None = None
    inline_reasoning: bool = True
    was_extracted: bool = False
    """Whether it is a candidate already, so that unfinished thinking was kept on purpose."""
    prompt_tokens: str = ""
    """Distinguishes prompts with different tokens, where the text is not what the model saw."""
    place: "Place | None" = None
    """Its position, where the row has several answers."""
    reference: Reference | None = None
    """The right answer, if the row has one and nothing else names its task."""

    def look_up(self, path: str) -> Any:
        """The value at a path; inside the list of answers, the value for this answer."""
        return look_up(self.row, path) if self.place is None else self.place.look_up(self.row, path)


def add_candidate(answer: Answer, options: ReadOptions, label: str, reading: RowOutcome) -> None:
    """Add the answer to the outcome of its row, as a candidate or as a reason for dropping it."""
    try:
        candidate = _candidate(answer, options, label, reading)
    except Unusable as loss:
        reading.lost.append(loss.reason)
    else:
        reading.kept.append(candidate)
        reading.places.append(len(reading.kept) + len(reading.lost))


def _candidate(answer: Answer, options: ReadOptions, label: str, reading: RowOutcome) -> Candidate:
    score = _score(answer, options)
    prompt, response = _texts(answer, options, reading.noticed)
    if not answer.was_extracted:
        refuse_unfinished_thinking(prompt, response, options, reading.noticed)
    if isinstance(prompt, str) and options.unrender is not None:
        prompt, answer = _unrendered(prompt, answer, options.unrender, reading.noticed)
    prompt, response = split_turns(prompt, response, options, answer, reading.noticed)
    if not asks_something(prompt):
        raise Unusable("no_prompt")
    task = task_of(answer)
    tokens = tokens_of(answer, options, reading.noticed)
    meta = meta_of(answer, task, options)
    for reason in options.drop_rows & MARKS.keys():
        if any(marked_sides(meta, reason)):
            raise Unusable(reason)
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
        answer.reference if options.references_matter() else None,
    )


def _unrendered(
    prompt: str, answer: Answer, unrender: Unrender, noticed: list[str]
) -> tuple[Text, Answer]:
    """The messages that a template rendered as the prompt; the prompt itself where unclear."""
    try:
        chat = unrender.messages(prompt)
    except Unclear:
        noticed.append("template_unclear")
        return prompt, answer
    if chat is None:
        noticed.append("template_differs")
        return prompt, answer
    meta = {key: value for key, value in (answer.meta or {}).items() if key != RENDERED}
    return chat, answer._replace(meta=meta, inline_reasoning=True)


def tokens_of(answer: Answer, options: ReadOptions, noticed: list[str]) -> dict[str, Any] | None:
    """The tokens recorded with an answer, unless its text no longer matches them."""
    named = options.prompt is not None or options.response is not None
    changed = named or options.reasoning == "drop" or options.response_part == "final"
    if answer.tokens is None or not changed:
        return answer.tokens
    noticed.append("tokens_left_out")
    return None


def _score(answer: Answer, options: ReadOptions) -> float:
    """The score (the reward) of an answer; a row without one is dropped as `no_score`."""
    scores = answer.scores
    if options.by is not None:
        return _rank_of_maker(answer, options, options.by)
    if options.scores:
        scores = [(path, weight, look_up(answer.row, path)) for path, weight in options.scores]
    if any(value is MISSING or value is None for _, _, value in scores):
        if "no_score" not in options.keep_rows:
            raise Unusable("no_score")
        return 0.0
    if options.score_map:
        scores = [(path, weight, _graded(value, options)) for path, weight, value in scores]
    parts = [
        weight * read_score(value, path, cast=options.cast_score) for path, weight, value in scores
    ]
    if not abs(sum(parts)) <= LARGEST_SCORE:
        raise Unusable("score_not_finite")
    return round_score(-fsum(parts) if options.lower_is_better else fsum(parts))


def _graded(value: Any, options: ReadOptions) -> Any:
    """What a score counts as by --score-map, whose texts may be numbers; else the score itself."""
    grades = dict(options.score_map)
    if isinstance(value, str) and value in grades:
        return grades[value]
    with suppress(BadField):
        number = read_score(value, "", cast=options.cast_score)
        for text, grade in grades.items():
            with suppress(BadField):
                if read_score(text, "", cast=True) == number:
                    return grade
    return value


def _rank_of_maker(answer: Answer, options: ReadOptions, by: str) -> float:
    """1 for an answer of those that --prefer names, 0 for one of those that --over names.

    It decides which answers are paired, and is no score: the pairs have none. MeansNothing if the
    answer has a score, which could contradict it.
    """
    for path, _, value in answer.scores:
        if value is not MISSING and value is not None:
            problem = f"--prefer is for answers without scores, and this one has one: {path}"
            raise MeansNothing(problem, MAKERS)
    maker = answer.look_up(by)
    if isinstance(maker, list) and maker and not by.endswith("[]"):
        raise TwoReadings(f'"{by}" is a list: of one name for each answer?', [("--by", f"{by}[]")])
    preferred, other = _is_named(maker, options.prefer), _is_named(maker, options.over)
    if preferred and other:
        raise BadField(by, maker, "a value that only one of --prefer and --over names")
    if not preferred and not other:
        raise Unusable("other_maker")
    return 1.0 if preferred else 0.0


def _is_named(value: Any, names: Sequence[str]) -> bool:
    """Whether a value is named: text as it is, other values as JSON or Python spell them.

    >>> _is_named(True, ["true"]), _is_named(None, ["None"]), _is_named(1, ["1.0"])
    (True, True, True)
    """
    if isinstance(value, str):
        return value in names
    if value is None or isinstance(value, bool):
        spelled = {"null", "None"} if value is None else {str(value), str(value).lower()}
        return not spelled.isdisjoint(names)
    return isinstance(value, (int, float)) and any(_spells(name, value) for name in names)


def _spells(name: str, number: float) -> bool:
    with suppress(ValueError):
        return float(name) == number
    return False


def _texts(answer: Answer, options: ReadOptions, noticed: list[str]) -> tuple[Text, Text]:
    """Prompt and response at the paths that the user named, or else as the source found them."""
    prompt, response = answer.prompt, answer.response
    if options.prompt is not None:
        given = look_up(answer.row, options.prompt)
        prompt = None if given in (MISSING, None) else read_text(given, options.prompt)
    if options.response is not None:
        from prefpairs.fields.answers_in_row import single_answer_at

        response = single_answer_at(answer.row, options.response, noticed)
    if response is None:
        raise Unusable("no_response")
    if isinstance(prompt, str) and not prompt.strip():
        prompt = []
    return prompt or [], response


def split_turns(
    prompt: Text, response: Text, options: ReadOptions, answer: Answer, noticed: list[str]
) -> tuple[Text, Text]:
    """The prompt, and the model's turn from its first message to its last."""
    if isinstance(response, str):
        return number_calls(prompt, _text_answer(response, options, answer))
    if end := _end_of_prompt(as_chat(prompt, "user"), response):
        prompt, response = response[:end], response[end:]
        noticed.append("prompt_in_response")
    spoken = [place for place, turn in enumerate(response) if turn["role"] == "assistant"]
    if not spoken:
        raise Unusable("empty_answer")
    first, last = spoken[0], spoken[-1]
    if first > 0:
        prompt = as_chat(prompt, "user") + response[:first]
        noticed.append("leading_turn_moved")
    if last + 1 < len(response):
        noticed.append("trailing_turn_cut")
    turns = [_with_reasoning(turn, options, answer) for turn in response[first : last + 1]]
    if options.response_part == "final":
        turns = _final(turns, response[last], options, noticed)
    if not any(says_something(turn) for turn in turns if turn["role"] == "assistant"):
        turns = [*turns[:-1], _thinking_alone(response[last], options)]
    return number_calls(prompt, turns)


def refuse_unfinished_thinking(
    prompt: Text, response: Text | None, options: ReadOptions, noticed: Sequence[str]
) -> None:
    """Raise for an answer that never ends the thinking which its prompt begins.

    Where the row has the thinking in another column, the answer is what follows it.
    """
    if not isinstance(response, str) or END_OF_THINKING in response:
        return
    if opens_thinking(prompt) and "thinking_left_out" not in noticed:
        drop_unless_kept(options, **{UNFINISHED: True})


def _thinking_alone(turn: Message, options: ReadOptions) -> Message:
    """A turn that says nothing, as it was given, if it is unfinished thinking that is kept."""
    if not is_unfinished_thinking(turn):
        raise Unusable("empty_answer")
    if UNFINISHED not in options.keep_rows:
        raise Unusable(UNFINISHED)
    return turn


def _end_of_prompt(asked: list[Message], response: list[Message]) -> int:
    """Where the prompt ends in a response that repeats the whole conversation; else 0.

    The response may begin with a system message that the prompt does not have.
    """
    for before in (0, 1):
        end = before + len(asked)
        told = all(turn["role"] == "system" for turn in response[:before])
        if asked and told and response[before:end] == asked:
            return end
    return 0


def _text_answer(response: str, options: ReadOptions, answer: Answer) -> Text:
    """The text of an answer, or a message if reasoning has to be separated from it."""
    if options.reasoning == "keep" and not (answer.inline_reasoning and "think>" in response):
        if not response or response.isspace():
            raise Unusable("empty_answer")
        return response
    given = {"role": "assistant", "content": response}
    said = given
    if answer.inline_reasoning or options.reasoning == "drop":
        said = split_reasoning(said)
    if options.reasoning == "drop":
        said = drop_reasoning(said)
    if not says_something(said):
        said = _thinking_alone(given, options)
    return [said] if "reasoning_content" in said else said["content"]


def _with_reasoning(turn: Message, options: ReadOptions, answer: Answer) -> Message:
    if turn["role"] != "assistant":
        return turn
    split = split_reasoning(turn) if answer.inline_reasoning else turn
    return drop_reasoning(split) if options.reasoning == "drop" else split


def _final(
    turns: list[Message], last: Message, options: ReadOptions, noticed: list[str]
) -> list[Message]:
    """The model's last text alone, without the tool calls and results before it."""
    texts = [turn for turn in turns if turn["role"] == "assistant" and says_text(turn)]
    if not texts:
        texts = [_thinking_alone(last, options)]
    if any(turn["role"] == "tool" for turn in turns):
        noticed.append("final_rests_on_tools")
    return [{key: value for key, value in texts[-1].items() if key != "tool_calls"}]


def says_text(turn: Message) -> bool:
    """Whether a message contains text, apart from tool calls."""
    return says_something({"content": turn["content"]})


def task_of(answer: Answer) -> str | None:
    """The task as the source names it; None if it is identified only by its prompt."""
    if answer.group is not None:
        return None if answer.group.startswith(BY_PROMPT) else answer.group
    return None if answer.task is None else canonical_json(answer.task).decode()


def group_of(
    task: str | None, prompt: Text, answer: Answer, options: ReadOptions, label: str
) -> str:
    """The group an answer competes in, by --group-by; prompts with other tokens are kept apart."""
    apart = answer.prompt_tokens
    if options.group_by in ("auto", "file", "prompt"):
        group = None if options.group_by == "prompt" else task
        if not group:
            group = group_of_prompt(digest_prompt(prompt)) + (apart and f":{apart}")
        return canonical_json([label, group]).decode() if options.group_by == "file" else group
    values = [
        group_of_prompt(digest_prompt(prompt)) if word == "prompt" else _key_of(answer, word, label)
        for word in options.group_by
    ]
    return canonical_json([*values, apart] if apart else values).decode()


def _key_of(answer: Answer, word: str, label: str) -> Any:
    """The value that a word of --group-by names; `file` may be the input."""
    path, run, pattern = group_key(word)
    value = answer.look_up(path)
    if value is MISSING and path == "file":
        value = label
    if value is MISSING or value is None:
        raise Unusable("no_group")
    if run is not None:
        if type(value) is not int:
            raise BadField(path, value, f"a whole number, for --group-by {word}")
        return value // run
    if pattern is None:
        return value
    if not isinstance(value, str):
        raise BadField(path, value, f"text, for --group-by {word}")
    found = pattern.search(value)
    part = found and found[1 if pattern.groups else 0]
    if part is None:
        raise Unusable("no_group")
    return part


def meta_of(answer: Answer, task: str | None, options: ReadOptions) -> dict[str, Any] | None:
    """What the source and --keep put into meta, and the task where the group does not name it."""
    if not (options.keep or options.by) and options.group_by == "auto":
        return answer.meta or None
    meta = dict(answer.meta or {})
    if task is not None and options.group_by not in ("auto", "file"):
        meta.setdefault(TASK, task)
    paths = [*options.keep, *([options.by] if options.by else [])]
    kept = {path: answer.look_up(path) for path in paths}
    found = {path: finite(value) for path, value in kept.items() if value is not MISSING}
    return {**meta, **found} or None
