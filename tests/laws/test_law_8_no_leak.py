"""Law 8, end to end: no prompt that a trainer sees is in two splits, whatever export does.

What a trainer sees is computed from the written rows, without prefpairs code.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pair_rows import different_rows, rows_across, splits
from run_in_process import Collected, Row, lines_of
from stages_in_process import staged_lines
from test_laws_of_export import LETTERS, PLAIN_PAIRS, Asked, asked_of, pair_row, said_in

from hypothesis_examples import examples
from prefpairs.dataset.convert_pair import trainer_prompt_of
from prefpairs.engine.pairs.reference_files import with_earlier_sides
from prefpairs.engine.validate import ValidatePlan, validate
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger, ValidationLedger
from prefpairs.plan import ExportPlan, InputPlan, Plan
from prefpairs.stages.split import Split
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.export_options import ExportOptions
from run_plans import run_plan

SIDES = ("train", "val", "test")
LEAK = "prompt_on_other_side"
CHANCE = st.randoms(use_true_random=False)

# Pairs whose prompts become equal ---------------------------------------------------------


def _user(words: str) -> Row:
    return {"role": "user", "content": words}


def _model(words: str, thought: str | None = None) -> Row:
    said: Row = {"role": "assistant", "content": words}
    return said if thought is None else {**said, "reasoning_content": thought}


@st.composite
def nested_row(draw: st.DrawFn) -> Row:
    """A pair in the middle of a conversation, which is in the prompt or starts both answers."""
    turns: list[Row] = [_user(draw(st.sampled_from("QR")))]
    for _ in range(draw(st.integers(0, 2))):
        thought = draw(st.sampled_from([None, "hm", "ho"]))
        turns += [_model("Go on.", thought), _user(draw(st.sampled_from(["More", "Q"])))]
    place = draw(st.sampled_from(range(1, len(turns) + 1, 2)))
    prompt, shared = turns[:place], turns[place:]
    if draw(st.booleans()):
        prompt = [{"role": "system", "content": "Be brief."}, *prompt]
    answers = draw(st.sampled_from([("Aye", "Bye"), ("Cue", "Bye"), ("Aye", "Cue")]))
    chosen, rejected = ([*shared, _model(answer)] for answer in answers)
    group = draw(st.sampled_from("ghijk"))
    return {"group": group, "prompt": prompt, "chosen": chosen, "rejected": rejected}


ROWS = st.lists(st.one_of(nested_row(), nested_row(), pair_row()), max_size=9)
NESTED = st.lists(nested_row(), min_size=4, max_size=16)


# What trainers see ------------------------------------------------------------------------


def seen_in(row: Row, name: str) -> str:
    """The prompt of a row, as text."""
    if name == "tokens":
        return json.dumps(row["prompt_ids"])
    prompt = row["prompt"] if name == "trl-kto" else said_in(row, name).prompt
    if isinstance(prompt, str):
        prompt = [_user(prompt)]
    return json.dumps(prompt, sort_keys=True)


def seen_on(files: Mapping[str, Sequence[bytes]], name: str) -> dict[str, set[str]]:
    """The prompts in each split."""
    return {side: {seen_in(json.loads(line), name) for line in files[side]} for side in files}


def expect_no_leak(files: Mapping[str, Sequence[bytes]], name: str) -> None:
    """No prompt is in two splits."""
    prompts = Counter(prompt for seen in seen_on(files, name).values() for prompt in seen)
    assert [prompt for prompt, sides in prompts.items() if sides > 1] == []


def exported(
    sides: Mapping[str, Sequence[bytes]], asked: Asked
) -> tuple[dict[str, list[bytes]], Ledger]:
    """The rows of each split, exported with the splits in this order."""
    ledger = Ledger()
    outputs = {name: Collected() for name in (*sides, *asked.target.extra_names)}
    with tempfile.TemporaryDirectory() as folder:
        for side, lines in sides.items():
            Path(folder, f"{side}.jsonl").write_bytes(b"".join(lines))
        inputs = find_inputs([str(Path(folder, f"{side}.jsonl")) for side in sides])
        plan = Plan(
            read=InputPlan(inputs=inputs),
            sides=dict(zip(inputs, sides, strict=True)),
            export=ExportPlan(target=asked.target, options=asked.options),
        )
        run_plan(plan, outputs, ledger, allow_empty=True)
    return {side: outputs[side].lines for side in sides}, ledger


def view_of(asked: Asked) -> Any:
    """The key by which `split --for` splits."""
    return partial(trainer_prompt_of, target=asked.target, options=asked.options)


# Export -----------------------------------------------------------------------------------


@given(train=ROWS, val=ROWS, test=ROWS, asked=asked_of())
@examples(250)
def test_no_prompt_is_written_for_two_sides(
    train: list[Row], val: list[Row], test: list[Row], asked: Asked
) -> None:
    """No leak, whatever was in the splits before; each pair is written or dropped for a reason."""
    sides = dict(zip(SIDES, (lines_of(*rows) for rows in (train, val, test)), strict=True))
    files, ledger = exported(sides, asked)
    expect_no_leak(files, asked.target.name)
    stage = ledger.stages[-1]
    assert stage.found == stage.kept + stage.dropped.total() == ledger.rows_used
    assert ledger.pairs == stage.kept == sum(ledger.sides.values())


@given(train=ROWS, val=ROWS, test=ROWS, asked=asked_of(["trl", "customizer", "openai", "tokens"]))
@examples(200)
def test_test_keeps_a_prompt_then_val(
    train: list[Row], val: list[Row], test: list[Row], asked: Asked
) -> None:
    """A prompt in several splits stays in test, else in val; no row moves."""
    asked = Asked(asked.target, replace(asked.options, tool_args="string"))
    name = asked.target.name
    sides = dict(zip(SIDES, (lines_of(*rows) for rows in (train, val, test)), strict=True))
    files, ledger = exported(sides, asked)
    taken: set[str] = set()
    lost = 0
    for side in reversed(SIDES):
        alone = exported({side: sides[side]}, asked)[0][side]
        prompts = [seen_in(json.loads(line), name) for line in alone]
        left = [prompt for prompt in prompts if prompt not in taken]
        lost += len(prompts) - len(left)
        assert sorted(seen_in(json.loads(line), name) for line in files[side]) == sorted(left)
        taken |= {*left}
    assert ledger.stages[-1].dropped[LEAK] == lost


@given(NESTED, NESTED, NESTED, asked_of(), CHANCE)
@examples(100)
def test_the_order_of_sides_and_rows_does_not_matter(
    train: list[Row], val: list[Row], test: list[Row], asked: Asked, chance: Random
) -> None:
    """The order in which splits and rows are read does not change each split's prompts."""
    sides = dict(zip(SIDES, (lines_of(*rows) for rows in (train, val, test)), strict=True))
    expected, ledger = exported(sides, asked)
    order = [*SIDES]
    chance.shuffle(order)
    again = {side: chance.sample(sides[side], len(sides[side])) for side in order}
    found, other = exported(again, asked)
    name = asked.target.name
    assert seen_on({side: found[side] for side in SIDES}, name) == seen_on(expected, name)
    assert other.stages[-1].dropped == ledger.stages[-1].dropped


