"""How many keys a split drew, over steps that may have drawn the same ones."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from prefpairs.engine.runners import count_keys
from prefpairs.engine.runners.phases import step_name
from prefpairs.engine.runners.step_output import KEYS, Wrote, write_keys
from prefpairs.files.work_folder import WorkFolder
from prefpairs.ledger import Ledger
from prefpairs.stages.split import DrawnKeys, SplitFacts


@pytest.mark.parametrize("most", [1, 2, 30, 1_000_000])
def test_keys_are_counted_once(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key counts once for its side, however many are held in memory at a time."""
    monkeypatch.setattr(count_keys, "_MOST_HELD", most)
    random, work = Random(most), SimpleNamespace(folder=WorkFolder(str(tmp_path)))  # noqa: S311
    keys = [random.randbytes(16) for _ in range(90)]
    keys += [bytes([first, *keys[0][1:]]) for first in (0, 255)]
    drawn: dict[int, set[bytes]] = {0: set(), 1: set(), 2: set()}
    wrote = []
    phase: Any = SimpleNamespace(last=2)
    for step in range(5):
        facts = SplitFacts()
        facts.drawn = DrawnKeys(lambda keys: bytes(key % 3 for key in keys[1::16]), None)
        some = random.sample(keys, 40 if step else 0)
        facts.drawn.sides_of(b"".join(some))
        for key in some:
            drawn[key[1] % 3].add(key)
        name = step_name(phase.last, step)
        work.folder.create(name)
        counts = write_keys(work, f"{name}/{KEYS}", facts)  # type: ignore[arg-type]
        wrote.append(Wrote([], Ledger().pair_counts(), [], {}, [], counts))
    found = count_keys.keys_of_sides(work, phase, wrote)  # type: ignore[arg-type]
    assert found == [len(drawn[side]) for side in range(3)]
