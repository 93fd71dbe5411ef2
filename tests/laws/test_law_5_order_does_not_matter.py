"""Law 5: shuffling lines and resharding files changes only origins and the output's order."""

from dataclasses import replace
from itertools import permutations
from random import Random
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st
from pair_oracle import content_of
from rollouts_of_any_format import (
    BAD_LINES,
    any_scores,
    asked,
    asked_within,
    contest_rows,
    generic_rows,
    gym_rows,
    lines,
    nat_rows,
    rollout_lines,
    shards_of,
)
from run_in_process import (
    Asked,
    Outcome,
    Row,
    extract_lines,
    lines_of,
    pair_array,
    pair_files,
    pair_lines,
    pair_packed,
    pair_piped,
    pair_redirected,
    pair_shards,
)

from hypothesis_examples import examples
from prefpairs.fields.read_options import ReadOptions
from prefpairs.strategies.options import PairOptions

CHANCE = st.randoms(use_true_random=False)
KEPT = frozenset(["conflicting_scores", "no_score", "masked", "failed", "incomplete"])
READINGS = [
    ReadOptions(),
    ReadOptions(group_by="prompt"),
    ReadOptions(group_by="file"),
    ReadOptions(reasoning="drop"),
    ReadOptions(response_part="final"),
]


def in_order_of_key(asked: Asked) -> Asked:
    """The rows in --order key, which shuffling does not change."""
    return replace(asked, order="key")


def expect_same(one: Outcome, other: Outcome) -> None:
    """Both runs gave the same pairs and counts, except origins and the output's order."""
    assert one.contents() == other.contents()
    assert one.counts() == other.counts()


@examples(300)
@given(
    given_lines=lines(),
    asked=asked(),
    chance=CHANCE,
    reading=st.sampled_from([*READINGS, ReadOptions(keep_rows=KEPT)]),
)
def test_shuffled_lines_give_the_same_pairs(
    given_lines: list[bytes], asked: Asked, chance: Random, reading: ReadOptions
) -> None:
    """Any order of lines gives the same pairs and counts."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    asked = replace(asked, read=reading)
    expect_same(pair_lines(given_lines, asked), pair_lines(shuffled, asked))


@examples(150)
@given(rows=contest_rows(score=any_scores()), asked=asked(), chance=CHANCE)
def test_scores_of_any_size_give_the_same_counts(
    rows: list[Row], asked: Asked, chance: Random
) -> None:
    """The summary's means and extremes are the same in any order, however large the scores are."""
    shuffled = list(rows)
    chance.shuffle(shuffled)
    expect_same(pair_lines(lines_of(*rows), asked), pair_lines(lines_of(*shuffled), asked))


def test_sums_are_exact_in_any_order() -> None:
    """A mean of large scores that cancel out is the same in any order."""
    groups = [
        lines_of(
            {"prompt": prompt, "response": "A", "score": score},
            {"prompt": prompt, "response": "B", "score": -1e300},
        )
        for prompt, score in (("Q", 1e200), ("R", -1e200), ("S", 1.0))
    ]
    means = {
        pair_shards(order, Asked()).counts()["mean_chosen_score"] for order in permutations(groups)
    }
    assert means == {0.333333333333333}


