"""OpenAI-style dumps: completions and responses, alone, in batch output or in rows of one's own.

A completion with `n` above 1 has several answers. The object has no prompt: that is in the batch
input, which --join adds by custom_id. Scores are columns of the row, its own or joined ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.choose_field import has_content
from prefpairs.fields.field_names import OUTPUTS
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.responses_api import chat_of, prompt_of, tools_of
from prefpairs.fields.row_outcome import RowOutcome, Unusable, begin_row, check_end
from prefpairs.model.json_codec import decode_object
from prefpairs.model.marks import end_of
from prefpairs.model.path import MISSING, look_up
from prefpairs.model.question_columns import SYSTEM, TOOLS
from prefpairs.sources.base import RecordReader, Source
from prefpairs.sources.generic import read_row

Row = dict[str, Any]

_RESPONSE = "response"
_ANSWERS = {
    "chat.completion": "choices[].message",
    "text_completion": "choices[].text",
    _RESPONSE: "output",
}
"""The kinds of objects, and where each has its answers."""

_REQUEST = "body"
"""What the batch input calls a request."""
_PROMPTS = ("messages", "prompt")
_OK = 200
_UNFINISHED = ("cancelled", "in_progress", "queued")


class _Found(NamedTuple):
    """An object in a row: its path, which is empty if it is the row, and its kind."""

    path: str
    kind: str

    def within(self, path: str) -> str:
        """The path of something in the object."""
        return f"{self.path}.{path}" if self.path else path


def looks_like(record: bytes) -> bool:
    """Whether a record is a line of batch output, or an object of the API, or has one in it."""
    row = decode_object(record)
    return row is not None and (_is_of_batch(row) or _object_in(row) is not None)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rows of one file are read."""
    return RecordReader(lambda record: _read(record, options, label))


def _is_of_batch(row: Row) -> bool:
    """Whether a row is the outcome of a request of a batch, be it an answer or an error."""
    if not row.keys() >= {"custom_id", _RESPONSE}:
        return False
    outcome = row[_RESPONSE]
    return (outcome is None and "error" in row) or (
        isinstance(outcome, dict) and outcome.keys() >= {"status_code", "body"}
    )


def _object_in(row: Row) -> _Found | None:
    """The object in a row: the row itself, or the only output in it."""
    if _is_of_batch(row):
        places = [f"{_RESPONSE}.body"]
    elif _kind_of(row) is not None:
        places = [""]
    else:
        places = [name for name in OUTPUTS if has_content(row.get(name)) or _kind_of(row.get(name))]
    kind = _kind_of(look_up(row, places[0]) if places[:1] != [""] else row) if places else None
    return _Found(places[0], kind) if kind is not None and len(places) == 1 else None


def _kind_of(value: Any) -> str | None:
    """The kind of an object of the API; None for anything else."""
    kind = value.get("object") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _ANSWERS:
        return None
    listed = value.get("output" if kind == _RESPONSE else "choices")
    return kind if isinstance(listed, list) else None


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    found = _object_in(row)
    if found is None or _failed(row):
        reading.row_lost = "failed"
        return reading
    number = 1 if found.kind == _RESPONSE else len(look_up(row, found.within("choices")))
    try:
        if found.kind == _RESPONSE:
            status = look_up(row, found.within("status"))
            status = "incomplete" if status in _UNFINISHED else status
            check_end(None if status is MISSING else status, options, reading.noticed)
        _check_order(row, found, options)
        _check_alone(row, found, options)
        row = _with_messages(row, found, options, reading.noticed)
    except Unusable as loss:
        reading.lost.append(loss.reason)
        return reading
    named = _named(row, found, options)
    read_row(row, reading, named, label)
    if reading.lost == ["no_prompt"]:  # of the row, which has several answers
        reading.lost += ["no_prompt"] * (number - 1)
    return reading


def _failed(row: Row) -> bool:
    """Whether the outcome of a request is an error."""
    status = look_up(row, f"{_RESPONSE}.status_code")
    return _is_of_batch(row) and (bool(row.get("error")) or status not in (_OK, MISSING))


