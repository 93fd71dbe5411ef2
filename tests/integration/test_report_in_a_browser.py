"""The page of `report` in a real browser: charts, keys, and no requests to other hosts.

Chromium must be on the PATH. `make test-browser` installs what is missing, and requires it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Row = dict[str, Any]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PHONE, DESK = {"width": 360, "height": 760}, {"width": 1280, "height": 900}

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""

HOSTILE = [
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    "<svg onload='window.owned = 1'><style>*{display:none}</style>",
    "<!--<script>",
    "<a href='javascript:window.owned = 1'>x</a><base href='https://example.com/'>",
    "<meta http-equiv=refresh content='0;url=https://example.com/'>",
    "<link rel=stylesheet href='https://example.com/x.css'><iframe src='https://example.com'>",
    "{{constructor.constructor('window.owned = 1')()}} ${window.owned = 1}",
]
UNSEEN = {"\u202e": "U+202E", "\u2066": "U+2066", "\u2028": "U+2028", "\0": "U+0000",
          "\x1b": "U+001B", "\u200b": "U+200B", "\U000e0041": "U+E0041"}  # fmt: skip
MODELS = ("step 9", "step 10", "teacher")
CHAT = [
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "I should look.",
        "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "Rome"}'}}],
    },
    {"role": "tool", "name": "weather", "content": "sunny"},
    {"role": "assistant", "content": "It is sunny in Rome."},
]


def plain(number: int) -> Row:
    """A pair with an edited answer; its gap, lengths and models depend on its number."""
    words = [f"word{place * (number + 3) % 17}" for place in range(30)]
    other = [*words[:9], "cut", *words[9 + number % 5 :]]
    return {
        "prompt": f"Question {number}?",
        "chosen": " ".join(words + ["more"] * (number % 4 * 10)),
        "rejected": " ".join(other),
        "chosen_score": 1.0,
        "rejected_score": number % 10 / 10,
        "chosen_origin": f"new.jsonl:{number}",
        "rejected_origin": f"{'old' if number % 2 else 'new'}.jsonl:{number}",
        "meta": {"chosen_model": MODELS[number % 3], "rejected_model": MODELS[number // 3 % 3]},
    }


def hostile(words: str) -> Row:
    """A pair with the same text in every place."""
    return {
        "prompt": words,
        "chosen": f"{words} one",
        "rejected": f"{words} two",
        "group": words,
        "chosen_origin": f"{words}:1",
        "rejected_origin": f"{words} other:1",
        "meta": {words: words, "chosen_model": words, "rejected_model": f"{words}!"},
        "tools": [{"type": "function", "function": {"name": words}}],
    }


PLAIN = [plain(number) for number in range(30)]
LONG = {
    "prompt": "Long? " * 400,
    "chosen": " ".join(f"a{number}" for number in range(3_000)),
    "rejected": " ".join(f"b{number}" for number in range(3_000)),
}
ROWS = [
    *PLAIN,
    *(hostile(words) for words in HOSTILE),
    hostile("".join(UNSEEN)),
    {"prompt": [{"role": "user", "content": "Weather?"}], "chosen": CHAT, "rejected": CHAT[2:]},
    LONG,
    {"prompt": "Cut?", "chosen": "start " + "word " * 8_000 + "end", "rejected": "word " * 9},
    {
        "prompt": "By chance?",
        "chosen": "alpha beta gamma delta the epsilon zeta eta theta. The end.",
        "rejected": "one two three four the five six seven eight. The end.",
    },
]
ALL = len(ROWS)


@pytest.fixture(name="browser", scope="module")
def _browser() -> "Iterator[Browser]":
    """Headless Chromium."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        assert "BROWSER" not in os.environ, "`make test-browser` runs this with Chromium"
        pytest.skip("Chromium or playwright is not installed; `make test-browser` says how")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page written by the command, with a title that tries to be a script."""
    folder = tmp_path_factory.mktemp("report")
    lines = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    (folder / "<img src=x>.jsonl").write_text(lines)
    words = ["report", "<img src=x>.jsonl", "--title", HOSTILE[0], "-q", "-o", "report.html"]
    subprocess.run(
        [sys.executable, "-m", "prefpairs", *words],
        cwd=folder,
        check=True,
    )
    return folder / "report.html"


@pytest.fixture(name="page")
def _page(browser: "Browser", report: Path) -> "Iterator[Page]":
    """The page opened from disk; afterwards there must be no requests, violations or errors."""
    with opened(browser, report.as_uri()) as page:
        yield page


class opened:  # noqa: N801 - used as a function
    """A page that is monitored from its first moment on."""

    def __init__(self, browser: "Browser", address: str, **setting: Any) -> None:
        self._context = browser.new_context(**{"viewport": DESK, **setting})
        self._context.add_init_script(WATCH)
        self._page = self._context.new_page()
        self._page.set_default_timeout(5_000)
        self._said: list[str] = []
        self._asked: list[str] = []
        self._page.on("console", lambda message: self._said.append(message.text))
        self._page.on("pageerror", lambda error: self._said.append(str(error)))
        self._page.on("dialog", lambda dialog: self._said.append(dialog.message))
        self._page.on("request", lambda request: self._asked.append(request.url))
        self._address = address

    def __enter__(self) -> "Page":
        """Open it."""
        self._page.goto(self._address)
        return self._page

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Fail if it did anything forbidden."""
        if kind is None:
            assert self._said == []
            assert self._page.evaluate("window.violations") == []
            assert self._page.evaluate("typeof window.owned") == "undefined"
            assert self._asked == [self._address], "nothing is asked for but the page itself"
        self._context.close()


