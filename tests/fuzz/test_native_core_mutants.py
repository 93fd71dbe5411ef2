"""The native core against Python on hostile rows."""

from collections import Counter
from random import Random

import pytest
from fuzz_mutants import bent, mutant_row
from fuzz_seeds import rows

from native_and_python import known, known_like, needs_core, pair_known, written_pair

pytestmark = needs_core
MUTANTS = 1500


@pytest.mark.parametrize("seed", range(4))
def test_mutants(seed: int) -> None:
    """For any row, the core finds what Python finds or passes it on; it reads over 10 %."""
    chance, given = Random(f"native {seed}"), rows("nemo-gym")  # noqa: S311 - no secret
    still_known = 0
    for _ in range(MUTANTS):
        row = mutant_row(given, chance)
        row = row if chance.randrange(8) else bent(row, chance)
        still_known += known(row.replace(b"\n", b" ") + b"\n")
    assert still_known > MUTANTS // 10


@pytest.mark.parametrize("seed", range(3))
def test_mutants_of_pairs(seed: int) -> None:
    """The same for pairs, before and after writing; over 5 % of the latter can be copied."""
    chance, given = Random(f"native pairs {seed}"), rows("pairs")  # noqa: S311 - no secret
    told = Counter[str]()
    for _ in range(MUTANTS):
        row = mutant_row(given, chance).replace(b"\n", b" ") + b"\n"
        pair_known(row)
        line = written_pair(row)
        told[pair_known(line)] += 1
        pair_known(bent(line, chance).replace(b"\n", b" ") + b"\n")
    assert told["as written"] > MUTANTS // 20


@pytest.mark.parametrize("source", ["candidates", "generic", "nat"])
def test_mutants_of_other_formats(source: str) -> None:
    """The same for other formats; the core is opened on the row that was mutated."""
    chance, given = Random(f"native {source}"), rows(source)  # noqa: S311 - no secret
    still_known = 0
    for _ in range(MUTANTS):
        sample = chance.choice(given)
        row = mutant_row((sample,) if chance.randrange(3) else given, chance)
        row = row if chance.randrange(8) else bent(row, chance)
        still_known += known_like(sample, row.replace(b"\n", b" ") + b"\n", source)
    assert still_known > MUTANTS // 100
