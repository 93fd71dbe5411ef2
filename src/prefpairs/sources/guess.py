"""Where prompt, response and score stand in a row that nobody described.

Each row is read by its own names, so that its neighbours decide nothing. Where two of its fields
could be meant, and differ, the run ends: TwoReadings. What one row cannot show (that the
`answer` of another is the right one, which the model never gave) is told in `shown`, and held
against what the others show.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from prefpairs.errors import TwoReadings
from prefpairs.records.number import read_score, round_score
from prefpairs.sources.answer import ReadOptions
from prefpairs.sources.question import COLUMNS, MEDIA, holds_something, same_text
from prefpairs.sources.several import MANY_OUTPUTS, alternatives_at

PROMPTS = ("prompt", "question", "instruction", "input", "query", "problem")
CHATS = ("messages", "conversation", "conversations")
OUTPUTS = ("response", "completion", "output", "generation")
REFERENCES = ("answer", "answers")
"""Names of what a model said, or else of what it should have said, beside one of the others."""
SCORES = ("reward", "score", "rating")
MANY_SCORES = ("rewards", "scores", "ratings")
TRL_COLUMNS = frozenset({"step", "prompt", "completion", "advantage"})
VERL_COLUMNS = frozenset({"input", "output", "gts", "score", "step"})

NAMES = {
    "prompt": (*PROMPTS, *CHATS),
    "response": (*OUTPUTS, *MANY_OUTPUTS, *REFERENCES),
    "score": (*SCORES, *MANY_SCORES),
}
"""What is looked for, in the order in which notes name it."""

_KNOWN = frozenset(name for names in NAMES.values() for name in names)
RIVALS = frozenset({*NAMES["prompt"], *OUTPUTS, *MANY_OUTPUTS, *COLUMNS}) - {*MEDIA}
"""What no log has beside its own prompt and response: such rows are somebody's own."""

