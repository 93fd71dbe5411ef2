"""Chooses one of several fields that could be meant; they must agree, or the run stops."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.answers_in_row import (
    is_list_of_objects,
    is_number,
    paths_of_items,
    several_answers_at,
)
from prefpairs.fields.cross_row_facts import Fact
from prefpairs.fields.field_names import (
    MANY_SCORES,
    NAMES,
    OUTPUTS,
    SCORES,
    VERDICTS,
    is_less_better,
)
from prefpairs.fields.join_question_columns import same_text
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.message import is_messages
from prefpairs.model.number import read_score, round_score
from prefpairs.model.path import look_up
from prefpairs.model.question_columns import holds_something

Row = dict[str, Any]


def present_in(row: Row, names: Iterable[str]) -> list[str]:
    """Those names that a row has, in the given order."""
    return [name for name in names if name in row]


def has_content(value: Any) -> bool:
    """Whether a value is text, a message or a list, and not empty."""
    if isinstance(value, dict):
        return is_messages([value]) or holds_something(value.get("content"))
    return isinstance(value, (str, list)) and holds_something(value)


def choose_field(
    row: Row, what: str, present: Sequence[str], told: Sequence[str], facts: list[Fact]
) -> str | None:
    """The field that has content, or else the first one present; adds the facts it shows."""
    name = agreeing_field(row, what, told) or next(iter(present), None)
    add_guess_facts(what, name, present, told, facts)
    return name


def add_guess_facts(
    what: str, name: str | None, present: Sequence[str], told: Sequence[str], facts: list[Fact]
) -> None:
    """Add facts: which field is guessed, and which others are empty in this row."""
    if name is None:
        return
    facts.append(("guessed", what, name))
    if told and len(present) > 1:
        columns = {*map(column_of, (name, *told))}
        silent = (path for path in present if column_of(path) not in columns)
        facts += [("silent beside", what, path, name) for path in silent]
    if what != "prompt":
        facts += [("says the same", what, path) for path in told if path != name]


def column_of(path: str) -> str:
    """The column in which a path starts.

    >>> column_of("samples[].text"), column_of("completion.choices[].message")
    ('samples', 'completion')
    """
    return path.partition(".")[0].removesuffix("[]")


def agreeing_field(row: Row, what: str, names: Sequence[str]) -> str | None:
    """The first of the names; raises TwoReadings if another one differs from it."""
    if not names:
        return None
    first, *others = names
    same = _SAME[what]
    value = look_up(row, first)
    differing = [name for name in others if not same(value, look_up(row, name))]
    if differing:
        raise fields_differ(what, (first, *differing))
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


def fields_differ(what: str, names: Sequence[str], listed: Sequence[str] = ()) -> TwoReadings:
    """The error that several fields could be meant and differ; each name is a choice."""
    choices: list[tuple[str, ...]] = [(f"--{what}", name) for name in names]
    if what == "prompt" and "input" in names:  # it may continue the question of another column
        others = [name for name in names if name != "input"]
        choices = [
            ("--prompt", name, option, "input")
            for name in others
            for option in ("--context", "--ignore")
        ]
        choices.append(("--prompt", "input"))
    quoted = " and ".join(f'"{name}"' for name in listed or names)
    return TwoReadings(f"the {what} could be {quoted}, which differ", choices)


def score_choices(names: Iterable[str], options: ReadOptions) -> list[tuple[str, str]]:
    """The option for each of several named scores, turned around where less of it is better."""
    ends = {True: ":-1", False: ""}
    turned = not options.lower_is_better
    return [("--score", name + ends[turned and is_less_better(name)]) for name in names]


def check_direction(name: str, options: ReadOptions) -> None:
    """Raise for the only named score of a row if less of it may be better."""
    choices = score_choices([name], options)
    if choices != [("--score", name)]:
        problem = f'the score is "{name}": is less of it better, or more?'
        raise TwoReadings(problem, [*choices, ("--score", name)])


def guess_score(
    row: Row, response: str | None, facts: list[Fact], options: ReadOptions
) -> tuple[tuple[str, float], ...]:
    """The score, by its name; for several answers, a list of scores or a field of each item."""
    present = present_in(row, NAMES["score"])
    several = None if response is None else several_answers_at(row, response)
    kinds: tuple[type, ...] = (int, float, str) if options.cast_score else (int, float)
    if several is not None:
        present = present_in(row, (*MANY_SCORES, *SCORES, *VERDICTS))
        column, of_each, _ = (response or "").partition("[].")
        if of_each and is_list_of_objects(look_up(row, column)):
            present = [*paths_of_items(row, column, (*SCORES, *VERDICTS), is_number), *present]
        if len(several.items) != 1 or any(_is_list(row, name) for name in present):
            kinds = (list,)
    told = [name for name in present if isinstance(look_up(row, name), kinds)]
    odd = [name for name in told if _is_verdict(name) and not _is_judged(look_up(row, name))]
    told = [name for name in told if name not in odd]
    if odd and not told:
        raise BadField(odd[0], look_up(row, odd[0]), "true or false, unless --score names it")
    if told and several is None:
        _check_quoted(row, told[0], [name for name in present if isinstance(row[name], str)])
    empty = [name for name in present if _is_verdict(name) and look_up(row, name) is None]
    known = [name for name in present if name in (*told, *empty) or not _is_verdict(name)]
    if kinds == (list,) and told and response in OUTPUTS:
        _check_steps(row, response, told[0])
    name = choose_field(row, "score", known, told, facts)
    return (("score" if name is None else name, 1.0),)


def _is_list(row: Row, path: str) -> bool:
    return isinstance(look_up(row, path), list)


def _check_steps(row: Row, response: str, scores: str) -> None:
    """Raise if a list could be the steps of one answer that has its own score.

    This is not checked for plural names, which say that the items are answers.
    """
    for name in present_in(row, (*SCORES, *VERDICTS)):
        if is_number(row[name]):
            problem = (
                f'"{scores}" has a score for each item of "{response}", and "{name}" one for all'
            )
            question = "are the items several answers, and no steps of one?"
            raise TwoReadings(f"{problem}: {question}", [("--score", scores)])


def _check_quoted(row: Row, score: str, others: Sequence[str]) -> None:
    """Raise if another score is a different number written as text."""
    differing = []
    for name in others:
        with suppress(BadField):
            quoted = read_score(row[name], name, cast=True)
            if isfinite(quoted) and round_score(quoted) != round_score(
                read_score(row[score], score)
            ):
                differing.append(name)
    if differing:
        raise fields_differ("score", (score, *differing))


def _is_verdict(name: str) -> bool:
    return name.rpartition(".")[2] in VERDICTS


def _is_judged(value: Any) -> bool:
    """Whether a value is a verdict: -1 usually means that there is none, and 3 is a count."""
    if isinstance(value, list):
        return all(map(_is_judged, value))
    if isinstance(value, str):
        return value.lower() in ("0", "1", "true", "false")
    return value is None or value in (0, 1)
