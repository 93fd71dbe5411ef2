"""Pairs that the native core makes in batches."""

from itertools import count
from pathlib import Path

import pytest
from rows_and_output import data_of

from native_and_python import needs_core
from prefpairs.cli.main import main
from prefpairs.engine.native import Core
from prefpairs.engine.pairs import native_pairs

pytestmark = needs_core


def _pair(source: Path, workers: int, out: Path) -> bytes:
    options = ["--score", "score", "--quiet", "--force", "--workers", str(workers)]
    assert main(["pair", str(source), *options, "-o", str(out)]) == 0
    return out.read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_more_threads_wait_for_the_disk(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times as many threads make pairs once rows come from the disk; same bytes."""
    rows = [
        {"prompt": f"Q{number // 2}", "response": f"A{number}", "score": number % 2}
        for number in range(40)
    ]
    source, threads = tmp_path / "in.jsonl", list[int]()
    source.write_bytes(data_of(rows))
    pair_maker = Core.pair_maker

    def noted(core: Core, number: int) -> object:
        threads.append(number)
        return pair_maker(core, number)

    monkeypatch.setattr(Core, "pair_maker", noted)
    monkeypatch.setattr(native_pairs, "_PAIRS", 3)
    monkeypatch.setattr(native_pairs, "_GROUPS", 3)
    monkeypatch.setattr("prefpairs.engine.pairs.pairs_from_candidates._WORTH_A_PROCESS", 1)
    expected = _pair(source, workers, tmp_path / "cached.jsonl")
    assert threads == [workers]
    read = count(step=1 << 40)
    monkeypatch.setattr(native_pairs, "_read_from_disk", read.__next__)
    assert _pair(source, workers, tmp_path / "cold.jsonl") == expected
    assert threads == [workers, workers, 4 * workers]
