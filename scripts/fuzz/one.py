"""One target under a coverage-guided fuzzer: `one.py TARGET [OPTION of libFuzzer]...`.

Half of the inputs are rows with something hostile in them, as Hypothesis makes them; the fuzzer
mutates the others freely.
"""

import logging
import os
import sys
from pathlib import Path
from random import Random

import atheris

TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS)]

with atheris.instrument_imports(include=["prefpairs"], enable_loader_override=False):
    from fuzz_mutants import mutant
    from fuzz_targets import TARGETS

_OURS = 2


def main() -> None:
    """Fuzz until the fuzzer stops, or something breaks."""
    name, *words = sys.argv[1:]
    logging.disable()

    def bend(data: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)  # noqa: S311 - no secret
        if seed % _OURS:
            return bytes(atheris.Mutate(data, most))
        return mutant(name, chance)[:most]

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    atheris.Setup([sys.argv[0], *words], TARGETS[name], custom_mutator=bend)
    atheris.Fuzz()


main()