def count(page: "Page") -> str:
    """The number of the shown pair, and how many there are."""
    return str(page.inner_text(".count"))


def left(page: "Page", expected: int) -> int:
    """The number of pairs left, once it is as expected or after a second."""
    deadline = time.monotonic() + 1
    while True:
        number = int(count(page).removeprefix("none").rpartition(" ")[2] or 0)
        if number == expected or time.monotonic() > deadline:
            return number
        page.wait_for_timeout(20)


def prompt(page: "Page") -> str:
    """The prompt of the shown pair."""
    return str(page.inner_text(".pair .prompt .words >> nth=0"))


def top_of_pair(page: "Page") -> float:
    """The top of the shown pair, in pixels from the top of the window."""
    where: float = page.evaluate("document.querySelector('.pair').getBoundingClientRect().top")
    return where


def test_charts_are_drawn_with_the_figures_of_stats(page: "Page", report: Path) -> None:
    """Each chart has a size and a name, and the page's figures are those of `stats --json`."""
    sizes = page.eval_on_selector_all(
        "svg.chart", "all => all.map(one => [one.clientWidth, one.clientHeight])"
    )
    assert len(sizes) >= 6
    assert all(width > 300 and height > 60 for width, height in sizes)
    told = subprocess.run(
        [sys.executable, "-m", "prefpairs", "stats", "--json", "<img src=x>.jsonl"],
        cwd=report.parent,
        capture_output=True,
        check=True,
    )
    figures = json.loads(told.stdout)
    assert page.inner_text(".numbers").split() == [
        *("rows", f"{figures['rows']['read']}"),
        *("pairs", f"{figures['pairs']}"),
        *("prompts", f"{figures['prompts']}"),
    ]
    bars = page.eval_on_selector_all(
        "svg.chart g > title", "all => all.map(one => one.textContent)"
    )
    for value in figures["gap"]["values"]:
        assert f"{value['value']:g}: {value['count']} pairs" in bars
    for shortcut in figures["shortcuts"]:
        assert f"{shortcut['share']:.1%}" in page.inner_text("#charts")


