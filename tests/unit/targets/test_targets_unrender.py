"""Chat templates turned round: what they made becomes messages again, or stays."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.targets.template import compiled, rendered
from prefpairs.targets.unrender import Unrenderer

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
ADDS_SYSTEM = (
    "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}"
    "{% endif %}" + CHATML
)
TRIMS = "{{ bos_token }}" + CHATML.replace("m.content +", "m.content | trim +")
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + CHATML
TEMPLATES = (CHATML, ADDS_SYSTEM, TRIMS, NO_SYSTEM)

WORDS = st.text(st.sampled_from("ab \n<|>:"), max_size=8)
CHATS = st.tuples(st.lists(WORDS, max_size=1), st.lists(st.tuples(WORDS, WORDS), max_size=2), WORDS)


def _chat(system: list[str], turns: list[tuple[str, str]], last: str) -> list[dict[str, Any]]:
    said = [("system", text) for text in system]
    for question, answer in turns:
        said += [("user", question), ("assistant", answer)]
    return [{"role": role, "content": text} for role, text in [*said, ("user", last)]]


def _text(source: str, chat: list[dict[str, Any]], **more: Any) -> str:
    return rendered(compiled(source), chat, add_generation_prompt=True, **more)


@given(st.sampled_from(TEMPLATES), CHATS)
def test_what_is_taken_apart_renders_the_same(source: str, given_: Any) -> None:
    """Whatever comes out, the template makes the very text of it."""
    text = _text(source, _chat(*given_))
    chat = Unrenderer(source).messages(text)
    if text:
        assert chat is not None
        assert _text(source, chat) == text


@pytest.mark.parametrize("source", [CHATML, TRIMS])
def test_round_trip(source: str) -> None:
    """The messages are those that there were."""
    chat = _chat(["S"], [("Q", "A"), ("R", "B")], "T\n\nU")
    assert Unrenderer(source).messages(_text(source, chat)) == chat


def test_what_the_template_adds_is_no_message() -> None:
    """Its own system message is not the user's."""
    chat = _chat([], [], "Q")
    assert Unrenderer(ADDS_SYSTEM).messages(_text(ADDS_SYSTEM, chat)) == chat


def test_the_token_that_begins_a_text() -> None:
    """The template does not say which it is; the text does."""
    chat = _chat(["S"], [], "Q")
    text = _text(TRIMS, chat, bos_token="<s>")  # noqa: S106 - no password
    assert Unrenderer(TRIMS).messages(text) == chat
    assert Unrenderer(TRIMS).messages("x" * 65 + text) is None
    assert Unrenderer(CHATML).messages(f"<s>{text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Q",
        "<|im_start|>user\nQ<|im_end|>\n",
        "<|im_start|>assistant\n",
        "<|im_start|>tool\nQ<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n<think>\n",
    ],
)
def test_what_it_did_not_render(text: str) -> None:
    """Nothing comes of it."""
    assert Unrenderer(CHATML).messages(text) is None


@pytest.mark.parametrize("source", ["Hello", "{{ raise_exception('no') }}"])
def test_no_chat_template(source: str) -> None:
    """Nothing can be learnt of it."""
    unrenderer = Unrenderer(source)
    assert (unrenderer.form, unrenderer.messages("Q")) == (None, None)


def test_in_another_process() -> None:
    """It can be sent to one: what it remembers stays here."""
    unrenderer = Unrenderer(CHATML)
    unrenderer.messages("Q")
    other = pickle.loads(pickle.dumps(unrenderer))  # noqa: S301 - our own
    assert other == unrenderer
    assert other.messages(_text(CHATML, _chat([], [], "Q"))) == _chat([], [], "Q")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many prompts are remembered."""
    monkeypatch.setattr("prefpairs.targets.unrender._MOST_KNOWN", 2)
    unrenderer = Unrenderer(CHATML)
    for text in "abc":
        unrenderer.messages(text)
    assert list(unrenderer._known) == ["c"]  # noqa: SLF001


def test_only_what_renders_the_same_counts() -> None:
    """A template that trims did not write these blanks, though it can be cut out of them."""
    text = _text(CHATML, _chat([], [], " Q "))
    assert Unrenderer(CHATML).messages(text) == _chat([], [], " Q ")
    assert Unrenderer(TRIMS).messages(text) is None
