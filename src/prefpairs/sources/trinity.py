"""Trinity-RFT: a row is an experience, which is one answer of a run.

JSON lines have no tokens; frames (TRXP) and databases have them, in `tokens` and `action_mask`.
`type` is multi_turn for nearly everything, so it is ignored.
"""

from collections.abc import Sequence
from typing import Any

from prefpairs.chat.flatten import is_text_message
from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions, is_default_reading
from prefpairs.fields.ready_pair import add_pair
from prefpairs.fields.rollout_tokens import RolloutTokens, read_appended, read_tokens
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, drop_unless_kept
from prefpairs.model.candidate import LARGEST_INDEX, read_tools
from prefpairs.model.common_prefix import back_to_turn, shared_length
from prefpairs.model.json_codec import decode, decode_object
from prefpairs.model.message import RENDERED, Message, Text, read_messages
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.tool_calls import renumber_calls
from prefpairs.sources.base import RecordReader, Source

_NAMES = ("task", "run", "step", "tid", "rid", "sid", "uid")
"""The identities that options may name."""

_TRUNCATED = ("prompt_truncated", "response_truncated")

_RENDERED = (
    "prompt_text was rendered by a chat template, and is kept as text; "
    "--prompt-template FILE turns it into messages"
)


def looks_like(record: bytes) -> bool:
    """Whether a record is an experience."""
    row = decode_object(record)
    return row is not None and isinstance(row.get("eid"), dict) and "prompt_length" in row


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the experiences of one file are read."""
    rendered = any(isinstance(decode(record).get("prompt_text"), str) for record in sample)
    notes = (_RENDERED,) if rendered and options.unrender is None and not options.prompt else ()
    named = not is_default_reading(options)
    return RecordReader(lambda record: read_any_shape(record, options, label, named=named), notes)


def read_any_shape(record: bytes, options: ReadOptions, label: str, *, named: bool) -> RowOutcome:
    """The outcome of an experience; `named` if options name fields of it."""
    row, reading = begin_row(record)
    eid = row.get("eid")
    if not isinstance(eid, dict):
        raise BadField("eid", eid, "an object")
    if row.get("chosen_messages") is not None and row.get("rejected_messages") is not None:
        try:
            better, worse = _ready(row, eid)
        except Unusable as loss:
            reading.pairs_lost.append(loss.reason)
            return reading
        add_pair(_named(better) if named else better, worse, options, label, reading)
        return reading
    try:
        answer = _answer(row, eid, options)
    except Unusable as loss:
        reading.lost.append(loss.reason)
        return reading
    add_candidate(_named(answer) if named else answer, options, label, reading)
    return reading


def _named(answer: Answer) -> Answer:
    """The answer, with its identities added to the fields of its row."""
    return answer._replace(row={**_identities(answer.row), **answer.row})


def _ready(row: dict[str, Any], eid: dict[str, Any]) -> tuple[Answer, Answer]:
    """Both answers of an experience for DPO: two conversations that begin with the same prompt.

    Its tokens, if it has any, are those of the prompt and of the rest of each conversation.
    """
    _check_prompt(row)
    chosen, rejected = (
        renumber_calls(read_messages(row[field], field))
        for field in ("chosen_messages", "rejected_messages")
    )
    place = back_to_turn(chosen, rejected, shared_length(chosen, rejected))
    ids = None if row.get("multi_modal_input_keys") else row.get("tokens")
    tokens, others = (read_appended(ids, row.get(side), side) for side in ("chosen", "rejected"))
    better = Answer(
        row=row,
        prompt=chosen[:place],
        response=chosen[place:],
        scores=(),
        task=_task(eid),
        tools=read_tools(row.get("tools"), "tools"),
        tokens=tokens,
        meta=_meta(row, eid),
    )
    return better, better._replace(response=rejected[place:], tokens=others)


def _answer(row: dict[str, Any], eid: dict[str, Any], options: ReadOptions) -> Answer:
    tokens = read_tokens(row.get("tokens"), row.get("prompt_length"), row.get("action_mask"))
    _check_fit(row, tokens, options)
    prompt, response, rendered = _texts(row, tokens, options)
    task = _task(eid)
    worded = row.get("messages") or row.get("prompt_text") is not None
    apart = tokens.prompt if tokens is not None and not worded else ""
    if task is not None and apart:
        task.append(apart)
    run = eid.get("run")
    return Answer(
        row=row,
        prompt=prompt,
        response=response,
        scores=[("reward", 1.0, row.get("reward"))],
        task=task,
        index=run if type(run) is int and abs(run) <= LARGEST_INDEX else None,
        tools=None if rendered else read_tools(row.get("tools"), "tools"),
        # the places of images among the tokens mean nothing without their pixels
        tokens=None if tokens is None or row.get("multi_modal_input_keys") else tokens.field,
        meta=_meta(row, eid) | ({RENDERED: True} if rendered and not options.prompt else {}),
        inline_reasoning=not rendered,
        prompt_tokens=apart,
    )


def _task(eid: dict[str, Any]) -> list[Any] | None:
    batch, name = _name(eid, "batch"), _name(eid, "task")
    return [batch, name] if batch or name else None


def _check_prompt(row: dict[str, Any]) -> None:
    """Raise the reason why no answer to this prompt should be trained on."""
    if row.get("multi_modal_input_keys") and not _shows_media(row):
        raise Unusable("multi_modal")
    if row.get("truncate_status") == "prompt_truncated":
        raise Unusable("prompt_truncated")


def _shows_media(row: dict[str, Any]) -> bool:
    """Whether the messages refer to the images that were seen; their pixels are not read."""
    given = row.get("messages") or row.get("chosen_messages")
    return bool(given) and not all(map(is_text_message, read_messages(given, "messages")))


def _check_fit(row: dict[str, Any], tokens: RolloutTokens | None, options: ReadOptions) -> None:
    """Raise the reason why this answer should not be trained on."""
    _check_prompt(row)
    status = row.get("truncate_status")
    drop_unless_kept(options, incomplete=status == "response_truncated")
    drop_unless_kept(options, unknown_end=status not in (None, "", *_TRUNCATED))
    learns = tokens is None or tokens.mask is None or not tokens.mask or any(tokens.mask)
    drop_unless_kept(options, masked=not learns)


def _texts(
    row: dict[str, Any], tokens: RolloutTokens | None, options: ReadOptions
) -> tuple[Text | None, Text | None, bool]:
    """Prompt and answer, and whether a chat template rendered them."""
    if row.get("messages"):
        return *_parted(read_messages(row["messages"], "messages")), False
    prompt, response = _text(row, "prompt_text"), _text(row, "response_text")
    if not (prompt and response) and tokens is not None:
        if options.decoder is not None:
            # The recorded text omits tool calls: both texts are decoded from the tokens.
            prompt, response = tokens.texts(options.decoder)
        elif not (options.prompt or options.response):
            raise Unusable("only_tokens")
    return prompt, response, True


def _parted(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """A conversation split where the model first speaks, as the trainer's own mask begins there."""
    for place, message in enumerate(messages):
        if message["role"] == "assistant":
            return messages[:place], messages[place:]
    raise Unusable("no_response")


