"""What a target is: examples in, rows of a trainer's file out, and the files around them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from prefpairs.errors import UsageError
from prefpairs.model.message import Text
from prefpairs.model.pair import Pair
from prefpairs.model.trace import Trace
from prefpairs.reasons import TRAPS


class Effect(StrEnum):
    """What becomes of a row, or of the file it stands in. All but a warning lose something."""

    NO_LOAD = "fails to load"
    CRASH = "crashes"
    DROP = "is dropped"
    NOTHING = "trains on nothing"
    WRONG = "trains on the wrong thing"
    LEAK = "leaks"
    WARNING = "warning"


class Finding(NamedTuple):
    """One thing that is wrong with a row: what happens, why, and where in the row."""

    effect: Effect
    code: str
    field: str = ""

    @property
    def sentence(self) -> str:
        """What the code means."""
        return TRAPS[self.code]


_NUMBERS = re.compile(r"[^0-9]*([0-9]+)(?:\.([0-9]+))?.*")


def release_of(word: str | None, releases: Sequence[str]) -> str:
    """The generation of a release: the last one that is not newer, by default the newest.

    >>> release_of("v0.5.1", ["0.1", "0.4", "0.6"]), release_of(None, ["0.1", "0.6"])
    ('0.4', '0.6')
    """
    if not releases:
        return ""
    if word is None:
        return releases[-1]
    wanted = _version(word)
    if wanted is None:
        raise UsageError(f"--release {word}: expected a version", f"such as {releases[-1]}")
    older = [name for name in releases if (_version(name) or ()) <= wanted]
    if not older:
        raise UsageError(f"--release {word} cannot read this", f"{releases[0]} is the first")
    return older[-1]


def _version(word: str) -> tuple[int, int] | None:
    found = _NUMBERS.fullmatch(word)
    return None if found is None else (int(found[1]), int(found[2] or 0))


if TYPE_CHECKING:
    from prefpairs.chat.rendered_chat import ChatRenderer
    from prefpairs.chat.template import TemplateFacts
    from prefpairs.chat.token_ids import Encoded, TokenOptions

Row = dict[str, Any]


def role_of(message: Any) -> Any:
    """Who speaks, where that can be said."""
    return message.get("role") if isinstance(message, dict) else None


PROVENANCE = frozenset(
    {
        *("pair_id", "score_chosen", "score_rejected", "score_gap"),
        *("chosen_reward", "rejected_reward", "reward_gap"),
    }
)
"""Columns that say where a row came from and how it was scored; no trainer learns from them."""


class CannotExport(Exception):
    """A pair cannot become an example of this target, for a reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ChatSupport:
    """What the messages of a target can say."""

    calls: bool = False
    """Calls of tools and their results, as messages of their own kind."""
    results: bool = False
    """Results of tools, where calls are text; those of calls that became text do, too."""
    text_with_calls: bool = True
    """A call and words in one message."""
    broken_calls: bool = False
    """Calls whose arguments are no JSON object, as models write them at times."""
    tools: bool = False
    """Schemas of tools, beside the messages."""
    reasoning: bool = False
    """Thinking, as a field of its own."""
    earlier_reasoning: bool = True
    """Thinking in turns that are not trained on."""
    system: bool = True
    """System messages."""
    later_turns: bool = False
    """All turns of an answer, unless the user says otherwise: masks tell whose they are."""
    names: bool = False
    """Who a user or a tool is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How pairs become examples: the options of `export`, made once."""

    turns: Literal["auto", "all", "first"] = "auto"
    lossy: Literal["flatten", "refuse", "drop"] = "flatten"
    tool_args: Literal["dict", "string"] = "string"
    tool_args_known: bool = False
    """The user, or a chat template, has said which form arguments have."""
    template_says: str = ""
    """What a chat template was seen to want, for people."""
    reasoning_as: Literal["text", "field", "nothing"] = "text"
    system: Literal["keep", "merge"] = "keep"
    text: bool = False
    last_message: bool = False
    release: str = ""
    tokens: "TokenOptions | None" = None
    """What makes tokens, for the targets whose rows are of tokens."""


class Example(NamedTuple):
    """A prompt and two answers, as a target can say them, and the pair they came from."""

    pair: Pair
    prompt: Text
    chosen: Text
    rejected: Text
    tools: list[Any] | None


class Dataset(NamedTuple):
    """What is known of a dataset once all its rows are made."""

    files: Mapping[str, str]
    """The file of each side that was written."""
    rows: Mapping[str, int]
    """The number of rows of each side."""
    shape: frozenset[str]
    """The paths and types of all rows."""
    options: ExportOptions

    @property
    def train(self) -> str:
        """The file to train on: that of the first side, if none is called so."""
        return self.files.get("train") or next(iter(self.files.values()))


def _nothing_more(_row: Row) -> Iterable[Finding]:
    return ()


