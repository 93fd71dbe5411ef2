"""The table of sources."""

import pytest

from prefpairs.errors import UnknownWord
from prefpairs.fields.read_options import ReadOptions
from prefpairs.sources import SOURCES, source_named


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_a_module_of_its_name(name: str) -> None:
    """Each source is a module of its name with a SOURCE."""
    source = source_named(name)
    assert source.looks_like(b"torn {") is False
    assert source.open_reader([], ReadOptions(), "f.jsonl").notes == ()


def test_unknown_source() -> None:
    """The error has the known names."""
    with pytest.raises(UnknownWord) as caught:
        source_named("nemo")
    assert (caught.value.word, caught.value.known) == (
        "nemo",
        ["auto", *SOURCES],
    )