@examples(150)
@given(given_lines=lines(), asked=asked(), chance=CHANCE)
def test_order_by_key_is_the_same_order(
    given_lines: list[bytes], asked: Asked, chance: Random
) -> None:
    """With --order key, even the order of the output is the same, line by line."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    by_key = in_order_of_key(asked)
    found, again = pair_lines(given_lines, by_key), pair_lines(shuffled, by_key)
    assert found.without_origins() == again.without_origins()
    assert found.contents() == pair_lines(given_lines, asked).contents()


@examples(200)
@given(given_lines=lines(), asked=asked(), data=st.data())
def test_cut_files_give_the_same_pairs(
    given_lines: list[bytes], asked: Asked, data: st.DataObject
) -> None:
    """Any cut into files gives the same pairs, in the same order."""
    shards = data.draw(shards_of(given_lines))
    whole, cut = pair_lines(given_lines, asked), pair_shards(shards, asked)
    expect_same(whole, cut)
    assert whole.without_origins() == cut.without_origins()


@examples(100)
@given(first=lines(), second=lines(), asked=asked(), chance=CHANCE)
def test_files_of_two_formats_give_the_same_in_either_order(
    first: list[bytes], second: list[bytes], asked: Asked, chance: Random
) -> None:
    """The order of two files does not matter, even if their formats differ."""
    shuffled = list(first)
    chance.shuffle(shuffled)
    expect_same(pair_shards([first, second], asked), pair_shards([second, shuffled], asked))


@examples(100)
@given(given_lines=rollout_lines(), bad=st.lists(st.sampled_from(BAD_LINES)), chance=CHANCE)
def test_bad_lines_are_skipped_in_any_position(
    given_lines: list[bytes], bad: list[bytes], chance: Random
) -> None:
    """--on-error skip gives the pairs of the good lines, in any order."""
    mixed = [*given_lines, *bad]
    chance.shuffle(mixed)
    exhaustive = Asked(strategy="exhaustive")
    assert (
        pair_lines(mixed, exhaustive).contents() == pair_lines(given_lines, exhaustive).contents()
    )


@examples(150)
@given(given_lines=lines(), asked=asked())
def test_packing_does_not_matter(given_lines: list[bytes], asked: Asked) -> None:
    """Lines, compressed files, arrays, pipes and redirects give the same, in the same order."""
    plain = pair_lines(given_lines, asked)
    data = b"".join(given_lines)
    for other in (
        pair_packed(given_lines, asked),
        pair_array(given_lines, asked),
        pair_piped(data, asked),
        pair_redirected(data, asked),
        pair_redirected(data.rstrip(b"\n"), asked),
        pair_files({"rows.jsonl.zst": zstd.compress(data)}, asked),
        pair_lines([line.replace(b"\n", b"\r\n") for line in given_lines], asked),
        pair_lines([b"\xef\xbb\xbf", *given_lines], asked),
    ):
        expect_same(plain, other)
        assert other.without_origins() == plain.without_origins()


@pytest.mark.parametrize("reading", READINGS)
@examples(100)
@given(given_lines=rollout_lines(), asked=asked())
def test_extract_then_pair_is_pair(
    reading: ReadOptions, given_lines: list[bytes], asked: Asked
) -> None:
    """`extract OPTIONS | pair` equals `pair OPTIONS`, including origins."""
    candidates = extract_lines(given_lines, reading)
    at_once = replace(asked, read=reading)
    assert pair_lines(candidates.lines, asked).lines == pair_lines(given_lines, at_once).lines
    assert pair_piped(b"".join(candidates.lines), asked).lines == (
        pair_lines(given_lines, at_once).lines
    )


@examples(100)
@given(given_lines=rollout_lines())
def test_extracting_twice_changes_nothing(given_lines: list[bytes]) -> None:
    """Extracting from candidates gives the same candidates, byte for byte."""
    once = extract_lines(given_lines, ReadOptions())
    assert extract_lines(once.lines, ReadOptions()).lines == once.lines


@pytest.mark.parametrize(
    "said",
    [
        "hm</think>so</think>A",
        "</think>so</think>A",
        "<think>hm</think><think>so</think>A",
        "<think>hm</think>A</think>",
        "<think>hm</think>see <think>",
    ],
)
def test_thinking_that_closes_twice_is_read_the_same_twice(said: str) -> None:
    """A candidate is read as itself, whatever inline tags its answer has."""
    rows = lines_of(
        {"prompt": "Q", "response": said, "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.0},
    )
    once = extract_lines(rows, ReadOptions())
    assert extract_lines(once.lines, ReadOptions()).lines == once.lines
    assert pair_lines(once.lines, Asked()).lines == pair_lines(rows, Asked()).lines


@pytest.mark.parametrize("grouping", ["prompt", "file"])
def test_grouping_may_be_asked_of_the_later_stage(grouping: Any) -> None:
    """`extract | pair --group-by prompt` writes the pairs of `pair --group-by prompt`."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.0},
    )
    asked = Asked(read=ReadOptions(group_by=grouping))
    candidates = extract_lines(rows, ReadOptions())
    assert pair_lines(candidates.lines, asked).contents() == pair_lines(rows, asked).contents()


