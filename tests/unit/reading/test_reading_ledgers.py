"""Reads inputs, and counts rows and candidates."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.engine.inputs.candidate_reader import reading_inputs, with_origin
from prefpairs.errors import BadRecords, NoSuchPath, UnknownWord
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import Candidate
from prefpairs.plan import ReadPlan

GOOD = b'{"prompt": "Q", "response": "A", "score": 1}\n'
ROLLOUT = {
    "responses_create_params": {"input": "Q"},
    "response": {"output": "A"},
    "reward": 1,
    "_ng_task_index": 0,
}


def _read(paths: list[str], **options: Any) -> tuple[list[Candidate], Ledger]:
    ledger = Ledger()
    plan = ReadPlan(inputs=find_inputs(paths), **options)
    with reading_inputs(plan, ledger) as reader:
        candidates = [
            with_origin(reading, slot, label, record.number)
            for *_, readings in reader.inputs()
            for record, reading, label in readings
            for slot in range(len(reading.kept))
        ]
    return candidates, ledger


def _files(folder: Path, *contents: bytes) -> list[str]:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return list(map(str, paths))


def _lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _ledgers(ledger: Ledger) -> tuple[int, int, int, int, int, int]:
    rows = ledger.rows_read, ledger.rows_used, ledger.rows_dropped.total()
    return *rows, ledger.rows_bad, ledger.candidates_found, ledger.candidates_kept


def test_ledgers_of_rows_and_candidates(tmp_path: Path) -> None:
    """Rows read are used, dropped or bad; candidates found are kept or dropped."""
    rows = _lines(
        {"prompt": "Q", "responses": ["A", "B"], "rewards": [1, 0]},
        {"prompt": "Q", "responses": ["A", ""], "rewards": [1, 0]},
        {"prompt": "Q", "responses": ["A", "B"], "rewards": [None, None]},
        {"prompt": None, "responses": ["A"], "rewards": [1]},
        {"prompt": "Q", "responses": [], "rewards": []},
    )
    candidates, ledger = _read(_files(tmp_path, rows + b"{torn\n"), on_error="skip")
    assert [candidate.response for candidate in candidates] == ["A", "B", "A"]
    assert _ledgers(ledger) == (6, 2, 3, 1, 7, 3)
    assert ledger.rows_dropped == {"no_score": 1, "no_prompt": 1, "no_response": 1}
    assert ledger.candidates_dropped == {"no_score": 2, "no_prompt": 1, "empty_answer": 1}


def test_reason_of_the_row_comes_before_those_of_its_candidates(tmp_path: Path) -> None:
    """A placeholder is a dropped row and adds no candidate."""
    _, ledger = _read(_files(tmp_path, b"<PLACEHOLDER ROW>\n" + _lines(ROLLOUT)))
    assert _ledgers(ledger) == (2, 1, 1, 0, 1, 1)
    assert (ledger.rows_dropped, ledger.candidates_dropped) == ({"placeholder": 1}, {})


def test_origins(tmp_path: Path) -> None:
    """File and line, a number for several candidates in a line, or an earlier stage's origin."""
    several = {"prompt": "Q", "responses": ["A", "", "C"], "rewards": [1, 0, 0]}
    candidate = {"group": "g", "prompt": "Q", "response": "A", "score": 1, "origin": "old:7#2"}
    contents = b"\n" + _lines(ROLLOUT), _lines(several), _lines(candidate)
    candidates, _ = _read(_files(tmp_path, *contents))
    assert [candidate.origin for candidate in candidates] == [
        "0.jsonl:2",
        "1.jsonl:1#1",
        "1.jsonl:1#3",
        "old:7#2",
    ]


def test_origin_of_one_that_was_left_of_several() -> None:
    """The number counts all candidates found in the line, not only those kept."""
    reading = RowOutcome(kept=[Candidate("g", "Q", "A", 1.0)], places=[2], lost=["no_score"])
    assert with_origin(reading, 0, "f.jsonl", 5).origin == "f.jsonl:5#2"


def test_every_file_has_its_own_source(tmp_path: Path) -> None:
    """The source is detected per file; guesses are noted."""
    step = {"event_type": "TTC_END", "name": "dpo_candidate_move", "data": {}}
    _, ledger = _read(_files(tmp_path, _lines(ROLLOUT), _lines(step), GOOD))
    assert ledger.sources == [
        ("0.jsonl", "nemo-gym"),
        ("1.jsonl", "nat"),
        ("2.jsonl", "generic"),
    ]
    assert ledger.notes == ['guessed: prompt is "prompt", response is "response", score is "score"']


def test_source_that_was_named(tmp_path: Path) -> None:
    """With --from, nothing is detected."""
    _, ledger = _read(_files(tmp_path, GOOD), source="nemo-gym")
    assert ledger.sources == [("0.jsonl", "nemo-gym")]
    assert ledger.rows_dropped == {"no_score": 1}


def test_source_that_does_not_exist(tmp_path: Path) -> None:
    """An unknown source is rejected."""
    with pytest.raises(UnknownWord):
        _read(_files(tmp_path, GOOD), source="nemo")


