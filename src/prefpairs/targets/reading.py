"""Rows that trainers read, as rows of pairs: each format is known by its columns."""

from collections.abc import Callable
from functools import cache
from typing import Any

from prefpairs.errors import BadField, NotJson, UnknownWord, UsageError
from prefpairs.records.content import MEDIA, parts_of
from prefpairs.records.media import with_media
from prefpairs.records.message import read_messages
from prefpairs.records.pair import Pair
from prefpairs.records.parting import back_to_turn, in_common
from prefpairs.records.wire import decode, encode_sorted
from prefpairs.targets import target_named
from prefpairs.targets.protocol import Row, role_of
from prefpairs.targets.whole import with_all_asked, with_own_prompt

DIALECTS = (
    "trl",
    "nemo-rl",
    "nemo-rl-ranked",
    "customizer",
    "customizer-rl",
    "openai",
    "llamafactory",
    "ms-swift",
    "openrlhf",
    "axolotl",
    "trinity",
    "ultrafeedback",
)
"""The targets whose rows can be read back."""

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
"""What others call the fields of a pair."""


_FIELDS = frozenset(Pair._fields)

_COLUMNS = (
    (frozenset({"context", "completions"}), "nemo-rl-ranked"),
    (frozenset({"preferred_output"}), "openai"),
    (frozenset({"chosen_messages", "rejected_messages"}), "trinity"),
    (frozenset({"rejected_messages"}), "ms-swift"),
    (frozenset({"messages", "rejected_response"}), "ms-swift"),
    (frozenset({"conversations"}), "llamafactory"),
    (frozenset({"chosen_response"}), "customizer"),
    (frozenset({"instruction", "chosen"}), "llamafactory"),
    (frozenset({"messages", "chosen"}), "ultrafeedback"),
)
"""What tells the formats apart, where rows are not in the form of a pair."""


def unwrap(row: Row, dialect: str) -> Row:
    """The row of a pair that a row stands for; `auto` looks at its columns."""
    if dialect == "auto" and _is_ours(row):
        return row
    if dialect != "auto":
        return _with_all_said(with_our_names(reader_named(dialect)(row)))
    name = _looks_like(row)
    if name == "trl" and not begins_otherwise(row.get("chosen")):
        row = with_own_prompt(row, name)
    return _with_all_said(with_all_asked(with_our_names(reader_named(name)(row)), name))


def _is_ours(row: Row) -> bool:
    """Whether a row has the form of a pair already, as nearly all rows on their way have."""
    own = _FIELDS.issuperset(row) and row.get("prompt") is not None
    return own and not begins_otherwise(row.get("chosen"))


@cache
def reader_named(name: str) -> Callable[[Row], Row]:
    """How the rows of a target are read."""
    spelled = name.replace("_", "-")
    if spelled not in DIALECTS:
        if spelled == "trl-kto":
            raise UsageError("the answers of trl-kto stand alone: they are no pairs any more")
        raise UnknownWord("format of pairs", name, ["auto", *DIALECTS])
    return target_named(spelled).rules.read


def with_our_names(row: Row) -> Row:
    """The row with scores and the like where a pair has them."""
    if not row.keys() & _NAMES.keys():
        return row
    renamed: Row = {}
    for key, value in row.items():
        name = _NAMES.get(key, key)
        renamed[key if name != key and (name in row or name in renamed) else name] = value
    return renamed


def _with_all_said(row: Row) -> Row:
    """The row with the system message, the images and the like of columns beside the prompt."""
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


def parted(row: Row, *, whole: bool = False) -> Row:
    """The row with a prompt of its own, where both answers begin with the conversation.

    With `whole` they always do; else only where they do not begin with the model's words.
    """
    chosen, rejected = row.get("chosen"), row.get("rejected")
    if isinstance(chosen, str) and isinstance(rejected, str) and row.get("prompt") is None:
        return {**row, **_parted_texts(chosen, rejected)}
    if not (isinstance(chosen, list) and isinstance(rejected, list)):
        return row
    if not whole and not (begins_otherwise(chosen) and begins_otherwise(rejected)):
        return row
    shared = chosen[: _parting(chosen, rejected)]
    told: Any = row.get("prompt")
    split = {**row, "chosen": chosen[len(shared) :], "rejected": rejected[len(shared) :]}
    if isinstance(told, list) and shared[: len(told)] != told:
        return {**split, "prompt": [*told, *shared]}
    if isinstance(told, str) and told not in map(_content, shared):
        split["source_prompt"] = told
    return {**split, "prompt": shared}


def _parted_texts(chosen: str, rejected: str) -> Row:
    """The common beginning of two texts as their prompt, in whole words.

    The space before a word belongs to it, as trainers that put both together have it.
    """
    place = in_common(chosen, rejected)
    while place and not chosen[place - 1].isspace():
        place -= 1
    place -= chosen[:place].endswith(" ")
    return {"prompt": chosen[:place], "chosen": chosen[place:], "rejected": rejected[place:]}


def _parting(chosen: list[Any], rejected: list[Any]) -> int:
    """Where two conversations part, back to where the model begins to speak."""
    shared = in_common(map(encode_sorted, chosen), map(encode_sorted, rejected))
    place = back_to_turn(chosen, rejected, shared)
    if not place:
        raise BadField("chosen", chosen, "a conversation that begins as rejected does")
    return place


def _looks_like(row: Row) -> str:
    """The format of a row: that of the first line in the table whose columns it has."""
    name = next((name for columns, name in _COLUMNS if row.keys() >= columns), "trl")
    whole = begins_otherwise(row.get("chosen")) or row.get("messages") == row.get("chosen")
    if name == "ultrafeedback" and not whole:
        return "axolotl"
    if name == "llamafactory" and not ("conversations" in row or isinstance(row["chosen"], str)):
        return "trl"
    return name


def begins_otherwise(answer: Any) -> bool:
    """Whether an answer begins with what somebody else said, such as the conversation before."""
    speaker = role_of(answer[0]) if isinstance(answer, list) and answer else None
    return speaker not in (None, "assistant")


def calls_in(text: str) -> list[Any] | None:
    """The calls that a text holds as JSON, one or a list of them; nothing where it holds none."""
    try:
        called = decode(text.encode())
    except NotJson:
        return None
    return called if isinstance(called, list) else [called]


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else None
