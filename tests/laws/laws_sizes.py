"""Every size in the code: how large it is taken for tests, and what crosses it.

A size is a number that rows, pairs or bytes can reach. Those of SIZES must not be seen in what a
run leaves: whatever they are, the same bytes come out. Those of SEEN decide something that can be
seen, and say which test crosses them. `test_sizes_are_all_known.py` finds each number of the code
here, or under a line of NO_SIZE.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import NamedTuple
from unittest.mock import patch


class Size(NamedTuple):
    """The values that are as right as the real one, and what crosses that in `make stress`."""

    small: tuple[int, ...]
    crossed_by: str


_ANY = (1, 2, 3, 5, 8)
_POWERS = (1, 2, 4, 8)
_BUFFERS = (64, 100, 1000)

SIZES: dict[str, Size] = {
    "engines.across._MOST_CACHED": Size(_ANY, "100,000 rollouts across prompts"),
    "engines.drafts._BLOCK": Size(_ANY, "100,000 pairs exported"),
    "engines.fetching._MOST_CACHED": Size(_ANY, "any 256 pairs"),
    "engines.fetching._MOST_CACHED_BYTES": Size((1, 300, 1000), "100,000 long answers"),
    "engines.filling._WORTH_A_WORKER": Size((1, 1000, 10_000), "100,000 rollouts of NeMo Gym"),
    "engines.formats._MOST_BYTES": Size((1, 500, 5000), "first rows of 4 MB; only made small"),
    "engines.formats._MOST_TRIED": Size((1, 2, 5), "test_records_that_are_taken_are_bounded"),
    "engines.index._MOST_CONFIRMED": Size(_ANY, "any 256 pairs"),
    "engines.index._PIECE": Size(_ANY, "100,000 rollouts and two workers"),
    "engines.memory._SLOTS": Size(_ANY, "groups that stand together; more than a million do not"),
    "engines.pair._WORTH_A_SHARE": Size((1, 10, 50), "100,000 rollouts"),
    "engines.scanning._AT_ONCE": Size((1, 100, 1000), "100,000 rollouts of NeMo Gym"),
    "engines.shares._FEW": Size(_ANY, "100,000 rollouts and two workers"),
    "files.array._CHUNK": Size((1, 16, 300), "100,000 rows in an array"),
    "files.array._FAR": Size((1, 16, 300), "an element of five megabytes"),
    "files.array._MOST_MISSES": Size((0, 1, 2), "100,000 rows in an array"),
    "files.array._MOST_TRIES": Size((1, 2), "an element with five others in it"),
    "files.aside.BUFFER": Size((1, 64, 1000), "100,000 pairs through a pipe"),
    "files.beside.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.lines._BUFFER": Size((1, 2, 64), "a line of 256 KB that is cut"),
    "files.output.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.parquet._AT_ONCE": Size(_ANY, "test_more_rows_than_a_batch"),
    "files.parquet._BATCH": Size(_ANY, "test_more_rows_than_a_batch"),
    "files.parquet._BATCH_BYTES": Size((1, 100, 10_000), "test_large_rows_of_parquet"),
    "files.parquet._BATCH_VALUES": Size((1, 100, 10_000), "test_values_that_parquet_repeats"),
    "files.reading._BUFFER": Size(_BUFFERS, "any input of 256 KB"),
    "files.reading._SMALL": Size((0, 100, 1000), "any input of 64 KB"),
    "files.shelf.BUFFER": Size((2, 64, 1000), "100,000 pairs through a pipe"),
    "files.shelf._MOST_HELD": Size((0, 100, 1000), "test_no_more_is_held_than_its_bound"),
    "files.shelf._MOST_OPEN": Size(_ANY, "40 shards"),
    "files.staged.BUFFER": Size((2, 64, 1000), "any output of 256 KB"),
    "files.stretch._BUFFER": Size(_BUFFERS, "any input of 256 KB"),
    "files.stretch._TAIL": Size((1, 10, 100), "a line of 16 KB"),
    "files.table._GROUP": Size(_ANY, "1,000 rows of Parquet"),
    "files.unpacking._BUFFER": Size(_BUFFERS, "any packed input of 256 KB"),
    "files.unpacking._STEP": Size((1, 64, 1000), "any .zst input of 16 KB"),
    "records.weight.LIGHT": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "records.weight._PIECE": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "records.wire._LARGE": Size((7, 64, 1000), "test_brackets_in_texts_are_no_lists"),
    "records.wire._LONG": Size((7, 64, 1000), "any row of 64 KB"),
    "report.tally._MOST_WAITING": Size(_ANY, "any 4,096 pairs"),
    "sieves.near._MOST_CACHED": Size((1, 8, 50), "100,000 pairs, nearly alike"),
    "sieves.numbering._FIRST_SLOTS": Size(_POWERS, "683 pairs"),
    "sieves.sample._FEWEST_PRUNED": Size(_ANY, "any 1,024 pairs"),
    "sieves.store._RUN": Size(_ANY, "32,768 pairs"),
    "sources.shown._MOST_SEEN": Size(_ANY, "4,096 ways to differ; only made small"),
    "strategies.ring._FIRST_TRIES": Size((0, 1, 2), "100,000 rollouts across prompts"),
}

SEEN: dict[str, str] = {
    "records.wire._MOST_ADDED": "more than any source adds; test_what_is_found_can_be_read_again",
    "cli.reading._LONGEST_LINE": "--max-line is no more, so that 32 bits hold any length",
    "cli.wording._MOST_MISSING": "names in a message; tests/unit/cli/test_cli_wording.py",
    "cli.wording._MOST_NAMES": "names in a message; tests/unit/cli/test_cli_wording.py",
    "engines.drafts._ROOM": "which rows stand first; tests/unit/engines/test_engines_drafts.py",
    "engines.formats._MOST_KNOWN": "rows that a hint takes fields from; no test has more",
    "engines.made._REJECTED": "32 bits hold the number of any candidate",
    "engines.pairs._SHELF_SHIFT": "a million files of 16 TB; test_more_files_than_16_bits_hold",
    "engines.plan.MOST_PAIRS": "more pairs are refused; tests/unit/engines/test_engines_pair.py",
    "engines.processes._FILES_EACH": "how many workers there are; test_workers.py",
    "files.beside._LONGEST_NAME": "the name of a temporary file",
    "files.noted.MOST_BYTES": "larger ones are refused; tests/hostile/test_long_lines_and_bombs.py",
    "files.inputs._HELD": "memory for what is held at once; tests/hostile/test_budgets.py",
    "files.inputs._HELD_TIMES": "memory for what is held at once; tests/hostile/test_budgets.py",
    "files.inputs._MOST_TIMES": "--max-unpacked; tests/hostile/test_long_lines_and_bombs.py",
    "files.inputs._TIMES_A_LINE": "longer lines are bad; test_a_limit_on_memory",
    "files.inputs._UNPACKED": "--max-unpacked; tests/hostile/test_long_lines_and_bombs.py",
    "files.lines._HEAD_OF_LONG": "what is kept of a bad row; tests/hostile",
    "files.parquet._BYTES_A_VALUE": "wider rows are refused; test_values_that_parquet_repeats",
    "files.parquet._TIMES_A_GROUP": "more memory is refused; tests/hostile/test_containers.py",
    "files.sqlite._SMALLEST_ROW": "more rows are refused; tests/hostile",
    "files.tokenizer._LONGER": "a tokenizer is refused; tests/hostile/test_foreign_programs.py",
    "files.tokenizer._SECONDS": "a tokenizer is refused; tests/hostile/test_foreign_programs.py",
    "files.tokenizer._LONGEST": "longer texts are refused; tests/hostile/test_foreign_programs.py",
    "files.tokenizer._TIMES_A_TEXT": "as _LONGEST",
    "files.unpacking._BYTES_A_FRAME": "more frames are refused; test_frames_of_nothing",
    "files.unpacking._FRAMES": "more frames are refused; test_frames_of_nothing",
    "files.unpacking.HEAD": "what a file is told by; tests/unit/files/test_files_reading.py",
    "limited.MEMORY": "a template is refused; tests/hostile/test_foreign_programs.py",
    "limited.SECONDS": "a template is refused; tests/hostile/test_foreign_programs.py",
    "looks.spread.MOST_VALUES": "values told one by one; tests/unit/looks/test_looks_spread.py",
    "looks.wins._MOST": "larger tables are left out; tests/unit/looks/test_looks_wins.py",
    "records.number.round_score": "a cache; test_more_scores_than_are_remembered",
    "records.number.gap_between": "a cache; test_more_scores_than_are_remembered",
    "records.wire.DEEPEST": "deeper rows are bad; tests/unit/records/test_records_wire.py",
    "records.weight._A_QUOTE": "heavier rows are bad; tests/unit/records/test_records_weight.py",
    "records.spare._ITEM_RESERVED": "memory that orjson asks for; test_a_limit_on_memory",
    "records.spare._ITEM_WRITTEN": "as _ITEM_RESERVED",
    "records.spare._LARGEST_COPIED": "as _ITEM_RESERVED",
    "records.spare._MEMBER_TIMES": "as _ITEM_RESERVED",
    "records.spare._LITTLE": "as _ITEM_RESERVED",
    "records.spare._RESERVED": "as _ITEM_RESERVED",
    "records.spare._WRITTEN": "as _ITEM_RESERVED",
    "records.weight._MOST": "heavier rows are bad; tests/hostile/test_budgets.py",
    "records.weight._TIMES": "heavier rows are bad; tests/hostile/test_budgets.py",
    "records.weight._WIDEST": "memory that a text may take; test_a_limit_on_memory",
    "records.wire._SHORTEST_DEEP": "deeper rows are bad; tests/unit/records/test_records_wire.py",
    "report.FIRST_FEW": "bad rows that are shown; tests/unit/report",
    "report._MOST_KINDS": "bad rows that are shown; tests/unit/report",
    "sieves.near._MOST_HASHES": "what --near finds; tests/unit/sieves/test_sieves_near.py",
    "sieves.sample._END": "32 bits hold the number of any pair",
    "sieves.split._MOST_KNOWN": "names that a hint chooses from; tests/unit/sieves",
    "sources.generic_plain._question_of": "a cache of 4 prompts; any scene that pairs such rows",
    "sources.nemo_gym_plain._question_of": "a cache of 4 prompts; any scene that pairs such rows",
    "targets.columns.FIRST_BLOCK": "what a loader looks at; tests/unit/engines",
    "targets.unrender._MOST_KNOWN": "a cache; tests/unit/targets/test_targets_unrender.py",
    "targets.unrender._MOST_TRIED": "beyond it a text is unclear; test_targets_unrender.py",
}

_SHOWN = "how much of something is shown, or how wide"
_FORM = "fixed by a format, an algorithm or a trainer"

NO_SIZE: dict[str, str] = {
    "cli": _SHOWN,
    "engines.diff._MOST_NAMES": _SHOWN,
    "engines.group": _SHOWN,
    "engines.index._DIGEST": _FORM,
    "engines.made._NUMBER": "follows from _REJECTED",
    "engines.pairs._OFFSET": "follows from _SHELF_SHIFT",
    "engines.rehearse": "how long a rehearsal is",
    "errors": _SHOWN,
    "files.aside._STDIN": "a descriptor",
    "files.pickled": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.noted.TICK": "how long a run waits before it reads a file that has just changed",
    "files.pickled_sizes": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.pickled_values": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.shelf._SHARE_OPEN": "a share of the files that may be open",
    "files.tensors": "bounds of containers: tests/unit/files and tests/fuzz",
    "files.sqlite._NOT_STORED": "a kind of columns",
    "files.tokenizer_bounds": "what tokenizers of others have; tests/unit/files",
    "files.trxp": "bounds of containers: tests/unit/files and tests/fuzz",
    "limited._LENGTH": _FORM,
    "looks": _SHOWN,
    "nearest": _SHOWN,
    "records.candidate": "the largest numbers of a format",
    "records.identity": _FORM,
    "records.message": "how much of the end of a prompt is looked at",
    "records.path": "the digits of a place in a list",
    "records.schema": _FORM,
    "sieves.entry": _FORM,
    "sieves.near._SEED": _FORM,
    "sieves.near._WORDS": _FORM,
    "sieves.sample.DRAWS": _FORM,
    "sieves.split._DEVIATIONS": "how unlikely a share is that is told",
    "sources.generic_plain": _FORM,
    "sources.nat_plain": _FORM,
    "sources.nemo_gym_plain": _FORM,
    "sources.generic._MOST_KINDS": _SHOWN,
    "sources.generic._TRIES": _SHOWN,
    "sources.guess._MOST_UNKNOWN": _SHOWN,
    "sources.shown._MOST_CHOICES": _SHOWN,
    "sources.shown._MOST_KEYS": _SHOWN,
    "sources.suggest": _SHOWN,
    "targets.nemo_rl": _FORM,
    "targets.plain": _FORM,
    "targets.tokenised": _FORM,
    "targets.trinity": _FORM,
    "targets.unpaired": _FORM,
    "targets.unrender._LONGEST_BEGINNING": "the length of a special token",
}


@cache
def targets() -> Mapping[str, str]:
    """Where each size stands, for `patch`."""
    return {name: f"prefpairs.{name}" for name in SIZES}


@contextmanager
def sizes(values: Mapping[str, int]) -> Iterator[None]:
    """Run a block with other sizes."""
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(patch(targets()[name], value))
        yield