def test_empty_file_is_noted(tmp_path: Path) -> None:
    """An empty file is no error, but gives a note."""
    _, ledger = _read(_files(tmp_path, b"", GOOD))
    assert ledger.notes[0] == "0.jsonl is empty"
    assert _ledgers(ledger) == (1, 1, 0, 0, 1, 1)


def test_bad_rows_are_reported_at_the_end(tmp_path: Path) -> None:
    """All files are read first; the first five bad rows are listed with file and line."""
    paths = _files(tmp_path, GOOD + b"{torn\n" * 3, b"{torn\n" * 4 + GOOD)
    with pytest.raises(BadRecords) as caught:
        _read(paths)
    assert caught.value.count == 7
    assert [place for place, _ in caught.value.first] == [
        "0.jsonl:2",
        "0.jsonl:3",
        "0.jsonl:4",
        "1.jsonl:1",
        "1.jsonl:2",
    ]


def test_bad_rows_can_be_skipped(tmp_path: Path) -> None:
    """Skipped rows are still counted."""
    _, ledger = _read(_files(tmp_path, GOOD + b"{torn\n7\n" + GOOD), on_error="skip")
    assert _ledgers(ledger) == (4, 2, 0, 2, 2, 2)


def test_quarantine(tmp_path: Path) -> None:
    """Each bad row has its position, reason and bytes."""
    paths = _files(tmp_path, GOOD + b'{"a": caf\xc3\xa9}\r\n' + b'"\xff"\n' + GOOD)
    quarantine = tmp_path / "bad.jsonl"
    _read(paths, on_error="quarantine", quarantine=str(quarantine))
    rows = [json.loads(line) for line in quarantine.read_bytes().splitlines()]
    assert rows == [
        {
            "file": "0.jsonl",
            "line": 2,
            "byte": len(GOOD),
            "reason": "not_json",
            "message": "not JSON: Expecting value at column 7",
            "raw": '{"a": café}',
        },
        {
            "file": "0.jsonl",
            "line": 3,
            "byte": len(GOOD) + 14,
            "reason": "invalid_utf8",
            "message": "invalid UTF-8 at byte 2",
            "raw_base64": base64.b64encode(b'"\xff"').decode(),
        },
    ]


def test_bad_field_in_quarantine(tmp_path: Path) -> None:
    """The name of a bad field is included."""
    bad = b'{"prompt": "Q", "response": "A", "score": "high"}\n'
    quarantine = tmp_path / "bad.jsonl"
    _read(_files(tmp_path, GOOD + bad), on_error="quarantine", quarantine=str(quarantine))
    row = json.loads(quarantine.read_bytes())
    assert (row["reason"], row["message"]) == ("bad_field", "score: expected a number")


@pytest.mark.parametrize(("limit", "read"), [(0, 0), (1, 1), (3, 3), (100, 4)])
def test_limit(tmp_path: Path, limit: int, read: int) -> None:
    """A limit counts the rows of all files together."""
    _, ledger = _read(_files(tmp_path, GOOD * 2, GOOD * 2), limit=limit)
    assert _ledgers(ledger) == (read, read, 0, 0, read, read)


def test_path_that_no_row_has(tmp_path: Path) -> None:
    """A path that no row has is an error."""
    with pytest.raises(NoSuchPath):
        _read(_files(tmp_path, GOOD), options=ReadOptions(scores=(("scor", 1.0),)))


def test_paths_of_nat_are_not_held_against_rows(tmp_path: Path) -> None:
    """Paths into steps are not checked, since only the source finds steps."""
    data = {"turn_id": "t", "input": "Q", "output": "A", "score": 1}
    step = {"event_type": "TTC_END", "name": "dpo_candidate_move", "data": data}
    item = {"id": 1, "intermediate_steps": [{"payload": step}]}
    options = ReadOptions(scores=(("data.score", 2.0),))
    candidates, _ = _read(_files(tmp_path, _lines(item)), options=options)
    assert candidates[0].score == 2.0


def test_item_ids_that_repeat_are_counted(tmp_path: Path) -> None:
    """Counted within a file and across files; 1 and "1" are two."""
    items: list[Any] = [{"id": own, "intermediate_steps": []} for own in (1, "1", 1, 1)]
    _, ledger = _read(_files(tmp_path, _lines(*items), _lines(items[0])))
    assert ledger.noticed == {"repeated_item_id": 3}


def test_replacements_are_counted(tmp_path: Path) -> None:
    """Every replacement in each row is counted."""
    rows = [{"prompt": "Q", "response": "\ud83d \ud83d", "score": 1}]
    _, ledger = _read(_files(tmp_path, _lines(*rows, *rows)))
    assert ledger.noticed == {"surrogate_replaced": 4}


def test_first_rows_decide_even_when_packed(tmp_path: Path) -> None:
    """The sample of a compressed file is read only once."""
    candidates, ledger = _read(_files(tmp_path, gzip.compress(GOOD * 100)))
    assert (len(candidates), candidates[99].origin) == (100, "0.jsonl:100")
    assert _ledgers(ledger) == (100, 100, 0, 0, 100, 100)
