"""Selects a few pairs out of many."""

import gzip
import json
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Row, data_of

from prefpairs.engine.pairs.shown_pairs import Found, ShowPlan, show
from prefpairs.errors import BadRecords, NotThere
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.identity import draw
from prefpairs.model.pair import pair_of
from prefpairs.plan import InputPlan


def _row(number: int, **more: Any) -> Row:
    answer = "long " * (number % 7 + 1)
    row = {"prompt": f"Q{number}", "chosen": answer, "rejected": "short", **more}
    return {"chosen_score": 1.0, "rejected_score": number * 7 % 10 / 10, **row}


ROWS = [_row(number) for number in range(30)]
IDS = [pair_of(row)[0].id for row in ROWS]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.jsonl").write_bytes(data_of(ROWS))


def _found(ledger: Ledger | None = None, read: dict[str, Any] | None = None, **plan: Any) -> Any:
    reading = InputPlan(**{"inputs": find_inputs(["p.jsonl"]), **(read or {})})
    return [*show(ShowPlan(read=reading, **plan), ledger or Ledger())]


def _prompts(**plan: Any) -> list[Any]:
    return [int(found.pair.prompt[1:]) for found in _found(**plan)]


def test_the_first_ones() -> None:
    """The first pairs, with their lines."""
    found = _found(most=2)
    assert found == [
        Found("p.jsonl:1", pair_of(ROWS[0])[0]),
        Found("p.jsonl:2", pair_of(ROWS[1])[0]),
    ]
    assert len(_found()) == 30


def test_no_more_is_read_than_is_shown() -> None:
    """Reading stops once enough pairs were found."""
    with open("p.jsonl", "ab") as file:
        file.write(b"{oops\n")
    ledger = Ledger()
    assert len(_found(ledger, most=3)) == 3
    assert ledger.rows_read == 3


def test_a_bad_row_before_enough_were_found() -> None:
    """A bad row before that is reported, unless it is skipped."""
    Path("p.jsonl").write_bytes(data_of(ROWS[:1]) + b"{oops\n" + data_of(ROWS[1:]))
    with pytest.raises(BadRecords):
        _found(most=2)
    skipping = {"on_error": "skip"}
    assert [found.place for found in _found(read=skipping, most=2)] == ["p.jsonl:1", "p.jsonl:3"]


def test_several_files_and_packed_ones() -> None:
    """Positions name the file, also for several and compressed ones."""
    Path("q.jsonl.gz").write_bytes(gzip.compress(data_of(ROWS[5:7])))
    inputs = find_inputs(["q.jsonl.gz", "p.jsonl"])
    found = _found(read={"inputs": inputs}, most=3)
    assert [one.place for one in found] == ["q.jsonl.gz:1", "q.jsonl.gz:2", "p.jsonl:1"]


def test_untrainable_rows() -> None:
    """Rows that are dropped as pairs are not shown, but counted."""
    Path("p.jsonl").write_bytes(data_of([{**ROWS[0], "rejected": ROWS[0]["chosen"]}, ROWS[1]]))
    ledger = Ledger()
    assert [found.place for found in _found(ledger)] == ["p.jsonl:2"]
    assert ledger.rows_dropped == {"sides_equal": 1}


def test_formats_of_trainers() -> None:
    """Trainer formats are recognized, as in other commands."""
    row = {"conversations": [{"from": "human", "value": "Q"}],
           "chosen": {"from": "gpt", "value": "aye"},
           "rejected": {"from": "gpt", "value": "nay"}}  # fmt: skip
    Path("p.jsonl").write_bytes(data_of([row]))
    (found,) = _found(read={"dialect": "llamafactory"})
    assert found.pair.chosen == [{"role": "assistant", "content": "aye"}]


# By ID ------------------------------------------------------------------------------------


def test_by_id() -> None:
    """IDs may be abbreviated; pairs are in input order."""
    assert _prompts(ids=[IDS[7], IDS[3][:4]]) == [3, 7]
    assert _prompts(ids=[IDS[7], IDS[3][:4]], most=1) == [3]


