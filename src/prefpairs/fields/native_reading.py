"""The options of reading that the native core knows."""

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from prefpairs.fields.make_candidate import TASK
from prefpairs.fields.read_options import ReadOptions, group_key, is_default_reading
from prefpairs.model.marks import MARKS
from prefpairs.model.pair import OTHER_GROUP, OTHER_PROMPT, POSITION

_MOST_SCORES = 2
"""The sum of more numbers is rounded once by Python, and after each addition by the core."""
_LARGEST_RUN = 2**63 - 1
_EACH = "[]"
_KNOWN = {TASK, POSITION, OTHER_GROUP, OTHER_PROMPT}


class NativeReading(NamedTuple):
    """What the core must know of the options; see reading.rs."""

    group_by: tuple[tuple[str | None, int | None], ...] | None = None
    """None for tasks, nothing for prompts, else fields: a path (None for the prompt) and a run."""
    scores: tuple[tuple[str, float], ...] = ()
    grades: tuple[tuple[str, float], ...] = ()
    cast_score: bool = False
    lower_is_better: bool = False
    drop_reasoning: bool = False
    only_last_text: bool = False
    keep: tuple[str, ...] = ()
    keeps_more: bool = False
    """Whether pairs take more of a row, so that Python reads the candidates in pairs."""


def native_reading(options: ReadOptions) -> NativeReading | None:
    """What the core must know of these options; None if it does not know all of them."""
    group_by = None if options.group_by == "auto" else _group_by(options)
    if (group_by is None and options.group_by != "auto") or not _is_known(options):
        return None
    knows_all = len({*options.keep}) == len(options.keep) and not any(map(_is_odd, options.keep))
    return NativeReading(
        group_by,
        options.scores,
        (*dict(options.score_map).items(),),
        options.cast_score,
        options.lower_is_better,
        options.reasoning == "drop",
        options.response_part == "final",
        options.keep if knows_all else (),
        not knows_all,
    )


def _is_known(options: ReadOptions) -> bool:
    """Whether the core knows these options, those of groups aside."""
    others = replace(
        options,
        group_by="auto",
        scores=(),
        score_map=(),
        lower_is_better=False,
        reasoning="keep",
        response_part="full",
        keep=(),
    )
    if not is_default_reading(others) or others.context or others.ignore or others.unrender:
        return False
    if options.keep and options.drop_rows:  # what is kept may mark answers
        return False
    paths, grades = [path for path, _ in options.scores], [text for text, _ in options.score_map]
    if len(paths) > _MOST_SCORES or any(_EACH in path for path in paths) or (grades and not paths):
        return False
    words = *options.group_by, *options.keep, *paths, *grades, options.step_name
    return all(map(_is_utf8, words))


def _is_utf8(word: str) -> bool:
    """Whether a word of the command line is text; other bytes come as halves of surrogate pairs."""
    with suppress(UnicodeEncodeError):
        word.encode()
        return True
    return False


def _is_odd(path: str) -> bool:
    """Whether a kept field may mark an answer, or have the name of another one in a pair's meta."""
    if any(mark.in_meta.search(path) for mark in MARKS.values()):
        return True
    return _EACH in path or path in _KNOWN or path.startswith(("chosen_", "rejected_"))


def _group_by(options: ReadOptions) -> tuple[tuple[str | None, int | None], ...] | None:
    """The fields of --group-by; None if the core does not know one of them."""
    words = options.group_by
    if isinstance(words, str):
        return () if words == "prompt" else None
    keys = [group_key(word) for word in words]
    if any(path == "file" or _EACH in path for path, *_ in keys):
        return None
    if any(pattern is not None or (run or 0) > _LARGEST_RUN for _, run, pattern in keys):
        return None
    return tuple(
        (None if word == "prompt" else path, run)
        for word, (path, run, _) in zip(words, keys, strict=True)
    )
