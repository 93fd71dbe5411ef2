"""Commands on pairs: every pair is accounted for and written as it was read."""

import json
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from corrupted_rows import RESPELT
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import content_of
from pair_rows import (
    BAD_PAIRS,
    UNFIT_PAIRS,
    chains,
    filters,
    pair_lines_mixed,
    samples,
    splits,
)
from rollouts_of_any_format import (
    BAD_LINES,
    BLANK_LINES,
    asked,
    contest_rows,
    rollout_lines,
    shards_of,
)
from run_in_process import Asked, Row, lines_of, pair_lines
from stages_in_process import (
    Staged,
    staged_array,
    staged_lines,
    staged_packed,
    staged_piped,
    staged_rollouts,
    staged_shards,
)
from usual_rollouts import WORDS

from hypothesis_examples import examples
from prefpairs.ledger import PAIRING
from prefpairs.reasons import ALL
from prefpairs.stages.base import Stage
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split

CHANCE = st.randoms(use_true_random=False)
TROUBLE = [*BAD_LINES, *lines_of(*BAD_PAIRS)]
MAYBE_SPLIT = st.one_of(st.none(), splits())

# Nothing vanishes -------------------------------------------------------------------------


def expect_balance(found: Staged) -> None:
    """The rows and each stage add up, each stage passes its pairs on, reasons are known."""
    ledger, counts = found.ledger, found.counts()
    rows = counts["rows"]
    assert rows["read"] == rows["used"] + sum(rows["dropped"].values()) + rows["bad"]
    handed_on = ledger.rows_used
    for stage in ledger.stages:
        assert stage.found == handed_on
        handed_on = stage.kept
        assert 0 <= stage.kept == stage.found - sum(stage.dropped.values())
        assert [reason for reason in (*stage.dropped, *stage.noticed) if reason not in ALL] == []
        assert min([*stage.dropped.values(), *stage.noticed.values()], default=0) >= 0
    assert handed_on == ledger.pairs == len(found.lines)
    assert ledger.pairs == sum(ledger.sides.values()) or not ledger.sides
    assert [reason for reason in rows["dropped"] if reason not in ALL] == []


@examples(160)
@given(
    lines=pair_lines_mixed(),
    trouble=st.lists(st.sampled_from(TROUBLE), max_size=3),
    unfit=st.lists(st.sampled_from(lines_of(*UNFIT_PAIRS)), max_size=3),
    blank=st.lists(st.sampled_from(BLANK_LINES), max_size=2),
    chain=chains(),
    split=MAYBE_SPLIT,
    chance=CHANCE,
)
def test_ledgers_balance_through_any_chain(  # noqa: PLR0913, PLR0917 - each kind of line
    lines: list[bytes],
    trouble: list[bytes],
    unfit: list[bytes],
    blank: list[bytes],
    chain: list[Stage],
    split: Split | None,
    chance: Random,
) -> None:
    """Each row is used, dropped or bad; each pair is passed on, or lost for a known reason."""
    mixed = [*lines, *trouble, *unfit, *blank]
    chance.shuffle(mixed)
    found = staged_lines(mixed, *chain, split=split)
    expect_balance(found)
    assert found.ledger.rows_read == len(lines) + len(trouble) + len(unfit)
    assert found.ledger.rows_bad == len(trouble)
    assert found.ledger.rows_dropped.total() >= len(unfit)
    assert found.lines == staged_lines([*mixed, *trouble], *chain, split=split).lines


