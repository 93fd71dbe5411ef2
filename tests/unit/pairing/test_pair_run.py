"""pair: index all candidates, decide, fetch the winners and write them."""

import gzip
import io
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow.parquet import write_table
from rows_and_output import Lines, Row, data_of

from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.pairs.pairs_from_candidates import SeenGroups
from prefpairs.errors import BadInput, BadRecords, InputChanged, NothingCameOut, TooManyPairs
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.model.identity import DIGEST
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies import STRATEGIES
from prefpairs.strategies.options import PairOptions
from run_plans import pair

ROWS: list[Row] = [
    {"prompt": f"Q{number % 3}", "response": f"A{number}", "score": number / 10}
    for number in range(9)
]


def _run(folder: Path, *contents: bytes, ledger: Ledger | None = None, **more: Any) -> list[Row]:
    paths = [folder / f"{number}.jsonl" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    read: Row = {key: more.pop(key) for key in ("source", "on_error", "limit") if key in more}
    read["options"] = more.pop("read", ReadOptions())
    temp_dir = more.pop("temp_dir", None)
    options = replace(more.pop("options", PairOptions()), **more)
    inputs = find_inputs(list(map(str, paths)))
    plan = PairPlan(read=ReadPlan(inputs=inputs, **read), options=options, temp_dir=temp_dir)
    output = Lines()
    pair(plan, {WHOLE: output}, ledger or Ledger(), allow_empty=True)
    return output.rows()


def _answers(rows: Sequence[Row]) -> list[tuple[Any, Any]]:
    return [(row["chosen"], row["rejected"]) for row in rows]


def _without_origin(rows: Sequence[Row]) -> list[Row]:
    return [{key: row[key] for key in row if not key.endswith("origin")} for row in rows]


def test_one_pair_a_group(tmp_path: Path) -> None:
    """Best against worst of each prompt, in order of first occurrence."""
    assert _answers(_run(tmp_path, data_of(ROWS))) == [("A6", "A0"), ("A7", "A1"), ("A8", "A2")]


def test_all_fields_of_a_pair(tmp_path: Path) -> None:
    """A pair has scores, gap and both origins."""
    (row,) = _run(tmp_path, data_of(ROWS[:4]))
    del row["id"]
    assert row == {
        "group": "prompt:21e8f7d85eb0fbfb7d6543866d647858",
        "prompt": "Q0",
        "chosen": "A3",
        "rejected": "A0",
        "chosen_score": 0.3,
        "rejected_score": 0.0,
        "gap": 0.3,
        "chosen_index": None,
        "rejected_index": None,
        "chosen_origin": "0.jsonl:4",
        "rejected_origin": "0.jsonl:1",
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_order_of_lines_changes_no_pair(tmp_path: Path, strategy: str) -> None:
    """Shuffled lines give the same pairs; with --order key, in the same order, too."""
    shuffled = ROWS[:]
    random.Random(7).shuffle(shuffled)  # noqa: S311 - a fixed shuffle
    plan: Row = {
        "strategy": strategy,
        "order": "key",
        "options": PairOptions(high_threshold=0.5, low_threshold=0.3, max_pairs_per_group=2),
    }
    pairs = _run(tmp_path, data_of(ROWS), **plan)
    assert pairs
    assert _without_origin(_run(tmp_path, data_of(shuffled), **plan)) == _without_origin(pairs)


def test_cutting_a_file_changes_no_pair(tmp_path: Path) -> None:
    """Shards of one run compete with each other."""
    whole = _run(tmp_path, data_of(ROWS))
    shards = _run(tmp_path, data_of(ROWS[:4]), data_of(ROWS[4:5]), data_of(ROWS[5:]))
    assert _without_origin(shards) == _without_origin(whole)


def _as_parquet(data: bytes) -> bytes:
    file = io.BytesIO()
    write_table(pa.Table.from_pylist([json.loads(line) for line in data.splitlines()]), file)
    return file.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        zstd.compress,
        _as_parquet,
        lambda data: b"[" + data.strip().replace(b"\n", b",\n") + b"]",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
    ],
    ids=["gzip", "zstd", "parquet", "array", "byte order mark", "crlf"],
)
def test_packing_changes_nothing(tmp_path: Path, pack: Any) -> None:
    """The same rows in any container give the same pairs, including origins."""
    plan: Row = {"strategy": "exhaustive"}
    assert _run(tmp_path, pack(data_of(ROWS)), **plan) == _run(tmp_path, data_of(ROWS), **plan)


