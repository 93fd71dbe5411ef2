"""The files that stages name in their options: benchmarks, tokenizers, and an earlier split."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from prefpairs.did_you_mean import MOST_TOLD, nearest
from prefpairs.engine.pairs.pairs_from_files import reader_of
from prefpairs.errors import BadInput, BadRecord, FileError
from prefpairs.fields.pair_row import PairRowOutcome
from prefpairs.files.file_system import exists, is_folder
from prefpairs.files.input_file import Input, side_in_name
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.lines import Record
from prefpairs.files.open_input import open_input
from prefpairs.files.tokenizer import open_tokenizer
from prefpairs.model.candidate import read_text
from prefpairs.model.json_codec import decode
from prefpairs.model.message import Text, asks_something
from prefpairs.model.path import MISSING, look_up, paths_of
from prefpairs.stages.base import Stage
from prefpairs.stages.contamination import PROMPT_FIELDS, ReferencePrompts
from prefpairs.stages.split import Split
from prefpairs.stages.split_sides import SideOwners


def files_named_by(stage: Stage) -> list[Input]:
    """The files that a stage reads in addition to the pairs."""
    found = [*find_inputs(stage.benchmarks)] if stage.benchmarks else []
    return [*found, *(Input(path, path) for path in stage.tokenizers)]


def with_files(stage: Stage) -> Stage:
    """A stage with what is in the files that it names."""
    return stage.with_files(_Files())


class _Files:
    """Files as stages want them."""

    def prompts(
        self, paths: Sequence[str], field: str | None, *, near: float | None
    ) -> ReferencePrompts:
        """The prompts of a benchmark."""
        return read_reference(find_inputs(paths), field, near=near)

    def token_counter(self, path: str) -> Callable[[str], int]:
        """What counts the tokens of a text."""
        return open_tokenizer(path)


def read_reference(
    inputs: Sequence[Input], field: str | None, *, near: float | None = None
) -> ReferencePrompts:
    """The prompts of the files. A row without one is an error."""
    reference = ReferencePrompts(near)
    for source in inputs:
        before = len(reference)
        with open_input(source) as opened:
            for record in opened.records:
                reference.add(_prompt(record, source.label, field))
        if len(reference) == before == 0:
            raise BadInput(source.label, "is empty, so nothing is held against it")
    return reference


def _prompt(record: Record, label: str, field: str | None) -> Text:
    place = f"{label}:{record.number}"
    try:
        row = decode(record.complete())
        for path in PROMPT_FIELDS if field is None else (field,):
            value = look_up(row, path)
            if value is MISSING or value is None:
                continue
            prompt = _before_answer(read_text(value, path))
            if asks_something(prompt):
                return prompt
    except BadRecord as error:
        raise BadInput(place, error.problem) from None
    if field is None:
        problem = f"no {' or '.join(PROMPT_FIELDS)}"
        raise BadInput(place, problem, "--against-field PATH says where prompts stand")
    raise BadInput(place, f"no {field}", nearest(field, [*paths_of(row)], most=MOST_TOLD))


def _before_answer(prompt: Text) -> Text:
    """A conversation up to the answer that it ends with."""
    if isinstance(prompt, str):
        return prompt
    turns = list(prompt)
    while turns and turns[-1]["role"] == "assistant":
        del turns[-1]
    return turns


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
    """The side of each key in a folder. Contents count, not the ids next to them."""
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