# A split for a trainer --------------------------------------------------------------------


def split_for(
    rows: Sequence[Row], asked: Asked, split: Split, **words: Any
) -> dict[str, Sequence[bytes]]:
    """The pairs of each split, split by what the trainer sees."""
    parted = staged_lines(lines_of(*rows), split=replace(split, seen=view_of(asked), **words))
    assert len(parted.lines) == parted.ledger.rows_used - parted.stage.dropped.total()
    return {side: outcome.lines for side, outcome in parted.sides.items()}


@given(rows=ROWS, asked=asked_of(), split=splits(by=["prompt"]))
@examples(200)
def test_a_split_for_a_trainer_loses_nothing(rows: list[Row], asked: Asked, split: Split) -> None:
    """After `split --for`, export finds no leak, also with --exact."""
    sides = split_for(rows, asked, split)
    assert sum(map(len, sides.values())) == len(staged_lines(lines_of(*rows)).lines)
    files, ledger = exported(sides, asked)
    expect_no_leak(files, asked.target.name)
    assert ledger.stages[-1].dropped[LEAK] == 0


@given(rows=ROWS, more=ROWS, asked=asked_of(), split=splits(by=["prompt"]))
@examples(100)
def test_added_data_moves_no_pair(
    rows: list[Row], more: list[Row], asked: Asked, split: Split
) -> None:
    """Each pair stays in its split when others are added before or after it."""
    split = replace(split, exact=False)
    alone, added = (split_for(given_rows, asked, split) for given_rows in (rows, more))
    for together in ([*rows, *more], [*more, *rows]):
        for side, lines in split_for(together, asked, split).items():
            assert Counter(lines) == Counter(alone[side]) + Counter(added[side])


@given(
    rows=PLAIN_PAIRS,
    name=st.sampled_from([name for name in TARGETS if name != "tokens"]),
    split=splits(by=["prompt"]),
)
@examples(100)
def test_unchanged_prompts_are_split_as_usual(rows: list[Row], name: str, split: Split) -> None:
    """If export does not change prompts, `split --for` equals a plain split."""
    target = target_named(name)
    asked = Asked(target, ExportOptions(release=target.releases[-1] if target.releases else ""))
    plainly = staged_lines(lines_of(*rows), split=split)
    assert split_for(rows, asked, split) == {
        side: outcome.lines for side, outcome in plainly.sides.items()
    }