def test_row_of_several_answers(tmp_path: Path) -> None:
    """A winner is fetched from its position in the row."""
    row = {"prompt": "Q", "responses": ["A", "", "C"], "rewards": [0, 1, 1]}
    (made,) = _run(tmp_path, data_of([row]))
    assert (made["chosen"], made["chosen_origin"]) == ("C", "0.jsonl:1#3")
    assert (made["rejected"], made["rejected_origin"]) == ("A", "0.jsonl:1#1")


def test_widest_pairs_come_first(tmp_path: Path) -> None:
    """A maximum number keeps the widest pairs of each group."""
    plan: Row = {"strategy": "exhaustive", "options": PairOptions(max_pairs_per_group=2)}
    assert _answers(_run(tmp_path, data_of(ROWS[::3]), **plan)) == [("A6", "A0"), ("A6", "A3")]


def test_order_by_key_is_no_order_of_arrival(tmp_path: Path) -> None:
    """With --order key, groups are sorted by key, not by arrival."""
    forwards = _run(tmp_path, data_of(ROWS), order="key")
    backwards = _run(tmp_path, data_of(ROWS[::-1]), order="key")
    assert _answers(forwards) == _answers(backwards)


def test_different_tools_never_meet(tmp_path: Path) -> None:
    """Answers with different tools never pair."""
    tool = {"type": "function", "function": {"name": "f"}}
    rows = [
        {"prompt": "Q", "response": "A", "score": 1, "tools": [tool]},
        {"prompt": "Q", "response": "B", "score": 0},
        {"prompt": "Q", "response": "C", "score": 0.5, "tools": [tool]},
    ]
    (made,) = _run(tmp_path, data_of(rows))
    assert (made["chosen"], made["rejected"], made["tools"]) == ("A", "C", [tool])


def test_prompt_as_text_and_as_chat_meet(tmp_path: Path) -> None:
    """A prompt as text and as chat is one question; the chosen candidate's form is written."""
    rows = [
        {"prompt": "Q", "response": "A", "score": 0},
        {"prompt": [{"role": "user", "content": "Q"}], "response": "B", "score": 1},
    ]
    assert _run(tmp_path, data_of(rows))[0]["prompt"] == [{"role": "user", "content": "Q"}]


def test_prompts_of_one_turn_that_differ_never_meet(tmp_path: Path) -> None:
    """In NAT, answers of one turn under different prompts never pair."""
    steps = [
        {
            "event_type": "TTC_END",
            "name": "dpo_candidate_move",
            "data": {"turn_id": "t", "input": prompt, "output": answer, "score": score},
        }
        for prompt, answer, score in (("P1", "A", 0.9), ("P3", "C", 0.1), ("P1", "B", 0.5))
    ]
    item = {"id": 1, "intermediate_steps": steps}
    (made,) = _run(tmp_path, data_of([item]))
    assert (made["prompt"], made["chosen"], made["rejected"]) == ("P1", "A", "B")


def test_ties_of_a_turn_never_pair(tmp_path: Path) -> None:
    """Ties within a turn never pair, though 49% of the toolkit's own pairs are such."""
    steps = [
        {
            "event_type": "TTC_END",
            "name": "dpo_candidate_move",
            "data": {"turn_id": "t", "input": "P", "output": f"A{number}", "score": 1.0},
        }
        for number in range(3)
    ]
    ledger = Ledger()
    assert _run(tmp_path, data_of([{"id": 1, "intermediate_steps": steps}]), ledger=ledger) == []
    assert ledger.groups_without_pair == {"all_tied": 1}


LOG_OF_TRL = [
    {
        "step": step,
        "prompt": f"<|user|>Q{step}",
        "completion": f"A{number}",
        "accuracy_reward": float(number % 2),
        "format_reward": 0.25,
        "advantage": number % 2 - 0.5,
    }
    for step in range(2)
    for number in range(4)
]


def test_log_of_trl(tmp_path: Path) -> None:
    """Reads a Parquet file that TRL's log_completions wrote."""
    pairs = _run(tmp_path, _as_parquet(data_of(LOG_OF_TRL)))
    assert [(row["prompt"], row["gap"], row["chosen_score"]) for row in pairs] == [
        ("<|user|>Q0", 1.0, 0.5),
        ("<|user|>Q1", 1.0, 0.5),
    ]


