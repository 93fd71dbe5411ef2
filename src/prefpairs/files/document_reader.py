"""Files that are one JSON object over several lines, and lists of rows inside of such objects."""

import io
import json
from collections.abc import Iterator
from contextlib import suppress

from prefpairs.errors import BadInput, FileError, NotJson
from prefpairs.files.file_system import head_of
from prefpairs.files.input_file import Input
from prefpairs.files.lines import Record, json_line, lines_in, record_of, what_allows
from prefpairs.model.json_codec import decode
from prefpairs.model.path import MISSING, look_up


def document_records(stream: io.BufferedIOBase, start: int, source: Input) -> Iterator[Record]:
    """The object as one record. If other values follow it, the file is read as lines."""
    content = whole(stream, source)
    try:
        decode(content)
    except NotJson:
        _refuse_unfinished(content, source)
        for record in lines_in(content, 0, source.limits.line):
            yield record._replace(offset=start + record.offset)
    else:
        blank = len(content) - len(content.lstrip())
        yield Record(1, start + blank, content.strip())


def rows_of_document(stream: io.BufferedIOBase, source: Input, path: str) -> Iterator[Record]:
    """The items of the list at a path, each of them a record."""
    content = whole(stream, source)
    try:
        found = look_up(decode(content), path)
    except NotJson as error:
        problem = f"--rows {path} is for files of one JSON document ({error.problem})"
        raise BadInput(source.label, problem) from None
    if not isinstance(found, list):
        what = "it has no such field" if found is MISSING else "that is no list"
        raise BadInput(source.label, f"--rows {path}: {what}")
    for number, row in enumerate(found, 1):
        line = json_line(row)
        yield record_of(number, 0, line, source.limits.line)._replace(member=path)


def is_one_document(path: str, most: int) -> bool:
    """Whether a regular file has one JSON object and nothing else, no longer than this."""
    with suppress(FileError, NotJson):
        content = head_of(path, most + 1)
        return len(content) <= most and isinstance(decode(content), dict)
    return False


def whole(stream: io.BufferedIOBase, source: Input) -> bytes:
    """All of a file, which may not be longer than a line may be."""
    content = stream.read(source.limits.line + 1)
    if len(content) > source.limits.line:
        problem = f"the JSON document is longer than {what_allows()}"
        raise BadInput(source.label, problem, "--max-line SIZE allows longer ones")
    return content


def _refuse_unfinished(content: bytes, source: Input) -> None:
    """Raise if the document ends before its last brace."""
    try:
        text = content.decode("utf-8").rstrip()
        json.JSONDecoder().raw_decode(text.lstrip())
    except json.JSONDecodeError as error:
        if error.pos >= len(text.lstrip()) or error.msg.startswith("Unterminated string"):
            problem = "the JSON document ends too early: it was cut off or is still being written"
            raise BadInput(source.label, problem) from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        return