Row = dict[str, Any]
Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the prompt, the response and the scores of a row stand, and what else it shows.

    Without a response the row is a conversation, or has lost it. `log` is the trainer that wrote
    the row, if one did: its prompts are rendered already.
    """

    prompt: str | None
    response: str | None
    scores: tuple[tuple[str, float], ...]
    shown: tuple[Fact, ...] = ()
    log: str | None = None
    within: str | None = None
    """The column whose value answers must share for their scores to compare."""
    sure: bool = False
    """Whether all three are there."""


def find_fields(row: Row, options: ReadOptions) -> Fields:
    """The fields of a row: those that the options name, the others by their names.

    >>> find_fields({"question": "Q", "answer": "A", "reward": 1}, ReadOptions()).response
    'answer'
    """
    if not (options.prompt or options.response or options.context):
        if _is_log(row, TRL_COLUMNS, "prompt", "completion"):
            return _of_trl(row, options)
        if _is_log(row, VERL_COLUMNS, "input", "output"):
            return _of_verl(options)
    known = _KNOWN.intersection(row)
    told = not known.isdisjoint(REFERENCES) and any(says(row.get(name)) for name in REFERENCES)
    certain = _certain_fields(known, options.prompt, options.response, options.scores, told=told)
    return certain or _fields_by_value(row, options)


def _is_log(row: Row, columns: frozenset[str], prompt: str, response: str) -> bool:
    """Whether a trainer wrote the row: it has all its columns, and no other question or answer."""
    if not (row.keys() >= columns and row[prompt] and row[response]):
        return False
    rivals = RIVALS.intersection(row) - {prompt, response}
    return not any(holds_something(row[name]) for name in rivals)


@lru_cache
def _certain_fields(
    known: frozenset[str],
    prompt: str | None,
    response: str | None,
    scores: tuple[tuple[str, float], ...],
    *,
    told: bool,
) -> Fields | None:
    """The fields of rows with these names, if none of them competes with another one."""
    found: dict[str, str] = {}
    shown: list[Fact] = []
    for what, named in (("response", response), ("prompt", prompt), ("score", scores)):
        names = [] if named else [name for name in NAMES[what] if name in known]
        if len(names) > 1:
            return None
        for name in names:
            found[what] = name
            shown += [("guessed", what, name), ("has", what)]
            if told and what == "response" and name in REFERENCES:
                shown.append(("answered by", name))
    return Fields(
        prompt or found.get("prompt"),
        response or found.get("response"),
        scores or ((found.get("score", "score"), 1.0),),
        tuple(shown),
        sure=len(found) == len(NAMES),
    )


def _fields_by_value(row: Row, options: ReadOptions) -> Fields:
    """The fields of a row in which several could be meant, or else TwoReadings."""
    shown: list[Fact] = []
    response = options.response or _response(row, shown)
    prompt = options.prompt or _prompt(row, response, shown)
    several = response is not None and alternatives_at(row, response) is not None
    scores = options.scores or _score(row, shown, options, several=several)
    return Fields(prompt, response, scores, tuple(shown))


def _response(row: Row, shown: list[Fact]) -> str | None:
    """Names of outputs come before names that a reference may have, too."""
    outputs = _present(row, (*OUTPUTS, *MANY_OUTPUTS))
    references = _present(row, REFERENCES)
    told = [name for name in outputs if says(row[name])]
    name = _only(row, "response", told) or next(iter(outputs), None)
    if name is None:
        told = [name for name in references if says(row[name])]
        name = _only(row, "response", told) or next(iter(references), None)
        if name is not None:
            shown.append(("guessed", "response", name))
        if told:
            shown.append(("answered by", told[0]))
        return name
    shown.append(("guessed", "response", name))
    shown += [
        ("stands beside", reference, name)
        for reference in references
        if holds_something(row[reference]) and row[reference] != row[name]
    ]
    return name


def _prompt(row: Row, response: str | None, shown: list[Fact]) -> str | None:
    prompts, chats = _present(row, PROMPTS), _present(row, CHATS)
    asking = [name for name in prompts if says(row[name])]
    if "instruction" in asking and isinstance(row["instruction"], str) and _is_alpaca(row):
        asking = [name for name in asking if name != "input"]
    talks = [name for name in chats if row[name] and isinstance(row[name], list)]
    name = _only(row, "prompt", asking)
    if talks:
        talk = _only(row, "prompt", talks)
        if name is None or (response is None and isinstance(row[name], str)):
            name = talk
        elif talk is not None and not _says_the_same(row, talk, name, response):
            raise _two("prompt", (name, talk))
    name = name or next(iter((*prompts, *chats)), None)
    if name is not None:
        shown.append(("guessed", "prompt", name))
    return name


def says(value: Any) -> bool:
    """Whether a value is text or a list, with something in it."""
    return isinstance(value, (str, list)) and holds_something(value)


def _is_alpaca(row: Row) -> bool:
    """Whether an input beside an instruction continues it, as in Alpaca."""
    return isinstance(row.get("input"), str)


def _says_the_same(row: Row, talk: str, prompt: str, response: str | None) -> bool:
    """Whether a conversation is the prompt and the response once more."""
    messages = row[talk]
    last = messages[-1]
    answered = isinstance(last, dict) and "assistant" in (last.get("role"), last.get("from"))
    if answered:
        said = last.get("content", last.get("value"))
        if response is None or not same_text(said, row[response], "assistant"):
            return False
        messages = messages[:-1]
    return same_text(messages, row[prompt], "user")


def _score(
    row: Row, shown: list[Fact], options: ReadOptions, *, several: bool
) -> tuple[tuple[str, float], ...]:
    names = (*MANY_SCORES, *SCORES) if several else (*SCORES, *MANY_SCORES)
    present = _present(row, names)
    kinds = list if several else (int, float, str) if options.cast_score else (int, float)
    told = [name for name in present if isinstance(row[name], kinds)]
    name = _only(row, "score", told) or next(iter(present), None)
    if name is None:
        return (("score", 1.0),)
    shown.append(("guessed", "score", name))
    return ((name, 1.0),)


def _present(row: Row, names: Iterable[str]) -> list[str]:
    return [name for name in names if name in row]


def _only(row: Row, what: str, names: Sequence[str]) -> str | None:
    """The first of the names; TwoReadings if another one holds something else."""
    if not names:
        return None
    first, *others = names
    same = _SAME[what]
    differing = [name for name in others if not same(row[first], row[name])]
    if differing:
        raise _two(what, (first, *differing))
    return first


def _same_score(one: Any, other: Any) -> bool:
    return bool(_rounded(one) == _rounded(other))


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round_score(read_score(value, "")) if isinstance(value, (int, float)) else value


_SAME: dict[str, Callable[[Any, Any], bool]] = {
    "prompt": lambda one, other: same_text(one, other, "user"),
    "response": lambda one, other: same_text(one, other, "assistant"),
    "score": _same_score,
}


def _two(what: str, names: Sequence[str]) -> TwoReadings:
    """That a row has several fields of a kind, and they differ."""
    listed = " and ".join(f'"{name}"' for name in names)
    choices: list[tuple[str, ...]] = [(f"--{what}", name) for name in names]
    if what == "prompt" and "input" in names:  # it may be more of another one's question
        others = [name for name in names if name != "input"]
        choices = [
            ("--prompt", name, option, "input")
            for name in others
            for option in ("--context", "--ignore")
        ]
        choices.append(("--prompt", "input"))
    return TwoReadings(f"the {what} could be {listed}, which differ", choices)


def _of_verl(options: ReadOptions) -> Fields:
    scores = options.scores or (("score", 1.0),)
    shown = (("log", "verl"), *(("scored", "verl", path) for path, _ in scores))
    return Fields("input", "output", scores, shown, "verl")


def _of_trl(row: Row, options: ReadOptions) -> Fields:
    """The advantage is the order of the rewards within a step, whatever their weights were.

    The weights are not in a log, and what else was logged looks like a reward. Where every reward
    is null, TRL could not score the answer, and its advantage means nothing.
    """
    shown: list[Fact] = [("log", "trl")]
    if isinstance(row["prompt"], str):
        shown.append(("log", "trl as text"))
    if options.scores:
        shown += [("scored", "trl", path) for path, _ in options.scores]
        return Fields("prompt", "completion", options.scores, tuple(shown), "trl")
    shown.append(("scored", "trl", "advantage"))
    others = row.keys() - TRL_COLUMNS
    unscored = min((name for name in others if row[name] is None), default="advantage")
    rewarded = any(isinstance(row[name], (int, float)) for name in others)
    scores = (("advantage" if rewarded else unscored, 1.0),)
    return Fields("prompt", "completion", scores, tuple(shown), "trl", within="step")
