"""How the rows of a run are read, and what they show about each other."""

import json
from typing import Any

import pytest

from prefpairs.engine.inputs.source_choice import Format, Formats
from prefpairs.errors import NoSuchPath, OtherRows
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.lines import Record
from prefpairs.ledger import Ledger
from prefpairs.plan import ReadPlan
from prefpairs.sources import generic_fast

ROW = b'{"prompt": "Q", "response": "A", "score": 1}'
OTHER = b'{"question": "Q", "answer": "A", "reward": 1}'
ROLLOUT = b'{"responses_create_params": {}}'
STEP = b'{"event_type": "TTC_END"}'


def _formats(source: str = "auto", **options: Any) -> tuple[Formats, Ledger]:
    ledger = Ledger()
    return Formats(
        ReadPlan(inputs=[], source=source, options=ReadOptions(**options)), ledger
    ), ledger


def _records(*lines: bytes) -> list[Record]:
    return [Record(number, 0, line) for number, line in enumerate(lines, 1)]


def _open(formats: Formats, *lines: bytes) -> Format:
    found, _ = formats.open("r.jsonl", iter(_records(*lines)))
    return found


@pytest.mark.parametrize(
    ("lines", "source"),
    [
        ([ROW], "generic"),
        ([ROLLOUT], "nemo-gym"),
        ([b"{torn", ROLLOUT], "nemo-gym"),
        ([b"{torn"], "generic"),
        ([], "generic"),
    ],
)
def test_source_of_a_file(lines: list[bytes], source: str) -> None:
    """The source of a file is that of its first readable row."""
    assert _open(_formats()[0], *lines).sources == [source]


def test_a_first_row_that_is_odd() -> None:
    """The core also reads files whose first row only Python can read."""
    usual = b'{"prompt": "Q", "responses": ["A", "B"], "rewards": [1, 0]}'
    for odd in (ROW.replace(b"1", b"null"), usual.replace(b"[1, 0]", b"null"), b"{torn"):
        found = _open(_formats()[0], odd, usual, usual)
        assert found.how.native is not None
        assert found.sample == usual


def test_source_that_was_named() -> None:
    """With --from, nothing is detected."""
    formats, _ = _formats("nat")
    assert [_open(formats, line).sources for line in (ROW, ROLLOUT)] == [["nat"]] * 2


def test_sources_of_rows() -> None:
    """Each row is read by the source that recognizes it, and the file counts for each."""
    formats, _ = _formats()
    found = _open(formats, ROW)
    assert found.how.read(STEP).row_lost == "other_step_name"
    assert len(found.how.read(ROW).kept) == 1
    assert found.sources == ["nat", "generic"]
    assert _open(formats, ROW).sources == ["generic"]


@pytest.mark.parametrize("before", [0, 1, 7])
def test_shortcut_of_the_first_row_that_has_one(before: int) -> None:
    """Odd rows at the top of a file do not disable the fast reader."""
    odd = b'{"prompt": "Q", "response": "A", "score": null}'
    found, taken = _formats()[0].open("r.jsonl", iter(_records(*[odd] * before, *[ROW] * 20)))
    assert found.how.fast_reader
    assert len(taken) == before + 1


def test_records_that_are_taken_are_bounded() -> None:
    """The sample of rows is limited by number and size."""
    big = json.dumps({"prompt": "x" * (3 << 20)}).encode()
    for lines, most in (([b"{}"] * 100, 8), ([big] * 9, 2)):
        found, taken = _formats()[0].open("r.jsonl", iter(_records(*lines)))
        assert (found.how.fast_reader, len(taken)) == (None, most)


def test_shards_that_are_alike_share_a_shortcut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Similar shards share a fast reader, and only the first row of each is checked."""
    formats, _ = _formats()
    first = _open(formats, ROW)
    monkeypatch.setattr(generic_fast, "defstruct", None)
    found, taken = formats.open("s.jsonl", iter(_records(*[ROW] * 20)))
    assert (found.how, len(taken)) == (first.how, 1)


def test_shards_that_differ() -> None:
    """A shard with other columns gets its own fast reader."""
    formats, _ = _formats()
    first, second = _open(formats, ROW), _open(formats, OTHER)
    assert second.how.fast_reader
    assert first.how != second.how


def _book(formats: Formats, *lines: bytes) -> None:
    found = _open(formats, *lines)
    for line in lines:
        formats.book(line, found.how.read(line))


def test_notes_name_all_that_was_guessed() -> None:
    """Notes list all guesses once, sorted."""
    told = []
    for lines in ([ROW, OTHER], [OTHER, ROW]):
        formats, ledger = _formats()
        for line in lines:
            _book(formats, line)
        formats.tell()
        told.append(ledger.notes)
    note = 'prompt is "prompt" or "question", response is "response" or "answer"'
    scales = (
        'answers to one prompt compete by "reward" and "score" alike; --score takes one of them'
    )
    assert told == [[f'guessed: {note}, score is "reward" or "score"', scales]] * 2


def test_paths_that_no_row_has() -> None:
    """One row with the path is enough; if none has it, that is an error or a note."""
    formats, ledger = _formats(scores=(("x", 1.0),), keep=("respons", "score"))
    _book(formats, ROW)
    with pytest.raises(NoSuchPath) as caught:
        formats.settle()
    assert (caught.value.option, caught.value.path) == ("--score", "x")
    ledger.candidates_found = 1
    _book(formats, OTHER, b'{"x": 1}')
    formats.settle()
    assert ledger.notes == ["--keep respons: no row has this field; did you mean response?"]


def test_paths_that_others_saw() -> None:
    """Paths seen by workers count, too."""
    formats, _ = _formats(scores=(("x", 1.0),), keep=("y",))
    _book(formats, ROW)
    assert formats.join([("found", "--score", "x"), ("found", "--keep", "y")], [])
    formats.settle()


def test_paths_of_steps_are_never_doubtful() -> None:
    """Paths into steps are not checked, since only the source finds steps."""
    formats, _ = _formats(scores=(("x", 1.0),))
    _book(formats, STEP)
    formats.settle()


def test_missing_fields() -> None:
    """A missing field is an error if there are no candidates."""
    formats, _ = _formats()
    _book(formats, b'{"a": 1, "response": "A"}')
    with pytest.raises(OtherRows) as caught:
        formats.settle()
    assert caught.value.hint == "name it with --prompt PATH; the rows have: a, response"
