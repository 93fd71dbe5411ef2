"""split: each key is in one split."""

from typing import Any

import pytest
from run_stage import Held, Row, row_of

from prefpairs.ledger import StageCounts
from prefpairs.model.identity import digest_prompt
from prefpairs.stages.split import Split

ROWS = [row_of(f"Q{number % 40}", f"A{number}") for number in range(120)]


def _sides(
    split: Split, rows: list[Row] | None = None
) -> tuple[list[tuple[int, str]], StageCounts]:
    held, stage = Held(ROWS if rows is None else rows), StageCounts("split")
    found: list[tuple[int, str]] = []
    for block, sides in split.sides_of(held.blocks(), held, stage):
        found += zip(block.places, sides, strict=True)
    return found, stage


def _across(number: int, other: int) -> Row:
    meta = {
        "prompt_of_rejected": digest_prompt(f"Q{other}").hex(),
        "group_of_rejected": f"g{other}",
    }
    return row_of(f"Q{number}", f"A{number}", group=f"g{number}", meta=meta)


@pytest.mark.parametrize(
    ("val", "test", "sides"),
    [
        (0.2, 0.0, ["train", "val"]),
        (0.2, 0.1, ["train", "val", "test"]),
        (0.0, 0.1, ["train", "test"]),
        (0.0, 0.0, ["train"]),
    ],
)
def test_sides_that_are_asked_for(val: float, test: float, sides: list[str]) -> None:
    """A split with a fraction of zero does not exist."""
    assert Split(val_fraction=val, test_fraction=test).sides == sides


def test_draws_keep_their_form() -> None:
    """Splits are fixed by draws; changing them needs a new identity version."""
    found, _ = _sides(Split(val_fraction=0.3, test_fraction=0.3), ROWS[:20])
    assert "".join(side[1] for _, side in found) == "reaearererreerrererr"


def test_key_is_in_one_split() -> None:
    """A prompt is never in two splits, whatever its tools and its format."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    forms: list[Row] = [{}, {"tools": tools}]
    rows = [{**row, **form} for form in forms for row in ROWS]
    rows += [{**row, "prompt": [{"role": "user", "content": row["prompt"]}]} for row in ROWS]
    found, stage = _sides(Split(val_fraction=0.4, test_fraction=0.3), rows)
    sides: dict[int, set[str]] = {}
    for place, side in found:
        sides.setdefault(place % 40, set()).add(side)
    assert ([place for place, _ in found], stage.dropped) == (list(range(360)), {})
    assert {len(of_prompt) for of_prompt in sides.values()} == {1}
    assert set.union(*sides.values()) == {"train", "val", "test"}


def test_sides_outlast_new_data() -> None:
    """Added rows, before or after, move no row to another split."""
    few = {ROWS[30 + n]["chosen"]: side for n, side in _sides(Split(), ROWS[30:50])[0]}
    many = {ROWS[place]["chosen"]: side for place, side in _sides(Split())[0]}
    assert few.items() <= many.items()


def test_shares_move_one_border_only() -> None:
    """A larger val contains a smaller one, and test takes nothing from val."""

    def of(side: str, **shares: float) -> set[int]:
        return {place for place, drawn in _sides(Split(**shares))[0] if drawn == side}  # type: ignore[arg-type]

    assert of("val", val_fraction=0.2) < of("val", val_fraction=0.4)
    assert of("val", val_fraction=0.2) == of("val", val_fraction=0.2, test_fraction=0.5)
    assert of("test", test_fraction=0.2) < of("test", test_fraction=0.5)


@pytest.mark.parametrize(
    ("val", "test", "sides"),
    [(0.0, 0.0, {"train"}), (1.0, 0.0, {"val"}), (0.0, 1.0, {"test"}), (0.5, 0.5, {"val", "test"})],
)
def test_ends_of_the_shares(val: float, test: float, sides: set[str]) -> None:
    """Fractions of 0 and 1 take none and all."""
    found, _ = _sides(Split(val_fraction=val, test_fraction=test))
    assert (len(found), {side for _, side in found}) == (120, sides)


def test_seed() -> None:
    """Another seed gives another split."""
    assert _sides(Split(seed=0))[0] != _sides(Split(seed=1))[0]


def test_exact_shares_of_linked_prompts() -> None:
    """With --exact, linked prompts go to the same split, and no pair is dropped."""
    rows = ROWS[:40] + [_across(number, number + 1) for number in range(0, 40, 2)]
    found, stage = _sides(Split(val_fraction=0.3, exact=True), rows)
    side_of = dict(found)
    assert (len(found), stage.dropped.total()) == (60, 0)
    assert all(side_of[40 + at] == side_of[2 * at] == side_of[2 * at + 1] for at in range(20))
    assert list(side_of.values()).count("val") == 18


def test_answers_to_two_prompts() -> None:
    """A pair across prompts is in the split of both prompts, or dropped."""
    pairs = [(number, (number * 7 + 1) % 40) for number in range(40) if number != 13]
    rows = ROWS[:40] + [_across(*pair) for pair in pairs]
    found, stage = _sides(Split(val_fraction=0.5), rows)
    side_of = {place: side for place, side in found if place < 40}
    expected = [
        (40 + at, side_of[one])
        for at, (one, other) in enumerate(pairs)
        if side_of[one] == side_of[other]
    ]
    assert [given for given in found if given[0] >= 40] == expected
    assert stage.dropped == {"prompts_apart": 39 - len(expected)}
    assert 0 < len(expected) < 39


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("by", ["group", "meta.task", "meta.task.id"])
def test_by_a_field(by: str, exact: bool) -> None:
    """A field's value is never in two splits, though prompts may be."""
    rows = [
        row_of(f"Q{n % 7}", f"A{n}", group=f"g{n % 20}", meta={"task": {"id": n % 20}})
        for n in range(100)
    ]
    found, stage = _sides(Split(by=by, val_fraction=0.5, exact=exact), rows)
    sides: dict[int, set[str]] = {}
    for place, side in found:
        sides.setdefault(place % 20, set()).add(side)
    assert {len(of_key) for of_key in sides.values()} == {1}
    assert (len(sides), set.union(*sides.values())) == (20, {"train", "val"})
    assert stage.dropped == {}


