"""Every size in the code: the values that tests give it, and what crosses it.

A size is a number that rows, pairs or bytes can reach. Those in SIZES must not affect what a
run writes: whatever their values, the bytes are the same. Those in SEEN have a visible effect
and name the test that crosses them. `test_sizes_are_all_known.py` requires each number in the code
to be listed here, or under a line of NO_SIZE.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import NamedTuple
from unittest.mock import patch


class Size(NamedTuple):
    """Other values that must give the same output, and what crosses the real one."""

    small: tuple[int, ...]
    crossed_by: str


_ANY = (1, 2, 3, 5, 8)
_POWERS = (1, 2, 4, 8)
_BUFFERS = (64, 100, 1000)

SIZES: dict[str, Size] = {
    "engine.store.decide._MOST_CACHED": Size(_ANY, "100,000 rollouts across prompts"),
    "engine.pairs.native_pairs._PAIRS": Size(_ANY, "any 2,049 pairs"),
    "engine.pairs.native_pairs._GROUPS": Size(_ANY, "any 2,049 groups"),
    "engine.pairs.native_pairs._BYTES": Size((1, 1000, 10_000), "any megabyte of candidates"),
    "engine.pairs.native_pairs._WAITING": Size((0, 1), "any five megabytes of candidates"),
    "engine.pairs.native_pairs._MUCH_READ": Size((-1, 0), "inputs that are not in memory"),
    "engine.pairs.native_pairs._MOST_OPEN": Size(_ANY, "40 shards"),
    "engine.outputs.dataset_row_spool._BLOCK": Size(_ANY, "100,000 pairs exported"),
    "files.fetch_records._MOST_CACHED": Size(_ANY, "any 256 pairs"),
    "files.fetch_records._MOST_CACHED_BYTES": Size((1, 300, 1000), "100,000 long answers"),
    "engine.store.candidate_store._WORTH_A_WORKER": Size(
        (1, 1000, 10_000), "100,000 rollouts of NeMo Gym"
    ),
    "engine.inputs.source_choice._MOST_BYTES": Size(
        (1, 500, 5000), "first rows of 4 MB; made small"
    ),
    "engine.inputs.source_choice._MOST_TRIED": Size((1, 2, 5), "the records tried are bounded"),
    "engine.store.candidate_store._MOST_CONFIRMED": Size(_ANY, "any 256 pairs"),
    "engine.store.candidate_columns._BLOCK": Size(_ANY, "100,000 rollouts and two workers"),
    "engine.pairs.pairs_from_candidates._SEEN_SLOTS": Size(
        _ANY, "contiguous groups; more than a million"
    ),
    "engine.pairs.pairs_from_candidates._WORTH_A_PROCESS": Size((1, 10, 50), "100,000 rollouts"),
    "engine.store.native_index._AT_ONCE": Size((1, 100, 1000), "any two megabytes of rollouts"),
    "files.lines.AT_ONCE": Size((1, 100, 1000), "any megabyte of rollouts or pairs"),
    "engine.pairs.write_workers._FEW": Size(_ANY, "100,000 rollouts and two workers"),
    "files.json_array._CHUNK": Size((1, 16, 300), "100,000 rows in an array"),
    "files.json_array._FAR": Size((1, 16, 300), "an element of five megabytes"),
    "files.json_array._MOST_MISSES": Size((0, 1, 2), "100,000 rows in an array"),
    "files.json_array._MOST_TRIES": Size((1, 2), "an element with five others in it"),
    "files.pipe_spool.BUFFER": Size((1, 64, 1000), "100,000 pairs through a pipe"),
    "files.file_system.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.nonblocking._BLOCK": Size((1, 64, 1000), "any input of 256 KB that is read whole"),
    "files.lines._BUFFER": Size((1, 2, 64), "a line of 256 KB that is cut"),
    "files.staged_file._AT_ONCE": Size((1, 64, 1000), "100,000 rollouts to a file"),
    "files.standard_output.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.parquet_reader._AT_ONCE": Size(_ANY, "test_more_rows_than_a_batch"),
    "files.parquet_reader._BATCH": Size(_ANY, "test_more_rows_than_a_batch"),
    "files.parquet_reader._BATCH_BYTES": Size((1, 100, 10_000), "test_large_rows_of_parquet"),
    "files.parquet_reader._BATCH_VALUES": Size((1, 100, 10_000), "test_values_parquet_repeats"),
    "files.open_input._BUFFER": Size(_BUFFERS, "any input of 256 KB"),
    "files.open_input._SMALL": Size((0, 100, 1000), "any input of 64 KB"),
    "files.fetch_records.BUFFER": Size((2, 64, 1000), "100,000 pairs through a pipe"),
    "files.fetch_records._MOST_HELD": Size((0, 100, 1000), "test_no_more_is_held_than_its_bound"),
    "files.fetch_records._MOST_OPEN": Size(_ANY, "40 shards"),
    "files.staged_file.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.lines._RANGE_BUFFER": Size(_BUFFERS, "any input of 256 KB"),
    "files.lines._TAIL": Size((1, 10, 100), "a line of 16 KB"),
    "files.parquet_writer._GROUP": Size(_ANY, "1,000 rows of Parquet"),
    "files.decompression._BUFFER": Size(_BUFFERS, "any packed input of 256 KB"),
    "files.zip_reader._BLOCK": Size(_BUFFERS, "any member of 256 KB"),
    "files.decompression._STEP": Size((1, 64, 1000), "any .zst input of 16 KB"),
    "model.memory_guard.LIGHT": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "model.memory_guard._PIECE": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "model.json_codec._LARGE": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "model.json_codec._LONG": Size((7, 64, 1000), "any row of 64 KB"),
    "ledger.running_stats._MOST_PENDING": Size(_ANY, "any 4,096 pairs"),
    "stages.near_duplicates._MOST_CACHED": Size((1, 8, 50), "100,000 pairs, nearly alike"),
    "stages.digest_table._FIRST_SLOTS": Size(_POWERS, "683 pairs"),
    "stages.sample._FEWEST_PRUNED": Size(_ANY, "any 1,024 pairs"),
    "stages.pair_columns._BLOCK": Size(_ANY, "any 256 pairs that come out of dedupe"),
    "engine.pairs.pairs_from_files._GAP": Size((0, 1, 300), "a duplicate of 8 KB among pairs"),
    "stages.pair_columns._RUN": Size(_ANY, "32,768 pairs"),
    "fields.cross_row_facts._MOST_SEEN": Size(_ANY, "4,096 ways to differ; only made small"),
    "strategies.stratified._FIRST_TRIES": Size((0, 1, 2), "100,000 rollouts across prompts"),
}

SEEN: dict[str, str] = {
    "model.json_codec._MOST_ADDED": "test_what_is_found_can_be_read_again",
    "plan.input_plan._LONGEST_LINE": "--max-line is no more, so that 32 bits hold any length",
    "cli.terminal.error_text._MOST_MISSING": "names in a message; test_error_text.py",
    "engine.runners.count_keys._MOST_HELD": "keys at a time; test_keys_of_a_split.py",
    "engine.runners.step_plan._LEAST": "how many files there are; test_runs_in_steps.py",
    "engine.runners.step_plan._MOST_STEPS": "how many files there are; test_runs_in_steps.py",
    "cli.terminal.error_text._MOST_NAMES": "names in a message; test_error_text.py",
    "dataset.row_forms._ROOM": "which rows stand first; test_row_buffer_first.py",
    "engine.inputs.source_choice._MOST_KNOWN": "rows a hint takes fields from; no test has more",
    "engine.pairs.pairs_from_candidates._REJECTED": "32 bits hold the number of any candidate",
    "engine.pairs.pairs_from_files.FILE_SHIFT": "files; test_more_files_than_16_bits_hold",
    "strategies.options.MOST_PAIRS": "more pairs are refused; test_pair_run.py",
    "engine.processes._FILES_EACH": "how many workers there are; test_workers.py",
    "files.folder_handle._LONGEST_NAME": "the name of a temporary file",
    "files.file_stamps.MOST_BYTES": "larger ones are refused; test_long_lines_and_bombs.py",
    "files.input_file._HELD": "memory for what is held at once; test_budgets.py",
    "files.input_file._HELD_TIMES": "memory for what is held at once; test_budgets.py",
    "files.input_file._MOST_TIMES": "--max-unpacked; test_long_lines_and_bombs.py",
    "files.input_file._TIMES_A_LINE": "longer lines are bad; test_a_limit_on_memory",
    "files.input_file._UNPACKED": "--max-unpacked; test_long_lines_and_bombs.py",
    "files.lines._HEAD_OF_LONG": "what is kept of a bad row; tests/hostile",
    "files.parquet_reader._BYTES_A_VALUE": "refused; test_values_that_parquet_repeats",
    "files.parquet_reader._TIMES_A_GROUP": "more memory is refused; test_containers.py",
    "files.sqlite_reader._SMALLEST_ROW": "more rows are refused; tests/hostile",
    "files.tokenizer._LONGER": "a tokenizer is refused; test_foreign_programs.py",
    "files.tokenizer._SECONDS": "a tokenizer is refused; test_foreign_programs.py",
    "files.tokenizer._LONGEST": "longer texts are refused; test_foreign_programs.py",
    "files.tokenizer._TIMES_A_TEXT": "as _LONGEST",
    "files.decompression._BYTES_A_FRAME": "more frames are refused; test_frames_of_nothing",
    "files.decompression._FRAMES": "more frames are refused; test_frames_of_nothing",
    "files.copied_inputs._COMPARED": "longer files are compared in part; test_copied_inputs.py",
    "files.file_signatures.HEAD": "what a file is told by; test_open_input.py",
    "limited_process.MEMORY": "a template is refused; test_foreign_programs.py",
    "limited_process.SECONDS": "a template is refused; test_foreign_programs.py",
    "analysis.distribution.MOST_VALUES": "values told one by one; test_distribution.py",
    "analysis.survey_tables._WIDEST_HEADS": "columns are numbered; cases/stats/long_names",
    "analysis.win_matrix._MOST": "larger tables are left out; test_win_matrix.py",
    "model.number.round_score": "a cache; test_more_scores_than_are_remembered",
    "model.number.gap_between": "a cache; test_more_scores_than_are_remembered",
    "model.json_codec.DEEPEST": "deeper rows are bad; test_json_lines.py",
    "model.memory_guard._A_QUOTE": "heavier rows are bad; test_memory_guard.py",
    "model.memory_guard._ITEM_RESERVED": "memory that orjson asks for; test_a_limit_on_memory",
    "model.memory_guard._ITEM_WRITTEN": "as _ITEM_RESERVED",
    "model.memory_guard._LARGEST_COPIED": "as _ITEM_RESERVED",
    "model.memory_guard._MEMBER_TIMES": "as _ITEM_RESERVED",
    "model.memory_guard._LITTLE": "as _ITEM_RESERVED",
    "model.memory_guard._RESERVED": "as _ITEM_RESERVED",
    "model.memory_guard._WRITTEN": "as _ITEM_RESERVED",
    "model.memory_guard._MOST": "heavier rows are bad; test_budgets.py",
    "model.memory_guard._TIMES": "heavier rows are bad; test_budgets.py",
    "model.memory_guard._WIDEST": "memory that a text may take; test_a_limit_on_memory",
    "model.json_codec._SHORTEST_DEEP": "deeper rows are bad; test_json_lines.py",
    "ledger.FIRST_FEW": "bad rows that are shown; test_ledgers.py",
    "ledger._MOST_KINDS": "bad rows that are shown; test_ledgers.py",
    "stages.near_duplicates._MOST_HASHES": "what --near finds; test_near_duplicates.py",
    "stages.sample._END": "32 bits hold the number of any pair",
    "stages.split._MOST_KNOWN": "names that a hint chooses from; test_split.py",
    "fields.responses_api._tools_in": "a cache of 4 lists; any scene with rollouts of agents",
    "sources.generic_fast._question_of": "a cache of 4 prompts; any scene that pairs such rows",
    "sources.generic_several._native": "a cache for 4 kinds of files; no scene needs it",
    "sources.nemo_gym._question_of": "a cache of 4 prompts; any scene that pairs such rows",
    "dataset.column_types.FIRST_BLOCK": "what a loader looks at; test_validate_files.py",
    "chat.unrender._MOST_KNOWN": "a cache; test_unrender.py",
    "chat.unrender._MOST_TRIED": "beyond it a text is unclear; test_unrender.py",
}

_SHOWN = "how much of something is shown, or how wide"
_FORM = "fixed by a format, an algorithm or a trainer"

NO_SIZE: dict[str, str] = {
    "option._MOST": "the largest number that a value may be",
    "plan.export_plan._BATCH": "a default, which `--batch-size` changes; test_trace_export.py",
    "sources.openai._OK": "the status code of a request that succeeded",
    "files.arrow_values._ROOM": "memory that is asked for; test_parquet_under_a_limit_on_memory",
    "files.trxp_writer._EIGHT": _FORM,
    "files.trxp_writer._INT": "larger numbers have another form; test_integers_of_any_size",
    "files.trxp_writer._LONG": "larger numbers have another form; test_integers_of_any_size",
    "cli": _SHOWN,
    "engine.diff._MOST_NAMES": _SHOWN,
    "engine.outputs.overwrite_guard._LOOKED_AT": "how much of a file tells what it is",
    "engine.outputs.overwrite_guard._MOST_NAMES": _SHOWN,
    "engine.runners.finish._MOST_NAMES": _SHOWN,
    "engine.runners.step_plan.FORMAT": _FORM,
    "engine.runners.step_output._BYTES": "follows from what a byte is",
    "engine.runners.ray": "what is asked of Ray; tests/integration/test_ray.py",
    "engine.outputs.manifest.FORMAT": _FORM,
    "engine.outputs.manifest._MOST_BYTES": "what no manifest has, and is not read",
    "engine.store.group_outcomes": _SHOWN,
    "engine.store.candidate_columns.NO_INDEX": _FORM,
    "engine.store.candidate_columns.QUESTION": "follows from DIGEST",
    "engine.pairs.native_pairs._AT_THE_DISK": "how many threads there are; test_native_pairs.py",
    "engine.pairs.native_pairs._BLOCK": _FORM,
    "engine.pairs.pairs_from_candidates._NUMBER": "follows from _REJECTED",
    "engine.pairs.pairs_from_files._OFFSET": "follows from FILE_SHIFT",
    "engine.pairs.pairs_from_files._KNOWN": _FORM,
    "engine.pairs.pairs_from_files._COPIED": _FORM,
    "engine.pairs.pairs_from_files._SCORES": _FORM,
    "engine.rehearse": "how long a rehearsal is",
    "engine.store.group_marks.MARK": _FORM,
    "fields.reference": _FORM,
    "errors": _SHOWN,
    "files.pipe_spool._STDIN": "a descriptor",
    "files.pickle_reader": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.file_stamps.TICK": "how long a run waits before it reads a file that has just changed",
    "files.pickle_size_check": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.pickle_values": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.fetch_records._SHARE_OPEN": "a share of the files that may be open",
    "files.safetensors": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.sqlite_reader._NOT_STORED": "a kind of columns",
    "files.tokenizer_worst_case": "what tokenizers of others have; tests/unit/files",
    "files.zip_reader": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.trxp_reader": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.uploaded_file._HEAD": "what a store looks at; the double wants exactly that",
    "limited_process._LENGTH": _FORM,
    "analysis": _SHOWN,
    "render": _SHOWN,
    "did_you_mean": _SHOWN,
    "model.candidate": "the largest numbers of a format",
    "fields.native_reading": "what the core knows: tests/laws/test_native_core_options.py",
    "model.identity": _FORM,
    "model.message": "how much of the end of a prompt is looked at",
    "model.path": "the digits of a place in a list",
    "model.schema": _FORM,
    "stages.near_duplicates._SEED": _FORM,
    "stages.near_duplicates._WORDS": _FORM,
    "stages.sample.DRAWS": _FORM,
    "stages.split._DEVIATIONS": "how unlikely a share is that is told",
    "sources.generic_fast": _FORM,
    "sources.generic_several": _FORM,
    "sources.nat": _FORM,
    "sources.nemo_gym": _FORM,
    "sources.openai": _FORM,
    "sources.generic._MOST_KINDS": _SHOWN,
    "sources.generic._TRIES": _SHOWN,
    "fields.guess_fields._MOST_UNKNOWN": _SHOWN,
    "fields.cross_row_facts._MOST_CHOICES": _SHOWN,
    "fields.cross_row_facts._MOST_KEYS": _SHOWN,
    "fields.suggestions": _SHOWN,
    "targets.nemo_rl": _FORM,
    "dataset.convert_pair._ROLE_AND_CONTENT": _FORM,
    "chat.token_ids": _FORM,
    "targets.trinity": _FORM,
    "dataset.unpaired_answers": _FORM,
    "chat.unrender._LONGEST_BEGINNING": "the length of a special token",
    "submit": "blocks and pages; tests/unit/submitting",
}


@cache
def targets() -> Mapping[str, str]:
    """The definitions of each size, for `patch`."""
    return {name: f"prefpairs.{name}" for name in SIZES}


@contextmanager
def sizes(values: Mapping[str, int]) -> Iterator[None]:
    """Run a block with changed sizes."""
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(patch(targets()[name], value))
        yield
