"""Groups of ART trajectories to candidates: one test per rule."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from prefpairs.errors import BadField, BadInput
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.open_input import open_input
from prefpairs.sources import TABLES
from prefpairs.sources.art import open_reader
from prefpairs.sources.detect import source_of

Row = dict[str, Any]
ASKED = [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]
TOOLS = [{"type": "function", "function": {"name": "f"}}]


def _choice(content: str, reason: str = "stop") -> Row:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {"finish_reason": reason, "index": 0, "message": message}


def _one(*turns: Row, **more: Any) -> Row:
    items = [*ASKED, *(turns or (_choice("A"),))]
    return {"reward": 0.5, "messages_and_choices": items, "tools": None, "metadata": {}, **more}


def _row(content: str = "A", **more: Any) -> Row:
    """A row of a Parquet file."""
    turns = [(turn["role"], turn["content"], False) for turn in ASKED]
    turns.append(("assistant", content, True))
    messages = [
        {"role": role, "content": words, "tool_calls": None, "trainable": own}
        for role, words, own in turns
    ]
    row: Row = {"group_index": 0, "group_metadata": None, "reward": 0.5, "metrics": "{}"}
    return {**row, "metadata": "{}", "tools": None, "messages": messages, **more}


def _read(*trajectories: Row, **options: Any) -> RowOutcome:
    record = json.dumps({"trajectories": trajectories}).encode()
    return open_reader([], ReadOptions(**options), "0000.jsonl").read(record)


@pytest.mark.parametrize("one", [_one(), _row()])
def test_a_record_is_a_group(one: Row) -> None:
    """The trajectories of a record compete only with each other."""
    found = _read(one, {**one, "reward": 1}).kept
    assert [(candidate.score, candidate.index) for candidate in found] == [(0.5, 0), (1.0, 1)]
    assert found[0].prompt == ASKED
    assert found[0].response == [{"role": "assistant", "content": "A"}]
    assert found[0].group == found[1].group != _read(one).kept[0].group
    assert source_of(json.dumps({"trajectories": [one]}).encode()) == "art"


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (_one(additional_histories=[{"messages_and_choices": []}]), "branched"),
        (_one(_choice("A", "length")), "incomplete"),
        (_one({"role": "assistant", "content": "A"}), "no_response"),
        (_one(reward=None), "no_score"),
        (_one(_choice("")), "empty_answer"),
        (_row(messages=[]), "no_response"),
    ],
)
def test_trajectories_that_are_dropped(one: Row, reason: str) -> None:
    """Trajectories without an answer by the model are dropped."""
    reading = _read(one)
    assert (reading.kept, reading.lost) == ([], [reason])


def test_keep_rows() -> None:
    """--keep-rows uses truncated trajectories."""
    assert _read(_one(_choice("A", "length")), keep_rows=frozenset({"incomplete"})).kept


def test_all_turns_of_the_model_are_the_answer() -> None:
    """The reward is for all of them; examples in the prompt do not count."""
    shown = {"role": "assistant", "content": "shown"}
    seen = {"role": "user", "content": "seen"}
    (found,) = _read(_one(shown, seen, _choice("A"), seen, _choice("B"), seen)).kept
    assert (len(found.prompt), len(found.response)) == (4, 3)
    assert _read(_one(_choice("A"), shown, _choice("B"))).noticed == ["inserted_turn"]


def test_tools_of_a_group() -> None:
    """A trajectory without tools gets those of the others, with a note, unless these differ."""
    reading = _read(_one(tools=TOOLS), _one(tools=json.dumps(TOOLS)), _one())
    assert [found.tools for found in reading.kept] == [TOOLS] * 3
    assert reading.noticed == ["tools_of_group"]
    other = [{"type": "function", "function": {"name": "g"}}]
    reading = _read(_one(tools=TOOLS), _one(tools=other), _one())
    assert [found.tools for found in reading.kept] == [TOOLS, other, None]
    assert reading.noticed == []


def test_an_empty_group() -> None:
    """A row without trajectories is dropped with a reason."""
    assert _read().row_lost == "no_response"


def test_marks_of_another_type() -> None:
    """A mark must be true or false."""
    with pytest.raises(BadField) as caught:
        _read(_row(messages=[{"role": "user", "content": "Q", "trainable": 2}]))
    assert caught.value.field == "trajectories.0.messages.0.trainable"


def _records(path: Path, rows: list[Row], limits: Limits = Limits()) -> list[Any]:  # noqa: B008
    pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    with open_input(Input(str(path), path.name, limits, tables=TABLES)) as opened:
        return [json.loads(record.data) for record in opened.records]


def test_rows_of_parquet_are_records_of_groups(tmp_path: Path) -> None:
    """Consecutive rows with one `group_index` are a record; other tables are read row by row."""
    rows = [_row("A"), _row("B"), _row("C", group_index=1)]
    found = _records(tmp_path / "0001.parquet", rows)
    assert [len(record["trajectories"]) for record in found] == [2, 1]
    others = [{key: row[key] for key in ("group_index", "reward", "messages")} for row in rows]
    assert len(_records(tmp_path / "own.parquet", others)) == 3
    assert _records(tmp_path / "none.parquet", []) == []


@pytest.mark.full
def test_groups_are_bounded(tmp_path: Path) -> None:
    """A group above the limit is rejected, since all its rows are in memory at once."""
    rows = [_row("A" * 10_000_000) for _ in range(8)]
    with pytest.raises(BadInput, match="longer than a record may be"):
        _records(tmp_path / "0001.parquet", rows)