def test_all_that_begin_so() -> None:
    """A prefix selects all its matches; a pair named twice is shown once."""
    begin, times = Counter(name[0] for name in IDS).most_common(1)[0]
    named = next(name for name in IDS if name.startswith(begin))
    assert len(_prompts(ids=[begin, named])) == times > 1


def test_unknown_ids() -> None:
    """Known IDs are shown; the unknown ones are reported."""
    plan = ShowPlan(read=InputPlan(inputs=find_inputs(["p.jsonl"])), ids=["0" * 32, IDS[2]])
    found = show(plan, Ledger())
    shown = [next(found).pair.id]
    with pytest.raises(NotThere) as caught:
        next(found)
    assert shown == [IDS[2]]
    assert (caught.value.what, caught.value.names, caught.value.exit_code) == (
        "pair",
        ["0" * 32],
        3,
    )


# Worst and random -------------------------------------------------------------------------


def test_most_extreme_lengths() -> None:
    """Sorted by the ratio of the longer answer to the shorter, whichever is chosen."""
    rows = [
        _row(0, chosen="aaaa", rejected="b"),
        _row(1, chosen="a", rejected="bbbbbbbb"),
        _row(2, chosen="aa", rejected="bb"),
        _row(3, chosen=[{"role": "assistant", "content": [{"type": "image_url"}]}], rejected="b"),
    ]
    Path("p.jsonl").write_bytes(data_of(rows))
    assert _prompts_of_chats(worst="length-ratio", most=3) == ["Q3", "Q1", "Q0"]


def _prompts_of_chats(**plan: Any) -> list[str]:
    prompts = (found.pair.prompt for found in _found(**plan))
    return [prompt if isinstance(prompt, str) else prompt[0]["content"] for prompt in prompts]


def test_smallest_gaps() -> None:
    """Pairs with unknown gaps come last."""
    rows = [_row(0, rejected_score=0.5), _row(1, rejected_score=None), _row(2, rejected_score=0.9)]
    Path("p.jsonl").write_bytes(data_of(rows))
    assert _prompts(worst="gap", most=9) == [2, 0, 1]


@pytest.mark.parametrize("plan", [{"worst": "gap"}, {"worst": "length-ratio"}, {"seed": 3}])
def test_order_does_not_matter(plan: dict[str, Any]) -> None:
    """The same pairs are shown in the same order; ties are broken by ID."""
    found = _prompts(most=8, **plan)
    Path("p.jsonl").write_bytes(data_of(ROWS[::-1]))
    assert _prompts(most=8, **plan) == found
    assert _prompts(most=3, **plan) == found[:3]


def test_by_draw() -> None:
    """Random pairs depend on the seed, the purpose and the ID."""
    drawn = sorted(range(30), key=lambda place: draw(3, "show", bytes.fromhex(IDS[place])))
    assert _prompts(seed=3, most=30) == drawn
    assert _prompts(seed=4, most=30) != drawn


def test_nothing_to_show() -> None:
    """The command exits 3 if there is nothing to show."""
    Path("p.jsonl").write_bytes(b"")
    with pytest.raises(NotThere) as caught:
        _found()
    assert (caught.value.what, caught.value.names) == ("pair", ())


@pytest.mark.full
@pytest.mark.parametrize("plan", [{"worst": "gap"}, {"seed": 0}, {"most": 4}, {"ids": IDS[:4]}])
def test_memory_does_not_grow_with_the_input(plan: dict[str, Any]) -> None:
    """Only the pairs that are shown are held in memory."""
    with open("p.jsonl", "wb") as file:
        file.writelines(
            json.dumps(_row(number, chosen=f"{number} " * 2000)).encode() + b"\n"
            for number in range(1000)
        )
    tracemalloc.start()
    with pytest.raises(NotThere) if "ids" in plan else open("p.jsonl", "rb"):
        _found(**{"most": 4, **plan})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
    assert sys.maxsize == ShowPlan(read=InputPlan(inputs=[])).most
