"""Ready-made pairs in rollouts."""

from collections.abc import Iterator
from typing import Literal

import pytest

from prefpairs.engine.pairs.ready_pairs import ReadyPairs
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.files.fetch_records import RecordFetcher
from prefpairs.ledger import Ledger
from prefpairs.model.pair import Pair, pair_of
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies.options import PairOptions


def _pair(chosen: str, model: str = "m", origin: str = "f:1") -> Pair:
    row = {"prompt": "Q", "chosen": chosen, "rejected": "no", "model": model}
    return pair_of(row)[0]._replace(chosen_origin=origin, rejected_origin=origin)


Records = RecordFetcher[RowOutcome]


@pytest.fixture(name="records")
def _records() -> Iterator[Records]:
    with Records() as records:
        yield records


def _ready(
    records: Records, ledger: Ledger, order: Literal["input", "key"] = "input"
) -> ReadyPairs:
    return ReadyPairs(
        PairPlan(read=ReadPlan(inputs=[]), options=PairOptions(order=order)), records, ledger
    )


def test_they_come_back_as_they_came(records: Records) -> None:
    """Ready-made pairs keep the input order, are unchanged, and are counted as found."""
    ledger = Ledger()
    ready = _ready(records, ledger)
    given = [_pair(text) for text in ("c", "a", "b")]
    for pair in given:
        ready.add(pair)
    ready.lose(["empty_answer"])
    assert (list(ready.pairs()), len(ready)) == (given, 3)
    (stage,) = ledger.stages
    assert (stage.name, stage.found, stage.kept, dict(stage.dropped)) == (
        "ready-made",
        4,
        3,
        {"empty_answer": 1},
    )


def test_order_by_key(records: Records) -> None:
    """With --order key they are sorted by ID."""
    ready = _ready(records, Ledger(), "key")
    given = [_pair(text) for text in ("c", "a", "b", "d")]
    for pair in given:
        ready.add(pair)
    assert list(ready.pairs()) == sorted(given)


def test_of_copies_content_decides(records: Records) -> None:
    """Of copies, the same one stays in any order; of equal ones, the first."""
    for models in (("x", "y"), ("y", "x")):
        ledger = Ledger()
        ready = _ready(records, ledger)
        for place, model in enumerate(models):
            ready.add(_pair("a", model, f"f:{place}"))
        assert [pair.meta for pair in ready.pairs()] == [{"model": "x"}]
        assert ledger.stages[0].dropped == {"ready_twice": 1}
    ready = _ready(records, Ledger())
    for place in range(2):
        ready.add(_pair("a", origin=f"f:{place}"))
    assert [pair.chosen_origin for pair in ready.pairs()] == ["f:0"]


def test_without_any_nothing_is_reported(records: Records) -> None:
    """Without ready-made pairs, there is no stage in the summary and no temporary file."""
    ledger = Ledger()
    ready = _ready(records, ledger)
    ready.lose([])
    assert (list(ready.pairs()), ledger.stages) == ([], [])


def test_of_copies_the_one_with_tokens_stays(records: Records) -> None:
    """Of copies, the one with tokens stays, in any order."""
    field = {"ids": [1, 2], "prompt_length": 1}
    bare = _pair("a")
    full = bare._replace(chosen_tokens=field, rejected_tokens=field)
    for given in ((bare, full), (full, bare)):
        ready = _ready(records, Ledger())
        for pair in given:
            ready.add(pair)
        assert [pair.chosen_tokens for pair in ready.pairs()] == [field]