def test_keys(page: "Page") -> None:
    """Keys j and k, arrows, /, d and ? work; in an input field they are characters."""
    assert (count(page), prompt(page)) == (f"1 of {ALL}", "Question 0?")
    for key, shown in (("j", 2), ("ArrowRight", 3), ("k", 2), ("ArrowLeft", 1), ("k", 1)):
        page.keyboard.press(key)
        assert count(page) == f"{shown} of {ALL}"
    assert page.locator(".only").count() > 0
    page.keyboard.press("d")
    assert page.locator(".only").count() == 0
    assert page.get_attribute("text=Differences", "aria-pressed") == "false"
    page.keyboard.press("/")
    page.keyboard.type("jd")
    assert page.input_value("input[type=search]") == "jd"
    assert left(page, 0) == 0
    page.keyboard.press("Escape")
    assert left(page, ALL) == ALL
    page.keyboard.press("?")
    assert page.is_visible("dialog")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_key_j_leads_to_the_top_of_a_pair(page: "Page") -> None:
    """Key j scrolls to the top of the pair, even from far down in a long answer."""
    page.keyboard.press("j")
    assert 0 <= top_of_pair(page) < 300
    page.evaluate("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    page.set_viewport_size({"width": 1280, "height": 200})
    page.keyboard.press("j")
    assert 0 <= top_of_pair(page) < 300


def test_search_and_filters(page: "Page") -> None:
    """Search and filters leave the pairs that the same conditions leave in Python."""
    page.click(".filters summary")
    lengths = [len(row["chosen"]) / len(row["rejected"]) for row in PLAIN]

    def asked(label: str, value: str, expected: int, *, choice: bool = False) -> None:
        field = page.get_by_label(label, exact=True)
        answer: Callable[[str], object] = field.select_option if choice else field.fill
        blank = field.input_value()
        answer(value)
        assert left(page, expected) == expected, label
        answer(blank)
        assert left(page, ALL) == ALL, label

    asked(
        "Search prompts and answers", "QUESTION 1", sum("Question 1" in r["prompt"] for r in PLAIN)
    )
    asked("Search prompts and answers", "weather {", 1)
    asked("Gap, from", "0.5", sum(1 - row["rejected_score"] >= 0.5 for row in PLAIN))
    asked("Gap, to", "0.15", sum(1 - row["rejected_score"] <= 0.15 for row in PLAIN))
    longer = sum(ratio >= 1.2 for ratio in lengths) + len(("Weather?", "Cut?"))
    asked("Length of chosen / rejected, from", "1.2", longer)
    met = sum("teacher" in row["meta"].values() for row in PLAIN)
    asked("Model", "teacher", met, choice=True)
    asked("File", "old.jsonl", 15, choice=True)


def test_order(page: "Page") -> None:
    """Sorts by gap and by length; pairs without a gap come last."""
    page.click(".filters summary")
    expected: dict[str, Callable[[Row], float]] = {
        "widest gap first": lambda row: row["rejected_score"],
        "narrowest gap first": lambda row: -row["rejected_score"],
        "rejected longer first": lambda row: len(row["chosen"]) / len(row["rejected"]),
    }
    page.fill("input[type=search]", "question")
    for order, rank in expected.items():
        page.get_by_label("Order", exact=True).select_option(order)
        assert left(page, 30) == 30
        prompts = page.evaluate(ALL_PROMPTS)
        ranks = [rank(PLAIN[int(re.sub("[^0-9]", "", words))]) for words in prompts]
        assert len(ranks) == 30
        assert ranks == sorted(ranks)


ALL_PROMPTS = """(() => {
  const told = [];
  const next = document.querySelector('[title=j]');
  for (;;) {
    told.push(document.querySelector('.pair .prompt .words').innerText);
    if (next.disabled) return told;
    next.click();
  }
})()"""


def test_a_link_leads_to_its_pair(page: "Page", browser: "Browser", report: Path) -> None:
    """The address names the shown pair, and opening it shows that pair."""
    page.keyboard.press("j")
    page.keyboard.press("j")
    address = page.url
    assert re.fullmatch(r".*#[0-9a-f]{32}", address)
    with opened(browser, report.as_uri()) as other:
        other.fill("input[type=search]", "weather")
        assert left(other, 1) == 1
        other.evaluate(f"location.hash = '{address.rpartition('#')[2]}'")
        assert left(other, ALL) == ALL
        assert count(other) == f"3 of {ALL}"
        assert prompt(other) == "Question 2?"


def test_words_that_differ_are_marked(page: "Page") -> None:
    """Without the marked words, both answers are equal; edited words are marked."""
    marks = """side => [...document.querySelectorAll(`.side.${side} .words`)].map(words =>
        [...words.childNodes].filter(node => node.className !== 'only')
        .map(node => node.textContent).join(' ')).join(' ').split(/\\s+/).filter(Boolean)"""
    for row in PLAIN:
        assert prompt(page) == row["prompt"]
        same = [page.evaluate(marks, side) for side in ("chosen", "rejected")]
        assert same[0] == same[1]
        assert len(same[0]) >= 15
        assert "cut" in page.inner_text(".side.rejected .only >> nth=0")
        page.keyboard.press("j")


def test_an_omission_is_noted_in_its_place(page: "Page") -> None:
    """An omitted middle of a very long text is noted in its place, with marks or without."""
    page.fill("input[type=search]", "cut?")
    assert left(page, 1) == 1
    for _ in ("marked", "not marked"):
        shown = page.locator(".side.chosen .words").text_content() or ""
        found = re.fullmatch(r"(start .*)([0-9]{2},[0-9]{3}) characters left out(.* end)", shown)
        assert found is not None
        left_out = int(found[2].replace(",", ""))
        assert len(found[1]) + left_out + len(found[3]) == len("start ") + 40_000 + len("end")
        assert len(found[1]) > 2 * len(found[3])
        page.get_by_role("button", name="Differences").click()


def test_a_word_in_common_by_chance_is_no_anchor(page: "Page") -> None:
    """A common word between larger changes does not split them; a common ending does."""
    page.fill("input[type=search]", "by chance")
    assert left(page, 1) == 1
    only = [
        page.locator(f".side.{side} .only").all_inner_texts() for side in ("chosen", "rejected")
    ]
    assert only == [
        ["alpha beta gamma delta the epsilon zeta eta theta"],
        ["one two three four the five six seven eight"],
    ]


def test_very_different_long_answers_are_quick(page: "Page") -> None:
    """Very different long answers are not compared word by word, and the page says so."""
    page.fill("input[type=search]", "b2999")
    assert left(page, 1) == 1
    assert "not" not in page.inner_text(".pair .from >> nth=0")
    assert "too different" in page.inner_text(".pair .note")
    started = time.monotonic()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.evaluate("1")
    assert time.monotonic() - started < 2


def test_a_long_prompt_opens(page: "Page") -> None:
    """A long prompt is folded at first and can be opened."""
    page.fill("input[type=search]", "b2999")
    assert left(page, 1) == 1
    high = page.locator(".prompt").bounding_box()["height"]
    page.get_by_role("button", name="Show all").click()
    assert page.locator(".prompt").bounding_box()["height"] > 2 * high
    page.get_by_role("button", name="Show less").click()
    assert page.locator(".prompt").bounding_box()["height"] == high


def test_turns_are_told_apart(page: "Page") -> None:
    """Thinking, calls, results and roles are shown as such."""
    page.fill("input[type=search]", "sunny in rome")
    assert left(page, 1) == 1
    pieces = page.eval_on_selector_all(
        ".side.chosen .piece", "all => all.map(one => [one.className, one.innerText])"
    )
    assert [[kind, *text.split("\n")] for kind, text in pieces] == [
        ["piece thinking", "assistant thinks", "I should look."],
        ["piece call", "assistant calls weather", '{"city": "Rome"}'],
        ["piece result", "tool result of weather", "sunny"],
        ["piece text", "assistant", "It is sunny in Rome."],
    ]


def test_hostile_text_is_text(page: "Page") -> None:
    """Hostile text is shown literally everywhere and creates no elements."""
    for _ in PLAIN:
        page.evaluate("document.querySelector('[title=j]').click()")
    kinds = "[...new Set([...document.querySelectorAll('main *')].map(one => one.tagName))].sort()"
    before: list[str] = []
    for words in HOSTILE:
        assert prompt(page) == words
        assert page.inner_text(".side.chosen .words") == f"{words} one"
        facts = page.inner_text(".facts")
        assert f"{words} over {words}!" in facts
        assert page.locator(".more td >> nth=0").inner_text() == "tools"
        assert page.locator(".more td").all_inner_texts()[1:4] == [words] * 3
        assert words in page.inner_text(".side.chosen .from")
        before = before or page.evaluate(kinds)
        assert page.evaluate(kinds) == before
        page.keyboard.press("j")
    assert page.inner_text("h1") == HOSTILE[0]
    assert page.title() == f"{HOSTILE[0]} · prefpairs"
    assert page.locator("img, iframe, link, base, object, embed, form").count() == 0


def test_signs_that_are_not_seen_are_marked(page: "Page") -> None:
    """Invisible, reversing and terminating characters are shown by their code points."""
    page.fill("input[type=search]", "".join(UNSEEN))
    assert left(page, 1) == 1
    signs = page.locator(".side.chosen .words .sign").all_inner_texts()
    assert signs == list(UNSEEN.values())
    shown = page.inner_text("main")
    assert [sign for sign in UNSEEN if sign in shown] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_it_fits_and_can_be_read(
    browser: "Browser", report: Path, scheme: Any, viewport: Any
) -> None:
    """The page does not scroll sideways, and all text has enough contrast (AA)."""
    with opened(browser, report.as_uri(), viewport=viewport, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert page.evaluate(LOW_CONTRAST, "body *") == []
        for _ in range(len(ROWS)):
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            assert page.evaluate(LOW_CONTRAST, ".place *") == []
            page.evaluate("document.querySelector('[title=j]').click()")
        assert count(page) == f"{ALL} of {ALL}"


LOW_CONTRAST = """(those) => {
  const parsed = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return found.length > 3 ? found : [...found, 1];
  };
  const light = ([red, green, blue]) => [red, green, blue].map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const low = [];
  for (const element of document.querySelectorAll(those)) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length || element.disabled) continue;
    if (['SCRIPT', 'TITLE', 'title', 'OPTION'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = parsed(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [high, deep] = [light(ink), light(behind(element))].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (deep + 0.05);
    if (ratio < 4.5) low.push(`${ratio} ${element.className} ${element.textContent}`);
  }
  return low;
}"""


def test_the_other_theme_is_a_click_away(page: "Page") -> None:
    """A button switches to the other theme and back; its label names the target."""
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    for label, other in (("Dark", False), ("Light", True)):
        assert page.inner_text("#theme") == label
        page.click("#theme")
        assert (page.evaluate(ground) == light) is other


def test_focus_is_seen(page: "Page") -> None:
    """Tab reaches all controls, and focus is visible on each."""
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        told = page.evaluate(
            "(() => { const at = document.activeElement; return [at.tagName, "
            "parseFloat(getComputedStyle(at).outlineWidth)] })()"
        )
        if told[0] != "BODY":
            assert told[1] >= 1, told
            seen.add(told[0])
    assert seen >= {"A", "BUTTON", "SUMMARY", "INPUT"}


def test_on_paper_there_are_charts_and_pairs_and_no_controls(page: "Page") -> None:
    """Printing shows the charts, the first five pairs and no controls."""
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".printed .pair:visible").count() == 5
    assert page.locator("svg.chart:visible").count() == page.locator("svg.chart").count()
    assert page.locator("button:visible, input:visible, select:visible, nav:visible").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".printed .pair").count() == 0


def test_without_its_script_the_charts_are_there(browser: "Browser", report: Path) -> None:
    """Without JavaScript, the charts are shown, with a note on what is missing."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("svg.chart:visible").count() >= 6
    assert page.is_visible("text=Browsing pairs requires the script of this page.")
    assert page.locator("button:visible").count() == 0
    context.close()


ATTEMPTS = [
    "document.body.append(Object.assign(new Image(), {src: 'https://example.com/x.png'}))",
    "document.body.innerHTML = '<b>x</b>'",
    "eval('1')",
    "document.querySelector('style').textContent = '* { color: red }'",
    "fetch('https://example.com/').catch(() => 0)",
]


def test_the_policy_blocks_and_reports(browser: "Browser", report: Path) -> None:
    """The content security policy blocks and reports what the page never does."""
    context = browser.new_context()
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(report.as_uri())
    seen = 0
    for attempt in ATTEMPTS:
        page.evaluate(f"void setTimeout(() => {{ try {{ {attempt} }} catch {{}} }})")
        page.wait_for_timeout(100)
        before, seen = seen, len(page.evaluate("window.violations"))
        assert seen > before, attempt
    context.close()