def _check_order(row: Row, found: _Found, options: ReadOptions) -> None:
    """Raise if the choices are not in the order of their indexes, in which a list of scores may be.

    Scores inside the choices are in their order.
    """
    choices = found.within("choices")
    if options.scores and all(path.startswith(f"{choices}[].") for path, _ in options.scores):
        return
    indexes = look_up(row, f"{choices}[].index")
    if isinstance(indexes, list):
        indexes = [int(one) if str(one).isdecimal() else one for one in indexes]
    if not isinstance(indexes, list) or not all(type(index) is int for index in indexes):
        return
    for place, index in enumerate(sorted(indexes)):
        if indexes[place] != index:
            expected = f"{index}: are the scores in the order of the choices, or of their indexes?"
            raise BadField(f"{choices}.{place}.index", indexes[place], expected)


def _check_alone(row: Row, found: _Found, options: ReadOptions) -> None:
    """Raise if a response continues another one, whose turns may be missing in the prompt."""
    path = found.within("previous_response_id")
    if found.kind == _RESPONSE and options.group_by == "auto" and has_content(_at(row, path)):
        problem = f"{path} is another response: are its turns in the prompt?"
        raise TwoReadings(problem, [("--group-by", path), ("--group-by", "prompt")])


def _at(row: Row, path: str) -> Any:
    value = look_up(row, path)
    return None if value is MISSING else value


def _named(row: Row, found: _Found, options: ReadOptions) -> ReadOptions:
    """The options, with paths to what they do not name; answers that were cut off are dropped."""
    requests = [f"{_REQUEST}.{name}" for name in _PROMPTS]
    asked = [path for path in requests if look_up(row, path) is not MISSING]
    finished = look_up(row, found.within("choices[].finish_reason"))
    failed = isinstance(finished, list) and "failed" in map(end_of, finished)
    unfit = {"incomplete", *(["failed"] if failed else [])} - options.keep_rows
    return replace(
        options,
        prompt=options.prompt or next(iter(asked), None),
        response=options.response or found.within(_ANSWERS[found.kind]),
        drop_rows=options.drop_rows | unfit,
    )


def _with_messages(row: Row, found: _Found, options: ReadOptions, noticed: list[str]) -> Row:
    """The row, with the items of the Responses API as messages, and marks of unfit choices."""
    request = row.get(_REQUEST)
    if isinstance(request, dict) and "input" in request:
        others = {key: request[key] for key in request if key not in ("input", "instructions")}
        row = {
            **row,
            _REQUEST: {**others, "messages": prompt_of(request), "tools": tools_of(request)},
        }
    if found.kind != _RESPONSE:
        path = found.within("choices")
        choices = [_marked(choice, options, noticed) for choice in look_up(row, path)]
        return _with_value(row, path, choices)
    if not isinstance(request, dict):
        row = {**row, **_asked(row, found)}
    path = found.within("output")
    return _with_value(row, path, chat_of(look_up(row, path), path))


def _asked(row: Row, found: _Found) -> Row:
    """What a response repeats of its request, as columns beside the prompt.

    It repeats instructions and tools, without which the question is another one.
    """
    response = look_up(row, found.path) if found.path else row
    asked: Row = {}
    if response.get("instructions") and not any(row.get(name) for name in SYSTEM):
        asked[SYSTEM[0]] = response["instructions"]
        if not found.path:
            asked["instructions"] = None  # they are in the row once
    if response.get("tools") and (not found.path or not any(row.get(name) for name in TOOLS)):
        asked[TOOLS[0]] = tools_of(response)
    return asked


def _marked(choice: Any, options: ReadOptions, noticed: list[str]) -> Any:
    """A choice, marked if a filter took a part of it away, or if it may be truncated."""
    end = end_of(choice.get("finish_reason")) if isinstance(choice, dict) else "done"
    if end is None:
        noticed.append("end_not_recorded")
    if end == "failed":
        return {**choice, "error": True}
    if end == "unknown_end" and end not in options.keep_rows:
        return {**choice, "truncated": True}
    return choice


def _with_value(row: Row, path: str, value: Any) -> Row:
    """The row with another value at a path of keys."""
    key, _, rest = path.partition(".")
    return {**row, key: _with_value(row[key], rest, value) if rest else value}


SOURCE = Source(
    looks_like=looks_like,
    open_reader=open_reader,
    advice={
        "no_prompt": "answers do not repeat their prompt; --join FILE --on custom_id adds the "
        "input of the batch",
        "no_score": "--join FILE --on custom_id adds a file with scores",
        "failed": "their requests failed, so there is no answer",
    },
)