@examples(60)
@given(lines=rollout_lines(), asked=asked(), chain=chains(), split=MAYBE_SPLIT)
def test_stages_balance_behind_pair(
    lines: list[bytes], asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """In one run from rollouts, the first stage gets what `pair` would write."""
    found = staged_rollouts(lines, asked, *chain, split=split)
    written = len(pair_lines(lines, asked).lines)
    stages = found.ledger.stages
    if stages and stages[0].name == PAIRING:
        assert stages.pop(0).kept == written
    for stage in stages:
        assert stage.found == written
        written = stage.kept
    assert written == found.ledger.pairs == len(found.lines)


# The same bytes from any container --------------------------------------------------------


def expect_same_sides(one: Staged, other: Staged) -> None:
    """Both runs wrote the same bytes for each split."""
    assert one.sides.keys() == other.sides.keys()
    for side, outcome in one.sides.items():
        assert outcome.lines == other.sides[side].lines


@examples(60)
@given(lines=pair_lines_mixed(), chain=chains(), split=MAYBE_SPLIT, data=st.data())
def test_pipes_and_containers_do_not_matter(
    lines: list[bytes], chain: list[Stage], split: Split | None, data: st.DataObject
) -> None:
    """A file, its shards, a pipe, a gzip and a JSON array of the same pairs give the same bytes."""
    plain = staged_lines(lines, *chain, split=split)
    for found in (
        staged_shards(data.draw(shards_of(lines)), *chain, split=split),
        staged_piped(lines, *chain, split=split),
        staged_packed(lines, *chain, split=split),
        staged_array(lines, *chain, split=split),
    ):
        expect_same_sides(found, plain)
        assert found.counts() == plain.counts()


@pytest.mark.parametrize("stage", [staged_piped, staged_packed])
def test_copies_through_a_pipe_are_told_apart(stage: Callable[..., Staged]) -> None:
    """Copies of a pair that differ only in their text are decided while others still arrive."""
    text = {"prompt": "Q", "chosen": "A", "rejected": "B"}
    lines = lines_of(
        {**text, "meta": {"k": 2}}, {**text, "meta": {"k": 1}}, {**text, "chosen": "C"}
    )
    found = stage(lines, Dedupe())
    assert found.lines == staged_lines(lines, Dedupe()).lines


@examples(80)
@given(lines=rollout_lines(), asked=asked(), chain=chains())
def test_lines_of_pair_pass_commands_unchanged(
    lines: list[bytes], asked: Asked, chain: list[Stage]
) -> None:
    """Through any chain of commands, lines written by `pair` stay the same, byte for byte."""
    pairs = pair_lines(lines, asked).lines
    assert staged_lines(pairs).lines == pairs
    left = pairs
    for command in chain:
        found = staged_lines(left, command)
        assert found.ledger.noticed == {}
        assert Counter(found.lines) <= Counter(left)
        left = found.lines


@examples(80)
@given(lines=pair_lines_mixed())
def test_pairs_that_were_read_once_read_as_themselves(lines: list[bytes]) -> None:
    """Foreign rows become pairs in the first command; later ones do not change them."""
    once = staged_lines(lines)
    again = staged_lines(once.lines)
    assert again.lines == once.lines
    assert again.ledger.noticed.keys() <= {"not_preferred"}
    assert again.ledger.rows_used == again.ledger.rows_read


ANYTHING_SAID = st.text(st.sampled_from(["A", *'\x00\x1f\x7f\t\b\u2028\\/"é☃😀']), max_size=9)


@st.composite
def _respelt(draw: st.DrawFn, line: bytes) -> bytes:
    """A pair's line in our spelling or another one."""
    row = json.loads(line)
    spelt = {
        "as it was": line,
        "order": json.dumps(dict(sorted(row.items()))).encode() + b"\n",
        "spaces": json.dumps(row, ensure_ascii=False).encode() + b"\n",
        "escapes": json.dumps(row, separators=(",", ":")).encode() + b"\n",
        "crlf": line.replace(b"\n", b"\r\n"),
        "nothing": line.replace(b"}\n", b',"tools":null,"meta":null}\n'),
        "twice": line.replace(b"}\n", b',"gap":0.5}\n'),
        "more": line.replace(b"}\n", b',"model":"m"}\n'),
        "words": line.replace(*draw(st.sampled_from(RESPELT)), draw(st.integers(1, 3))),
        "number": line.replace(b":0.", draw(st.sampled_from([b":-0.", b":0.0000000000000001"]))),
    }
    return spelt[draw(st.sampled_from(["as it was"] * 6 + list(spelt)))]


@examples(150)
@given(lines=pair_lines_mixed(), said=st.lists(ANYTHING_SAID, max_size=4), data=st.data())
def test_lines_that_are_copied_equal_encoded_ones(
    lines: list[bytes], said: list[str], data: st.DataObject
) -> None:
    """Lines that are copied equal what encoding their pairs would give."""
    more = [{"prompt": f"Q{text}", "chosen": f"A{text}", "rejected": text} for text in said]
    more += [{"prompt": "Q", "chosen": "A", "rejected": f"B{text}"} for text in WORDS]
    ours = staged_lines([*lines, *lines_of(*more)]).lines
    given_lines = [data.draw(_respelt(line)) for line in ours]
    expected = staged_lines(given_lines)
    for held in (staged_lines, staged_piped, staged_packed):
        found = held(given_lines, Sample(order="shuffle"))
        assert sorted(found.lines) == sorted(expected.lines)
        for name in ("gaps", "chosen_scores", "rejected_scores"):
            one, other = (getattr(run.ledger, name) for run in (found, expected))
            assert one.summary() == other.summary()


# One run or several -----------------------------------------------------------------------


def one_by_one(lines: list[bytes], chain: list[Stage], split: Split | None) -> Staged:
    """Run each command of a chain on the output of the one before."""
    for command in chain:
        lines = list(staged_lines(lines, command).lines)
    return staged_lines(lines, split=split)


@examples(160)
@given(lines=pair_lines_mixed(), chain=chains(ordered=False), split=MAYBE_SPLIT)
def test_one_run_does_what_several_do(
    lines: list[bytes], chain: list[Stage], split: Split | None
) -> None:
    """A chain in one run writes the same bytes as the commands one after the other."""
    whole = staged_lines(lines, *chain, split=split)
    expect_same_sides(whole, one_by_one(lines, chain, split))


@examples(110)
@given(
    rows=contest_rows(st.sampled_from([0.0, 0.1, 0.3, 0.8, 0.9, 1.0]), least=2, most=20),
    asked=asked(),
    chain=chains(ordered=False),
    split=MAYBE_SPLIT,
)
def test_one_run_from_rollouts_does_what_several_do(
    rows: list[Row], asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """The same from rollouts on, without writing the pairs in between."""
    lines = lines_of(*rows)
    whole = staged_rollouts(lines, asked, *chain, split=split)
    expect_same_sides(whole, one_by_one(list(pair_lines(lines, asked).lines), chain, split))


@examples(60)
@given(lines=rollout_lines(), asked=asked(), chain=chains(ordered=False), split=MAYBE_SPLIT)
def test_one_run_from_rollouts_of_any_format_does_what_several_do(
    lines: list[bytes], asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """The same for every rollout format, including tools, chats and odd rows."""
    whole = staged_rollouts(lines, asked, *chain, split=split)
    expect_same_sides(whole, one_by_one(list(pair_lines(lines, asked).lines), chain, split))


ACROSS = Asked(strategy="stratified", across_prompts=True)


@pytest.mark.parametrize(
    ("asked", "chain", "split"),
    [
        (Asked(), [Sample(per_group=3)], None),
        (Asked(), [Sample(per_group=3)], Split(val_fraction=0.5, by="group")),
        (Asked(), [Dedupe(by=("prompt",)), Sample(fraction=0.5)], Split(by="meta.k", exact=True)),
        (ACROSS, [], Split(val_fraction=0.5)),
        (ACROSS, [Sample(per_group=5)], Split(val_fraction=0.5, by="group")),
        (ACROSS, [Dedupe(by=("rejected",))], Split(val_fraction=0.5, exact=True)),
    ],
)
def test_groups_and_both_prompts_are_known_in_one_run(
    asked: Asked, chain: list[Stage], split: Split | None
) -> None:
    """Groups with several prompts, and pairs across them, give the same in one run or several."""
    lines = lines_of(
        *(
            {
                "group": f"g{number % 4}",
                "prompt": f"Q{number}",
                "response": answer,
                "score": score,
                "index": number,
                "origin": "f:1",
                "meta": {"k": number % 5},
            }
            for number in range(40)
            for answer, score in (("A", 1.0), (f"B{number}", 0.0))
        )
    )
    whole = staged_rollouts(lines, asked, *chain, split=split)
    assert whole.lines
    assert len(whole.lines) < 40
    expect_same_sides(whole, one_by_one(list(pair_lines(lines, asked).lines), chain, split))


@pytest.mark.parametrize("later", [Dedupe(), Sample(max_pairs=9), Sample(per_group=9)])
def test_later_commands_keep_an_asked_order(later: Stage) -> None:
    """The order from `sample --order` is kept by later commands in the same run."""
    rows = [{"prompt": f"Q{place}", "chosen": "A", "rejected": "B"} for place in range(9)]
    chain = [Sample(order="shuffle"), later]
    whole = staged_lines(lines_of(*rows), *chain)
    expect_same_sides(whole, one_by_one(lines_of(*rows), chain, None))


# filter -----------------------------------------------------------------------------------


def _length(text: object) -> int:
    """The length of an answer, with a line for each message, reasoning and call."""
    said: list[str] = []
    for role, content, thoughts, _, called, _ in json.loads(content_of(text, "assistant")):
        assert role in ("assistant", "tool")
        said += [thoughts, content, *('add {"a": 1}' for _ in called)]
    return len("\n".join(filter(None, said)))


@examples(110)
@given(lines=pair_lines_mixed(), asked=filters())
def test_filter_decides_pair_by_pair(lines: list[bytes], asked: Filter) -> None:
    """A pair passes or not, whatever other pairs there are; a second run drops nothing more."""
    found = staged_lines(lines, asked)
    alone = [line for one in lines for line in staged_lines([one], asked).lines]
    assert found.lines == alone
    assert staged_lines(found.lines, asked).lines == found.lines


@examples(110)
@given(lines=pair_lines_mixed(), asked=filters())
def test_filter_keeps_what_is_within_its_bounds(lines: list[bytes], asked: Filter) -> None:
    """Exactly the pairs within all bounds stay; a pair without the required number is dropped."""
    pairs = staged_lines(lines).rows
    expected = [
        pair
        for pair in pairs
        if _is_within(pair["gap"], asked.min_gap, asked.max_gap)
        and _is_within(pair["chosen_score"], asked.min_chosen_score, None)
        and _has_fit_lengths(pair, asked)
    ]
    assert staged_lines(lines, asked).rows == expected


def _is_within(number: float | None, least: float | None, most: float | None) -> bool:
    if number is None:
        return least is None and most is None
    return (least is None or number >= least) and (most is None or number <= most)


def _has_fit_lengths(pair: Row, asked: Filter) -> bool:
    shorter, longer = sorted(_length(pair[side]) for side in ("chosen", "rejected"))
    if asked.max_answer_chars is not None and longer > asked.max_answer_chars:
        return False
    return asked.max_length_ratio is None or longer <= asked.max_length_ratio * shorter


def test_commands_by_name_are_told_apart_in_one_run() -> None:
    """The stages of a run are reported in the order of its commands, each with its own counts."""
    rows = [{"prompt": f"Q{number}", "chosen": "A", "rejected": "B"} for number in range(10)]
    chain = (Dedupe(), Sample(max_pairs=6), Filter(max_answer_chars=5))
    found = staged_lines(lines_of(*rows, *rows), *chain, split=Split(exact=True))
    stages = [(stage.name, stage.found, stage.kept) for stage in found.ledger.stages]
    assert stages == [("dedupe", 20, 10), ("sample", 10, 6), ("filter", 6, 6), ("split", 6, 6)]
    assert found.ledger.sides == {"train": 5, "val": 1}


@examples(60)
@given(lines=pair_lines_mixed(), asked=samples())
def test_the_same_run_twice_writes_the_same_bytes(lines: list[bytes], asked: Sample) -> None:
    """Two runs in one process write the same bytes."""
    assert staged_lines(lines, asked).lines == staged_lines(lines, asked).lines
