"""The files of --join, read whole before the inputs are."""

from collections.abc import Sequence

from prefpairs.errors import BadInput, BadRecord
from prefpairs.fields.joined_rows import JoinTable
from prefpairs.files.input_file import Input, Limits, within_memory
from prefpairs.files.open_input import open_input

_ONE_ROW = "a key has one row; the scores of several answers are a list in it"


def read_join_tables(paths: Sequence[str], on: Sequence[str], limits: Limits) -> list[JoinTable]:
    """The rows of the files by their keys, a table for each file."""
    return [_table_of(path, on, limits) for path in paths]


def _table_of(path: str, on: Sequence[str], limits: Limits) -> JoinTable:
    source = Input(path, path, within_memory(limits))
    table = JoinTable(path, on)
    with open_input(source) as opened:
        for record in opened.records:
            if not record.is_blank():
                place = f"{source.label}:{record.number}"
                try:
                    number = table.add(record.number, record.complete())
                except BadRecord as error:
                    raise BadInput(place, error.problem) from None
                if number != record.number:
                    raise BadInput(place, f"line {number} has the same key", _ONE_ROW)
    return table