def test_why_groups_gave_no_pair(tmp_path: Path) -> None:
    """Each group without a pair has a reason."""
    rows = [
        *({"prompt": "one", "response": "A", "score": 1},),
        *({"prompt": "same", "response": "A", "score": score} for score in (0, 1)),
        *({"prompt": "tied", "response": answer, "score": 1} for answer in "AB"),
        *({"prompt": "near", "response": answer, "score": ord(answer) / 1e3} for answer in "AB"),
        *({"prompt": "fine", "response": answer, "score": ord(answer)} for answer in "AB"),
    ]
    ledger = Ledger()
    plan: Row = {"options": PairOptions(min_gap=0.5)}
    assert len(_run(tmp_path, data_of(rows), ledger=ledger, **plan)) == 1
    assert ledger.groups == 5
    assert ledger.groups_without_pair == {
        "one_candidate": 1,
        "same_answer": 1,
        "all_tied": 1,
        "none_allowed": 1,
    }


ROLLOUTS: list[Row] = [
    {
        "responses_create_params": {"input": "Q"},
        "response": {"output": answer},
        "reward": reward,
        "_ng_task_index": 0,
        "_ng_rollout_index": index,
    }
    for answer, reward, index in (("A", 1.0, 0), ("B", 0.5, 1), ("C", 0.0, 2))
]


