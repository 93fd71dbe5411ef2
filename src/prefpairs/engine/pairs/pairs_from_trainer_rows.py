"""Rows of a trainer's dataset, read back as pairs; each format is recognised by its columns."""

from collections.abc import Callable
from functools import cache

from prefpairs.dataset.row_prompt import (
    starts_with_other_role,
    with_prompt_column,
    with_question_columns,
)
from prefpairs.dataset.row_rules import Row
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.model.content import MEDIA, parts_of
from prefpairs.model.message import read_messages, with_media
from prefpairs.model.pair import Pair
from prefpairs.targets import DEFAULT, KEY_COLUMNS, PAIR_FORMATS, TARGETS, target_named

_NAMES = {
    "pair_id": "id",
    "score_chosen": "chosen_score",
    "score_rejected": "rejected_score",
    "score_gap": "gap",
    "chosen_reward": "chosen_score",
    "rejected_reward": "rejected_score",
    "reward_gap": "gap",
    "chosen_rating": "chosen_score",
    "rejected_rating": "rejected_score",
}
"""What other formats call the fields of a pair."""

_FIELDS = frozenset(Pair._fields)


def unwrap(row: Row, dialect: str) -> Row:
    """The row of a pair, from a row in a trainer's format; `auto` looks at its columns."""
    if dialect == "auto" and _is_ours(row):
        return row
    if dialect != "auto":
        return _with_all_said(with_our_names(reader_named(dialect)(row)))
    name = _format_of(row)
    if name == DEFAULT and not starts_with_other_role(row.get("chosen")):
        row = with_prompt_column(row, name)
    return _with_all_said(with_question_columns(with_our_names(reader_named(name)(row)), name))


def _is_ours(row: Row) -> bool:
    """Whether a row already has the form of a pair, as nearly all rows between commands do."""
    own = _FIELDS.issuperset(row) and row.get("prompt") is not None
    return own and not starts_with_other_role(row.get("chosen"))


@cache
def reader_named(name: str) -> Callable[[Row], Row]:
    """The function that reads the rows of a target."""
    spelled = name.replace("_", "-")
    if spelled not in PAIR_FORMATS:
        if spelled in TARGETS and target_named(spelled).unpaired:
            raise UsageError(f"rows of {spelled} hold single answers, not pairs")
        raise UnknownWord("format of pairs", name, ["auto", *PAIR_FORMATS])
    return target_named(spelled).rules.read


def with_our_names(row: Row) -> Row:
    """The row with the names that the fields of a pair have."""
    if not row.keys() & _NAMES.keys():
        return row
    renamed: Row = {}
    for key, value in row.items():
        name = _NAMES.get(key, key)
        renamed[key if name != key and (name in row or name in renamed) else name] = value
    return renamed


def _with_all_said(row: Row) -> Row:
    """The row with its system message and media, which are separate columns, in the prompt."""
    parts = [part for name in MEDIA if row.get(name) for part in parts_of(name, row[name])]
    if not (parts or isinstance(row.get("system"), str)):
        return row
    said = {key: value for key, value in row.items() if key not in ("system", *MEDIA)}
    prompt = row.get("prompt")
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    if not isinstance(prompt, list):
        return row
    if row.get("system"):
        prompt = [{"role": "system", "content": row["system"]}, *prompt]
    if parts:
        prompt = with_media(read_messages(prompt, "prompt"), parts)
    return {**said, "prompt": prompt}


def _format_of(row: Row) -> str:
    """The format of a row, by its columns."""
    for columns, name in KEY_COLUMNS:
        if row.keys() >= columns and target_named(name).rules.looks_like(row):
            return name
    return DEFAULT
