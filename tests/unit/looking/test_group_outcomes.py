"""The outcomes of a group's candidates."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from rows_and_output import Lines, Row, data_of

from prefpairs.analysis.candidate_outcome import CandidateOutcome
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.store.group_outcomes import ShownGroup, show_group
from prefpairs.errors import NotThere, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger
from prefpairs.plan import PairPlan, ReadPlan
from prefpairs.strategies import STRATEGIES
from prefpairs.strategies.options import PairOptions
from run_plans import pair


def _row(group: str, response: str, score: float, **more: Any) -> Row:
    return {"group": group, "prompt": "Q", "response": response, "score": score, **more}


ROWS = [
    _row("alpha", "a", 0.5),
    _row("beta", "b", 1.0),
    _row("alpha", "c", 1.0),
    _row("alpine", "d", 0.0),
    _row("alpha", "e", 0.0),
    _row("beta", "f", 0.0, prompt="R"),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write(ROWS)


def _write(rows: list[Row], name: str = "c.jsonl") -> None:
    data = data_of(rows)
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def _plan(
    name: str = "c.jsonl", strategy: str = "best-vs-worst", keep: str = "", **options: Any
) -> PairPlan:
    keep_rows = frozenset([keep]) if keep else frozenset[str]()
    read = ReadPlan(
        inputs=find_inputs([name]), source="candidates", options=ReadOptions(keep_rows=keep_rows)
    )
    return PairPlan(read=read, options=PairOptions(strategy=strategy, **options))


def _shown(name: str, plan: PairPlan | None = None) -> list[ShownGroup]:
    groups = show_group(plan or _plan(), name, Ledger())
    return [group._replace(members=iter([*group.members])) for group in groups]


def _fared(name: str, plan: PairPlan | None = None) -> list[tuple[int, Any, Any]]:
    """Number, response, and the reason or the numbers of its partners."""
    (group,) = _shown(name, plan)
    return [
        (
            member.number,
            member.candidate.response,
            (member.outcome.chosen_over.numbers, member.outcome.rejected_by.numbers)
            if isinstance(member.outcome, CandidateOutcome)
            else member.outcome,
        )
        for member in group.members
    ]


def test_a_group() -> None:
    """Candidates are sorted best first, wherever they are in the file."""
    (group,) = _shown("alpha")
    assert (group.best.response, group.candidates, group.pairs) == ("c", 3, 1)
    assert _fared("alpha") == [(1, "c", ([3], [])), (2, "a", ([], [])), (3, "e", ([], [1]))]


def test_the_beginning_of_a_name() -> None:
    """The beginning of a group's name is enough if it is unique."""
    assert _fared("alpi") == [(1, "d", ([], []))]
    with pytest.raises(UsageError) as caught:
        _shown("al")
    assert (caught.value.problem, caught.value.hint) == (
        "--group al: it may mean several groups",
        "there are alpha, alpine",
    )


def test_an_item_of_a_name() -> None:
    """Names with several parts are found by any part that occurs in one name only."""
    _write([_row(json.dumps(["env", at]), answer, 1.0) for at, answer in [(1, "a"), (11, "b")]])
    assert _fared("1") == [(1, "a", ([], []))]
    with pytest.raises(UsageError) as caught:
        _shown("env")
    assert caught.value.hint == """there are '["env", 1]', '["env", 11]'"""


def test_one_name_and_several_prompts() -> None:
    """Each prompt under one name is a group."""
    assert [group.best.prompt for group in _shown("beta")] == ["Q", "R"]
    assert [group.best.prompt for group in _shown("be")] == ["Q", "R"]


def test_a_whole_name_goes_before_one_that_begins_so() -> None:
    """An exact name takes precedence over longer names that begin with it."""
    _write([*ROWS, _row("al", "x", 1.0)])
    assert _fared("al") == [(1, "x", ([], []))]


@pytest.mark.parametrize(
    ("groups", "hint"),
    [
        ("", None),
        ("ab", "there are a, b"),
        ("abcdefgh", "there are a, b, c, d, e and 3 more"),
    ],
)
def test_unknown_name(groups: str, hint: str | None) -> None:
    """For an unknown name, the hint lists some of the existing ones."""
    _write([_row(name, "x", 1.0) for name in groups])
    with pytest.raises(NotThere) as caught:
        _shown("gamma")
    assert (caught.value.what, caught.value.names, caught.value.hint) == ("group", ["gamma"], hint)


def test_copies_of_a_rollout() -> None:
    """Copies are shown among the others, with the reason why they do not compete."""
    twice = _row("g", "a", 0.5, index=1)
    _write([_row("g", "b", 1.0, index=0), twice, twice, _row("g", "c", 0.0, index=2)])
    assert _fared("g") == [
        (1, "b", ([4], [])),
        (2, "a", ([], [])),
        (3, "a", "duplicate_rollout"),
        (4, "c", ([], [1])),
    ]


def test_copies_with_other_scores() -> None:
    """Copies with different scores do not compete, unless they are kept."""
    _write([_row("g", "a", score, index=1) for score in (1.0, 0.5)] + [_row("g", "b", 0.0)])
    assert [fared for *_, fared in _fared("g")] == [
        "conflicting_scores",
        "conflicting_scores",
        ([], []),
    ]
    kept = _fared("g", _plan(keep="conflicting_scores"))
    assert [fared for *_, fared in kept] == [([3], []), ([], []), ([], [1])]


def test_all_copies() -> None:
    """A group may have no candidate left."""
    _write([_row("g", "a", score, index=1) for score in (1.0, 0.5)])
    (group,) = _shown("g")
    assert (group.candidates, group.pairs) == (2, 0)


def test_bound_of_pairs() -> None:
    """--max-pairs-per-group limits the pairs as in `pair`."""
    plan = _plan(strategy="exhaustive", max_pairs_per_group=2)
    assert [fared for *_, fared in _fared("alpha", plan)] == [([3, 2], []), ([], [1]), ([], [1])]


def test_packed_input() -> None:
    """Unseekable input is spooled."""
    _write(ROWS, "c.jsonl.gz")
    assert _fared("alpha", _plan("c.jsonl.gz")) == _fared("alpha")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_agrees_with_what_is_written(strategy: str) -> None:
    """The outcomes match the pairs that `pair` writes, in any order of rows."""
    chance = random.Random(7)  # noqa: S311 - a fixed shuffle
    rows = [
        _row(
            chance.choice("gh"),
            chance.choice("abcdef"),
            chance.randrange(6) / 5,
            **({"index": chance.randrange(6)} if chance.random() < 0.5 else {}),
        )
        for _ in range(40)
    ]
    for min_gap in (0.0, 0.4):
        _write(rows)
        plan = _plan(strategy=strategy, min_gap=min_gap)
        output = Lines()
        pair(plan, {WHOLE: output}, Ledger(), allow_empty=True)
        for name in "gh":
            written = [row for row in output.rows() if row["group"] == name]
            (group,) = _shown(name, plan)
            members = [*group.members]
            fair = [one for one in members if isinstance(one.outcome, CandidateOutcome)]
            assert group.pairs == len(written)
            for side, part in (("chosen", "chosen_over"), ("rejected", "rejected_by")):
                told = {
                    one.candidate.origin: getattr(one.outcome, part).count
                    for one in fair
                    if getattr(one.outcome, part).count
                }
                made: dict[str, int] = {}
                for row in written:
                    made[row[f"{side}_origin"]] = made.get(row[f"{side}_origin"], 0) + 1
                assert told == made
        fared = _fared("g", plan)
        _write(rows[::-1])
        assert _fared("g", plan) == fared
