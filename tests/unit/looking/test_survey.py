"""Surveys pairs and groups."""

import pytest
from survey_of_rows import Row, survey_of

from prefpairs.analysis.shortcuts import Shortcut
from prefpairs.analysis.survey import WhatIf, survey_groups


def row(prompt: str, chosen: str, rejected: str, gap: float | None = 1.0) -> Row:
    """A pair with a gap that its scores give."""
    scores = {} if gap is None else {"chosen_score": gap, "rejected_score": 0.0}
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, **scores}


def test_repetitions() -> None:
    """Counts duplicates, contradictions, and answers on both sides."""
    found = survey_of(
        [
            row("Q", "a", "b"),
            row("Q", "a", "b"),
            row("Q", "b", "a"),
            row("Q", "b", "c"),
            row("R", "c", "a"),
        ]
    )
    assert (found.pairs, found.prompts, found.duplicates, found.contradictions) == (5, 2, 1, 1)
    assert found.both_sides == 2, "a and b to Q; c is rejected for Q and chosen for R"


def test_tools_make_another_question() -> None:
    """Prompts with different tools are different."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    found = survey_of([row("Q", "a", "b"), {**row("Q", "b", "a"), "tools": tools}])
    assert (found.prompts, found.contradictions, found.both_sides) == (2, 0, 0)


def test_an_answer_to_another_prompt_counts_for_that_prompt() -> None:
    """In a pair across prompts, the rejected answer counts for its own prompt."""
    other = survey_of([row("R", "x", "y")])
    assert other.both_sides == 0
    digest = "0" * 32
    crossed = {**row("Q", "a", "b"), "meta": {"prompt_of_rejected": digest}}
    assert survey_of([crossed, row("Q", "b", "c")]).both_sides == 0


def test_what_another_gap_would_leave() -> None:
    """Counts the pairs that other minimum gaps would leave; unknown gaps pass none."""
    found = survey_of([row("Q", "a", "b", 0.1), row("Q", "a", "c", 0.3), row("R", "a", "b", None)])
    assert found.what_if() == [
        WhatIf(0.0, 2, 1),
        WhatIf(0.05, 2, 1),
        WhatIf(0.1, 2, 1),
        WhatIf(0.2, 1, 1),
        WhatIf(0.3, 1, 1),
        WhatIf(0.5, 0, 0),
    ]
    assert found.without_gap == 1


def test_shortcuts_count_where_answers_differ() -> None:
    """The strongest shortcuts come first, in either direction; unused traits are omitted."""
    found = survey_of(
        [row("Q", "long answer", "short"), row("Q", "- ab", "cdef"), row("Q", "a", "bb")]
    )
    assert found.shortcuts() == [Shortcut("more_lists", 1, 1), Shortcut("longer", 2, 1)]
    assert (found.share("longer"), found.share("refusal")) == (0.5, None)


@pytest.mark.parametrize(
    ("differ", "chosen_more", "warns"),
    [
        (1000, 600, False),
        (1000, 601, True),
        (1000, 400, False),
        (1000, 399, True),
        (100, 64, False),
        (100, 65, True),
        (8, 8, False),
        (9, 9, True),
        (0, 0, False),
    ],
)
def test_shortcuts_warn_beyond_chance(differ: int, chosen_more: int, *, warns: bool) -> None:
    """A warning needs more than 60 % or less than 40 %, beyond chance."""
    assert Shortcut("longer", differ, chosen_more).warns is warns


def test_groups_of_equal_scores_are_low_or_high() -> None:
    """Groups of equal scores are low, middle or high; single candidates are no such group."""
    found = survey_groups([[0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1.0], []])
    assert found.all_equal == {"low": 1, "middle": 1, "high": 1}
    assert (found.groups, found.with_spread) == (6, 1)
    assert (found.tied_pairs, found.possible_pairs) == (5, 6)


def test_where_all_scores_are_one_none_is_high() -> None:
    """If all scores are equal, a group is in the middle."""
    assert survey_groups([[1.0, 1.0]]).all_equal == {"low": 0, "middle": 1, "high": 0}