def test_rollout_that_occurs_twice(tmp_path: Path) -> None:
    """A file given twice under two names gives the pairs of one."""
    ledger = Ledger()
    plan: Row = {"strategy": "exhaustive"}
    twice = _run(tmp_path, data_of(ROLLOUTS), data_of(ROLLOUTS[::-1]), ledger=ledger, **plan)
    once = _run(tmp_path, data_of(ROLLOUTS), **plan)
    assert _without_origin(twice) == _without_origin(once)
    assert (ledger.candidates_found, ledger.candidates_kept, ledger.candidates_dropped) == (
        6,
        3,
        {"duplicate_rollout": 3},
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rollouts_with_conflicting_scores(tmp_path: Path, strategy: str) -> None:
    """If all candidates of a group have conflicting scores, none is left."""
    other = {**ROLLOUTS[0], "reward": 0.0}
    ledger = Ledger()
    data = data_of([ROLLOUTS[0], other])
    assert _run(tmp_path, data, ledger=ledger, strategy=strategy) == []
    assert ledger.candidates_dropped == {"conflicting_scores": 2}
    assert ledger.groups_without_pair == {"no_candidate": 1}


def test_agents_and_tasks_are_apart(tmp_path: Path) -> None:
    """Equal prompts of two tasks pair only on request, with a note."""
    rows = [{**row, "_ng_task_index": task} for task, row in enumerate(ROLLOUTS)]
    ledger = Ledger()
    assert _run(tmp_path, data_of(rows)) == []
    joined = _run(tmp_path, data_of(rows), read=ReadOptions(group_by="prompt"), ledger=ledger)
    assert [pair["chosen_origin"] for pair in joined] == ["0.jsonl:1"]
    assert joined[0]["meta"] == {
        "chosen_source_task": "[null,0]",
        "rejected_source_task": "[null,2]",
    }
    assert ledger.groups_of_several_tasks == 1


@pytest.mark.parametrize("assume_grouped", [False, True])
def test_groups_of_several_tasks_are_counted(tmp_path: Path, *, assume_grouped: bool) -> None:
    """Only groups that --group-by made of several tasks count, each of them once."""
    options = ReadOptions(group_by="prompt")
    for tasks, groups in ((0, 0, 0), 0), ((0, 1, 2), 1):
        rows = [{**row, "_ng_task_index": task} for task, row in zip(tasks, ROLLOUTS, strict=False)]
        ledger = Ledger()
        _run(tmp_path, data_of(rows), read=options, ledger=ledger, assume_grouped=assume_grouped)
        assert ledger.groups_of_several_tasks == groups


def test_kept_field_called_task_joins_nothing(tmp_path: Path) -> None:
    """A user's own field named "task" does not count as a source's task."""
    rows = [
        {"prompt": "Q", "response": "A", "score": 1, "task": "algebra"},
        {"prompt": "Q", "response": "B", "score": 0, "task": "geometry"},
    ]
    ledger = Ledger()
    _run(tmp_path, data_of(rows), read=ReadOptions(keep=("task",)), ledger=ledger)
    assert ledger.groups_of_several_tasks == 0


def test_files_can_be_kept_apart(tmp_path: Path) -> None:
    """--group-by file pairs within each file."""
    halves = data_of(ROWS[:6]), data_of(ROWS[6:])
    apart = _run(tmp_path, *halves, read=ReadOptions(group_by="file"))
    assert _answers(apart) == [("A3", "A0"), ("A4", "A1"), ("A5", "A2")]


def test_across_prompts(tmp_path: Path) -> None:
    """Each good answer pairs with a bad one of any prompt, and the number is reported."""
    rows = [
        {"prompt": f"Q{number}", "response": f"A{number}", "score": number % 2}
        for number in range(10)
    ]
    ledger = Ledger()
    plan: Row = {"strategy": "stratified", "across_prompts": True}
    pairs = _run(tmp_path, data_of(rows), ledger=ledger, **plan)
    assert [row["prompt"] for row in pairs] == ["Q1", "Q3", "Q5", "Q7", "Q9"]
    assert (ledger.across_prompts, len(ledger.groups_without_pair)) == (5, 0)
    assert all(row["meta"]["group_of_rejected"] != row["group"] for row in pairs)


def test_more_pairs_than_anyone_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many pairs are rejected before writing, unless limited or --yes-all is given."""
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 8)
    with pytest.raises(TooManyPairs) as caught:
        _run(tmp_path, data_of(ROWS), strategy="exhaustive")
    assert (caught.value.pairs, caught.value.limit) == (9, 8)
    assert len(_run(tmp_path, data_of(ROWS), strategy="exhaustive", yes_all=True)) == 9
    capped = PairOptions(max_pairs_per_group=3)
    assert len(_run(tmp_path, data_of(ROWS), strategy="exhaustive", options=capped)) == 9
    assert len(_run(tmp_path, data_of(ROWS), strategy="best-vs-worst")) == 3
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 5)
    with pytest.raises(TooManyPairs) as caught:
        _run(tmp_path, data_of(ROWS), strategy="adjacent")
    assert caught.value.pairs == 6


@pytest.mark.parametrize("strategy", ["best-vs-worst", "sweet-spot", "random"])
def test_one_pair_of_each_group_is_not_counted_in_advance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Millions of large groups are decided once, if a strategy makes one pair of each."""
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 3)
    monkeypatch.setattr("prefpairs.engine.store.decide.how_many", pytest.fail)
    assert len(_run(tmp_path, data_of(ROWS), strategy=strategy)) == 3


def test_refusal_leaves_the_ledgers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting pairs in advance does not count dropped candidates twice."""
    monkeypatch.setattr("prefpairs.engine.store.decide.MOST_PAIRS", 3)
    ledger = Ledger()
    _run(tmp_path, data_of([*ROLLOUTS, ROLLOUTS[0]]), ledger=ledger, strategy="exhaustive")
    assert (ledger.groups, ledger.candidates_dropped) == (1, {"duplicate_rollout": 1})


def test_nothing_came_out(tmp_path: Path) -> None:
    """An empty result is an error, unless it is allowed."""
    (tmp_path / "r.jsonl").write_bytes(data_of(ROWS[:2]))
    plan = PairPlan(read=ReadPlan(inputs=find_inputs([str(tmp_path / "r.jsonl")])))
    with pytest.raises(NothingCameOut) as caught:
        pair(plan, {WHOLE: Lines()}, Ledger())
    assert caught.value.what == "pair"


def test_bad_row(tmp_path: Path) -> None:
    """Nothing is written before all rows were read."""
    with pytest.raises(BadRecords):
        _run(tmp_path, data_of(ROWS) + b"{torn\n")
    assert len(_run(tmp_path, data_of(ROWS) + b"{torn\n", on_error="skip")) == 3


@pytest.mark.parametrize("strategy", ["best-vs-worst", "exhaustive"])
def test_input_that_changes_in_between(tmp_path: Path, strategy: str) -> None:
    """An input that changes while pairs are written is an error, never a wrong pair."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data_of(ROWS))

    class Meddler(Lines):
        def write(self, line: bytes, /) -> object:
            with path.open("ab") as file:
                file.write(b"\n")
            return super().write(line)

    plan = PairPlan(
        read=ReadPlan(inputs=find_inputs([str(path)])), options=PairOptions(strategy=strategy)
    )
    with pytest.raises(InputChanged) as caught:
        pair(plan, {WHOLE: Meddler()}, Ledger())
    assert caught.value.path == "r.jsonl"


