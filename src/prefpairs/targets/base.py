"""What a target is: examples in, rows of a trainer's file out, and the files around them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from prefpairs.dataset.row_rules import Row, Rules
from prefpairs.errors import UsageError
from prefpairs.model.message import Text
from prefpairs.model.pair import Pair
from prefpairs.targets.export_options import ExportOptions

if TYPE_CHECKING:
    from prefpairs.chat.model_spans import ChatRenderer
    from prefpairs.chat.template import TemplateFacts
    from prefpairs.chat.token_ids import Encoded
    from prefpairs.model.candidate import Trace

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
    """What the messages of a target can represent."""

    calls: bool = False
    """Tool calls and their results, as messages of their own kind."""
    results: bool = False
    """Tool results, even if calls are text. Results of calls that became text become text too."""
    text_with_calls: bool = True
    """Text and a call in one message."""
    broken_calls: bool = False
    """Calls whose arguments are not a JSON object, as models sometimes write them."""
    tools: bool = False
    """Tool schemas, in a field of their own."""
    reasoning: bool = False
    """Reasoning, in a field of its own."""
    earlier_reasoning: bool = True
    """Reasoning in turns that are not trained on."""
    system: bool = True
    """System messages."""
    later_turns: bool = False
    """All turns of an answer by default, because masks say which of them the model wrote."""
    names: bool = False
    """The names of users and tools."""


class Example(NamedTuple):
    """A prompt and two answers, as a target can represent them, and the pair they came from."""

    pair: Pair
    prompt: Text
    chosen: Text
    rejected: Text
    tools: list[Any] | None


class Tally(Protocol):
    """What a target counts while its rows are made."""

    def add(self, pair: Pair, rows: Sequence[Row], /) -> None:
        """Count a pair that became rows."""
        ...


class Dataset(NamedTuple):
    """What is known of a dataset once all its rows have been made."""

    files: Mapping[str, str]
    """The file of each side that was written."""
    rows: Mapping[str, int]
    """The number of rows of each side."""
    shape: frozenset[str]
    """The paths and types of all rows."""
    options: ExportOptions
    tally: Any = None
    """The tally of the target, if it has one."""

    @property
    def train(self) -> str:
        """The file to train on: train's, or else that of the first side."""
        return self.files.get("train") or next(iter(self.files.values()))


def no_changes(_rows: list[Row]) -> frozenset[str]:
    """No changes in addition to those of the example."""
    return frozenset()


def never(_pair: Pair, _options: ExportOptions) -> bool:
    """For targets that write only texts."""
    return False


def no_extras(_dataset: Dataset) -> Mapping[str, str]:
    """No files other than the data."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceForm:
    """How traces become rows of tokens."""

    encode: "Callable[[str], Encoded]"
    chat: "ChatRenderer"
    facts: "TemplateFacts"
    hint: Callable[[Any, Any], str | None]
    """The hint for an error and its details, if there is one."""
    max_tokens: int | None = None
    truncate: bool = False
    labels: bool = False
    pad_id: int = 0
    pad_to: int | None = None
    batch_size: int = 8
    score: str | None = None
    """The field of the reward, if it is named."""
    pairs: "tuple[Target, ExportOptions] | None" = None
    """How the pairs in a trace become rows, for targets that write them."""


class TraceRow(NamedTuple):
    """What became of a trace: its row, and what was lost or changed on the way."""

    row: Row
    no_hint: Sequence[str] = ()
    """A reason for each error that got no hint."""
    pairs_lost: Sequence[str] = ()
    """A reason for each pair in the trace that was dropped."""
    noticed: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTarget:
    """A format whose rows are made from traces."""

    name: str
    row: "Callable[[Trace, TraceForm], TraceRow]"
    """Returns the row of a trace. Raises CannotExport if it has none."""
    batch: Callable[[Sequence[Row], TraceForm], Row] | None = None
    """Returns one row for the rows of several traces, if that is what is written."""
    pairs_as: str | None = None
    """The target whose rows the pairs in traces become, if they are written."""
    words: frozenset[str]
    """The options that it has."""


class Host(NamedTuple):
    """One of several services that read a format."""

    supports: ChatSupport
    rules: Rules
    extras: Callable[[Dataset], Mapping[str, str]]
    extra_names: Sequence[str] = ("job.json",)
    note: str = ""


_FILES = {"train": "train.jsonl", "val": "val.jsonl", "test": "test.jsonl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The format of a trainer."""

    name: str
    rows: Callable[[Example, ExportOptions], list[Row]]
    """Returns the rows of one example, without the columns that have no value."""
    changes: Callable[[list[Row]], frozenset[str]] = no_changes
    """Returns the reason codes of what was changed when these rows were made."""
    keeps: Callable[[Pair, ExportOptions], bool] = never
    """Whether the tokens that came with a pair are written, whatever happens to its texts."""
    columns: Mapping[str, Any]
    """The columns in order, each with the value for rows that lack it if other rows have it."""
    files: Mapping[str, str] = field(default_factory=lambda: dict(_FILES))
    """The file name of each side of a split."""
    extras: Callable[[Dataset], Mapping[str, str]] = no_extras
    """Returns the files around the data by name: a card, a configuration ready to run."""
    extra_names: Sequence[str] = ()
    """The names of all such files."""
    tally: "Callable[[], Tally] | None" = None
    """Makes what counts the pairs, for files that have figures about them."""
    supports: ChatSupport = field(default_factory=ChatSupport)
    single: bool = False
    """Whether an answer is one message, or its text."""
    templated: bool = True
    """Whether the trainer renders messages with the chat template of the model."""
    tool_args: Literal["dict", "string"] = "string"
    """The default form of tool-call arguments."""
    words: frozenset[str] = frozenset()
    """The options that only some targets accept."""
    releases: Sequence[str] = ()
    """The releases of the trainer at which its files changed, newest last."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """The services that read the format, if they differ."""
    note: str = ""
    """What users must know of the service before they upload anything."""
    unpaired: bool = False
    """Whether each row is a single answer."""
    rules: Rules
    """What the trainer does with the rows that it reads."""
    containers: Sequence[str] = ()
    """The file name extensions of binary files that it can be written to. It writes one file."""
    typed: bool = True
    """Whether its loader infers the types of columns from the first rows of a file."""

    @property
    def trained_columns(self) -> set[str]:
        """The columns from which the trainer learns, or which change what it does."""
        return {*self.columns} - PROVENANCE

    @property
    def needs_tokenizer(self) -> bool:
        """Whether its rows are made with the tokenizer of a model."""
        return "tokenizer" in self.words

    def file_of(self, side: str) -> str:
        """The file of a side; rows without a side are training data."""
        return self.files.get(side, self.files["train"])

    def files_of(self, sides: Iterable[str]) -> dict[str, str]:
        """The files of a dataset: the data by side, and the others by name."""
        data = {side: self.file_of(side) for side in sides}
        return {**data, **{name: name for name in self.extra_names}}


_VERSION = re.compile(r"[^0-9]*([0-9]+)(?:\.([0-9]+))?.*")


def release_of(word: str | None, releases: Sequence[str]) -> str:
    """The last of these releases that is not newer than the given one; by default the newest.

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
        raise UsageError(f"--release {word} is not supported", f"{releases[0]} is the first")
    return older[-1]


def _version(word: str) -> tuple[int, int] | None:
    found = _VERSION.fullmatch(word)
    return None if found is None else (int(found[1]), int(found[2] or 0))
