"""NeMo Gym rollouts of the usual shape: one turn of the model, read at a tenth of the cost.

This is the one clever place of the source. msgspec fills the types below with what a candidate
is made of and skips the rest of the line; whatever it does not expect there is an error, and
the row is read by nemo_gym.py, which knows every shape. Both find the same in a row:
tests/laws/test_nemo_gym_shortcut.py. Per row of 2.3 KB: 2 us to index it and 3 to read it, where
nemo_gym.py takes 30. (One type for all items, for a tagged union takes 0.3 us more; a bare
tuple, for a named one takes 0.2.)
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct, field

from prefpairs.errors import BadRecord
from prefpairs.fields.answer import Lost
from prefpairs.fields.responses_api import ANSWER_FORMS, REQUEST, prompt_of, tools_of
from prefpairs.model.candidate import LARGEST_INDEX, Candidate
from prefpairs.model.content import CONTENT_KEYS
from prefpairs.model.identity import digest_prompt, digest_turn, group_of_prompt
from prefpairs.model.json_codec import decode_part, encode
from prefpairs.model.message import OTHER_KEYS, Message, asks_something
from prefpairs.model.number import LARGEST_SCORE, round_score
from prefpairs.model.tool_calls import renumber_calls
from prefpairs.sources.base import Scanned

_FEW = 4
_SHORT = 15
"""Bytes of a digest that Python holds in 48, and no more of it in 64."""

Tools = list[Any] | None
_ROLES = {"developer": "system"}


_Wordless: Any = msgspec.defstruct(
    "_Wordless", [(key, None, None) for key in (*CONTENT_KEYS, *OTHER_KEYS)], gc=False
)
"""A message or a part of one that holds nothing but words; the row is read in full otherwise."""


class _Part(_Wordless, gc=False, kw_only=True):  # type: ignore[misc,call-arg]  # made of a table
    text: str
    type: Literal["input_text", "output_text", "text"]


class _Thought(Struct, gc=False):
    text: str


class _Item(_Wordless, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
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


class _Asked(_Wordless, gc=False, kw_only=True):  # type: ignore[misc,call-arg]
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


def scan(records: Sequence[bytes]) -> list[Scanned | None]:
    """What the index remembers of rows, and nothing where a row is not of the usual shape."""
    found: list[Scanned | None] = []
    last, short = b"", b""
    for record in records:
        plain = _plain(record)
        if plain is None:
            found.append(None)
            continue
        row, words, thoughts = plain
        question = b"\0".join((row.responses_create_params, row.agent, row.task))
        if question != last:  # rows of one task often stand together
            last, short = question, sha256(question).digest()[:_SHORT]
        score, response = round_score(row.reward), digest_turn(words, thoughts)
        found.append((short, score, row.index, response))
    return found


def read(record: bytes, origin: str = "") -> tuple[Candidate, bytes] | None:
    """The candidate of a row of the usual shape, and the digest of its response."""
    plain = _plain(record)
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


def ask(record: bytes) -> Candidate | None:
    """The question of a row that was scanned; without the answer 4 us, where `read` takes 7."""
    question = _question_in(_asking_of(record))
    if question is None:
        return None
    group, prompt, tools = question
    return Candidate(group, prompt, [], 0.0, tools=tools)


def _plain(record: bytes) -> tuple[_Row, str, str] | None:
    """A row of the usual shape, and what the model said and thought in it."""
    try:
        row = _row_of(record)
        if not record.isascii():
            record.decode()  # msgspec does not look at the bytes of what it skips
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    turn = _turn_of(row)
    return turn and (row, *turn)


def _turn_of(row: _Row) -> tuple[str, str] | None:
    """What the model said and thought, if it is one turn that is fit to train on."""
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
    """Group, prompt and tools of a row, if it asks something."""
    params, agent, task = bytes(row.responses_create_params), bytes(row.agent), bytes(row.task)
    try:
        question = _question_of(params, agent, task)
    except (msgspec.DecodeError, RecursionError, BadRecord, Lost):
        return None
    return question if question[1] else None


@lru_cache(_FEW)
def _question_of(params: bytes, agent: bytes, task: bytes) -> tuple[str, list[Message], Tools]:
    """Group, prompt and tools: what both answers of a pair share. No prompt if nothing is asked."""
    prompt, tools = _asked_of(params)
    name = _agent_of(agent)
    if (number := _task_of(task)) is None:
        return group_of_prompt(digest_prompt(prompt)), prompt, tools
    return encode([name and name.name, number]).decode(), prompt, tools


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
    """Whether two messages of a prompt may be made one: what the model said in a row, systems."""
    return one["role"] != "user" and bool(one["role"] == other["role"])


def _anything_asked_of(params: bytes) -> tuple[list[Message], Tools]:
    """The same, read as nemo_gym.py does."""
    asked = decode_part(params, 1)
    if not isinstance(asked, dict):
        return [], None
    messages = renumber_calls(prompt_of(asked))
    return (messages, tools_of(asked)) if asks_something(messages) else ([], None)


def _words_of(content: str | list[_Part]) -> str:
    return content if isinstance(content, str) else "".join([part.text for part in content])
