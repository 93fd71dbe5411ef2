"""Arbitrary bytes: every reader keeps its promise. `make fuzz` continues from here."""

import json
from pathlib import Path
from typing import Any

import pytest
from fuzz_mutants import TEXTS, mutant
from fuzz_seeds import seeds
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from hypothesis_examples import examples
from prefpairs.sources import SOURCES

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(path for path in CORPUS.rglob("*") if path.is_file())

SLOW = {
    "lines": 200,
    "rules": 150,
    "rollouts": 150,
    "ready-pairs": 150,
    "engines": 300,
    "engines-of-pairs": 150,
    "surroundings": 80,
    "shards": 150,
}
SLOW |= {"recipe": 200, "database": 150, "words": 50, "elements": 150}
USUAL = 400
"""How many examples each target has in `make stress`."""


_KEYS = (
    "prompt response score messages role content chosen rejected tools output input reward data",
    "responses_create_params payload event_type group meta id conversations",
)


def values() -> st.SearchStrategy[Any]:
    """Any JSON value, with the keys that our readers look for."""
    keys = st.sampled_from([*" ".join(_KEYS).split(), "a.b", ""])
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from([text for text in TEXTS if text.isprintable()]),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=6)
        ),
        max_leaves=30,
    )


def inputs(target: str) -> st.SearchStrategy[bytes]:
    """Rows and files with something hostile in them, any JSON, and any bytes."""
    mutants = st.randoms(use_true_random=False).map(lambda chance: mutant(target, chance))
    anything = values().map(lambda value: json.dumps(value).encode())
    return st.one_of(mutants, mutants, anything, st.binary(max_size=200))


@pytest.mark.hypothesis
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes(target: str) -> None:
    """Whatever the bytes are, they are read, dropped for a reason, or rejected with an error."""

    @examples(
        SLOW.get(target, USUAL),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(data=inputs(target))
    def keeps_its_promise(data: bytes) -> None:
        TARGETS[target](data)

    keeps_its_promise()


@pytest.mark.parametrize(
    "target", [*SOURCES, "pairs", "parquet", "frames", "database", "recipe", "template", "words"]
)
def test_what_is_right(target: str) -> None:
    """The seeds of fuzzing: the same promise for valid files."""
    for data in seeds(target):
        TARGETS[target](data)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_broke_something(path: Path) -> None:
    """Inputs that once broke something do so no longer."""
    TARGETS[path.parent.name](path.read_bytes())
