"""Law 11: guesses do not depend on neighboring rows; two readings end the run.

Rows are read alike, or rejected alike, however they are shuffled and cut into files, from a
pipe or a file, by one process or several. Both answers of a pair have the same question.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rollouts_of_any_format import candidate_rows, gym_rows, nat_rows
from rows_of_any_columns import guessed_rows
from run_in_process import (
    Asked,
    Outcome,
    Row,
    line_of,
    lines_of,
    pair_lines,
    pair_packed,
    pair_piped,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.cli.main import main
from prefpairs.errors import PrefpairsError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.question_columns import COLUMNS, holds_something

CHANCE = st.randoms(use_true_random=False)
EXHAUSTIVE = Asked(strategy="exhaustive")


def verdict(run: Any, *given: Any) -> tuple[str, Any]:
    """The pairs and losses of a run, or the error that ended it."""
    try:
        outcome: Outcome = run(*given)
    except PrefpairsError as error:
        return type(error).__name__, error.exit_code
    return "pairs", (outcome.contents(), outcome.counts(), sorted(outcome.ledger.notes))


def cut(lines: Sequence[bytes], places: Sequence[int]) -> list[Sequence[bytes]]:
    """The lines in several files, none of them empty."""
    ends = [0, *sorted({place % len(lines) for place in places} - {0}), len(lines)]
    return [lines[start:end] for start, end in pairwise(ends)]


@examples(600)
@given(rows=guessed_rows(), chance=CHANCE, places=st.lists(st.integers(0, 50), max_size=3))
def test_every_order_and_cutting_gives_the_same_verdict(
    rows: list[Row], chance: Random, places: list[int]
) -> None:
    """Any order and any files give the same pairs, losses and notes, or the same error."""
    lines = lines_of(*rows)
    expected = verdict(pair_lines, lines, EXHAUSTIVE)
    chance.shuffle(lines)
    assert verdict(pair_lines, lines, EXHAUSTIVE) == expected
    assert verdict(pair_shards, cut(lines, places), EXHAUSTIVE) == expected


@examples(60)
@given(rows=guessed_rows(), chance=CHANCE)
def test_pipes_and_packed_files_give_the_same_verdict(rows: list[Row], chance: Random) -> None:
    """Pipes and compressed files, which are read record by record, give the same verdict."""
    lines = lines_of(*rows)
    expected = verdict(pair_lines, lines, EXHAUSTIVE)
    chance.shuffle(lines)
    assert verdict(pair_packed, lines, EXHAUSTIVE) == expected
    assert verdict(pair_piped, b"".join(lines), EXHAUSTIVE) == expected


@examples(300)
@given(
    kinds=st.lists(
        st.one_of(guessed_rows(), gym_rows(), nat_rows(), candidate_rows()), min_size=2, max_size=3
    ),
    chance=CHANCE,
    places=st.lists(st.integers(0, 50), max_size=3),
)
def test_rows_of_several_sources_in_one_file(
    kinds: list[list[Row]], chance: Random, places: list[int]
) -> None:
    """Each row is read by the source that recognizes it, whichever comes first."""
    rows = [row for kind in kinds for row in kind]
    lines = lines_of(*rows)
    if not lines:
        return
    expected = verdict(pair_shards, [lines_of(*kind) for kind in kinds if kind], EXHAUSTIVE)
    chance.shuffle(lines)
    assert verdict(pair_lines, lines, EXHAUSTIVE) == expected
    assert verdict(pair_shards, cut(lines, places), EXHAUSTIVE) == expected


IGNORED = st.one_of(st.just(()), st.lists(st.sampled_from(sorted(COLUMNS)), unique=True).map(tuple))


@examples(600)
@given(rows=guessed_rows(), ignore=IGNORED, named=st.booleans())
def test_both_sides_are_asked_the_same(
    rows: list[Row], ignore: tuple[str, ...], *, named: bool
) -> None:
    """The question columns of both rows of a pair are equal, unless a column is ignored."""
    prompt = next((key for key in rows[0] if key in ("prompt", "question", "instruction")), None)
    read = ReadOptions(ignore=ignore, prompt=prompt if named else None)
    try:
        pairs = pair_lines(lines_of(*rows), Asked(strategy="exhaustive", read=read)).rows
    except PrefpairsError:
        return
    for pair in pairs:
        sides = [rows[_line(pair[side])] for side in ("chosen_origin", "rejected_origin")]
        for column in COLUMNS.difference(ignore):
            one, other = ([*filter(holds_something, [side.get(column)])] for side in sides)
            assert one == other or column in (prompt, "input") or _said(pair, one, other)


def _line(origin: str) -> int:
    return int(origin.partition(":")[2].partition("#")[0]) - 1


def _said(pair: Row, *values: Any) -> bool:
    """Whether the prompt contains all these values in some form."""
    asked = json.dumps(pair["prompt"])
    return all(json.dumps(text)[1:-1] in asked for value in values for text in _texts(value))


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


# Samples of all sizes ---------------------------------------------------------------------


def scored(count: int, start: int = 0, **more: Any) -> list[Row]:
    """Rows of two answers to a prompt."""
    return [
        {"prompt": f"Q{number // 2}", "response": f"A{number}", "score": number % 2, **more}
        for number in range(start, start + count)
    ]


def opposed(count: int, start: int = 0) -> list[Row]:
    """The same with a second reward in the opposite order."""
    return [{**row, "reward": 1 - row["score"]} for row in scored(count, start)]


ODD: list[list[Row]] = [
    opposed(2, 5000),
    scored(2, 5000, context="C"),
    scored(2, 5000, turn=2),
    [*scored(2, 5000, turn=0), *scored(2, 6000, turn=1)],
    scored(2, 5000, question="other"),
    scored(2, 5000, completion="other"),
    [{"prompt": "Q", "response": "A", "score": 1, "answer": "B"}, {"prompt": "Q", "answer": "B"}],
    [{"prompt": "Q", "response": "A", "score": 1, "messages": [{"role": "user", "content": "R"}]}],
]
"""Rows that allow another reading."""


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "before", [0, 1, 7, 8, 9, 255, 256, 257, pytest.param(3000, marks=pytest.mark.full)]
)
def test_a_second_reading_is_found_in_any_position(odd: list[Row], before: int) -> None:
    """A second reading is found after any number of other rows, and in another file."""
    plain = lines_of(*scored(before))
    for lines in ([*plain, *lines_of(*odd)], [*lines_of(*odd), *plain]):
        assert verdict(pair_lines, lines, Asked()) == ("TwoReadings", 2)
    shards = [plain, lines_of(*odd)] if plain else [lines_of(*odd)]
    assert verdict(pair_shards, shards, Asked()) == ("TwoReadings", 2)


@pytest.mark.parametrize("name", ["score", "reward"])
def test_the_error_names_the_row_and_commands_that_work(
    name: str, tmp_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """The error names file and line; each printed command works and names the files."""
    path = tmp_path / "two.jsonl"
    path.write_bytes(b"".join(lines_of(*scored(300), *opposed(600, 300))))
    assert main(["pair", "-q", str(path)]) == 2
    told = capfd.readouterr().err
    assert 'two.jsonl:301: the score could be "reward" and "score", which differ\n' in told
    assert f"prefpairs pair --score {name} -q {path}\n" in told
    assert main(["pair", "-q", "--score", name, str(path)]) == 0
    pairs = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(pairs) == (450 if name == "score" else 300)
    assert all(pair["chosen_score"] == 1 for pair in pairs)


RECIPE = """[read]
inputs = ["{path}"]
[pair]
{stage}
[write]
output = "{path}.pairs"
"""


@pytest.mark.parametrize(
    "command",
    [
        ["pair"],
        ["pair", "--assume-grouped"],
        ["stats"],
        ["report", "-o", "{path}.html"],
        ["run", "{path}.toml"],
        ["run", "{path}.staged.toml"],
    ],
)
def test_every_command_that_compares_refuses_a_constant_answer(
    command: list[str], tmp_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every command that makes pairs asks whether a constant `answer` is the reference."""
    rows = [
        {"question": "Q", "answer": "5", "score": 1},
        {"question": "Q", "answer": "5", "score": 0},
        {"question": "P", "answer": "1", "score": 1},
        {"question": "R", "answer": "6", "attempt": "It is 6.", "score": 1},
        {"question": "R", "answer": "7", "attempt": "It is 7.", "score": 0},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(lines_of(*rows)))
    for name, stage in (("toml", ""), ("staged.toml", "[dedupe]")):
        (tmp_path / f"rows.jsonl.{name}").write_text(RECIPE.format(path=path, stage=stage))
    words = [word.format(path=path) for word in command]
    inputs = [] if words[0] == "run" else [str(path)]
    assert main([*words, *inputs]) == 2
    told = capfd.readouterr().err
    assert '"answer" is the same in all rows of 1 prompt whose scores differ' in told
    assert "response" in told.partition("hint:")[2]


@example(workers=2)
@example(workers=7)
@given(workers=st.integers(1, 9))
@examples(3)
def test_workers_meet_the_same_row(workers: int) -> None:
    """The error names the first such row, whichever process finds it."""
    lines = [line_of({**row, "x": "y" * 50}) for row in [*scored(300), *opposed(300, 300)]]
    with pytest.raises(PrefpairsError) as caught:
        pair_lines(lines, Asked(workers=workers))
    assert getattr(caught.value, "place", "") == "rows.jsonl:301"


def test_a_field_missing_everywhere_is_an_error() -> None:
    """One row without a prompt is dropped; if no row has one, that is the error."""
    lost = lines_of({"answer": "B", "score": 1})
    assert verdict(pair_lines, lost, Asked()) == ("OtherRows", 1)
    assert verdict(pair_lines, [*lines_of(*scored(4)), *lost], Asked())[0] == "pairs"
    assert verdict(pair_lines, [*lost, *lines_of(*scored(4))], Asked())[0] == "pairs"
