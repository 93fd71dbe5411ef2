"""UltraFeedback: an instruction, and the completions of several models with their ratings.

`fine-grained_score` is the mean of the ratings. `overall_score` is wrong in part of the data, where
it is 10 instead of 1, so it counts only if --score names it.
"""

from collections.abc import Sequence
from dataclasses import replace

from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.json_codec import decode_object
from prefpairs.sources.base import RecordReader, Source
from prefpairs.sources.generic import read_any_shape

_PROMPT, _COMPLETIONS = "instruction", "completions"
_RESPONSE, _SCORE = f"{_COMPLETIONS}[].response", "fine-grained_score"
_SYSTEM = "custom_system_prompt"


def looks_like(record: bytes) -> bool:
    """Whether a record has an instruction, and completions with ratings."""
    row = decode_object(record)
    if row is None or not isinstance(row.get(_PROMPT), str):
        return False
    completions = row.get(_COMPLETIONS)
    if completions == []:
        return "models" in row
    return isinstance(completions, list) and any(
        isinstance(one, dict) and one.keys() >= {"response", "annotations", _SCORE}
        for one in completions
    )


def open_reader(sample: Sequence[bytes], options: ReadOptions, label: str) -> RecordReader:
    """How the rows of one file are read: as rows of any shape whose fields are named."""
    named = replace(
        options,
        prompt=options.prompt or _PROMPT,
        response=options.response or _RESPONSE,
        scores=options.scores or ((f"{_COMPLETIONS}[].{_SCORE}", 1.0),),
    )

    note = f"the system prompts of the completions ({_SYSTEM}) are left out, since they differ"
    notes = (note,) if sample else ()
    return RecordReader(lambda record: read_any_shape(record, named, label), notes)


SOURCE = Source(looks_like=looks_like, open_reader=open_reader)
