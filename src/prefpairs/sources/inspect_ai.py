"""Inspect: a log holds the samples of an evaluation, each of them in several epochs.

In `.eval` archives a sample is a member, which gets the log's header under `header.json`. A `.json`
log is one object with all samples.
"""

import re
from collections.abc import Sequence
from typing import Any

from prefpairs.errors import BadField, NoSuchPath, TwoReadings
from prefpairs.fields.choose_field import check_direction, score_choices
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.responses_api import chat_tool
from prefpairs.fields.row_outcome import (
    RowOutcome,
    Unusable,
    begin_row,
    check_end,
    drop_unless_kept,
    objects_in,
)
from prefpairs.model.candidate import read_index, read_tools
from prefpairs.model.identity import canonical_json, digest
from prefpairs.model.json_codec import decode_object
from prefpairs.model.message import Message, read_message
from prefpairs.model.path import MISSING, look_up
from prefpairs.sources.base import RecordReader, Source

Row = dict[str, Any]

_HEADER = "header.json"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What Inspect's own grades count as: correct, partially correct, incorrect, no answer."""
_ATTACHMENT = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")
_OF_SAMPLES = frozenset({"epoch", "input", "target", "messages"})


def looks_like(record: bytes) -> bool:
    """Whether a record is a log or a sample of one."""
    row = decode_object(record)
    if row is None:
        return False
    if isinstance(row.get("eval"), dict) and "task" in row["eval"]:
        return "version" in row or isinstance(row.get("samples"), list)
    return row.keys() >= _OF_SAMPLES and ("output" in row or "scores" in row)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the samples of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    header = row if isinstance(row.get("eval"), dict) else row.get(_HEADER)
    header = header if isinstance(header, dict) else {}
    samples = row.get("samples") if header is row else [row]
    if not isinstance(samples, list):
        reading.row_lost = "no_samples"
        return reading
    for place, one in enumerate(samples):
        if not isinstance(one, dict):
            raise BadField(f"samples.{place}", one, "an object")
        try:
            _check_fit(one, options, reading.noticed)
            answer = _answer(header, one, options)
        except Unusable as loss:
            reading.lost.append(loss.reason)
        else:
            add_candidate(answer, options, label, reading)
    return reading


def _check_fit(sample: Row, options: ReadOptions, noticed: list[str]) -> None:
    """Raise the first reason why this sample should not be trained on.

    Samples that met a limit are scored all the same, and a log may be a success although some of
    its samples failed.
    """
    errors = sample.get("error"), sample.get("invalidation"), look_up(sample, "output.error")
    drop_unless_kept(
        options,
        failed=any(one and one is not MISSING for one in errors),
        incomplete=sample.get("limit"),
    )
    stopped = look_up(sample, "output.choices.0.stop_reason")
    check_end(None if stopped in (MISSING, "unknown") else stopped, options, noticed)


def _answer(header: Row, sample: Row, options: ReadOptions) -> Answer:
    scores = _scores(sample)
    scorer = _scorer(header, sample, scores, options)
    messages = [
        _message(message, f"messages.{place}", sample)
        for place, message in enumerate(objects_in(sample, "messages"))
    ]
    said = [one.get("source") == "generate" for one in objects_in(sample, "messages")]
    if True not in said:
        raise Unusable("no_response")
    first = said.index(True)
    numbers = {
        name: value if options.score_map else _GRADES.get(value, value)
        for name, value in scores.items()
        if not isinstance(value, (list, dict))
    }
    return Answer(
        row={**numbers, **sample},
        prompt=messages[:first],
        response=messages[first:],
        scores=[(f"scores.{scorer}.value", 1.0, numbers.get(scorer, scores.get(scorer, MISSING)))],
        task=_task(header, sample, scorer),
        index=read_index(sample.get("epoch"), "epoch"),
        tools=_tools(sample),
    )


def _scores(sample: Row) -> Row:
    """The values of all scorers by name; those with several values have one name each."""
    scores = sample.get("scores")
    if scores is None:
        return {}
    if not isinstance(scores, dict):
        raise BadField("scores", scores, "an object")
    found: Row = {}
    for name, score in scores.items():
        if not isinstance(score, dict):
            raise BadField(f"scores.{name}", score, "a score")
        value = score.get("value")
        if isinstance(value, dict):
            found.update({f"{name}.{key}": one for key, one in value.items()})
        else:
            found[name] = value
    return found


