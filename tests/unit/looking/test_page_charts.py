"""Charts of the figures of stats."""

import html
import re
from typing import Any

from survey_of_rows import Row, survey_of

from prefpairs.analysis.survey import Survey, figures, survey_groups
from prefpairs.analysis.survey_tables import sections
from prefpairs.ledger import Ledger
from prefpairs.render.page.charts import Chart, charts
from prefpairs.render.page.histograms import columns
from prefpairs.render.page.markup import Column, dots, heat, rows, shortened
from prefpairs.render.page.markup import Row as Line


def survey(pairs: list[Row], groups: list[list[float]] | None = None) -> Survey:
    """A survey of the pairs of rows, and of groups of scores."""
    found = survey_of(pairs)
    return Survey(found, found.what_if(), None if groups is None else survey_groups(groups))


def pair(number: int, gap: float = 1.0, **more: Any) -> Row:
    """A pair whose chosen answer is longer the larger its number."""
    scores = {"chosen_score": gap, "rejected_score": 0.0}
    return {"prompt": f"Q{number}", "chosen": "a" * (2 + number), "rejected": "b", **scores, **more}


def told(chart: Chart) -> list[str]:
    """The tooltips of a chart's bars."""
    found = re.findall(r"<g><title>([^<]*)</title>", chart.drawn or "")
    return [html.unescape(words) for words in found]


def words(chart: Chart) -> list[str]:
    """The text in a chart."""
    return [
        html.unescape(told) for told in re.findall(r"<text[^>]*>([^<]*)</text>", chart.drawn or "")
    ]


MODELS = [
    pair(number, meta={"chosen_model": "big", "rejected_model": "small" if number % 4 else "tiny"})
    for number in range(12)
]


def test_every_section_has_its_chart() -> None:
    """Every table of stats has its chart, for pairs and for rollouts."""
    ledger = Ledger(rows_read=12)
    for looked_at in (survey(MODELS), survey(MODELS, [[0.0, 1.0], [0.5, 0.5, 1.0]])):
        titles = {section.title for section in sections(looked_at, ledger)}
        assert charts(looked_at, ledger).keys() >= titles - {"Who wins, by file"}
    assert charts(survey([]), ledger).keys() == {"What happened to the input"}


def test_columns_are_the_figures_of_stats() -> None:
    """Charts have the values, bins and counts of --json."""
    found = survey([pair(number, gap=(1 + number % 30) / 40) for number in range(90)])
    drawn, counted = charts(found, Ledger()), figures(found, Ledger())
    bins = [
        f"{bin_['from']:g} to {bin_['to']:g}: {bin_['count']} pairs"
        for bin_ in counted["gap"]["bins"]
    ]
    assert [line for line in bins if not line.endswith(": 0 pairs")] == told(drawn["Gaps"])
    chosen = counted["lengths"]["chosen"]["bins"]
    expected = [
        f"{of['from']:g} to {of['to']:g}: {of['count']} chosen" for of in chosen if of["count"]
    ]
    assert told(drawn["Lengths of answers, in characters"])[: len(expected)] == expected


def test_the_funnel_names_every_loss() -> None:
    """The funnel shows rows, candidates and groups with all losses."""
    ledger = Ledger(rows_read=1000, rows_bad=3, candidates_found=990)
    ledger.rows_dropped.update({"no_score": 7, "empty_answer": 2})
    ledger.candidates_dropped.update({"empty_answer": 2})
    ledger.groups_without_pair.update({"all_tied": 40})
    funnel = charts(survey(MODELS, [[0.0, 1.0]] * 12), ledger)["What happened to the input"]
    assert funnel.says == "1,000 rows gave 12 pairs about 12 prompts"
    assert words(funnel) == [
        *("rows read", "1,000", "no score", "-7", "bad rows", "-3"),
        *("candidates", "990", "empty answer", "-2", "groups", "12", "all tied", "-40"),
        *("groups with a spread", "12", "pairs", "12", "prompts", "12"),
    ]


