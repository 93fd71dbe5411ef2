"""Finds the prompt, response and score of a row whose fields the user did not name.

Each row is read by its own column names; other rows do not matter. If two fields could be meant
and differ, the run stops with TwoReadings. What a single row cannot show (for example, that the
column `answer` is the reference and not what the model said) is reported as facts in `facts`,
and compared with the facts of other rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from prefpairs.errors import TwoReadings
from prefpairs.fields.answers_in_row import (
    is_list_of_objects,
    own_question,
    paths_of_items,
    paths_of_object,
)
from prefpairs.fields.choose_field import (
    Row,
    add_guess_facts,
    agreeing_field,
    choose_field,
    column_of,
    fields_differ,
    guess_score,
    has_content,
    present_in,
)
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.field_names import (
    CHATS,
    LISTS_OF_ANSWERS,
    MANY_OUTPUTS,
    MAYBE_REFERENCE,
    NAMES,
    OUTPUTS,
    TEXTS_OF_ITEMS,
    USUALLY_REFERENCE,
    VERDICTS,
    VERSIONS,
    is_something_else,
)
from prefpairs.fields.join_question_columns import named_columns, same_text
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.training_logs import TRAINING_LOGS, TrainingLog
from prefpairs.model.marks import COLUMNS as MARK_COLUMNS
from prefpairs.model.message import is_messages
from prefpairs.model.path import look_up
from prefpairs.model.question_columns import COLUMNS, PROMPTS, holds_something

_MOST_UNKNOWN = 3
_KNOWN = frozenset(name for names in NAMES.values() for name in names)
_BY_VALUE = frozenset({*VERDICTS, *USUALLY_REFERENCE, *VERSIONS, *LISTS_OF_ANSWERS})
"""Names that are ambiguous without their value and the other columns."""

_NAMED = _KNOWN | COLUMNS | {*USUALLY_REFERENCE, *VERSIONS, *MARK_COLUMNS}

_SAID = frozenset(NAMES["response"])


@dataclass(frozen=True, slots=True)
class Fields:
    """The paths of a row's prompt, response and scores, and facts about how rows are read.

    Without a response, the row is a conversation, or its response is missing. `log` is the
    training log that the row is from, if it is from one.
    """

    prompt: str | None
    response: str | None
    scores: tuple[tuple[str, float], ...]
    facts: tuple[Fact, ...] = ()
    log: TrainingLog | None = None
    task: list[Any] | None = None
    """What answers must share, in addition to the prompt, for their scores to be comparable."""
    sure: bool = False
    """Whether all three were found without doubt."""


def find_fields(row: Row, options: ReadOptions) -> Fields:
    """The fields of a row: those named by options, the others found by their names.

    >>> find_fields({"question": "Q", "answer": "A", "reward": 1}, ReadOptions()).response
    'answer'
    """
    if not (options.prompt or options.response or options.context):
        log = next((log for log in TRAINING_LOGS if log.wrote(row)), None)
        if log is not None:
            return _fields_of_log(row, log, options)
    known = _KNOWN.intersection(row)
    if _BY_VALUE.isdisjoint(row) and not _is_nested(row, known, options):
        told = any(has_content(row.get(name)) for name in MAYBE_REFERENCE)
        given = options.prompt, options.response, options.scores
        if certain := _certain_fields(known, *given, told=told):
            return _with_rivals(row, certain, options) if told else certain
    return _with_rivals(row, _fields_by_value(row, options), options)


def _is_nested(row: Row, known: frozenset[str], options: ReadOptions) -> bool:
    """Whether a response is more than text, or the chat before it ends in a response."""
    if options.response is not None:
        return "[]" in options.response
    said = known & _SAID
    if not said:
        return False
    if any(isinstance(row[name], (list, dict)) for name in said):
        return True
    asked = known if options.prompt is None else ()
    chats = [row[name] for name in asked] if asked else [look_up(row, options.prompt or "")]
    return any(chat and isinstance(chat, list) and _last_words(chat) is not None for chat in chats)


def _with_rivals(row: Row, fields: Fields, options: ReadOptions) -> Fields:
    """If the response is `answer`, report every other text that could be it instead."""
    if options.response is not None or fields.response not in MAYBE_REFERENCE:
        return fields
    texts = [name for name in row if is_unknown(name) and has_content(row[name])]
    rivals = [("rival", name) for name in texts if name not in named_columns(options)]
    return replace(fields, facts=(*fields.facts, *rivals)) if rivals else fields


@lru_cache
def is_unknown(name: str) -> bool:
    """Whether the name of a column has_content nothing about its content."""
    return not (name in _NAMED or is_something_else(name))


@lru_cache
def _certain_fields(
    known: frozenset[str],
    prompt: str | None,
    response: str | None,
    scores: tuple[tuple[str, float], ...],
    *,
    told: bool,
) -> Fields | None:
    """The fields of rows with these column names, if no two of them compete."""
    found: dict[str, str] = {}
    facts: list[Fact] = []
    for what, named in (("response", response), ("prompt", prompt), ("score", scores)):
        names = [] if named else [name for name in NAMES[what] if name in known]
        if len(names) > 1:
            return None
        for name in names:
            found[what] = name
            facts += [("guessed", what, name), ("has", what)]
            if told and what == "response" and name in MAYBE_REFERENCE:
                facts.append(("answered by", name))
    return Fields(
        prompt or found.get("prompt"),
        response or found.get("response"),
        scores or ((found.get("score", "score"), 1.0),),
        tuple(facts),
        sure=len(found) == len(NAMES),
    )


def _fields_by_value(row: Row, options: ReadOptions) -> Fields:
    """The fields of a row in which several could be meant; raises TwoReadings if unclear."""
    facts: list[Fact] = []
    response = options.response or _response(row, facts)
    asked: list[Fact] = []
    prompt = options.prompt or _prompt(row, response, asked)
    if options.response is None and response and prompt and _is_said(row, prompt, response):
        facts = [("beside a talk", response, prompt)] if response in MAYBE_REFERENCE else []
        response = None
    facts += asked
    scores = options.scores or guess_score(row, response, facts, options)
    if options.response is None and response is not None:
        _check_items(row, prompt, response, scores)
    return Fields(prompt, response, scores, tuple(facts))


def _response(row: Row, facts: list[Fact]) -> str | None:
    """The response; names of outputs take precedence over names a reference may also have."""
    outputs = present_in(row, (*OUTPUTS, *MANY_OUTPUTS))
    outputs += [name for name in LISTS_OF_ANSWERS if is_list_of_objects(row.get(name))]
    either = present_in(row, MAYBE_REFERENCE)
    name = choose_field(row, "response", outputs, _paths_of_texts(row, outputs), facts)
    if name is not None:
        _check_versions(row, name)
        facts += [
            ("stands beside", reference, name)
            for reference in either
            if holds_something(row[reference]) and row[reference] != look_up(row, name)
        ]
        return name
    told = [name for name in either if has_content(row[name])]
    if told:
        _check_unsure(row, told)
        _check_versions(row, told[0])
        facts.append(("answered by", told[0]))
    return choose_field(row, "response", either, told, facts)


def _check_unsure(row: Row, told: Sequence[str]) -> None:
    """Raise if `answer` is not the only such text: one may be a reference, or an extract."""
    try:
        agreeing_field(
            row,
            "response",
            [*told, *(name for name in USUALLY_REFERENCE if has_content(row.get(name)))],
        )
    except TwoReadings as error:
        unknown = [name for name in row if is_unknown(name) and has_content(row[name])]
        others = [("--response", name) for name in unknown[:_MOST_UNKNOWN]]
        raise TwoReadings(error.problem, [*error.choices, *others]) from None


def _check_versions(row: Row, name: str) -> None:
    """Raise if another column contains the answer in an edited or unedited version."""
    said = look_up(row, name)
    others = [other for other in present_in(row, VERSIONS) if has_content(row[other])]
    others = [other for other in others if not _is_part(row[other], said)]
    if others and has_content(said):
        raise fields_differ("response", (name, *others))


def _is_part(text: Any, said: Any) -> bool:
    """Whether a text is contained in the answer, so that nothing is lost without it."""
    if isinstance(text, str) and isinstance(said, str):
        return text.strip() in said
    return same_text(text, said, "assistant") or (isinstance(said, list) and text in said)


def _paths_of_texts(row: Row, names: Sequence[str]) -> list[str]:
    """The paths of answers: a field, or a field of the items in a list."""
    paths: list[str] = []
    inner: list[str] = []
    for name in names:
        if is_list_of_objects(row[name]):
            paths += paths_of_items(row, name, TEXTS_OF_ITEMS, has_content)
        elif has_content(row[name]):
            paths.append(name)
        else:
            inner += paths_of_object(row, name, TEXTS_OF_ITEMS)
    if inner and not paths:
        columns = " and ".join(f'"{name}"' for name in dict.fromkeys(map(column_of, inner)))
        problem = f"the response is in {columns}: which of its fields is it?"
        raise TwoReadings(problem, [("--response", path) for path in inner])
    return paths + inner


def _check_items(
    row: Row, prompt: str | None, response: str, scores: tuple[tuple[str, float], ...]
) -> None:
    """Raise if the items of a list of answers have their own questions."""
    column, of_each, _ = response.partition("[].")
    asked = None if prompt is None else look_up(row, prompt)
    if of_each and (key := own_question(row[column], asked)):
        words = [word for path, _ in scores for word in ("--score", path)]
        problem = f'each item of "{column}" has a "{key}" of its own: is the question the same?'
        choices: list[tuple[str, ...]] = []
        if asked is not None:
            choices.append(("--response", response, *words))
        if key in PROMPTS:
            choices.append(("--rows", column))
            problem += f" If not, `jq -c '.{column}[]'` makes a row of each"
        raise TwoReadings(problem, choices)


def _is_said(row: Row, prompt: str, response: str) -> bool:
    """Whether a chat ends in the model's answer, so that no other field is the response."""
    talk = look_up(row, prompt)
    if (
        not is_messages(talk)
        or _last_words(talk) is None
        or not has_content(look_up(row, response))
    ):
        return False
    if response in MAYBE_REFERENCE or same_text(
        _last_words(talk), look_up(row, response), "assistant"
    ):
        return True
    problem = f'"{prompt}" ends in an answer, and "{response}" is another one'
    raise TwoReadings(problem, [("--response", response), ("--ignore", column_of(response))])


