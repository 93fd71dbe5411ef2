"""dedupe: one pair of each content."""

from itertools import permutations
from typing import Any

import pytest
from run_stage import Held, Row, row_of, staged

from prefpairs.ledger import StageCounts
from prefpairs.model.identity import digest_prompt
from prefpairs.stages.contamination import ReferencePrompts
from prefpairs.stages.dedupe import Dedupe

LONG = " ".join(f"w{number}" for number in range(40))
LONGER = f"{LONG} and on"


def _kept(stage: Dedupe, *rows: Row) -> list[Row]:
    """The rows that stay, which must be the same in every order."""
    kept = [rows[place] for place in staged(stage, rows)[0]]
    for order in permutations(rows):
        places, _ = staged(stage, order)
        assert places == sorted(places)
        assert sorted(str(order[place]) for place in places) == sorted(map(str, kept))
    return kept


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (row_of("Q", gap=0.5), row_of("Q", gap=0.4)),
        (row_of("Q", gap=-0.5), row_of("Q")),
        (row_of("Q", gap=0.0), row_of("Q", gap=-0.5)),
        (
            row_of("Q", chosen_score=0.9, rejected_score=0.7),
            row_of("Q", chosen_score=0.8, rejected_score=0.6),
        ),
        (row_of("Q", chosen_score=0.9), row_of("Q", rejected_score=0.1)),
        (
            row_of("Q", chosen_score=0.1, rejected_score=0.05, meta={"a": 1}),
            row_of("Q", chosen_score=0.1, rejected_score=0.05, meta={"a": 2}),
        ),
        (row_of("Q", gap=0.5), row_of("Q", gap=0.5, group="z")),
    ],
    ids=["gap", "unknown gap", "negative gap", "chosen score", "unknown score", "meta", "group"],
)
def test_strongest_of_copies_stays(strong: Row, weak: Row) -> None:
    """The strongest copy stays, in any order and among many."""
    other = row_of("R", gap=0.1)
    assert _kept(Dedupe(), weak, other, strong) == [other, strong]
    assert _kept(Dedupe(), weak, strong, weak, other) == [strong, other]


def test_copies_that_differ_in_origin_only() -> None:
    """Of copies that differ only in origin, the first stays."""
    rows = [row_of("Q", gap=0.5, chosen_origin=f"{name}.jsonl:1") for name in "zab"]
    places, stage = staged(Dedupe(), rows)
    assert (places, stage.found, stage.kept, stage.dropped) == ([0], 3, 1, {"duplicate": 2})


def test_forms_of_one_content_are_copies() -> None:
    """Text and chat, and other key orders in a call, are the same content; other tools are not."""
    chat = {**row_of("Q"), "prompt": [{"role": "user", "content": "Q"}]}
    tools = row_of("Q", tools=[{"type": "function", "function": {"name": "f"}}])
    assert staged(Dedupe(), [row_of("Q"), chat, tools])[0] == [0, 2]


@pytest.mark.parametrize(
    ("by", "places"),
    [
        (("content",), [0, 1, 2, 3, 4]),
        (("prompt",), [2, 3]),
        (("chosen",), [2, 4]),
        (("rejected",), [1, 2, 3]),
        (("prompt", "chosen"), [2, 3, 4]),
        (("prompt", "chosen", "rejected"), [0, 1, 2, 3, 4]),
        (("prompt", "content"), [0, 1, 2, 3, 4]),
    ],
)
def test_by(by: tuple[str, ...], places: list[int]) -> None:
    """Of pairs that agree in the --by fields, the strongest stays, in input order."""
    rows = [
        row_of("Q", "A", "B", 0.1),
        row_of("Q", "A", "C", 0.2),
        row_of("Q", "A", "D", 0.5),
        row_of("R", "A", "B", 0.15),
        row_of("Q", "E", "D", 0.3),
    ]
    found, stage = staged(Dedupe(by=by), rows)
    assert (found, stage.kept, stage.dropped.total()) == (places, len(places), 5 - len(places))


