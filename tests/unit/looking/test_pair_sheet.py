"""Shows a pair, or a candidate of a group, as rows."""

from typing import Any

import pytest

from prefpairs.model.candidate import Candidate
from prefpairs.model.pair import Pair, make_pair, pair_of
from prefpairs.render.escape_and_wrap import Row, width_of
from prefpairs.render.pair_sheet import View, group_rows, member_rows, pair_rows

CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}, {"name": "say"}, {}]
BEST = Candidate("g", "Q?", "It is 41.", 1.0, 3, "a.jsonl:7")
WORST = Candidate("g", "Q?", "It is 42.", 0.5, None, "a.jsonl:9")


def _text(row: Row) -> str:
    return "".join(text for text, _ in row).rstrip()


def _drawn(pair: Pair, width: int = 80, **view: Any) -> list[str]:
    return [*map(_text, pair_rows(pair, "p.jsonl:1", 1, View(width, **view)))]


def _bare(**fields: Any) -> Pair:
    """A pair with only its texts, as others write it."""
    pair, _ = pair_of({"prompt": "Q?", "chosen": "aye", "rejected": "nay", **fields})
    return pair


def test_a_pair() -> None:
    """All that is known of a pair, then both answers side by side."""
    pair = make_pair(BEST, WORST)
    assert _drawn(pair, marked=True) == [
        f"── 1 ─ {pair.id} {'─' * 27} p.jsonl:1 ──",
        "group     g",
        "gap       0.5",
        "",
        "prompt    Q?",
        "",
        "chosen   1.0   9 chars   index 3       │ rejected   0.5   9 chars",
        "a.jsonl:7                              │ a.jsonl:9",
        "───────────────────────────────────────┼───────────────────────────────────────",
        "It is {+41+}.                          │ It is [-42-].",
        "",
    ]


def test_one_above_the_other() -> None:
    """On a narrow terminal, the answers are one above the other."""
    assert (
        _drawn(make_pair(BEST, WORST), width=79, marked=True)[-9:]
        == [
            "",
            "chosen   1.0   9 chars   index 3",
            "a.jsonl:7",
            "It is {+41+}.",
            "",
            "rejected   0.5   9 chars",
            "a.jsonl:9",
            "It is [-42-].",
            "",
            "",
        ][-9:]
    )


def test_what_is_not_known_is_left_out() -> None:
    """Unknown fields are omitted, such as scores and origins of foreign pairs."""
    assert _drawn(_bare())[1:9] == [
        "group     prompt:2e54a43ef4f860697c0f6dbff3a0aafe",
        "gap       unknown",
        "",
        "prompt    Q?",
        "",
        "chosen   3 chars                       │ rejected   3 chars",
        "───────────────────────────────────────┼───────────────────────────────────────",
        "aye                                    │ nay",
    ]


def test_tools_and_meta() -> None:
    """The names of the tools are shown, and meta as it is."""
    drawn = _drawn(_bare(tools=TOOLS, meta={"step": 7, "text": "a\nb"}))
    assert drawn[3:5] == ["tools     add, say, ?", 'meta      {"step":7,"text":"a\\nb"}']


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"gap": 0.0}, "note      the chosen answer does not score higher"),
        ({"gap": -1.0}, "note      the chosen answer does not score higher"),
        (
            {"meta": {"prompt_of_rejected": "0" * 32}},
            "note      the rejected answer is to another prompt",
        ),
        (
            {"chosen": "a\tb", "rejected": "a    b"},
            "note      the difference is invisible: whitespace, or characters without width",
        ),
    ],
)
def test_notes(fields: dict[str, Any], note: str) -> None:
    """Notes on marks and differing prompts."""
    assert note in _drawn(_bare(**fields))
    assert not any(row.startswith("note") for row in _drawn(_bare()))


def test_long_prompts_are_cut_in_the_middle() -> None:
    """Long prompts are cut in the middle; `full` shows all."""
    prompt = [
        {"role": "system", "content": "\n".join(f"rule {number}" for number in range(20))},
        {"role": "user", "content": "\n".join(f"word {number}" for number in range(20))},
    ]
    drawn = _drawn(_bare(prompt=prompt))[4:17]
    assert drawn == [
        "system    rule 0",
        "          rule 1",
        "          rule 2",
        "          rule 3",
        "          … 29 more rows (--full)",
        "user      word 13",
        *(f"          word {number}" for number in range(14, 20)),
        "",
    ]
    full = _drawn(_bare(prompt=prompt), full=True)
    assert [row for row in full if "rule" in row or "word" in row] == [
        "system    rule 0",
        *(f"          rule {number}" for number in range(1, 20)),
        "user      word 0",
        *(f"          word {number}" for number in range(1, 20)),
    ]