def _columns_suffice(_row: Row) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a trainer makes of the rows of its files, whoever wrote them."""

    needs: Mapping[str, frozenset[str]]
    """The columns that every row has, each with the kinds that it may be of."""
    optional: frozenset[str] = frozenset()
    """Those of them that may be missing."""
    read: Callable[[Row], Row]
    """The prompt and the answers of a row, under the names of a pair."""
    looks_like: Callable[[Row], bool] = _columns_suffice
    """Whether a row that has the key columns of this format is of this format."""
    check: Callable[[Row], Iterable[Finding]] = _nothing_more
    """What is particular to this trainer."""
    reserved: Mapping[str, Effect] = field(default_factory=dict)
    """Columns that change what it does."""
    trains: Literal["all", "last", "turns"] = "all"
    """What of an answer is in the loss: all of it, its last message, or what the model wrote."""
    on_missing: Effect = Effect.CRASH
    """What becomes of a row without a column that it needs."""
    on_null: Effect = Effect.CRASH
    """What becomes of a row with null there."""
    on_empty_prompt: Effect = Effect.CRASH
    """What becomes of a row whose prompt has no messages."""
    roles: tuple[str, ...] = ("system", "user", "assistant", "tool")
    """The roles that it knows."""
    on_role: Effect = Effect.WRONG
    """What becomes of a row with a role that nobody knows."""
    text_arguments: bool | Literal["only"] = False
    """Arguments of calls are right as text, or must be."""
    batch: int = 0
    """How many rows a step takes unless the user says otherwise; with fewer there is none."""
    steady: tuple[str, ...] = ()
    """The columns that every row has if the first one has them."""
    suffixes: tuple[str, ...] = ()
    """The endings of the file names that it knows, if it is particular about them."""
    least: int = 0
    """How many rows there must be."""
    together: bool = False
    """The files of a folder are loaded together, and must agree."""
    slices: bool = False
    """Answers are cut out of rendered conversations, where the prompt is thought to end."""


def no_changes(_rows: list[Row]) -> frozenset[str]:
    """Nothing but what example_of noticed."""
    return frozenset()


def never(_pair: Pair, _options: "ExportOptions") -> bool:
    """Texts are all that is written."""
    return False


def no_extras(_dataset: Dataset) -> Mapping[str, str]:
    """Nothing but the data."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """How traces become rows of tokens."""

    encode: "Callable[[str], Encoded]"
    chat: "ChatRenderer"
    facts: "TemplateFacts"
    hints: Mapping[str, str]
    """The hint for each kind of error."""
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTarget:
    """A format whose rows are made from traces."""

    name: str
    rows: Callable[[Trace, TraceOptions], tuple[Row, list[str]]]
    """The row of a trace, and a reason for each error that got no hint."""
    words: frozenset[str]
    """The options that it has."""


class Host(NamedTuple):
    """One of several readers of a format."""

    supports: ChatSupport
    rules: Rules
    extras: Callable[[Dataset], Mapping[str, str]]
    extra_names: Sequence[str] = ("job.json",)


_FILES = {"train": "train.jsonl", "val": "val.jsonl", "test": "test.jsonl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A trainer's format."""

    name: str
    rows: Callable[[Example, ExportOptions], list[Row]]
    """The rows of one example, each with every column that it knows."""
    changes: Callable[[list[Row]], frozenset[str]] = no_changes
    """What is told of the rows of an example, besides what was changed for it."""
    keeps: Callable[[Pair, ExportOptions], bool] = never
    """Whether a pair is written with what its rollouts brought, whatever its texts become."""
    columns: Mapping[str, Any]
    """The columns in order, each with what stands for it where only other rows have it."""
    files: Mapping[str, str] = field(default_factory=lambda: dict(_FILES))
    """The file name of each side of a split."""
    extras: Callable[[Dataset], Mapping[str, str]] = no_extras
    """The files around the data, by name: a card, a configuration that runs as it stands."""
    extra_names: Sequence[str] = ()
    """The names of all such files."""
    supports: ChatSupport = field(default_factory=ChatSupport)
    single: bool = False
    """An answer is one message, or its text."""
    templated: bool = True
    """The trainer renders messages with the chat template of the model."""
    tool_args: Literal["dict", "string"] = "string"
    """The form of arguments unless the user says otherwise."""
    words: frozenset[str] = frozenset()
    """The options that only some targets know."""
    releases: Sequence[str] = ()
    """The generations of the trainer that want different files, the newest last."""
    hosts: Mapping[str, "Host"] = field(default_factory=dict)
    """The hosts that read it, where they differ."""
    unpaired: bool = False
    """The rows of an example are answers by themselves."""
    rules: Rules
    """What it makes of rows that it reads."""
    typed: bool = True
    """The trainer types every column by the first rows of a file."""

    @property
    def trained_columns(self) -> set[str]:
        """The columns from which the trainer learns, or which change what it does."""
        return {*self.columns} - PROVENANCE

    @property
    def needs_tokenizer(self) -> bool:
        """Whether its rows are made with the tokenizer of a model."""
        return "tokenizer" in self.words

    def file_of(self, side: str) -> str:
        """The file of a side; what belongs to none is training data."""
        return self.files.get(side, self.files["train"])

    def files_of(self, sides: Iterable[str]) -> dict[str, str]:
        """The files of a dataset: the data by side, and those around them by name."""
        data = {side: self.file_of(side) for side in sides}
        return {**data, **{name: name for name in self.extra_names}}