def test_by_names_nothing_else() -> None:
    """--by prompt ignores the tools."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    rows = [row_of("Q", "A", "B", 0.1), row_of("Q", "C", "D", 0.2, tools=tools)]
    assert _kept(Dedupe(by=("prompt",)), *rows) == [rows[1]]


AGAINST = [
    ((0.5, 0.3), [0]),
    ((0.3, 0.5), [1]),
    ((0.5, 0.5), []),
    ((0.5, None), [0]),
    ((-0.5, None), [0]),
    ((None, 0.5), [1]),
    ((None, None), []),
]


@pytest.mark.parametrize(("gaps", "places"), AGAINST)
@pytest.mark.parametrize("conflicts", ["keep", "drop", "strongest"])
def test_conflicts(
    conflicts: Any, gaps: tuple[float | None, float | None], places: list[int]
) -> None:
    """Of A over B and B over A: both stay, none, or the one with the wider gap."""
    rows = [row_of("Q", "A", "B", gaps[0]), row_of("Q", "B", "A", gaps[1])]
    bystander = row_of("R", "B", "A", 0.1)
    stays = {"keep": [0, 1], "drop": [], "strongest": places}[conflicts]
    found, stage = staged(Dedupe(conflicts=conflicts), [*rows, bystander])
    assert found == [*stays, 2]
    if conflicts == "keep":
        assert (stage.dropped, stage.noticed) == ({}, {"contradiction_kept": 2})
    else:
        assert (stage.dropped, stage.noticed) == ({"contradiction": 2 - len(stays)}, {})


def test_strongest_copy_speaks_in_a_conflict() -> None:
    """Duplicates are removed before contradictions, in any order."""
    rows = row_of("Q", "A", "B", 0.1), row_of("Q", "B", "A", 0.3), row_of("Q", "A", "B", 0.5)
    assert _kept(Dedupe(conflicts="strongest"), *rows) == [rows[2]]


def test_conflicts_come_before_what_is_the_same() -> None:
    """A pair that is dropped as a contradiction displaces no other pair."""
    rows = [
        row_of("Q", "A", "B", 0.5),
        row_of("Q", "B", "A", 0.5),
        row_of("Q", "C", "B", 0.1),
    ]
    assert _kept(Dedupe(by=("prompt",), conflicts="drop"), *rows) == [rows[2]]


def test_other_tools_contradict_nothing() -> None:
    """The opposite preference with other tools is no contradiction."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    rows = [row_of("Q", "A", "B"), row_of("Q", "B", "A", tools=tools)]
    assert staged(Dedupe(conflicts="drop"), rows)[0] == [0, 1]


@pytest.mark.parametrize(
    ("near_on", "places"), [("both", [0, 2, 3]), ("prompt", [0, 3]), ("chosen", [0, 2])]
)
def test_near(near_on: Any, places: list[int]) -> None:
    """Of pairs that are similar in the --near-on fields, the strongest stays."""
    rows = [
        row_of(LONG, f"answer {LONG}", "B", 0.5),
        row_of(LONGER, f"answer {LONGER}", "C", 0.4),
        row_of(LONGER, "Yes", "B", 0.3),
        row_of("Q", f"answer {LONG} now", "B", 0.2),
    ]
    kept = _kept(Dedupe(near=0.9, near_on=near_on), *rows)
    assert kept == [rows[place] for place in places]
    assert staged(Dedupe(near=0.9, near_on=near_on), rows)[1].dropped == {
        "near_duplicate": 4 - len(places)
    }


def test_near_ones_of_a_lost_one_stay() -> None:
    """Only what is similar to a pair that stays is dropped; similarity is not transitive."""
    words = [f"w{number}" for number in range(44)]
    one, two, three = (" ".join(words[start : start + 40]) for start in (0, 2, 4))
    rows = [row_of(one, gap=0.5), row_of(two, gap=0.4), row_of(three, gap=0.3)]
    assert _kept(Dedupe(near=0.85, near_on="prompt"), *rows) == [rows[0], rows[2]]


def test_reference_comes_first() -> None:
    """A prompt in the reference is dropped before it can displace others."""
    reference = ReferencePrompts()
    reference.add("Q")
    rows = [row_of("Q", "A", "B", 0.9), row_of("R", "A", "B", 0.1), row_of("Q", "B", "A", 0.1)]
    stage = Dedupe(by=("chosen",), conflicts="drop", reference=reference)
    found, counts = staged(stage, rows)
    assert (found, counts.dropped) == ([1], {"in_reference": 2})


def test_digests_are_handed_on() -> None:
    """The digests that a later stage wants come with the entry."""
    other = digest_prompt("R")
    rows = [row_of("Q", gap=0.1), row_of("Q", gap=0.5, meta={"prompt_of_rejected": other.hex()})]
    held = Held(rows)
    wanted = frozenset({"group", "other_prompt", "tools"})
    ((entry,),) = Dedupe().select(held.blocks(), held, StageCounts("dedupe"), wanted)
    (_, expected) = held.entries()
    assert entry == expected._replace(prompt=b"", chosen=b"", rejected=b"")


def test_texts_are_looked_at_for_ties_only() -> None:
    """Texts are read only for ties; otherwise digests and gaps decide."""
    held = Held([row_of("Q", gap=0.1), row_of("Q", gap=0.2), row_of("R"), row_of("R")])
    list(Dedupe().select(held.blocks(), held, StageCounts("dedupe"), frozenset({"id"})))
    assert sorted(held.asked) == [2, 3]


def test_nothing_of_nothing() -> None:
    """An empty input is no error here."""
    stage = Dedupe(by=("prompt",), conflicts="drop", near=0.9)
    assert staged(stage, []) == ([], StageCounts("dedupe"))