def _prompt(row: Row, response: str | None, facts: list[Fact]) -> str | None:
    prompts, chats = present_in(row, PROMPTS), present_in(row, CHATS)
    asking = [name for name in prompts if has_content(row[name])]
    if "instruction" in asking and isinstance(row["instruction"], str) and _is_alpaca(row):
        asking = [name for name in asking if name != "input"]
    talks = [name for name in chats if row[name] and isinstance(row[name], list)]
    try:
        name = agreeing_field(row, "prompt", asking)
    except TwoReadings:  # a conversation that says something else might be meant, too
        said = [
            one for one in talks if not any(_says_the_same(row, one, to, response) for to in asking)
        ]
        if not said:
            raise
        raise fields_differ("prompt", (*asking, *said)) from None
    talk = agreeing_field(row, "prompt", talks)
    if name is not None and talk is not None and not _says_the_same(row, talk, name, response):
        alone = response is None and isinstance(row[name], str)  # its answer is in the chat
        raise fields_differ("prompt", (talk,) if alone else (name, talk), (name, talk))
    if talk is not None and (name is None or (response is None and isinstance(row[name], str))):
        name = talk
    name = name or next(iter((*prompts, *chats)), None)
    add_guess_facts("prompt", name, (*prompts, *chats), (*asking, *talks), facts)
    return name


