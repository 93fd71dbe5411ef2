"""The fuzz targets: a function per reader that takes any bytes and checks the reader's promise.

A target fails with an exception. Hypothesis calls it, so do the bytes that once broke something
(both in test_any_bytes.py), and so does a coverage-guided fuzzer (scripts/fuzz).
"""

import gzip
import io
import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from backports import zstd
from fuzz_driver import counts_of, in_surroundings, inside, run, strict

from prefpairs.chat.template import compiled
from prefpairs.cli.main import main
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.cli.terminal.safe_text import printable
from prefpairs.dataset.row_checks import LengthLimit
from prefpairs.engine.native import VARIABLE, native_core, with_core
from prefpairs.engine.outputs.manifest import differences, read_manifest
from prefpairs.engine.outputs.required_counts import read_gates
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.engine.validate import ValidatePlan, validate
from prefpairs.errors import (
    BadInput,
    BadRecord,
    DataError,
    NoSuchPath,
    PrefpairsError,
    TwoReadings,
    UsageError,
)
from prefpairs.fields.pair_row import PairRowOutcome, read_pair, read_pair_fast
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome, read_candidate
from prefpairs.files import json_array
from prefpairs.files.delimited_reader import delimited_records
from prefpairs.files.document_reader import document_records, rows_of_document
from prefpairs.files.file_signatures import CONTAINERS
from prefpairs.files.input_file import Input, Limits
from prefpairs.files.json_array import array_elements
from prefpairs.files.lines import Record, Refused
from prefpairs.files.open_input import open_input
from prefpairs.files.option_files import read_template
from prefpairs.files.parquet_reader import parquet_rows
from prefpairs.files.rows_together import rows_together
from prefpairs.files.sqlite_reader import sqlite_rows
from prefpairs.files.tokenizer import open_encoder
from prefpairs.files.trxp_reader import trxp_rows
from prefpairs.files.zip_reader import zip_records
from prefpairs.ledger import Ledger, ValidationLedger
from prefpairs.ledger.summaries import pair_summary
from prefpairs.model.candidate import candidate_line
from prefpairs.model.identity import digest_response
from prefpairs.model.pair import pair_line
from prefpairs.model.schema import MODELS
from prefpairs.option import filled
from prefpairs.sources import LAYOUTS, SOURCES, TABLES, source_named
from prefpairs.sources.detect import source_of
from prefpairs.targets import PAIR_FORMATS, target_named
from prefpairs.targets import TARGETS as TRAINERS
from scan_in_process import indexed

Target = Callable[[bytes], None]

PACKED = CONTAINERS
"""The first bytes of compressed and other packed files."""

# Files to records -------------------------------------------------------------------------


def lines(data: bytes) -> None:
    """A file, a pipe and compressed files have the same records; each record is at its position."""
    plain = _records(data)
    if data.startswith(PACKED):
        return
    for other in (gzip.compress(data), zstd.compress(data)):
        assert _bytes_of(_records(other)) == _bytes_of(plain)
    for record in plain or ():
        assert data[record.offset :].startswith(record.data)


