"""The fast reader of NeMo Gym rollouts with one turn of the model.

msgspec fills the types below with the parts of a candidate, and skips the rest of the line.
Whatever they do not expect is an error, and the row is left to the general reader in nemo_gym.py.
Both find the same in a row: tests/laws/test_nemo_gym_fast_reader.py. (A row of 2.3 KB takes 2 us to
index and 3 us to read, instead of 30. A tagged union of items would take 0.3 us more than one
type for all of them, and a named tuple as result 0.2 us more than a bare one.)
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct, field

from prefpairs.errors import BadRecord
from prefpairs.fields.make_candidate import Unusable
from prefpairs.fields.responses_api import ANSWER_FORMS, REQUEST, prompt_of, tools_of
from prefpairs.model.candidate import LARGEST_INDEX, Candidate
from prefpairs.model.content import CONTENT_KEYS
from prefpairs.model.identity import digest_prompt, digest_turn, group_of_prompt
from prefpairs.model.json_codec import decode_part, encode
from prefpairs.model.message import OTHER_KEYS, Message, asks_something
from prefpairs.model.number import LARGEST_SCORE, round_score
from prefpairs.model.tool_calls import renumber_calls
from prefpairs.sources.base import IndexedRow

_FEW = 4
_SHORT = 15
"""The length of digests: Python stores 15 bytes in 48, and more than that in 64."""

Tools = list[Any] | None
_ROLES = {"developer": "system"}


_TextOnly: Any = msgspec.defstruct(
    "_Wordless", [(key, None, None) for key in (*CONTENT_KEYS, *OTHER_KEYS)], gc=False
)
"""A message, or a part of one, with text alone; any other content needs the general reader."""


class _Part(_TextOnly, gc=False, kw_only=True):  # type: ignore[misc,call-arg]  # made of a table
    text: str
    type: Literal["input_text", "output_text", "text"]


class _Thought(Struct, gc=False):
    text: str


class _Item(_TextOnly, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    type: Literal["message", "reasoning"]
    role: Literal["assistant"] | None = None
    content: list[_Part] | None = None
    summary: list[_Thought] | None = None


class _Response(Struct, gc=False):
    output: list[_Item]
    incomplete_details: None = None


class _Agent(Struct, gc=False):
    name: str | None = None


class _Row(Struct, gc=False):
    responses_create_params: Raw
    response: _Response
    reward: Annotated[float, Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
    agent: Raw = field(name="agent_ref", default=Raw(b"null"))
    task: Raw = field(name="_ng_task_index", default=Raw(b"null"))
    index: Annotated[int, Meta(ge=-LARGEST_INDEX, le=LARGEST_INDEX)] | None = field(
        name="_ng_rollout_index", default=None
    )
    failure: None = field(name="_ng_failure_class", default=None)
    mask_sample: bool | None = None
    config: None = field(name="instance_config", default=None)
    config_mask: None = field(name="instance_config.mask_sample", default=None)


class _Asking(Struct, gc=False):
    responses_create_params: Raw
    agent: Raw = field(name="agent_ref", default=Raw(b"null"))
    task: Raw = field(name="_ng_task_index", default=Raw(b"null"))


class _Asked(_TextOnly, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]
    type: Literal["message"] | None = None
    tool_call_id: None = None
    name: None = None


_NoneBeside: Any = msgspec.defstruct(
    "_NoneBeside", [(key, None, None) for key in (*REQUEST, *ANSWER_FORMS)], gc=False
)


class _Params(_NoneBeside, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
    input: Annotated[list[_Asked], Meta(min_length=1)]
    instructions: None = None
    tool_choice: Literal["auto"] | None = None
    tools: Annotated[list[Any], Meta(max_length=0)] | None = None


_row_of = msgspec.json.Decoder(_Row).decode
_asking_of = msgspec.json.Decoder(_Asking).decode
_params_of = msgspec.json.Decoder(_Params).decode
_agent_of = msgspec.json.Decoder(_Agent | None).decode
_task_of = msgspec.json.Decoder(int | str | None).decode


def index_rows(records: Sequence[bytes]) -> list[IndexedRow | None]:
    """What the index stores of each row; None for rows not of the usual shape."""
    found: list[IndexedRow | None] = []
    last, short = b"", b""
    for record in records:
        plain = _usual(record)
        if plain is None:
            found.append(None)
            continue
        row, words, thoughts = plain
        question = b"\0".join((row.responses_create_params, row.agent, row.task))
        if question != last:  # rows of one task are often adjacent
            last, short = question, sha256(question).digest()[:_SHORT]
        score, response = round_score(row.reward), digest_turn(words, thoughts)
        found.append((short, score, row.index, response))
    return found


def read(record: bytes, origin: str = "") -> tuple[Candidate, bytes] | None:
    """The candidate of a row of the usual shape and the digest of its response; else None."""
    plain = _usual(record)
    if plain is None:
        return None
    row, words, thoughts = plain
    question = _question_in(row)
    if question is None:
        return None
    group, prompt, tools = question
    response: Message = {"role": "assistant", "content": words}
    if thoughts:
        response["reasoning_content"] = thoughts
    score = round_score(row.reward)
    candidate = Candidate(group, prompt, [response], score, row.index, origin, tools)
    return candidate, digest_turn(words, thoughts)


def read_question(record: bytes) -> Candidate | None:
    """The question of a row that was indexed: 4 us, where `read` takes 7 for the answer as well."""
    question = _question_in(_asking_of(record))
    if question is None:
        return None
    group, prompt, tools = question
    return Candidate(group, prompt, [], 0.0, tools=tools)


_ReadByCore = tuple[
    tuple[bytes, bytes, bytes], list[Message], list[Message], float, int | None, bytes, bool
]


def candidate_of_core(read: _ReadByCore, origin: str) -> tuple[Candidate, bytes, list[str]] | None:
    """The candidate of a row that the native core has read; prompt and tools are read here."""
    asked, leading, response, score, index, digest, cut = read
    try:
        question = _longer_question_of(*asked, leading) if leading else _question_of(*asked)
    except (msgspec.DecodeError, RecursionError, BadRecord, Unusable):
        return None
    group, prompt, tools = question
    if not prompt or prompt[0]["role"] == "assistant":
        return None
    noticed = ["leading_turn_moved"] * bool(leading) + ["trailing_turn_cut"] * cut
    return Candidate(group, prompt, response, score, index, origin, tools), digest, noticed


def _longer_question_of(
    params: bytes, agent: bytes, task: bytes, leading: list[Message]
) -> tuple[str, list[Message], Tools]:
    """Group, prompt and tools, where others spoke before the model did."""
    asked = decode_part(params, 1)
    prompt = [*renumber_calls(prompt_of(asked)), *leading]
    return _group_of(prompt, agent, task), prompt, tools_of(asked)


def _usual(record: bytes) -> tuple[_Row, str, str] | None:
    """A row of the usual shape, with the text and the reasoning of the model; else None."""
    try:
        row = _row_of(record)
        if not record.isascii():
            record.decode()  # msgspec does not validate the bytes that it skips
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    turn = _turn_of(row)
    return turn and (row, *turn)


def _turn_of(row: _Row) -> tuple[str, str] | None:
    """The text and the reasoning of the model, if they are one turn that can be used; else None."""
    if row.mask_sample:
        return None
    words = thoughts = ""
    for item in row.response.output:
        if item.type == "message" and item.role is not None and item.content:
            for part in item.content:
                words += part.text
        elif item.type == "reasoning" and not item.content:
            for thought in item.summary or ():
                if spoken := thought.text.strip():
                    thoughts = f"{thoughts}\n{spoken}" if thoughts else spoken
        else:
            return None
    if not words or words.isspace() or (">" in words and "think>" in words):
        return None
    return words, thoughts


def _question_in(row: _Row | _Asking) -> tuple[str, list[Message], Tools] | None:
    """The group, prompt and tools of a row, if it asks something."""
    params, agent, task = bytes(row.responses_create_params), bytes(row.agent), bytes(row.task)
    try:
        question = _question_of(params, agent, task)
    except (msgspec.DecodeError, RecursionError, BadRecord, Unusable):
        return None
    return question if question[1] else None


@lru_cache(_FEW)
def _question_of(params: bytes, agent: bytes, task: bytes) -> tuple[str, list[Message], Tools]:
    """The group, prompt and tools that answers of a task share; an empty prompt asks nothing."""
    prompt, tools = _asked_of(params)
    return _group_of(prompt, agent, task), prompt, tools


def _group_of(prompt: list[Message], agent: bytes, task: bytes) -> str:
    name = _agent_of(agent)
    if (number := _task_of(task)) is None:
        return group_of_prompt(digest_prompt(prompt))
    return encode([name and name.name, number]).decode()


def _asked_of(params: bytes) -> tuple[list[Message], Tools]:
    try:
        asked = _params_of(params)
    except msgspec.DecodeError:
        return _anything_asked_of(params)
    messages: list[Message] = [
        {"role": _ROLES.get(turn.role, turn.role), "content": _words_of(turn.content)}
        for turn in asked.input
    ]
    if any(map(_are_one, messages, messages[1:])):
        return _anything_asked_of(params)
    return (messages, None) if asks_something(messages) else ([], None)


def _are_one(one: Message, other: Message) -> bool:
    """Whether two messages of a prompt may have to be merged: adjacent turns of one role."""
    return one["role"] != "user" and bool(one["role"] == other["role"])


def _anything_asked_of(params: bytes) -> tuple[list[Message], Tools]:
    """The prompt and tools as the general reader finds them."""
    asked = decode_part(params, 1)
    if not isinstance(asked, dict):
        return [], None
    messages = renumber_calls(prompt_of(asked))
    return (messages, tools_of(asked)) if asks_something(messages) else ([], None)


def _words_of(content: str | list[_Part]) -> str:
    return content if isinstance(content, str) else "".join([part.text for part in content])
