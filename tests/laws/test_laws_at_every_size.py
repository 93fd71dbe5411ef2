"""The laws over sizes that cross every size in the code: few rows and tiny sizes, or many rows."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws_at_scale import FORMS, SCENES, Form, Left, mixed, play, rows_for
from laws_driver import examples
from laws_sizes import SIZES, sizes
from laws_worlds import Row

SMALL = [(name, value) for name, size in SIZES.items() for value in size.small]
every_scene = pytest.mark.parametrize("name", SCENES)


def left_of(name: str, rows: list[Row], form: Form = "file", workers: int = 0) -> Left:
    """What a scene leaves, held against what it must be."""
    scene = SCENES[name]
    with tempfile.TemporaryDirectory() as folder:
        left = play(scene, rows, Path(folder), form, workers)
    scene.check(rows, left)
    return left


class Way(NamedTuple):
    """How rows are given to a run, and the sizes in the code meanwhile."""

    form: Form
    in_order: bool
    workers: int
    sizes: dict[str, int]


WAYS = st.builds(
    Way,
    st.sampled_from(FORMS),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3]),
    st.lists(st.sampled_from(SMALL), max_size=60).map(dict),
)


@every_scene
@examples(6)
@given(size=st.integers(40, 120), seed=st.integers(0, 99), way=WAYS)
def test_no_size_can_be_seen(name: str, size: int, seed: int, way: Way) -> None:
    """Laws 5 and 6: any sizes, files, order and workers give what one file gives, and rightly."""
    scene = SCENES[name]
    rows = rows_for(scene.reads, size, seed)
    alone = left_of(name, rows)
    in_order = way.in_order or not scene.any_order
    with sizes(way.sizes):
        workers = way.workers if scene.words[0] == "pair" else 0
        left = left_of(name, rows if in_order else mixed(rows), way.form, workers)
    assert left.contents() == alone.contents()
    if way.form == "file" and in_order and "files.table._GROUP" not in way.sizes:
        assert left == alone


@every_scene
def test_thousands_of_rows(name: str) -> None:
    """More than 683 pairs, 1,024 draws, 1,000 rows of Parquet; and more files than may be open."""
    rows = rows_for(SCENES[name].reads, 2500, 1)
    alone = left_of(name, rows)
    sharded = left_of(name, mixed(rows) if SCENES[name].any_order else rows, "shards")
    assert sharded.contents() == alone.contents()
