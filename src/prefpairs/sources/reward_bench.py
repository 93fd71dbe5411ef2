"""RewardBench 2: a row has a prompt, a list of right answers and a list of wrong ones.

Each answer was judged by itself, so right answers score 1 and wrong ones 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prefpairs.errors import BadField
from prefpairs.fields.make_candidate import Answer, add_candidate
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, begin_row
from prefpairs.model.candidate import read_text
from prefpairs.model.json_codec import decode_object
from prefpairs.model.pair import POSITION
from prefpairs.sources.base import RecordReader, Source

_SCORES = {"chosen": 1.0, "rejected": 0.0}


def looks_like(record: bytes) -> bool:
    """Whether a record has lists of right and wrong answers, and says how many are right."""
    row = decode_object(record)
    if row is None or "num_correct" not in row:
        return False
    return all(isinstance(row.get(side), list) for side in _SCORES)


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rows of one file are read."""
    only = replace(options, scores=(), response=None)
    return RecordReader(lambda record: _read(record, only, label))


def _read(record: bytes, options: ReadOptions, label: str) -> RowOutcome:
    row, reading = begin_row(record)
    given = row.get("prompt")
    prompt = None if given is None else read_text(given, "prompt")
    task = None if row.get("id") is None else [row.get("subset"), row["id"]]
    for place, (path, score, said) in enumerate(_answers(row)):
        response = None if said is None else read_text(said, path)
        answer = Answer(row, prompt, response, [(path, 1.0, score)], task, meta={POSITION: place})
        add_candidate(answer, options, label, reading)
    return reading


def _answers(row: dict[str, Any]) -> list[tuple[str, float, Any]]:
    """All answers of a row, each with its path and its score; the right ones come first."""
    found = []
    for side, score in _SCORES.items():
        listed = row.get(side)
        if not isinstance(listed, list):
            raise BadField(side, listed, "a list of answers")
        found += [(f"{side}.{place}", score, said) for place, said in enumerate(listed)]
    return found


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