def test_rendered_prompts_stay_rendered_through_extract() -> None:
    """Logged answers keep their inline thinking, with `extract` in between or without."""
    logged = {"step": 1, "prompt": "<user>Q<assistant>", "advantage": 0.5}
    rows = lines_of(
        {**logged, "completion": "<think>hm</think>A", "accuracy": 1.0},
        {**logged, "completion": "B", "accuracy": 0.0},
    )
    candidates = extract_lines(rows, ReadOptions())
    assert pair_lines(candidates.lines, Asked()).lines == pair_lines(rows, Asked()).lines


def test_what_is_kept_along_is_the_same_from_a_pipe() -> None:
    """A NaN in a --keep field is read the same from a file and from a pipe."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0, "logprob": float("nan")},
        {"prompt": "Q", "response": "B", "score": 0.0, "logprob": float("nan")},
    )
    asked = Asked(read=ReadOptions(keep=("logprob",)))
    piped = pair_piped(b"".join(rows), asked)
    assert piped.without_origins() == pair_lines(rows, asked).without_origins()


# --assume-grouped -------------------------------------------------------------------------


def grouped(given_lines: list[bytes]) -> list[bytes]:
    """The candidates of these lines, with each group's members next to each other."""
    candidates = extract_lines(given_lines, ReadOptions())
    keyed = [
        (repr((row["group"], content_of(row["prompt"], "user"), row.get("tools"))), line)
        for row, line in zip(candidates.rows, candidates.lines, strict=True)
    ]
    first = {key: place for place, (key, _) in reversed(list(enumerate(keyed)))}
    return [line for _, line in sorted(keyed, key=lambda both: first[both[0]])]


def as_it_comes(asked: Asked) -> Asked:
    """The same, with --assume-grouped."""
    return replace(asked, assume_grouped=True)


@examples(150)
@given(rows=st.one_of(gym_rows(), nat_rows(), contest_rows()), asked=asked_within())
def test_assume_grouped_gives_the_same_on_grouped_input(rows: list[Row], asked: Asked) -> None:
    """On contiguous groups, --assume-grouped gives the same bytes."""
    candidates = grouped(lines_of(*rows))
    whole, streamed = pair_lines(candidates, asked), pair_lines(candidates, as_it_comes(asked))
    assert streamed.lines == whole.lines
    assert streamed.counts() == whole.counts()


@examples(60)
@given(rows=contest_rows(), asked=asked_within(), data=st.data())
def test_assume_grouped_does_not_mind_where_files_are_cut(
    rows: list[Row], asked: Asked, data: st.DataObject
) -> None:
    """A group that continues in the next file is still one group."""
    candidates = grouped(lines_of(*rows))
    shards = data.draw(shards_of(candidates))
    cut, whole = pair_shards(shards, as_it_comes(asked)), pair_lines(candidates, asked)
    assert cut.lines == whole.lines


# Duplicates and thresholds ----------------------------------------------------------------


@examples(200)
@given(rows=contest_rows(), asked=asked(), chance=CHANCE)
def test_almost_equal_copies_do_not_depend_on_order(
    rows: list[Row], asked: Asked, chance: Random
) -> None:
    """Which of several almost equal copies is chosen does not depend on their order."""
    twins: list[Row] = [
        {**row, "response": [{"role": "assistant", "content": row["response"]}]} for row in rows
    ]
    everything = lines_of(*rows, *twins)
    shuffled = list(everything)
    chance.shuffle(shuffled)
    by_key = in_order_of_key(asked)
    found, again = pair_lines(everything, by_key), pair_lines(shuffled, by_key)
    assert again.without_origins() == found.without_origins()