def _scorer(header: Row, sample: Row, scores: Row, options: ReadOptions) -> str:
    """The only scorer; TwoReadings if there are several, and none of them is named."""
    listed = _listed(header)
    split = {name.partition(".")[0] for name in scores}
    names = sorted({*scores, *(name for name in listed if name not in split)})
    for path, _ in options.scores:
        own = {**scores, **dict.fromkeys(listed), **sample}
        if listed and look_up(own, path) is MISSING and path.partition(".")[0] not in listed:
            raise NoSuchPath("--score", path, names)
    if options.scores:
        return "+".join(path for path, _ in options.scores)
    if len(names) > 1:
        problem = f"the samples have several scores, {_words(names)}: which of them counts?"
        raise TwoReadings(problem, score_choices(names, options))
    for name in names:
        check_direction(name, options)
    return names[0] if names else ""


def _listed(header: Row) -> list[str]:
    """The scorers that the header names, as samples call them: without their package."""
    for path, key in (("eval.scorers", "name"), ("results.scores", "scorer")):
        listed = look_up(header, path)
        if isinstance(listed, list) and listed:
            names = [one.get(key) for one in listed if isinstance(one, dict)]
            return [name.rpartition("/")[2] for name in names if isinstance(name, str)]
    return []


def _words(names: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)


def _task(header: Row, sample: Row, scorer: str) -> list[Any]:
    """The sample of a task that one model was given, and what was scored.

    Samples may have equal inputs and different targets.
    """
    of_log = [look_up(header, f"eval.{name}") for name in ("task", "task_args", "model")]
    task, arguments, model = (None if value is MISSING else value for value in of_log)
    if model is None:
        model = look_up(sample, "output.model")
    return [
        task,
        digest("arguments", canonical_json([arguments, sample.get("target")])).hex(),
        None if model is MISSING else model,
        sample.get("id"),
        scorer,
    ]


def _message(message: Row, field: str, sample: Row) -> Message:
    """A message in chat form: its calls are flat, and its parts may hold reasoning."""
    given: Row = {
        key: message[key] for key in ("role", "content", "tool_call_id") if key in message
    }
    if message.get("tool_calls"):
        given["tool_calls"] = [
            {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}
            for call in objects_in(message, "tool_calls")
        ]
    if isinstance(message.get("function"), str):
        given["name"] = message["function"]
    problem = message.get("error")
    if not given.get("content") and isinstance(problem, dict):
        given["content"] = problem.get("message")
    if isinstance(given.get("content"), list):
        given |= _of_parts(given["content"])
    return read_message(_with_attachments(given, sample.get("attachments")), field)


def _of_parts(parts: list[Any]) -> Row:
    """The content of a message without its readable reasoning, which is a field of its own."""
    thoughts = [
        part for part in parts if isinstance(part, dict) and part.get("type") == "reasoning"
    ]
    readable = [part.get("summary" if part.get("redacted") else "reasoning") for part in thoughts]
    content = [part for part in parts if part not in thoughts]
    reasoning = "\n".join(text for text in readable if isinstance(text, str) and text)
    return {"content": content, **({"reasoning_content": reasoning} if reasoning else {})}


def _with_attachments(value: Any, attachments: Any) -> Any:
    """A value with long texts and media in place of the references to them."""
    if isinstance(value, list):
        return [_with_attachments(one, attachments) for one in value]
    if isinstance(value, dict):
        return {key: _with_attachments(one, attachments) for key, one in value.items()}
    if isinstance(value, str) and (found := _ATTACHMENT.fullmatch(value)):
        known = attachments.get(found[1]) if isinstance(attachments, dict) else None
        if not isinstance(known, str):
            raise Unusable("unsupported_item")
        return known
    return value


def _tools(sample: Row) -> list[Any] | None:
    """The tools that the model was offered, which are only in the events of its calls."""
    for event in objects_in(sample, "events"):
        if event.get("event") == "model":
            tools = read_tools(event.get("tools"), "events.tools") or []
            return [chat_tool({"type": "function", **_plain(tool)}) for tool in tools]
    return None


def _plain(tool: Row) -> Row:
    """A tool without what only the program needs."""
    return {key: tool[key] for key in ("name", "description", "parameters") if key in tool}


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    paths_start_at_row=False,
    advice={
        "no_score": "the log has no scores: `inspect score LOG --scorer NAME` adds them",
        "no_samples": "it was written without its samples (--no-log-samples)",
    },
)