@pytest.mark.parametrize(
    ("by", "row"),
    [
        ("meta.task", row_of("Q")),
        ("meta.task", row_of("Q", meta={"other": 1})),
        ("meta.task", row_of("Q", meta={"task": None})),
        ("meta.task", row_of("Q", meta={"chosen_task": 1})),
        ("meta.task", row_of("Q", meta={"chosen_task": 1, "rejected_task": None})),
        ("chosen_index", row_of("Q")),
        ("nonsense", row_of("Q")),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_pair_without_a_key(by: str, row: Row, exact: bool) -> None:
    """A pair without the key is dropped."""
    found, stage = _sides(Split(by=by, exact=exact), [row])
    assert (found, stage.dropped) == ([], {"no_key": 1})


@pytest.mark.parametrize("by", ["meta.task", "group"])
def test_field_that_differs_between_the_answers(by: str) -> None:
    """If the answers have different values, both must be in the same split."""
    split = Split(by=by, val_fraction=0.5)
    alone = [row_of("Q", group=f"g{n}", meta={"task": n}) for n in range(20)]
    side_of = [side for _, side in _sides(split, alone)[0]]
    rows = [
        row_of(
            "Q",
            group=f"g{n}",
            meta={"chosen_task": n, "rejected_task": 19 - n, "group_of_rejected": f"g{19 - n}"},
        )
        for n in range(20)
    ]
    found, stage = _sides(split, rows)
    expected = [(n, side_of[n]) for n in range(20) if side_of[n] == side_of[19 - n]]
    assert (found, stage.dropped) == (expected, {"prompts_apart": 20 - len(expected)})
    assert 0 < len(expected) < 20


@pytest.mark.parametrize(
    ("one", "other", "keys"),
    [
        (1, "1", 2),
        (1, True, 2),
        ([1, 2], [2, 1], 2),
        ("a", "A", 2),
        (0, False, 2),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, 1),
    ],
)
def test_values_of_a_field(one: Any, other: Any, keys: int) -> None:
    """Different values are different keys; the key order of objects does not count."""
    rows = [row_of(str(n), meta={"k": value}) for n, value in enumerate((one, other))]
    found, _ = _sides(Split(by="meta.k", val_fraction=0.5, exact=True), rows)
    assert len({side for _, side in found}) == keys


@pytest.mark.parametrize(
    ("keys", "val", "test", "counts"),
    [
        (1, 0.5, 0.0, (1, 0, 0)),
        (1, 0.5, 0.5, (0, 0, 1)),
        (4, 0.5, 0.5, (0, 2, 2)),
        (3, 1.0, 0.0, (0, 3, 0)),
        (2, 0.1, 0.0, (1, 1, 0)),
        (3, 0.01, 0.01, (1, 1, 1)),
        (10, 0.2, 0.1, (7, 2, 1)),
        (10, 0.25, 0.0, (8, 2, 0)),
        (10, 0.0, 0.3, (7, 0, 3)),
        (100, 0.2, 0.1, (70, 20, 10)),
        (10, 0.0, 0.0, (10, 0, 0)),
    ],
)
def test_exact_shares(keys: int, val: float, test: float, counts: tuple[int, int, int]) -> None:
    """Splits are as close to the fractions as possible; the one with the rest keeps a key."""
    rows = [row_of(f"Q{number}") for number in range(keys)]
    found, _ = _sides(Split(val_fraction=val, test_fraction=test, exact=True), rows)
    sides = [side for _, side in found]
    assert (sides.count("train"), sides.count("val"), sides.count("test")) == counts


@pytest.mark.parametrize("seed", range(6))
def test_exact_shares_are_of_pairs(seed: int) -> None:
    """A key that is too large for a split is passed over."""
    rows = [row_of("big", f"A{n}") for n in range(90)] + [row_of(f"Q{n}") for n in range(10)]
    found, _ = _sides(Split(val_fraction=0.05, exact=True, seed=seed), rows)
    assert [side for _, side in found].count("val") == 5


@pytest.mark.parametrize("seed", range(5))
def test_exact_splits_of_linked_prompts_do_not_depend_on_order(seed: int) -> None:
    """With linked prompts, the split does not depend on the order of rows."""
    joins = [(at, at + 1) if at % 4 == 0 else (at + 1, at) for at in range(40) if at % 4 != 3]
    rows = [_across(*join) for join in joins]
    split = Split(val_fraction=0.3, test_fraction=0.2, exact=True, seed=seed)
    forwards = {rows[place]["chosen"]: side for place, side in _sides(split, rows)[0]}
    rows.reverse()
    assert {rows[place]["chosen"]: side for place, side in _sides(split, rows)[0]} == forwards


def test_exact_splits_do_not_depend_on_order() -> None:
    """Reversed rows give the same splits."""
    split = Split(val_fraction=0.3, test_fraction=0.2, exact=True)
    forwards = {ROWS[place]["chosen"]: side for place, side in _sides(split)[0]}
    backwards = {ROWS[::-1][place]["chosen"]: side for place, side in _sides(split, ROWS[::-1])[0]}
    assert forwards == backwards


def test_exact_ones_wait() -> None:
    """With --exact, texts are fetched again; otherwise pairs are written as they are read."""
    assert (Split().holds_back, Split(exact=True).holds_back) == (False, True)


def test_side_of_an_earlier_split() -> None:
    """Splitting part of an earlier split with the same seed gives a note."""
    rows = [row_of(f"Q{number}") for number in range(400)]
    train = [rows[place] for place, side in _sides(Split(), rows)[0] if side == "train"]
    _, stage = _sides(Split(), train)
    assert stage.notes == [
        (
            f"val got 0 of {len(train)} keys where 20.0% was expected: this input seems to be "
            "one side of an earlier split with seed 0; use another --seed"
        )
    ]
    assert [_sides(Split(), rows)[1].notes, _sides(Split(seed=1), train)[1].notes] == [[], []]


def test_few_keys_are_no_sign() -> None:
    """With a few keys, any split may be empty, so there is no note."""
    rows = [row_of(f"Q{number % 5}", f"A{number}") for number in range(500)]
    assert [_sides(Split(seed=seed), rows)[1].notes for seed in range(9)] == [[]] * 9


def test_nothing_of_nothing() -> None:
    """Without pairs there are no splits and no notes."""
    for exact in (False, True):
        assert _sides(Split(exact=exact), []) == ([], StageCounts("split"))