def _is_alpaca(row: Row) -> bool:
    """Whether an input continues an instruction, as in Alpaca."""
    return isinstance(row.get("input"), str)


def _says_the_same(row: Row, talk: str, prompt: str, response: str | None) -> bool:
    """Whether a conversation repeats the prompt and the response."""
    messages = row[talk]
    said = _last_words(messages)
    if said is not None:
        if response is not None and not same_text(said, look_up(row, response), "assistant"):
            return False
        messages = messages[:-1]
    return same_text(messages, row[prompt], "user")


def _last_words(messages: Sequence[Any]) -> Any:
    """The model's answer at the end of a chat, if the chat ends in one."""
    last = messages[-1]
    speakers = ("assistant", "gpt")
    if isinstance(last, dict) and (last.get("role") in speakers or last.get("from") in speakers):
        return last.get("content", last.get("value"))
    return None


def _fields_of_log(row: Row, log: TrainingLog, options: ReadOptions) -> Fields:
    named = options.scores or ((log.score, 1.0),)
    facts: list[Fact] = [("log", log.name), *(("scored", log.name, path) for path, _ in named)]
    if options.unrender is None and (log.always_rendered or isinstance(row[log.prompt], str)):
        facts.append(("log as text", log.name))
    scores = named
    if log.score_of is not None and not options.scores:
        scores = ((log.score_of(row), 1.0),)
    comparable = log.score_is_relative and options.scores
    task = None if comparable else log.task_of(row)
    return Fields(log.prompt, log.response, scores, tuple(facts), log, task)