def test_one_more_row_is_not_cut() -> None:
    """A single extra row is not cut, since the notice would take its place."""
    prompt = "\n".join(map(str, range(12)))
    assert not any("more rows" in row for row in _drawn(_bare(prompt=prompt)))
    assert any("2 more rows" in row for row in _drawn(_bare(prompt=f"{prompt}\n12")))


def test_prompts_with_calls() -> None:
    """A role that does not fit in the margin gets a row."""
    prompt = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "1", "tool_call_id": "1"},
    ]
    assert _drawn(_bare(prompt=prompt))[4:9] == [
        "user      Add.",
        "call add  a: 1",
        "result of add",
        "          1",
        "",
    ]


def test_long_values_are_cut() -> None:
    """Long values are cut to one row, unless `full` is given."""
    pair = _bare(group="g" * 200)
    assert _drawn(pair)[1] == f"group     {'g' * 69}…"
    assert "".join(row[10:] for row in _drawn(pair, full=True)[1:4]) == "g" * 200


def test_long_origins_keep_their_end() -> None:
    """Long origins are cut at the start, to keep the line number."""
    pair = make_pair(BEST._replace(origin=f"{'x' * 99}.jsonl:7"), WORST)
    assert _drawn(pair)[7].startswith(f"…{'x' * 29}.jsonl:7 │ a.jsonl:9")


def test_very_long_answers_are_cut() -> None:
    """Very long answers are cut after a thousand rows; `full` shows all."""
    pair = _bare(chosen="\n".join(f"line {number} of it" for number in range(2000)))
    for width in (80, 79):
        drawn = _drawn(pair, width)
        assert sum(" of it" in row for row in drawn) == 1000
        assert drawn.count("… there is more (--full)") == 1
    assert sum(" of it" in row for row in _drawn(pair, full=True)) == 2000


def test_headings_where_one_side_needs_them() -> None:
    """If one answer has calls, both have headings."""
    answer = [{"role": "assistant", "content": "", "tool_calls": [CALL]}]
    drawn = _drawn(_bare(chosen=answer))
    assert [row[:41].rstrip() for row in drawn[-4:-1]] == [
        f"{'─' * 39}┼─",
        f"{'call add':39}│",
        f"{'  a: 1':39}│",
    ]


@pytest.mark.parametrize("width", [40, 41, 79, 80, 81, 100, 201])
def test_no_row_is_too_wide(width: int) -> None:
    """No row is too wide, at any width and for any pair."""
    wide = "日本語" * 40 + "\n" + "word " * 60 + "\n" + "x" * 300 + "\t\x1b[31m"
    pair = make_pair(
        Candidate(wide, wide, wide, 1.0, 7, wide, TOOLS, meta={wide: wide}),
        Candidate(wide, wide, f"{wide}?", 0.0, 8, wide, TOOLS, meta={wide: wide}),
    )
    for full in (False, True):
        view = View(width, full)
        assert {width_of(row) <= width for row in pair_rows(pair, wide, 9, view)} == {True}
        candidate = Candidate(wide, wide, wide, 1.0, 7, wide, TOOLS)
        rows = [*group_rows(candidate, wide, view), *member_rows(123, candidate, wide, "", view)]
        assert {width_of(row) <= width for row in rows} == {True}


def test_a_candidate_of_a_group() -> None:
    """The facts of a candidate, its outcome and its first words."""
    view = View(60)
    assert [*map(_text, group_rows(BEST._replace(tools=TOOLS), "2 candidates", view))] == [
        f"── g {'─' * 39} 2 candidates ──",
        "tools     add, say, ?",
        "prompt    Q?",
        "",
    ]
    candidate = BEST._replace(response="It is\n\n  41.")
    assert [*member_rows(2, candidate, "chosen over #3", "chosen", view)] == [
        [("#2    1.0   12 chars   index 3   a.jsonl:7", "chosen head")],
        [("      ", ""), ("chosen over #3", "chosen")],
        [("      ", ""), ("It is 41.", "label")],
    ]
