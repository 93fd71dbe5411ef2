"""Law 11: answers to one prompt that have different references end the run.

They may be answers to several tasks, so that their scores cannot be compared, or to one task. Each
printed command reads them as one of these, whatever the order, the engine, and the kind of file.
"""

import os
from collections.abc import Iterator
from itertools import combinations
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_in_process import (
    Asked,
    Outcome,
    Row,
    extract_lines,
    lines_of,
    pair_lines,
    pair_packed,
    pair_piped,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.engine.native import VARIABLE, native_core
from prefpairs.errors import NothingCameOut, PrefpairsError, TwoReadings
from prefpairs.fields.field_names import REFERENCES
from prefpairs.fields.read_options import GroupBy, ReadOptions
from prefpairs.option import split_words

CHANCE = st.randoms(use_true_random=False)
SAME: list[list[Any]] = [
    ["4"],
    ["5", "5"],
    [4],
    [{"a": 1, "b": [None, "x"]}, {"b": [None, "x"], "a": 1}],
    [["4", "four"]],
    [1e22],
    [2**70],
    [["\ud83d\ude00"]],
]
"""References, each in all the ways in which it is written."""
NOTHING: list[Any] = [None, "", " \n", [], {}, [""], True, False, float("nan")]
"""What is no reference."""
NAMES = ("answer", "ground_truth", "expected_answer", "solution", "reference")
SIDES = ("chosen", "rejected")
ENGINES = ("0", "require") if native_core() is not None else ("0",)


@st.composite
def referred(draw: st.DrawFn) -> list[Row]:
    """Answers to two questions, most of them with a reference."""
    name = draw(st.sampled_from(NAMES))
    few = draw(st.lists(st.sampled_from(SAME), min_size=1, max_size=2))
    rows = []
    for _ in range(draw(st.integers(2, 7))):
        row: Row = {
            "question": draw(st.sampled_from("QR")),
            "response": draw(st.sampled_from(["A", "B", "4", "5"])),
            "reward": draw(st.sampled_from([0, 0.5, 1])),
        }
        given_reference = draw(st.sampled_from([*few, *few, *few, NOTHING]))
        if draw(st.integers(0, 9)):
            row[name] = draw(st.sampled_from(given_reference))
        rows.append(row)
    return rows


def reference_of(row: Row) -> Any:
    """The reference of such a row, as its number in SAME; None if it has none."""
    value = next((row[name] for name in NAMES if name in row), None)
    return next(
        (at for at, same in enumerate(SAME) if type(value) is not bool and value in same), None
    )


def is_in_doubt(rows: list[Row]) -> bool:
    """Whether answers to different references would be compared."""
    for question in "QR":
        own = [row for row in rows if row["question"] == question]
        comparable = any(
            one["response"] != other["response"] and one["reward"] != other["reward"]
            for one, other in combinations(own, 2)
        )
        known = [row for row in own if reference_of(row) is not None]
        repeated = all(row["response"] in SAME[reference_of(row)] for row in known)
        if comparable and not repeated and len({*map(reference_of, known)}) > 1:
            return True
    return False


def asked(group_by: GroupBy = "auto", *, grouped: bool = False) -> Asked:
    """All pairs, of candidates that compete by this."""
    read = ReadOptions(group_by=group_by)
    return Asked(strategy="exhaustive", assume_grouped=grouped, read=read)


def verdict(run: Any, *given_words: Any) -> tuple[str, Any, Any]:
    """The pairs of a run, or the error that ended it."""
    try:
        outcome: Outcome = run(*given_words)
    except PrefpairsError as error:
        return type(error).__name__, str(error), getattr(error, "choices", None)
    return "pairs", outcome.contents(), None


def chosen(error: TwoReadings) -> Iterator[GroupBy]:
    """What each printed command groups by."""
    for option, word in error.choices:
        assert option == "--group-by"
        yield grouped_by(word)


def grouped_by(word: str) -> GroupBy:
    """What a word of --group-by means."""
    return "prompt" if word == "prompt" else split_words([word])


@examples(500)
@given(rows=referred(), chance=CHANCE)
def test_a_run_ends_if_references_differ(rows: list[Row], chance: Random) -> None:
    """It ends if scores of different references would be compared; otherwise nothing changes."""
    found = verdict(pair_lines, lines_of(*rows), asked())
    if not is_in_doubt(rows):
        assert found == verdict(pair_lines, lines_of(*rows), asked("prompt"))
        return
    assert found[0] == "TwoReadings", found
    chance.shuffle(rows)
    lines = lines_of(*rows)
    cut = chance.randrange(len(lines) + 1)
    for engine in ENGINES:
        with patch.dict(os.environ, {VARIABLE: engine}):
            assert verdict(pair_lines, lines, asked()) == found
            assert verdict(pair_shards, [lines[:cut], lines[cut:]], asked()) == found
            assert verdict(pair_packed, lines, asked()) == found
            assert verdict(pair_piped, b"".join(lines), asked()) == found
    rows.sort(key=lambda row: row["question"])
    grouped = verdict(pair_lines, lines_of(*rows), asked(grouped=True))
    assert (grouped[0], grouped[2]) == (found[0], found[2])


@examples(300)
@given(rows=referred())
def test_each_command_decides(rows: list[Row]) -> None:
    """The first one keeps answers with different references apart, the other one compares all."""
    lines = lines_of(*rows)
    try:
        pair_lines(lines, asked())
    except TwoReadings as error:
        apart, together = chosen(error)
    except NothingCameOut:
        return
    else:
        return
    for engine in ENGINES:
        with patch.dict(os.environ, {VARIABLE: engine}):
            for pair in pair_lines(lines, asked(apart)).rows:
                better, worse = (rows[_line(pair[f"{side}_origin"])] for side in SIDES)
                assert reference_of(better) == reference_of(worse)
            unnamed = [
                {key: row[key] for key in ("question", "response", "reward")} for row in rows
            ]
            alike = verdict(pair_lines, lines_of(*unnamed), asked())
            assert verdict(pair_lines, lines, asked(together)) == alike


def _line(origin: str) -> int:
    return int(origin.rpartition(":")[2]) - 1


@examples(200)
@given(rows=referred())
def test_extracted_candidates_are_in_doubt_as_well(rows: list[Row]) -> None:
    """`extract | pair` ends where `pair` does, and its commands decide the same."""
    lines = lines_of(*rows)
    candidates = extract_lines(lines, ReadOptions()).lines
    found, later = verdict(pair_lines, lines, asked()), verdict(pair_lines, candidates, asked())
    for engine in ENGINES:
        with patch.dict(os.environ, {VARIABLE: engine}):
            assert verdict(pair_lines, candidates, asked()) == later
    if found[0] != "TwoReadings":
        assert later == found
        return
    assert later[0] == "TwoReadings"
    for (_, before), (_, word) in zip(found[2], later[2], strict=True):
        by = grouped_by(before)
        expected = pair_lines(lines, asked(by)).rows
        made = pair_lines(candidates, asked(grouped_by(word))).rows
        assert [_content(row) for row in made] == [_content(row) for row in expected]
        decided = extract_lines(lines, ReadOptions(group_by=by)).lines
        assert verdict(pair_lines, decided, asked()) != later


def _content(pair: Row) -> tuple[Any, ...]:
    return tuple(pair[key] for key in ("id", "chosen_score", "rejected_score"))


@pytest.mark.parametrize("name", REFERENCES)
def test_all_columns(name: str) -> None:
    """Each name of a reference counts, unless an option gives the column another meaning."""
    rows = [
        {"prompt": "Q", "response": said, name: f"is {said}", "score": score, "x": said}
        for said, score in (("A", 1), ("B", 0))
    ]
    lines = lines_of(*rows)
    with pytest.raises(TwoReadings, match=f'"{name}"') as raised:
        pair_lines(lines, asked())
    assert raised.value.choices == [("--group-by", f"prompt,{name}"), ("--group-by", "prompt")]
    for read in (
        ReadOptions(ignore=(name,)),
        ReadOptions(response=name),
        ReadOptions(context=(name,)),
        ReadOptions(group_by="prompt"),
    ):
        made = pair_lines(lines, Asked(strategy="exhaustive", read=read)).rows
        assert len(made) == (0 if read.context else 1)


@pytest.mark.parametrize("name", ["answer", "target", "solution"])
def test_copies_of_responses_are_no_references(name: str) -> None:
    """Unless one of them differs from the response in its group."""
    rows = [
        {"prompt": "Q", "response": said, name: said, "score": score}
        for score, said in enumerate(["A", "B"])
    ]
    assert len(pair_lines(lines_of(*rows), asked()).rows) == 1
    candidates = extract_lines(lines_of(*rows), ReadOptions()).lines
    assert len(pair_lines(candidates, asked()).rows) == 1
    rows.append({**rows[0], name: "B"})
    with pytest.raises(TwoReadings):
        pair_lines(lines_of(*rows), asked())


def test_the_first_of_several_references_counts() -> None:
    """An answer that was extracted from the response is no reference next to the true one."""
    rows: list[Row] = [
        {"prompt": "Q", "response": said, "answer": said[-1], "ground_truth": "4", "score": score}
        for said, score in (("It is 4", 1), ("It is 5", 0))
    ]
    assert len(pair_lines(lines_of(*rows), asked()).rows) == 1
    rows[1]["ground_truth"] = None
    with pytest.raises(TwoReadings) as raised:
        pair_lines(lines_of(*rows), asked())
    words = ["prompt,ground_truth", "prompt,answer", "prompt"]
    assert raised.value.choices == [("--group-by", word) for word in words]


def test_references_of_several_answers_in_a_row() -> None:
    """The answers in a row share its reference; those of another row may not."""
    rows = [
        {"prompt": "Q", "responses": ["A", "B"], "rewards": [1, 0], "answer": reference}
        for reference in ("4", "5")
    ]
    assert len(pair_lines(lines_of(*rows[:1]), asked()).rows) == 1
    with pytest.raises(TwoReadings):
        pair_lines(lines_of(*rows), asked())


def test_files_are_kept_apart_by_both_commands() -> None:
    """With `--group-by file`, both commands compare answers of one file only."""
    rows = [
        {"prompt": "Q", "response": said, "gold": said, "score": at} for at, said in enumerate("AB")
    ]
    rows += [{"prompt": "Q", "response": "C", "gold": "C", "score": 2}]
    rows[0]["gold"] = "other"
    files = [lines_of(*rows[:2]), lines_of(*rows[2:])]
    with pytest.raises(TwoReadings) as raised:
        pair_shards(files, asked("file"))
    apart, together = chosen(raised.value)
    assert (apart, together) == (("file", "prompt", "gold"), ("file", "prompt"))
    assert pair_shards(files, asked(apart)).rows == []
    assert [row["chosen"] for row in pair_shards(files, asked(together)).rows] == ["B"]


def test_makers_and_other_prompts_are_compared_whatever_the_reference() -> None:
    """No score decides there, or answers to different prompts are compared anyway."""
    rows: list[Row] = [
        {"prompt": "Q", "response": said, "gold": said * 2, "model": said} for said in ("A", "B")
    ]
    makers = ReadOptions(prefer=("A",), over=("B",), by="model")
    assert len(pair_lines(lines_of(*rows), Asked(read=makers)).rows) == 1
    for score, row in enumerate(rows):
        row["score"] = score
    across = Asked(strategy="stratified", across_prompts=True)
    assert len(pair_lines(lines_of(*rows), across).rows) == 1


def test_the_values_that_are_nothing_are_nothing() -> None:
    """What the strategy above takes for nothing is none of the references that it knows."""
    assert not [one for one in NOTHING if reference_of({"answer": one}) is not None]