# In one run -------------------------------------------------------------------------------


def in_one_run(
    lines: Sequence[bytes], asked: Asked, split: Split
) -> tuple[dict[str, list[bytes]], Ledger]:
    """The rows of a recipe that splits and exports."""
    ledger = Ledger()
    outputs = {name: Collected() for name in (*split.sides, *asked.target.extra_names)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.jsonl")
        path.write_bytes(b"".join(lines))
        plan = Plan(
            read=InputPlan(inputs=find_inputs([str(path)])),
            split=split,
            export=ExportPlan(target=asked.target, options=asked.options),
        )
        run_plan(plan, outputs, ledger, allow_empty=True)
    return {side: outputs[side].lines for side in split.sides}, ledger


@given(rows=NESTED, asked=asked_of(), split=splits(by=["group", "prompt"]), chance=CHANCE)
@examples(150)
def test_a_split_by_something_else_is_checked(
    rows: list[Row], asked: Asked, split: Split, chance: Random
) -> None:
    """A recipe that splits by group is still checked for prompts in two splits."""
    files, ledger = in_one_run(lines_of(*rows), asked, split)
    expect_no_leak(files, asked.target.name)
    splitting, exporting = ledger.stages
    assert (splitting.found, exporting.found) == (len(rows), splitting.kept)
    assert exporting.found == exporting.kept + exporting.dropped.total()
    assert ledger.pairs == exporting.kept == sum(ledger.sides.values())
    shuffled = lines_of(*rows)
    chance.shuffle(shuffled)
    found, _ = in_one_run(shuffled, asked, split)
    assert seen_on(found, asked.target.name) == seen_on(files, asked.target.name)


@given(rows=NESTED, asked=asked_of(), split=splits(by=["prompt"]))
@examples(100)
def test_a_recipe_knows_what_export_will_do(rows: list[Row], asked: Asked, split: Split) -> None:
    """A recipe writes what `split --for` and then `export` write."""
    split = replace(split, seen=view_of(asked))
    files, ledger = in_one_run(lines_of(*rows), asked, split)
    piped, _ = exported(split_for(rows, asked, split), asked)
    assert ledger.stages[-1].dropped[LEAK] == 0
    if asked.target.unpaired:  # which of several equal answers is written depends on their order
        assert seen_on(files, asked.target.name) == seen_on(piped, asked.target.name)
    else:
        assert files == piped


# Validate ---------------------------------------------------------------------------------


def leaks_found(files: Mapping[str, Sequence[bytes]], asked: Asked) -> list[tuple[str, str]]:
    """The rows that `validate` finds in two splits, each with its other position."""
    with tempfile.TemporaryDirectory() as folder:
        for side, lines in files.items():
            Path(folder, f"{side}.jsonl").write_bytes(b"".join(lines))
        inputs = find_inputs([str(Path(folder, f"{side}.jsonl")) for side in files])
        plan = ValidatePlan(
            inputs=inputs, target=asked.target, sides=dict(zip(inputs, files, strict=True))
        )
        return [
            (f"{told.label}:{told.line}", told.elsewhere)
            for told in validate(plan, ValidationLedger())
            if told.finding.code == "prompt_on_two_sides"
        ]


@given(train=NESTED, val=NESTED, asked=asked_of())
@examples(150)
def test_validate_finds_each_leak(train: list[Row], val: list[Row], asked: Asked) -> None:
    """If splits were exported separately, it finds the rows of the second that the first has."""
    options = asked.options
    if asked.target.releases:
        options = replace(options, release=asked.target.releases[-1])
    asked = Asked(asked.target, options)
    name = asked.target.name
    both = {"train": lines_of(*train), "val": lines_of(*val)}
    apart = {side: exported({side: lines}, asked)[0][side] for side, lines in both.items()}
    first: dict[str, str] = {}
    for place, line in enumerate(apart["train"], 1):
        first.setdefault(seen_in(json.loads(line), name), f"train.jsonl:{place}")
    seen = [seen_in(json.loads(line), name) for line in apart["val"]]
    expected = [
        (f"val.jsonl:{place}", first[prompt])
        for place, prompt in enumerate(seen, 1)
        if prompt in first
    ]
    assert leaks_found(apart, asked) == expected
    assert leaks_found(exported(both, asked)[0], asked) == []


@pytest.mark.parametrize("name", ["trl-kto", "nemo-rl-ranked", "tokens"])
def test_targets_of_other_forms(name: str) -> None:
    """Single answers, contexts and tokens are compared like other prompts."""
    target = target_named(name)
    tokens = LETTERS if name == "tokens" else None
    release = target.releases[-1] if target.releases else ""
    asked = Asked(target, ExportOptions(tokenization=tokens, release=release))
    row: Row = {"prompt": "Q", "chosen": "Aye", "rejected": "Bye"}
    both = {"train": lines_of(row, {**row, "prompt": "R"}), "val": lines_of(row)}
    apart = {side: exported({side: lines}, asked)[0][side] for side, lines in both.items()}
    assert leaks_found(apart, asked) != []
    files, ledger = exported(both, asked)
    assert ledger.stages[-1].dropped == {LEAK: 1}
    assert leaks_found(files, asked) == []


def test_a_picture_is_part_of_the_question() -> None:
    """The same text about two images is two prompts; rows without a prompt are no leak."""
    row = {"messages": [_user("What is it?"), _model("Aye")], "rejected_response": "Bye"}
    asked = Asked(target_named("ms-swift"), ExportOptions())
    shown = [{**row, "images": [name]} for name in "ab"]
    sides = {"train": lines_of(shown[0], {"messages": 1}), "val": lines_of(shown[1], {"a": 1})}
    assert leaks_found(sides, asked) == []
    assert leaks_found({**sides, "val": lines_of(shown[0])}, asked) != []


# The splits of an earlier run -------------------------------------------------------------


def sides_like(
    old: Mapping[str, Sequence[bytes]], rows: Sequence[Row], split: Split
) -> dict[str, Sequence[bytes]]:
    """The pairs of each split, with those of an earlier split kept in their places."""
    with tempfile.TemporaryDirectory() as folder:
        for side, lines in old.items():
            Path(folder, f"{side}.jsonl").write_bytes(b"".join(lines))
        Path(folder, "pairs.jsonl").write_bytes(b"".join(lines_of(*rows)))  # in no split
        split = with_earlier_sides(replace(split, like=folder))
    parted = staged_lines(lines_of(*rows), split=split)
    return {side: outcome.lines for side, outcome in parted.sides.items()}


def _without_names(lines: Sequence[bytes]) -> list[bytes]:
    """Pairs as written by another version, with other IDs and group names."""
    rows = [json.loads(line) for line in lines]
    return lines_of(*({**row, "id": "0" * 32, "group": "g"} for row in rows))


@given(
    rows=st.one_of(different_rows(), rows_across()),
    more=different_rows(),
    earlier=splits(by=["prompt"]),
    split=splits(by=["prompt"]),
)
@examples(150)
def test_prompts_keep_their_sides(
    rows: list[Row], more: list[Row], earlier: Split, split: Split
) -> None:
    """Old prompts stay under any fractions and seeds; new ones go where a fresh split has them."""
    split = replace(split, exact=False)
    more = [{**row, "prompt": f"new {number}"} for number, row in enumerate(more)]
    had = staged_lines(lines_of(*rows), split=earlier).sides
    old = {side: outcome.lines for side, outcome in had.items()}
    found = sides_like(
        {side: _without_names(lines) for side, lines in old.items()}, [*rows, *more], split
    )
    fresh = staged_lines(lines_of(*more), split=split).sides
    for side in {*old, *fresh}:
        assert Counter(found.get(side, ())) >= Counter(old.get(side, ()))
        assert Counter(found.get(side, ())) >= Counter(fresh[side].lines if side in fresh else ())
    assert {side for side in old if old[side]} <= {*found}


@given(rows=NESTED, more=NESTED, asked=asked_of(), earlier=splits(), split=splits(by=["prompt"]))
@examples(100)
def test_old_sides_that_leak_are_settled(
    rows: list[Row], more: list[Row], asked: Asked, earlier: Split, split: Split
) -> None:
    """After a split without --for, a prompt in several splits stays in test."""
    asked = Asked(asked.target, replace(asked.options, lossy="flatten"))  # writes every pair
    old = staged_lines(lines_of(*rows), split=earlier).sides
    lines = {side: outcome.lines for side, outcome in old.items()}
    assume(any(lines.values()))
    split = replace(split, exact=False, seen=view_of(asked))
    found = sides_like(lines, [*rows, *more], split)
    files, ledger = exported(found, asked)
    expect_no_leak(files, asked.target.name)
    assert ledger.stages[-1].dropped[LEAK] == 0
    name = asked.target.name
    alone = {side: exported({side: lines[side]}, asked)[0][side] for side in lines}
    before = seen_on(alone, name)
    now = seen_on(files, name)
    if not asked.target.unpaired:
        taken: set[str] = set()
        for side in reversed(SIDES):
            kept = before.get(side, set()) - taken
            assert kept <= now.get(side, set())
            taken |= kept
