"""Rollout logs of two trainers, which rows of any shape may turn out to be: TRL and verl."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from prefpairs.fields.field_names import RIVALS
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.question_columns import holds_something

Row = Mapping[str, Any]


class TrainingLog(NamedTuple):
    """A log in which a trainer writes one row per answer."""

    name: str
    columns: frozenset[str]
    """The columns that all of its rows have."""
    prompt: str
    response: str
    score: str
    """The column of the score, unless --score names another."""
    task_of: Callable[[Row], list[Any] | None]
    """What answers must share, in addition to the prompt, for their scores to be comparable."""
    note: str
    """What to tell users about a log that was recognised."""
    note_on_text: str
    """What to tell them about prompts that are text."""
    score_of: Callable[[Row], str] | None = None
    """The column of the score of one row, where not all rows have one."""
    score_is_relative: bool = False
    """The score is comparable within a task only; any other score is comparable everywhere."""
    always_rendered: bool = False
    """Every prompt is text that a chat template made; otherwise some prompts are messages."""
    skips_missing_scores: bool = False
    """The trainer leaves out a reward that is missing, where it adds up several."""
    task_columns: tuple[str, ...] = ()
    """The columns that `task_of` reads, for rows that a fast reader may read."""
    task_key: Callable[..., tuple[bytes, ...]] | None = None
    """The JSON of those columns without what differs between answers of one task.

    None where rows cannot be read by a fast reader.
    """

    def wrote(self, row: Row) -> bool:
        """Whether a row is from this log: it has its columns, and no other question or answer."""
        if not (row.keys() >= self.columns and row[self.prompt] and row[self.response]):
            return False
        rivals = RIVALS.intersection(row) - {self.prompt, self.response}
        return not any(holds_something(row[name]) for name in rivals)


_TRL_COLUMNS = frozenset({"step", "prompt", "completion", "advantage"})


def _trl_score(row: Row) -> str:
    """The advantage, or a reward that is null where no reward could be computed.

    Within a step the advantage ranks answers as their rewards do. The log does not contain the
    weights of the rewards, and its other columns look like rewards. Where all rewards are null,
    the advantage means nothing.
    """
    others = row.keys() - _TRL_COLUMNS
    if any(isinstance(row[name], (int, float)) for name in others):
        return "advantage"
    return min((name for name in others if row[name] is None), default="advantage")


_UID = re.compile(r"(.+)_\d+_\d+", re.DOTALL)
"""The uid of a rollout: that of its sample, then the numbers of the rollout and the output."""
_UID_AS_JSON = re.compile(rb'("[^"\\]+)_\d+_\d+"')


def verl_task(row: Row) -> list[Any] | None:
    """The task that the uid names, or else the right answer; None if the row has neither.

    >>> verl_task({"uid": "0f1c_3_0", "gts": "5"})
    ['0f1c']
    """
    uid, right = row.get("uid"), row["gts"]
    if isinstance(uid, str) and (found := _UID.fullmatch(uid)):
        return [found[1]]
    if uid is not None:
        return [uid]
    return None if right is None else ["gts", digest("gts", canonical_json(right)).hex()]


def verl_task_key(uid: bytes, right: bytes) -> tuple[bytes, bytes]:
    """Uid and right answer as JSON, without what differs between rollouts of a task.

    >>> verl_task_key(b'"0f1c_3_0"', b'"5"')
    (b'"0f1c_0_0"', b'null')
    """
    if uid == b"null":
        return uid, right
    found = _UID_AS_JSON.fullmatch(uid)
    return found[1] + b'_0_0"' if found else uid, b"null"


TRL = TrainingLog(
    name="trl",
    columns=_TRL_COLUMNS,
    prompt="prompt",
    response="completion",
    score="advantage",
    score_of=_trl_score,
    score_is_relative=True,
    task_of=lambda row: [row["step"]],
    note="read as TRL's completions: score is {score}",
    note_on_text="prompts that are text are kept: TRL before 1.15 writes them rendered; "
    "--prompt-template FILE turns those into messages",
    skips_missing_scores=True,
)
VERL = TrainingLog(
    name="verl",
    columns=frozenset({"input", "output", "gts", "score", "step"}),
    prompt="input",
    response="output",
    score="score",
    task_of=verl_task,
    note="read as verl's rollouts: score is {score}",
    note_on_text="their prompts are text that a chat template rendered; "
    "--prompt-template FILE turns them into messages",
    always_rendered=True,
    task_columns=("uid", "gts"),
    task_key=verl_task_key,
)
TRAINING_LOGS = (TRL, VERL)
"""All logs, in the order in which rows are compared with them."""