def test_grouped_input_is_paired_as_it_comes(tmp_path: Path) -> None:
    """Contiguous groups give the same pairs, also across files."""
    grouped = sorted(ROWS, key=lambda row: str(row["prompt"]))
    plan: Row = {"strategy": "exhaustive"}
    expected = _run(tmp_path, data_of(grouped), **plan)
    assert _run(tmp_path, data_of(grouped), assume_grouped=True, **plan) == expected
    halves = data_of(grouped[:4]), data_of(grouped[4:])
    streamed = _run(tmp_path, *halves, assume_grouped=True, **plan)
    assert _without_origin(streamed) == _without_origin(expected)


def test_grouped_input_that_is_not_grouped(tmp_path: Path) -> None:
    """A group that continues later is detected; otherwise pairs would be missing."""
    with pytest.raises(BadInput, match="not contiguous"):
        _run(tmp_path, data_of(ROWS), assume_grouped=True)


def test_every_group_is_new_once() -> None:
    """A new group is never mistaken for an old one, and nearly all old ones are recognized."""
    keys = [sha256(b"%d" % number).digest()[:16] for number in range(1000)]
    groups = SeenGroups()
    assert [groups.has(key) for key in keys] == [False] * 1000
    assert sum(groups.has(key) for key in keys) >= 998


def test_prompts_of_equal_digests_never_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests are trusted only for speed; contents are compared before a pair is written."""
    same = bytes(DIGEST)
    monkeypatch.setattr("prefpairs.engine.store.candidate_columns.digest_prompt", lambda _: same)
    rows = [
        {**row, "responses_create_params": {"input": f"Q{n}"}} for n, row in enumerate(ROLLOUTS)
    ]
    with pytest.raises(InputChanged) as caught:
        _run(tmp_path, data_of(rows))
    assert caught.value.path == "0.jsonl"


def test_flood_of_grouped_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --assume-grouped, too many pairs are rejected when the limit is passed."""
    rows = data_of(ROWS[::3])
    monkeypatch.setattr("prefpairs.engine.pairs.pairs_from_candidates.MOST_PAIRS", 3)
    assert len(_run(tmp_path, rows, strategy="exhaustive", assume_grouped=True)) == 3
    monkeypatch.setattr("prefpairs.engine.pairs.pairs_from_candidates.MOST_PAIRS", 2)
    with pytest.raises(TooManyPairs):
        _run(tmp_path, rows, strategy="exhaustive", assume_grouped=True)
    yes: Row = {"strategy": "exhaustive", "assume_grouped": True, "yes_all": True}
    assert len(_run(tmp_path, rows, **yes)) == 3


def test_report_of_a_run(tmp_path: Path) -> None:
    """The ledger has what was read and written, and an example pair."""
    ledger = Ledger()
    _run(tmp_path, data_of(ROWS), ledger=ledger)
    assert (ledger.rows_read, ledger.candidates_kept, ledger.groups, ledger.pairs) == (9, 9, 3, 3)
    assert ledger.gaps.summary() == {"mean": 0.6, "min": 0.6, "max": 0.6}
    assert ledger.example == ("Q0", "A6", "A0")


def test_put_aside_in_a_folder_of_choice(tmp_path: Path) -> None:
    """Compressed files are spooled to --temp-dir, and no copy is left."""
    aside = tmp_path / "aside"
    aside.mkdir()
    assert len(_run(tmp_path, gzip.compress(data_of(ROWS)), temp_dir=str(aside))) == 3
    assert list(aside.iterdir()) == []


def test_bad_row_of_a_packed_file_leaves_nothing_open(tmp_path: Path) -> None:
    """Spool files are removed if the run fails."""
    with pytest.raises(BadRecords):
        _run(tmp_path, gzip.compress(data_of(ROWS) + b"{torn\n"))
