"""The whole page: whatever pairs contain is text."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_of_rows import Parsed, page_of
from survey_of_rows import Row

from hypothesis_examples import examples
from prefpairs.render.page.markup import written_out

_ELEMENTS = (
    "html head meta title style body header h1 h2 p dl dt dd div nav a button main section span "
    "svg rect line text circle g ul li details summary table thead tbody tr th td footer "
    "script"
)
_ATTRIBUTES = (
    "lang charset http-equiv content name class dir href type id hidden aria-label role width "
    "height x y dx x1 x2 y1 y2 cx cy r text-anchor fill-opacity tabindex scope"
)
ELEMENTS, ATTRIBUTES = set(_ELEMENTS.split()), set(_ATTRIBUTES.split())
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "<!-- <script ",
    "</script x",
    "]]>",
    '" onload="x',
    "' onload='x",
    "&lt;b&gt; &amp;",
    "\u202eright to left\u2066",
    "\u2028\u2029\x85",
    "\x00\x1b[31m\x07",
    "javascript:alert(1)",
    "\U000e0041\u200b",
]
TEXTS = st.one_of(
    st.sampled_from(HOSTILE), st.text(min_size=1, max_size=40), st.sampled_from(["a", "b"])
).filter(str.strip)


def row(prompt: str, chosen: str, rejected: str, **more: Any) -> Row:
    """A pair with scores."""
    scores = {"chosen_score": 1.0, "rejected_score": 0.5}
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected, **scores, **more}


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A pair with arbitrary text in every place."""
    chosen, rejected = draw(st.tuples(TEXTS, TEXTS).filter(lambda two: two[0] != two[1]))
    turn = {
        "role": "assistant",
        "content": chosen,
        "reasoning_content": draw(TEXTS),
        "tool_calls": [{"function": {"name": draw(TEXTS), "arguments": draw(TEXTS)}}],
    }
    meta = {"chosen_model": draw(TEXTS), "rejected_model": draw(TEXTS), draw(TEXTS): draw(TEXTS)}
    return row(
        draw(TEXTS),
        [turn] if draw(st.booleans()) else chosen,  # type: ignore[arg-type]
        rejected,
        group=draw(TEXTS),
        meta=meta,
        chosen_origin=draw(TEXTS) + ":1",
        rejected_origin=draw(TEXTS) + ":2",
    )


@examples(60)
@given(given_rows=st.lists(rows(), min_size=1, max_size=4), title=TEXTS)
def test_whatever_pairs_say_no_element_is_theirs(given_rows: list[Row], title: str) -> None:
    """All elements and attributes are ours, and the data equal the given texts."""
    told = page_of(given_rows, title=title)
    parsed = Parsed(told)
    assert parsed.open == []
    assert parsed.comments == []
    assert parsed.elements <= ELEMENTS
    assert parsed.attributes <= ATTRIBUTES
    assert (len(parsed.raw["script"]), len(parsed.raw["style"])) == (2, 1)
    assert written_out(title) in parsed.texts
    for asked, found in zip(given_rows, parsed.pairs, strict=True):
        assert "".join(piece["text"] for piece in found["prompt"]) == asked["prompt"]
        assert "".join(piece["text"] for piece in found["rejected"]) == asked["rejected"]
        if isinstance(asked["chosen"], str):
            assert "".join(piece["text"] for piece in found["chosen"]) == asked["chosen"]
        else:
            turn = asked["chosen"][0]
            call = turn["tool_calls"][0]["function"]
            expected = [turn["reasoning_content"], turn["content"], call["arguments"]]
            assert [piece["text"] for piece in found["chosen"]] == expected
            assert found["chosen"][-1]["name"] == call["name"]


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_turns_or_hides_the_source(words: str) -> None:
    """The page's source has no control characters or bidi overrides, only escapes."""
    told = page_of([row(words, f"{words} a", words, group=words, meta={"model": words})], 9, words)
    data = told[told.index('id="data">') :].removeprefix('id="data">')
    assert re.search("[<>&]", data[: data.index("</script>")]) is None
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]", told) is None


def test_the_policy_allows_its_own_script_and_style_and_nothing_else() -> None:
    """The policy allows only them, by digest: no requests, base, forms or markup from text."""
    parsed = Parsed(page_of([row("Q", "a", "b")]))
    script, style = parsed.raw["script"][1], parsed.raw["style"][0]
    digests = [b64encode(sha256(own.encode()).digest()).decode() for own in (script, style)]
    assert parsed.policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )


def test_our_script_makes_no_markup_of_text() -> None:
    """The script uses no function that makes markup or code from text, stores or fetches."""
    script = Parsed(page_of([row("Q", "a", "b")])).raw["script"][1]
    words = "innerHTML outerHTML insertAdjacent document.write eval Function( DOMParser Storage "
    words += "cookie fetch XMLHttp import( .src javascript: <!-- </ setTimeout('"
    assert [word for word in words.split() if word in script] == []


def test_no_pairs_wanted_no_text() -> None:
    """`--pairs 0` omits all texts; names of models remain in the figures."""
    told = page_of([row("secret question", "secret answer", "b", group="secret group")], 0)
    assert "secret" not in told
    assert "None of 1 pairs is on this page" in told


def test_which_pairs_are_on_the_page_is_said() -> None:
    """The page says whether it has all pairs, the only one, or a random number."""
    some = [row(f"Q{number}", "a", "b") for number in range(9)]
    assert "The only one" in page_of(some[:1])
    assert "All 9 of them" in page_of(some)
    assert "4 of 9 pairs, drawn by seed 0, and those with" in page_of(some, 4)


def test_a_page_of_nothing() -> None:
    """A page without pairs says so."""
    parsed = Parsed(page_of([]))
    assert parsed.pairs == []
    assert "0 rows gave 0 pairs" in parsed.texts


def test_the_same_pairs_are_the_same_page() -> None:
    """The same pairs give the same bytes."""
    some = [row(f"Q{number}", "a", "b") for number in range(50)]
    assert page_of(some, 9) == page_of(some, 9)


def test_headings_and_pictures_have_names() -> None:
    """One h1; every picture has a title, also for screen readers."""
    told = page_of([row("Q", "a longer one", "b"), row("R", "c", "dd")])
    assert told.count("<h1") == 1
    svgs = re.findall(r'<svg[^>]* role="img" aria-label="([^"]+)"><title>([^<]+)</title>', told)
    assert len(svgs) == told.count("<svg") >= 3
    assert all(label == title for label, title in svgs)