def packed(data: bytes) -> None:
    """Data that looks compressed is decompressed or rejected."""
    for magic in (b"", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"):
        _records(magic + data)


def _records(data: bytes) -> list[Record] | None:
    with inside(rows=data):
        try:
            with open_input(Input("rows", "rows.jsonl")) as opened:
                return list(opened.records)
        except BadInput as error:
            _words(error)
            return None


def _bytes_of(records: list[Record] | None) -> list[tuple[int, bytes]] | None:
    return None if records is None else [(record.number, record.data) for record in records]


def elements(data: bytes) -> None:
    """The elements of an array are those of the JSON, in whatever chunks it is read."""
    data = b"[" + data.lstrip().removeprefix(b"[")
    whole = _elements(data)
    for size in (1, 7):
        with mock.patch.multiple(json_array, _CHUNK=size, _FAR=64):
            assert _elements(data) == whole
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return
    assert whole is not None
    assert repr([json.loads(element) for _, element in whole]) == repr(values)
    assert all(data[offset:].startswith(element) for offset, element in whole)


def _elements(data: bytes) -> list[tuple[int, bytes]] | None:
    try:
        return list(array_elements(io.BytesIO(data), 0, Input("rows.json", "rows.json")))
    except BadInput:
        return None


def archive(data: bytes) -> None:
    """A zip archive gives members that zipfile finds, too, or is rejected."""
    layout = LAYOUTS[0]._replace(records=re.compile(""))
    try:
        source = Input("rows.eval", "rows.eval", Limits(line=100_000), (layout,))
        found = [*zip_records(io.BytesIO(data), source)]
    except BadInput as error:
        _words(error)
    except (EOFError, zlib.error, zstd.ZstdError):
        return
    else:
        assert all(record.member or record.data for record in found)


def document(data: bytes) -> None:
    """An object that spans several lines is one record, however it is formatted."""
    source = Input("rows", "rows.json", layouts=LAYOUTS)
    data = b"{\n" + data
    try:
        found = [*document_records(io.BytesIO(data), 0, source)]
        listed = [*rows_of_document(io.BytesIO(data), source, "a")]
    except BadInput as error:
        _words(error)
        return
    assert all(data[record.offset :].startswith(record.data) for record in found)
    assert [json.loads(record.data) for record in listed] or not listed


def delimited(data: bytes) -> None:
    """A table gives objects of texts and chats, or is rejected with a line; none is too long."""
    source = Input("rows.csv", "rows.csv", Limits(line=1000))
    try:
        for record in delimited_records(io.BytesIO(data), 0, source):
            if record.refused is None and record.whole:
                row = json.loads(record.data)
                assert all(isinstance(cell, str | list | None) for cell in row.values())
    except BadInput as error:
        if not re.match(r"rows\.csv:[0-9]+\Z", error.path):
            raise


def parquet(data: bytes) -> None:
    """A Parquet file gives rows of JSON, or is rejected; rows of one group are one record."""
    source = Input("rows.parquet", "rows.parquet", tables=TABLES)
    with suppress(BadInput):
        found = [json.loads(row) for row in parquet_rows(io.BytesIO(data), source)]
        joined = rows_together(parquet_rows(io.BytesIO(data), source), source)
        together = [json.loads(record) for record in joined]
        key = TABLES[0].key
        parts = [row.get(key, [row]) if row not in found else [row] for row in together]
        assert repr([row for part in parts for row in part]) == repr(found)


def frames(data: bytes) -> None:
    """Frames of Trinity-RFT give rows of JSON, or are rejected; no code in them is run."""
    for given in (data, around(data)):
        try:
            for row in trxp_rows(io.BytesIO(given), Input("rows.trxp", "rows.trxp")):
                if isinstance(row, Refused):
                    assert re.match("byte [0-9]+: ", row.problem)
                else:
                    assert isinstance(json.loads(row), dict)
        except BadInput as error:
            _words(error)
            if not re.match("byte [0-9]+: |it unpacks to more", error.problem):
                raise


def database(data: bytes) -> None:
    """A database of Trinity-RFT gives rows of JSON, or is rejected; nothing is written to it."""
    with inside(rows=data):
        try:
            for row in sqlite_rows(Input("rows", "rows.db")):
                assert isinstance(row, Refused) or isinstance(json.loads(row), dict)
        except BadInput as error:
            _words(error)
        assert Path("rows").read_bytes() == data


def around(metadata: bytes) -> bytes:
    """A frame that is correct except that these bytes are its pickle."""
    tensors = struct.pack("<Q", 2) + b"{}"
    return b"TRXP\x01" + struct.pack("<QQ", len(metadata), len(tensors)) + metadata + tensors


# Records to candidates --------------------------------------------------------------------

_OPTIONS = (
    ReadOptions(),
    ReadOptions(cast_score=True, keep_rows=frozenset({"masked", "failed", "no_score"})),
    ReadOptions(reasoning="drop", response_part="final", group_by="prompt", lower_is_better=True),
    ReadOptions(
        scores=(("reward", 0.5), ("data.score", -2.0)), group_by=("id",), keep=("a", "data")
    ),
)
_UNSEEN = ("number_too_long: a number of more than 4300 digits", "too_deep: nested too deeply")
"""Faults that the fast reader does not find in fields that it does not need."""

_NOWHERE = "\0 nowhere"
"""A path to keep that no row has: with --keep, rows are read by the general reader."""


def source(name: str) -> Target:
    """The fast reader finds what the general one finds, and candidates can be written."""
    module = source_named(name)

    def read(data: bytes) -> None:
        module.looks_like(data)
        source_of(data)
        sample = [data] if source_named("generic").looks_like(data) else []
        for options in _OPTIONS:
            aside = replace(options, keep=(*options.keep, _NOWHERE))
            try:
                quick = module.open_reader(sample, options, "rows.jsonl")
                slow = module.open_reader(sample, aside, "rows.jsonl")
            except (DataError, UsageError) as error:
                _words(error)
                continue
            found = _reading(quick.read, data)
            other = _reading(slow.read, data)
            if other not in _UNSEEN:
                assert repr(found) == repr(other)
            _hold_shortcut(quick.fast_reader, found, data)
            if native_core() is not None:
                assert repr(_reading(with_core(quick).read, data)) == repr(found)
            if isinstance(found, RowOutcome):
                _hold_candidates(found)

    return read


def _reading(read: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return read(data)
    except BadRecord as error:
        _words(error)
        return f"{error.code}: {error.problem}"
    except (NoSuchPath, TwoReadings) as error:
        _words(error)
        return error.problem


def _hold_shortcut(fast_reader: Any, found: Any, data: bytes) -> None:
    """Indexing a row gives the same values as reading it."""
    if fast_reader is None:
        return
    (scanned,) = fast_reader.index_rows([data])
    plain = fast_reader.read(data)
    if plain is not None and scanned is not None:
        (candidate,) = plain.kept
        assert repr(plain.kept) == repr(found.kept)
        digest = digest_response(candidate.response)
        assert scanned[1:] == (candidate.score, candidate.index, digest, (*plain.noticed,))


def _hold_candidates(reading: RowOutcome) -> None:
    """Candidates fit their schema and are the same when they are read again."""
    assert len(reading.places) == len(reading.kept)
    for candidate in reading.kept:
        own = candidate._replace(origin="rows.jsonl:1")
        line = candidate_line(own)
        MODELS["candidate"].model_validate(strict(line))
        (again,) = read_candidate(line).kept
        assert candidate_line(again) == line
        assert repr(again.meta) == repr(own.meta)


def _words(error: PrefpairsError) -> None:
    """Error messages contain no terminal control characters."""
    sentences, hint = error_sentences(error)
    for text in (*sentences, hint or ""):
        assert text == printable(text), repr(text)


# Records to pairs, and rows of trainers ---------------------------------------------------


def pairs(data: bytes) -> None:
    """A row is a pair in a format, dropped or bad; a pair is the same when it is read again."""
    for dialect in ("auto", *PAIR_FORMATS):
        found = _reading(partial(read_pair, unwrap=partial(unwrap, dialect=dialect)), data)
        if isinstance(found, PairRowOutcome) and found.lost is None:
            _hold_pair(found)
    plain = _reading(read_pair_fast, data)
    if plain is not None:
        assert repr(plain) == repr(_reading(read_pair, data))


def _hold_pair(found: PairRowOutcome) -> None:
    line = pair_line(found.pair)
    MODELS["pair"].model_validate(strict(line))
    again = read_pair(line, partial(unwrap, dialect="auto"))
    assert (pair_line(again.pair), again.digests, again.lost) == (line, found.digests, None)
    assert repr(again.pair.meta) == repr(found.pair.meta)
    assert set(again.noticed) <= {"not_preferred"}


def rules(data: bytes) -> None:
    """For each trainer, the verdicts on all rows have a message, and their counts add up."""
    with inside(rows=data):
        for name in TRAINERS:
            ledger = ValidationLedger()
            given = [Input("rows", "rows.jsonl")]
            plan = ValidatePlan(inputs=given, target=target_named(name), length=LengthLimit(20))
            with suppress(BadInput):
                for verdict in validate(plan, ledger):
                    assert verdict.finding.sentence
            assert 0 <= ledger.rows_lost <= ledger.rows_read


# Commands one after the other -------------------------------------------------------------

_TOLD = ("--summary", "counts.json")


def rollouts(data: bytes) -> None:
    """From any bytes to a dataset: each command can read all that the one before it wrote."""
    word = _choice(data, (*("auto",) * 8, *SOURCES))
    with inside(**{"rows.jsonl": data}):
        words = ("rows.jsonl", *_TOLD, "--from", word, "--on-error")
        failing = run("extract", *words, "fail", output="candidates.jsonl")
        skipping = run("extract", *words, "skip", output="candidates.jsonl")
        if failing.code == 0:
            assert skipping.written == failing.written
        if skipping.code not in (0, 3):
            assert failing.code == skipping.code
            return
        counts = counts_of("counts.json")
        assert (failing.code == 1) == bool(counts["rows"]["bad"])
        assert len(skipping.written.splitlines()) == counts["candidates"]["kept"]
        direct = run("pair", *words, "skip", output="pairs.jsonl")
        assert counts_of("counts.json")["candidates"]["found"] == counts["candidates"]["found"]
        all_of_it = not counts["noticed"].get("pairs_left_out")  # extract writes no pairs
        if skipping.code == 0 and all_of_it:
            piped = run("pair", "candidates.jsonl", output="piped.jsonl")
            assert (piped.code, piped.written) == (direct.code, direct.written)
        if skipping.code == 0:
            _hold_lines("candidates.jsonl")
        if direct.code == 0:  # ready-made pairs, when there were no candidates
            _hold_lines("pairs.jsonl")
            _train(data)


def ready_pairs(data: bytes) -> None:
    """The same for pairs of any format."""
    word = _choice(data, (*("auto",) * 22, *PAIR_FORMATS))
    with inside(**{"rows.jsonl": data}):
        words = ("rows.jsonl", *_TOLD, "--from", word, "--on-error")
        failing = run("filter", *words, "fail", *_DROPPED, output="filtered.jsonl")
        skipping = run("dedupe", *words, "skip", output="pairs.jsonl")
        if skipping.code in (0, 3):
            assert (failing.code == 1) == bool(counts_of("counts.json")["rows"]["bad"])
        if skipping.code == 0:
            _hold_lines("pairs.jsonl")
            _train(data)


_DROPPED = ("--drop-truncated", "--drop-refusals")


def _hold_lines(*paths: str) -> None:
    for path in paths:
        for line in Path(path).read_bytes().splitlines(keepends=True):
            strict(line)


def _train(data: bytes) -> None:
    """Export pairs to a dataset, and check what its trainer would do with it."""
    name = _choice(data, tuple(TRAINERS))
    kept = run("dedupe", "pairs.jsonl", *_TOLD, output="kept.jsonl")
    rows = counts_of("counts.json")["rows"]
    assert (kept.code, rows["used"]) == (0, rows["read"])
    exported = run("export", "--to", name, "pairs.jsonl", *_TOLD, output="dataset.jsonl")
    if exported.code == 0:
        _hold_lines("dataset.jsonl")
        judged = run("validate", "--to", name, "dataset.jsonl", *_TOLD)
        assert counts_of("counts.json")["rows"]["lost"] == 0, judged.said


def engines(data: bytes) -> None:
    """Python and the native core give the same bytes, messages, codes and counts for rollouts."""
    words = ("--from", _choice(data, (*("auto",) * 8, *SOURCES)), *_choice(data, _OF_ENGINES))
    _hold_engines(data, *words)


_OF_ENGINES = (
    ("--on-error", "skip"),
    ("--on-error", "quarantine", "--quarantine", "aside.jsonl"),
    ("--reasoning", "drop", "--on-error", "skip"),
    ("--cast-score", "--keep-rows", "masked,failed,no_score,incomplete", "--on-error", "skip"),
    ("--lower-is-better", "--drop-rows", "incomplete", "--on-error", "skip"),
    ("--response-part", "final", "--on-error", "skip"),
    ("--group-by", "prompt", "--limit", "5"),
    (),
)


def index(data: bytes) -> None:
    """The lines of a file give the same columns, counts and bad rows with both engines."""
    if native_core() is None:
        return
    given = data.splitlines(keepends=True)
    sample = [line for line in given if source_named("generic").looks_like(line)]
    options = _choice(data, _OPTIONS)
    for name in SOURCES:
        found = []
        for engine in ("0", "require"):
            with mock.patch.dict(os.environ, {VARIABLE: engine}):
                try:
                    how = source_named(name).open_reader(sample, options, "rows.jsonl")
                    found.append(repr(indexed(given, with_core(how))))
                except PrefpairsError as error:
                    found.append(repr(error_sentences(error)))
        assert found[0] == found[1]


def engines_of_pairs(data: bytes) -> None:
    """The same for commands that read pairs."""
    words = ("--from", _choice(data, (*("auto",) * 12, *PAIR_FORMATS)), "--on-error", "skip")
    _hold_engines(data, *words, commands=_READERS_OF_PAIRS)


_READERS_OF_PAIRS = (
    ("dedupe",),
    ("dedupe", "--conflicts", "strongest"),
    ("filter", "--min-gap", "0.3", "--drop-truncated"),
    ("sample", "--fraction", "0.5", "--order", "shuffle"),
    ("export", "--to", "trl"),
)


def _hold_engines(
    data: bytes, *words: str, commands: Sequence[Sequence[str]] = (("extract",), ("pair",))
) -> None:
    """Each command has the same results with the native core and without it."""
    if native_core() is None:
        return
    for command in commands:
        left = []
        for engine in ("0", "require"):
            with inside(**{"rows.jsonl": data}), mock.patch.dict(os.environ, {VARIABLE: engine}):
                ran = run(*command, "rows.jsonl", *_TOLD, *words, output="out.jsonl")
                left.append((ran, {name: Path(name).read_bytes() for name in os.listdir()}))
        assert left[0] == left[1]


def surroundings(data: bytes) -> None:
    """A file, a compressed file and a pipe give the same bytes, codes and messages."""
    commands = (
        ("extract", "--on-error", "skip"),
        ("pair",),
        ("dedupe", "--on-error", "skip"),
        ("export", "--to", "trl"),
    )
    if not data.startswith(PACKED):
        first, *others = in_surroundings(data, *_choice(data, commands))
        for other in others:
            assert other == first


def shards(data: bytes) -> None:
    """Resharding and reordering rows change neither the pairs nor the counts."""
    given = [line for line in data.split(b"\n") if line.strip()]
    if any(line.lstrip().startswith((b"[", b"\xef\xbb\xbf", *PACKED)) for line in given):
        return  # the type of a file depends on its first bytes
    words = ("--from", _choice(data, ("auto", *SOURCES)), "--on-error", "skip", *_TOLD)
    results = [
        _pairs_of(words, files) for files in ([given], [given[::-1]], [given[::2], given[1::2]])
    ]
    assert results[0] == results[1] == results[2]


def _pairs_of(words: Sequence[str], files: Sequence[Sequence[bytes]]) -> tuple[Any, ...]:
    """The pairs of the lines of files, without their origins."""
    named = {f"rows-{at}.jsonl": b"\n".join(lines) for at, lines in enumerate(files) if lines}
    with inside(**named or {"rows-0.jsonl": b""}):
        ran = run("pair", *(named or ["rows-0.jsonl"]), *words, output="pairs.jsonl")
        counts = counts_of("counts.json") if Path("counts.json").exists() else {}
    rows = [json.loads(line) for line in ran.written.splitlines()]
    for row in rows:
        del row["chosen_origin"], row["rejected_origin"]
    told = {name: counts[name] for name in counts if name not in ("inputs", "notes")}
    return ran.code, sorted(map(json.dumps, rows)), told


def _choice(data: bytes, words: Sequence[Any]) -> Any:
    """One of several, chosen from the bytes alone."""
    return words[zlib.crc32(data) % len(words)]


# Written by people --------------------------------------------------------------------------


def recipe(data: bytes) -> None:
    """A recipe is accepted, or an error says where it is wrong."""
    if b"/" in data or b"*" in data or b'"-"' in data or b"'-'" in data:
        return  # it would read files outside the folder
    with inside(**{"recipe.toml": data, "in.jsonl": b""}):
        code, said = _main("run", "--dry-run", "recipe.toml")
        assert code in (0, 1, 2, 3, 5), (code, said)


def manifest(data: bytes) -> None:
    """A manifest is read, or rejected with an error."""
    if b"/" in data:
        return
    with inside(**{"manifest.json": data, "in.jsonl": b""}):
        code, said = _main("verify", "manifest.json")
        assert code in (0, 1, 5), (code, said)
        with suppress(DataError):
            differences("manifest.json", read_manifest("manifest.json"))


def template(data: bytes) -> None:
    """A chat template is found in a file and accepted, or rejected with an error."""
    with inside(template=data):
        try:
            compiled(read_template("template"))
        except (DataError, UsageError) as error:
            _words(error)


def tokenizer(data: bytes) -> None:
    """A tokenizer counts tokens, or is rejected with an error."""
    with inside(**{"tokenizer.json": data}):
        try:
            assert isinstance(open_encoder("tokenizer.json")("Hello"), list)
        except DataError as error:
            _words(error)


_ROWS = b"""{"id":1,"prompt":"Q","response":"A","score":1,"a":[{"b":"c"}]}
{"id":1,"prompt":"Q","response":"B","score":0,"a":{}}
"""


def words(data: bytes) -> None:
    """Values of options that name paths, weights and counts, one per line."""
    given = data.decode("utf-8", "replace").replace("\0", "").split("\n")
    names = ("--require", "--score", "--group-by", "--keep", "--prompt", "--response", "--min-gap")
    asked = [f"{names[place % len(names)]}={word}" for place, word in enumerate(given[:7])]
    with inside(**{"rows.jsonl": _ROWS}):
        for option in (*asked, None):
            mine = asked if option is None else [option]
            code, said = _main("pair", "rows.jsonl", "-o", "pairs.jsonl", *mine)
            assert code in (0, 1, 2, 3, 4), (code, said)
    with suppress(PrefpairsError):
        for gate in read_gates(given, pair_summary(Ledger())):
            gate.check(pair_summary(Ledger()))
    with suppress(PrefpairsError):
        filled(ReadOptions, {"scores": given, "keep": given, "group_by": given[0]})


def _main(*asked: str) -> tuple[int, str]:
    told = io.StringIO()
    with mock.patch("sys.stderr", told), mock.patch("sys.stdout", io.StringIO()):
        code = main([*asked])
    said = told.getvalue()
    assert "Traceback" not in said, said
    assert said == "\n".join(map(printable, said.split("\n"))), repr(said)
    return code, said


TARGETS: dict[str, Target] = {
    "lines": lines,
    "packed": packed,
    "elements": elements,
    "archive": archive,
    "document": document,
    "delimited": delimited,
    "parquet": parquet,
    "frames": frames,
    "database": database,
    **{name: source(name) for name in SOURCES},
    "pairs": pairs,
    "rules": rules,
    "rollouts": rollouts,
    "ready-pairs": ready_pairs,
    "shards": shards,
    "index": index,
    "engines": engines,
    "engines-of-pairs": engines_of_pairs,
    "surroundings": surroundings,
    "recipe": recipe,
    "manifest": manifest,
    "template": template,
    "tokenizer": tokenizer,
    "words": words,
}
"""Everything that reads foreign bytes, by name."""