@pytest.mark.parametrize("across", [False, True])
def test_copies_of_one_rollout_are_told_apart_by_content(across: bool) -> None:
    """Of a rollout repeated with other call IDs, the same copy is kept in any order."""
    rollouts: list[Row] = [
        {"group": "g", "prompt": "Q", "index": index, "score": score, "response": said}
        for index, score, said in (
            (0, 1.0, "A"),
            (0, 1.0, [{"role": "assistant", "content": "A"}]),
            (1, 0.0, [{"role": "assistant", "content": "B"}]),
            (1, 0.0, "B"),
        )
    ]
    lines = lines_of(*({**row, "origin": "f:1"} for row in rollouts))
    asked = Asked(strategy="stratified", across_prompts=across)
    found = {tuple(pair_lines(order, asked).lines) for order in permutations(lines)}
    assert len(found) == 1


@pytest.mark.parametrize("across", [False, True])
def test_one_threshold_for_high_and_low(across: bool) -> None:
    """A score equal to both thresholds is high, and pairs with a lower one."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 0.5},
        {"prompt": "Q", "response": "B", "score": 0.1},
    )
    options = PairOptions(high_threshold=0.5, low_threshold=0.5)
    asked = Asked(strategy="stratified", options=options, across_prompts=across)
    pairs = [(pair["chosen"], pair["rejected"]) for pair in pair_lines(rows, asked).rows]
    assert pairs == [("A", "B")]


# The first rows of a file do not decide ---------------------------------------------------


def test_the_position_of_a_line_does_not_decide_on_the_file() -> None:
    """A bad line that is a JSON array is a bad line even at the top of the file."""
    good = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0},
        {"prompt": "Q", "response": "B", "score": 0.0},
    )
    expect_same(pair_lines([*good, b"[1]\n"], Asked()), pair_lines([b"[1]\n", *good], Asked()))


def test_a_field_is_guessed_alike_in_every_shard() -> None:
    """Rows that name their score differently are read the same, in one file or in two."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "score": 1.0},
        {"prompt": "Q", "response": "B", "reward": 0.0},
    )
    expect_same(pair_lines(rows, Asked()), pair_shards([rows[:1], rows[1:]], Asked()))


def test_a_shard_that_lacks_a_named_field_is_read_like_the_whole() -> None:
    """A --score that only some rows have is found, however the rows are cut into files."""
    rows = lines_of(
        {"prompt": "Q", "response": "A", "judge": 1.0},
        {"prompt": "Q", "response": "B", "judge": 0.0},
        {"prompt": "Q", "response": "C"},
    )
    asked = Asked(read=ReadOptions(scores=(("judge", 1.0),)))
    expect_same(pair_lines(rows, asked), pair_shards([rows[:2], rows[2:]], asked))


def test_a_field_that_comes_late_is_found() -> None:
    """A --score that the first hundred rows lack is found in later rows."""
    failed: list[Row] = [{"prompt": "Q", "response": f"{number}"} for number in range(100)]
    judged: list[Row] = [
        {"prompt": "Q", "response": "A", "judge": 1.0},
        {"prompt": "Q", "response": "B", "judge": 0.0},
    ]
    asked = Asked(read=ReadOptions(scores=(("judge", 1.0),)))
    late, early = lines_of(*failed, *judged), lines_of(*judged, *failed)
    expect_same(pair_lines(late, asked), pair_lines(early, asked))


@examples(60)
@given(rows=generic_rows(), chance=CHANCE)
def test_named_fields_are_found_in_any_order(rows: list[Row], chance: Random) -> None:
    """With --prompt, --response and --score, nothing is guessed, and order does not matter."""
    if not rows:
        rows = [{"prompt": "Q", "response": "A", "score": 1.0}]
    several = "responses" in rows[0]
    named: dict[str, Any] = {
        "prompt": "prompt",
        "response": "responses" if several else "response",
        "scores": (("rewards" if several else "score", 1.0),),
    }
    shuffled = list(rows)
    chance.shuffle(shuffled)
    asked = Asked(strategy="exhaustive", read=ReadOptions(**named))
    expect_same(pair_lines(lines_of(*rows), asked), pair_lines(lines_of(*shuffled), asked))