def test_sentences_say_what_is_to_be_seen() -> None:
    """Each chart has a sentence with a figure."""
    groups = [[0.0, 1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    drawn = charts(survey(MODELS, groups), Ledger(rows_read=12))
    assert {title: chart.says for title, chart in drawn.items()} == {
        "What happened to the input": "12 rows gave 12 pairs about 12 prompts",
        "Scores of candidates": "71% of candidates have the score 1",
        "Candidates per group": "Most groups have 2 candidates",
        "Gaps": "The scores of every pair differ by 1",
        "What another --min-gap would leave": "A --min-gap of up to 0.5 would leave every pair",
        "Lengths of answers, in characters": "Chosen answers are longer: 7 characters against 1 "
        "(medians)",
        "What a shortcut would get right": "The longer answer wins 100% of the time",
        "Concentration": "Every prompt has 1 pair",
        "Who wins, by model": "big is chosen in 100% of its pairs",
    }
    graded = charts(survey([pair(0, gap=0.1), pair(1, gap=0.4), pair(1, gap=0.2)]), Ledger())
    assert graded["Gaps"].says == "Half of the pairs differ by 0.2 or less"
    least = "What another --min-gap would leave"
    assert graded[least].says == "A --min-gap of 0.5 would leave 0% of the pairs"
    assert graded["Concentration"].says == "A prompt has 1.5 pairs on average, 2 at most"
    assert graded["Scores"].says == "Chosen answers score 0.2, rejected ones 0 (medians)"


def test_what_chance_may_have_done_is_not_called_unfair() -> None:
    """With only a few pairs, a shortcut is called neither unfair nor harmless."""
    chart = charts(survey([pair(0), pair(1)]), Ledger())["What a shortcut would get right"]
    assert chart.says == "Too few pairs differ to call a shortcut unfair"
    fair = charts(survey([pair(0), {**pair(1), "rejected": "b" * 9}]), Ledger())
    assert (
        fair["What a shortcut would get right"].says
        == "No shortcut predicts which answer is chosen"
    )


def test_unfair_shortcuts_are_marked() -> None:
    """Unfair shortcuts are marked by a word and a filled dot, not by color alone."""
    chart = charts(survey(MODELS), Ledger())["What a shortcut would get right"]
    assert words(chart)[1:3] == ["longer answer", "100.0%, unfair"]
    assert 'class="dot unfair"' in str(chart.drawn)
    assert 'class="dot unfair"' not in dots("", [Line("fair", "50%", 0.5)], (0.4, 0.6))


def test_a_shortcut_that_loses_steers_as_well() -> None:
    """A shortcut that usually loses is described as losing."""
    pairs = [{**pair(number), "chosen": "b", "rejected": "a" * 9} for number in range(12)]
    chart = charts(survey(pairs), Ledger())["What a shortcut would get right"]
    assert chart.says == "The longer answer loses 100% of the time"


def test_a_number_alone_is_no_name() -> None:
    """Steps are labeled "step 200", not "200"."""
    pairs = [pair(n, meta={"chosen_step": 200, "rejected_step": 100}) for n in range(3)]
    chart = charts(survey(pairs), Ledger())["Who wins, by step"]
    assert chart.says == "step 200 is chosen in 100% of its pairs"


def test_who_wins_is_a_map_of_shares() -> None:
    """The matrix shows the share of wins, with no value for names that were never compared."""
    chart = charts(survey(MODELS), Ledger())["Who wins, by model"]
    assert words(chart) == [
        "big",
        "small",
        "tiny",
        "big",
        "100%",
        "100%",
        "small",
        "0%",
        "tiny",
        "0%",
    ]
    assert 'class="heat chosen" fill-opacity="0.5"' in str(chart.drawn) or (
        'fill-opacity="0.5" class="heat chosen"' in str(chart.drawn)
    )


def test_many_or_long_names_are_numbered() -> None:
    """Many or long names are replaced by numbers in column headings."""
    names = [f"checkpoint-{number:06}" for number in range(6)]
    drawn = heat("", names, [[None] * 6] * 6)
    assert ">6</text>" in drawn
    assert f">6. {shortened(names[5], 16)}</text>" in drawn


def test_a_crowd_of_names_has_no_numbers() -> None:
    """Narrow squares have tooltips instead of numbers, and a heading for every fifth."""
    row = [Column(0.75, "a over b: 3 of 4")] * 14
    drawn = heat("", [f"n{number}" for number in range(14)], [row] * 14)
    assert "75%" not in drawn
    assert drawn.count("<title>a over b: 3 of 4</title>") == 14 * 14
    assert re.findall(r'class="tick"[^>]*>(\d+)<', drawn) == ["5", "10"]
    assert heat("", ["n"] * 9, [row[:9]] * 9).count('class="minor"') == 81


def test_what_is_there_at_all_is_seen() -> None:
    """A loss of one in a million has a visible bar, and zero has none."""
    drawn = rows("", [Line("one", "1", 1e-6), Line("none", "0", 0.0)])
    widths = re.findall(r'width="([\d.]+)%" height="8" class="bar', drawn)
    assert widths == ["0.40", "0.00"]
    shares = re.findall(
        r">(<?&?[a-z;]*\d+%)<", columns("", [Column(0.999, ""), Column(1e-6, "")], ["a", "b"])
    )
    assert [html.unescape(share) for share in shares] == ["100%", "<1%"]


def test_a_phone_is_spared_every_other_word() -> None:
    """On narrow screens, only the highest column has a number, and every other edge a label."""
    given = [Column(share / 100, "") for share in range(1, 13)]
    drawn = columns("", given, [str(place) for place in range(13)])
    assert drawn.count('class="minor"') == 11
    assert drawn.count('class="tick minor"') == 6
    assert "minor" not in columns("", given[:8], [str(place) for place in range(9)])
