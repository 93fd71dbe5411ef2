"""Parses rendered prompts back into messages, or leaves them as text."""

import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefpairs.chat.template import compiled, render_or_empty
from prefpairs.chat.unrender import Unrenderer
from prefpairs.model.message import Unclear, asks_by_template

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
    return render_or_empty(compiled(source), chat, add_generation_prompt=True, **more)


@given(st.sampled_from(TEMPLATES), CHATS)
def test_what_is_taken_apart_renders_the_same(source: str, given_: Any) -> None:
    """Parsed messages render to the original text."""
    text = _text(source, _chat(*given_))
    chat = Unrenderer(source).messages(text)
    if text:
        assert chat is not None
        assert _text(source, chat) == text


@pytest.mark.parametrize("source", [CHATML, TRIMS])
def test_round_trip(source: str) -> None:
    """Rendering and parsing returns the original messages."""
    chat = _chat(["S"], [("Q", "A"), ("R", "B")], "T\n\nU")
    assert Unrenderer(source).messages(_text(source, chat)) == chat


def test_what_the_template_adds_is_no_message() -> None:
    """A default system message of the template is not returned."""
    chat = _chat([], [], "Q")
    assert Unrenderer(ADDS_SYSTEM).messages(_text(ADDS_SYSTEM, chat)) == chat


def test_the_token_that_begins_a_text() -> None:
    """The first token is not known from the template, but from the text."""
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
    """Texts that the template did not render are not parsed."""
    assert Unrenderer(CHATML).messages(text) is None


@pytest.mark.parametrize("source", ["Hello", "{{ raise_exception('no') }}"])
def test_no_chat_template(source: str) -> None:
    """A file that is no chat template parses nothing."""
    unrenderer = Unrenderer(source)
    assert (unrenderer.form, unrenderer.messages("Q")) == (None, None)


def test_in_another_process() -> None:
    """A parser can be pickled; its cache is not."""
    unrenderer = Unrenderer(CHATML)
    unrenderer.messages("Q")
    other = pickle.loads(pickle.dumps(unrenderer))  # noqa: S301 - our own
    assert other == unrenderer
    assert other.messages(_text(CHATML, _chat([], [], "Q"))) == _chat([], [], "Q")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache holds a limited number of prompts."""
    monkeypatch.setattr("prefpairs.chat.unrender._MOST_KNOWN", 2)
    unrenderer = Unrenderer(CHATML)
    for text in "abc":
        unrenderer.messages(text)
    assert list(unrenderer._known) == ["c"]  # noqa: SLF001


def test_only_what_renders_the_same_counts() -> None:
    """A text with blanks that the template would trim was not rendered by it."""
    text = _text(CHATML, _chat([], [], " Q "))
    assert Unrenderer(CHATML).messages(text) == _chat([], [], " Q ")
    assert Unrenderer(TRIMS).messages(text) is None


# Without special tokens -------------------------------------------------------------------

LLAMA = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + "
    "'<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{% endif %}"
)
GEMMA = (
    "{% for m in messages %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) "
    "+ '\n' + m.content | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
MERGES = (
    "{% set told = messages[0].content + '\n\n' if messages[0].role == 'system' else '' %}"
    "{% for m in messages %}{% if m.role != 'system' %}{{ '<start_of_turn>' + m.role + '\n' + "
    "(told if loop.index == 2 else '') + m.content | trim + '<end_of_turn>\n' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>assistant\n' }}{% endif %}"
)
PHI = (
    "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
SPECIAL = re.compile(r"<[^<>\s]+>")


def _bare(source: str, chat: list[dict[str, Any]]) -> str:
    """A rendered text after a tokenizer skipped special tokens."""
    return SPECIAL.sub("", _text(source, chat))


@pytest.mark.parametrize("source", [CHATML, ADDS_SYSTEM, NO_SYSTEM, TRIMS, LLAMA, GEMMA])
@pytest.mark.parametrize("system", [[], ["Be brief."]])
def test_a_text_without_special_tokens(source: str, system: list[str]) -> None:
    """System and user messages are distinguished, and the text is recognized as rendered."""
    if system and source is NO_SYSTEM:
        return
    chat = _chat(system, [], "What is 2 + 3?\n\nassistant, user")
    text = _bare(source, chat)
    assert "<" not in text
    assert asks_by_template(text)
    assert Unrenderer(source).messages(text) == chat


@pytest.mark.parametrize(
    "text",
    [
        "user\nA\nassistant\nB\nuser\nC\nassistant\n",
        "user\nA\nuser\nB\nassistant\n",
        "user\nA\nassistant\nB\nassistant\n",
        "user\nA\ntool\nB\nassistant\n",
        "system\nS\nuser\nA\nuser\nB\nassistant\n",
        "system\nS\nassistant\nA\nuser\nB\nassistant\n",
        "user\n" + "A\nassistant\n" * 100,
        "system\n" + "A\nuser\n" * 100_000 + "assistant\n",
    ],
)
def test_a_text_that_could_be_several_conversations(text: str) -> None:
    """Such a text is ambiguous, since a user may write the name of a role on a line."""
    unrenderer = Unrenderer(CHATML)
    for _ in range(2):  # the second time from the cache
        with pytest.raises(Unclear):
            unrenderer.messages(text)


def test_nothing_is_left_between_messages() -> None:
    """If only special tokens separate turns, any line could begin one."""
    with pytest.raises(Unclear):
        Unrenderer(PHI).messages("\nQ\n\n")


@pytest.mark.parametrize(
    "text", ["user\n Q\nassistant\n", "system\nS\nassistant\n", "assistant\nA\nassistant\n"]
)
def test_other_texts_without_special_tokens(text: str) -> None:
    """No user asks in them, or the template would have rendered them differently."""
    assert Unrenderer(TRIMS).messages(text) is None


LINES = st.lists(st.sampled_from(["Q", "user", "assistant", "system", "tool", ""]), max_size=5)
ROLES = st.lists(st.sampled_from(["system", "user", "assistant", "tool"]), max_size=3)


@given(
    st.sampled_from([CHATML, LLAMA, GEMMA, ADDS_SYSTEM, MERGES, PHI]),
    ROLES.map(lambda roles: [*roles, "user"]),
    st.data(),
)
def test_what_comes_back_is_what_there_was(source: str, roles: list[str], data: Any) -> None:
    """The original messages are returned or none, for any texts and roles."""
    words = data.draw(st.lists(LINES.map("\n".join), min_size=len(roles), max_size=len(roles)))
    chat = [{"role": role, "content": text} for role, text in zip(roles, words, strict=True)]
    try:
        found = Unrenderer(source).messages(_bare(source, chat))
    except Unclear:
        return
    assert found is None or _text(source, found) == _text(source, chat)
