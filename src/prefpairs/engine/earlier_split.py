"""The sides that an earlier split gave to prompts, read from its files."""

import os
from dataclasses import replace

from prefpairs.engine.pairs_from_files import reader_of
from prefpairs.errors import BadInput, BadRecord, FileError
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.files.file_system import exists, is_folder
from prefpairs.files.input_file import Input, side_in_name
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.open_input import open_input
from prefpairs.stages.split import Split
from prefpairs.stages.split_sides import SideOwners


def earlier_files(split: Split) -> list[Input]:
    """The files that --like reads; the run may replace them."""
    return [] if split.like is None else _files_in(split.like)


def with_earlier_sides(split: Split) -> Split:
    """The split, with the sides that keys have in the files of --like."""
    return split if split.like is None else replace(split, earlier=_sides_in(split.like, split))


def _files_in(folder: str) -> list[Input]:
    """The files of a folder that are a side by their name."""
    if not is_folder(folder):
        missing = not exists(folder)
        problem = "no such directory" if missing else "not a directory"
        raise FileError(folder, problem, missing=missing)
    inputs = (given._replace(label=given.path) for given in find_inputs([folder]))
    found = [given for given in inputs if _side_of(given, folder)]
    if not found:
        raise FileError(folder, "no file in it is named train, val or test")
    return found


def _sides_in(folder: str, split: Split) -> SideOwners:
    """The side of each key in a folder. Contents count, not the ids that stand beside them."""
    kept, read = SideOwners(), reader_of("auto")
    for source in _files_in(folder):
        side = _side_of(source, folder) or "train"
        with open_input(source) as opened:
            for record in opened.records:
                try:
                    keys = _keys(read(record.complete()), split)
                except BadRecord as error:
                    place = f"{source.label}:{record.number}"
                    raise BadInput(place, error.problem) from None
                for key in keys:
                    kept.add(key, side)
    return kept


def _keys(reading: PairRowOutcome, split: Split) -> list[bytes]:
    prompt = reading.digests.prompt
    return split.keys_of(prompt, reading.other_prompt, lambda: reading.pair)


def _side_of(given: Input, folder: str) -> str | None:
    return side_in_name(os.path.relpath(given.path, folder))