def _text(row: dict[str, Any], field: str) -> str | None:
    value = row.get(field)
    if value is not None and not isinstance(value, str):
        raise BadField(field, value, "text")
    return value


def _name(eid: dict[str, Any], key: str) -> str:
    """A part of the identity as text: JSON lines have numbers where databases have text."""
    value = eid.get(key, "")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadField(f"eid.{key}", value, "text or a number")
    return str(value)


def _identities(row: dict[str, Any]) -> dict[str, Any]:
    """What Trinity-RFT calls tid, rid, sid and uid; and the item of the data set in any epoch."""
    eid = row["eid"]
    batch, task = _name(eid, "batch"), _name(eid, "task")
    if not (batch or task):
        return _sample(row)
    tid = f"{batch}/{task}"
    names = {"task": tid, "tid": tid}
    for key, same in (("run", "rid"), ("step", "sid")):
        if key in eid:
            names[key] = names[same] = f"{tid}/{eid[key]}"
    if {"run", "step", "suffix"} <= eid.keys():
        names["uid"] = f"{names['run']}/{eid['step']}/{eid['suffix']}"
    return {**names, **_sample(row)}


def _sample(row: dict[str, Any]) -> dict[str, Any]:
    place = [look_up(row, f"info.task_index.{key}") for key in ("taskset_id", "index")]
    return {} if MISSING in place else {"sample": place}


def _meta(row: dict[str, Any], eid: dict[str, Any]) -> dict[str, Any]:
    """What distinguishes the experiences of a task, where it is a plain value."""
    found = {"step": eid.get("step"), "model_version": look_up(row, "info.model_version")}
    plain = {key: value for key, value in found.items() if isinstance(value, (int, str))}
    sample = _sample(row)
    if all(isinstance(part, (int, str)) for part in sample.get("sample", ())):
        plain |= sample
    return plain


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    added_fields={**dict.fromkeys(_NAMES, ""), "sample": []},
)
