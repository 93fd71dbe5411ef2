"""The fast conversion to an example."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from target_rows import PLAIN, TOOLS, calling, model, pair, system, told, user

from prefpairs.dataset.convert_pair import build_example, plain_example
from prefpairs.model.pair import Pair
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.base import ChatSupport
from prefpairs.targets.export_options import ExportOptions

_WORDS = st.sampled_from(["Aye", "Nay", " ", "", "<think>hm</think>Aye"])
_MESSAGES = st.one_of(
    st.builds(user, _WORDS),
    st.builds(model, _WORDS),
    st.builds(system, _WORDS),
    st.just(told("1")),
    st.just(calling()),
    st.just({**user("Q"), "name": "Ann"}),
    st.just(model("Aye", reasoning_content="hm")),
    st.just(user([{"type": "image"}])),
)
_TEXTS = st.one_of(_WORDS, st.lists(_MESSAGES, max_size=4))
_ANSWERS = st.one_of(
    _WORDS,
    st.builds(lambda words: [model(words)], _WORDS),
    st.builds(lambda words: [model(words, reasoning_content="hm")], _WORDS),
    st.lists(_MESSAGES, max_size=2).map(lambda more: [model("Aye"), *more]),
)
_PAIRS = st.builds(pair, _TEXTS, _ANSWERS, _ANSWERS, tools=st.sampled_from([None, None, TOOLS]))
_OPTIONS = st.builds(
    ExportOptions,
    turns=st.sampled_from(["auto", "all", "first"]),
    lossy=st.sampled_from(["flatten", "drop"]),
    tool_args=st.sampled_from(["dict", "string"]),
    reasoning_as=st.sampled_from(["text", "field", "nothing"]),
    system=st.sampled_from(["keep", "merge"]),
    last_message=st.booleans(),
)


def _short(
    given: Pair, supports: ChatSupport | None = None, **words: Any
) -> tuple[Any, ...] | None:
    example = plain_example(given, supports or ChatSupport(), ExportOptions(**words))
    return None if example is None else example[0][1:]


@given(given=_PAIRS, options=_OPTIONS, name=st.sampled_from(list(TARGETS)))
def test_both_ways_lead_to_one_place(given: Pair, options: ExportOptions, name: str) -> None:
    """If the fast conversion gives an example, the general one gives the same, with equal notes."""
    target = target_named(name)
    example = plain_example(given, target.supports, options)
    if example is not None:
        assert build_example(given, target, options) == example


def test_plain_chats() -> None:
    """Plain chats stay unchanged, given as texts or as messages."""
    assert _short(PLAIN) == ([user("Q")], [model("Aye")], [model("Nay")], None)
    turns = [system("S"), user("Q"), model("A"), user("R")]
    assert _short(pair(turns, "Aye", "Nay")) == (turns, [model("Aye")], [model("Nay")], None)


@pytest.mark.parametrize(
    "given",
    [
        pair("Q", "Aye", "Nay", tools=TOOLS),
        pair("Q", "Aye", "Aye"),
        pair("Q", "Aye", " "),
        pair([], "Aye", "Nay"),
        pair([user("Q"), model("So")], "Aye", "Nay"),
        pair([user("Q"), user("R")], "Aye", "Nay"),
        pair([user("Q"), calling(), told("1")], "Aye", "Nay"),
        pair([{**user("Q"), "name": "Ann"}], "Aye", "Nay"),
        pair([user([{"type": "image"}])], "Aye", "Nay"),
        pair("Q", [model("Aye"), model("Bye")], "Nay"),
        pair("Q", [model("Aye", reasoning_content="hm", name="Ann")], "Nay"),
        pair("Q", "Aye", [calling()]),
    ],
    ids=lambda given: str(given.prompt)[:20],
)
def test_all_others(given: Pair) -> None:
    """All others use the general conversion, which has the reasons and notes."""
    assert _short(given) is None


def test_thinking() -> None:
    """If the target expects it in the text, it is moved there and noted."""
    given = pair("Q", [model("Aye", reasoning_content="hm")], "Nay")
    said = plain_example(given, ChatSupport(), ExportOptions())
    assert said is not None
    assert (said[0].chosen, said[1]) == (
        [model("<think>\nhm\n</think>\n\nAye")],
        frozenset({"reasoning_as_text"}),
    )
    held = plain_example(given, ChatSupport(reasoning=True), ExportOptions(reasoning_as="field"))
    assert held is not None
    assert (held[0].chosen, held[1]) == (given.chosen, frozenset())
    assert _short(given, lossy="drop") is None


def test_what_only_some_targets_can_say() -> None:
    """System messages and reasoning in earlier turns depend on the target."""
    told = pair([system("S"), user("Q")], "Aye", "Nay")
    asked = pair([user("Q"), model("A"), user("R")], "Aye", "Nay")
    assert _short(told) is not None
    assert _short(told, system="merge") is _short(told, ChatSupport(system=False)) is None
    assert _short(asked) is not None
    assert _short(asked, ChatSupport(earlier_reasoning=False)) is None


def test_what_is_asked_for() -> None:
    """Options that remove something disable the fast conversion."""
    assert _short(PLAIN, reasoning_as="field", turns="all", tool_args="dict") == _short(PLAIN)
    assert _short(PLAIN, reasoning_as="nothing") is _short(PLAIN, last_message=True) is None
