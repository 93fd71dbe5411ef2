"""Finds the text of each message in the output of a chat template."""

import pytest
from target_rows import CHATML, calling, model, told, user

from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.model.message import Message
from prefpairs.targets.base import CannotExport

TURN = "<|im_start|>assistant\n"


def _parts(
    chat: ChatRenderer, prompt: list[Message], answer: list[Message]
) -> tuple[str, list[str]]:
    """The text of the prompt, and the spans of the assistant."""
    spoken = chat.rendered(prompt, answer, None)
    spans = [spoken.text[start:end] for start, end in spoken.spans]
    return spoken.text[: spoken.prompt_end], spans


def _chat(source: str = CHATML, **specials: str) -> ChatRenderer:
    return ChatRenderer(source, specials)


def test_one_turn() -> None:
    """The prompt ends where the assistant begins; its end of turn is the assistant's."""
    prompt, spans = _parts(_chat(), [user("Q")], [model("Aye")])
    assert prompt == f"<|im_start|>user\nQ<|im_end|>\n{TURN}"
    assert spans == ["Aye<|im_end|>"]


def test_several_turns() -> None:
    """Calls and reasoning are the assistant's; tool results and user messages are not."""
    answer = [
        calling({"a": 1}, "So", reasoning_content="hm"),
        told("2"),
        told(""),
        model("Aye"),
        user("And?"),
        calling({"a": 3}),
        told("4"),
        model("Nay"),
    ]
    _, spans = _parts(_chat(), [user("Q")], answer)
    call = '\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    assert spans == [
        f"<think>\nhm\n</think>\n\nSo{call}<|im_end|>",
        "Aye<|im_end|>",
        f"{call}<|im_end|>".replace("1", "3"),
        "Nay<|im_end|>",
    ]


def test_turns_that_say_nothing() -> None:
    """Empty turns have their own spans, also next to another assistant turn."""
    answer = [model("a"), model(" "), told("1"), model(""), told(""), model("b")]
    _, spans = _parts(_chat(), [user("Q")], answer)
    assert spans == ["a<|im_end|>", " <|im_end|>", "<|im_end|>", "b<|im_end|>"]


def test_the_end_of_turn_in_a_call() -> None:
    """If a call contains the end-of-turn token, the last one ends the turn."""
    answer = [calling({"a": "<|im_end|>"}), told("1"), model("b")]
    _, (first, second) = _parts(_chat(), [user("Q")], answer)
    assert first.endswith('{"a": "<|im_end|>"}}</tool_call><|im_end|>')
    assert second == "b<|im_end|>"


@pytest.mark.parametrize("word", ["assistant", "user", "<|im_end|>", TURN, "Q", "\n", "tool"])
def test_words_of_the_template_in_the_texts(word: str) -> None:
    """Texts that look like template text are still located correctly."""
    answer = [model(word), told(f"{word}{word}"), model(f"{word}x{word}")]
    if not word.strip():
        answer[0] = model("x\n")
    _, spans = _parts(_chat(), [user(word)], answer)
    assert spans == [f"{turn['content']}<|im_end|>" for turn in answer[::2]]


def test_templates_that_trim() -> None:
    """If the template trims, spans have the trimmed text."""
    chat = _chat(CHATML.replace("{{- m.content }}", "{{- m.content | trim }}"))
    _, spans = _parts(chat, [user(" Q ")], [model("\n Aye "), told(" 1 "), model(" Bye\n")])
    assert spans == ["Aye<|im_end|>", "Bye<|im_end|>"]


def test_templates_that_write_json() -> None:
    """Some templates write tool results as JSON."""
    source = CHATML.replace("{{- m.content }}", "{{- m.content | tojson }}")
    _, spans = _parts(_chat(source), [user("Q")], [model('A "b"'), told('"\n"'), model("c")])
    assert spans == ['"A \\"b\\""<|im_end|>', '"c"<|im_end|>']


MISTRAL = (
    "{{- bos_token }}{%- for m in messages %}"
    "{%- if m.role == 'user' %}{{- '[INST] ' + m.content + ' [/INST]' }}"
    "{%- else %}{{- ' ' + m.content + eos_token }}{%- endif %}{%- endfor %}"
)


def test_templates_without_a_generation_prompt() -> None:
    """The space before the first word of later turns belongs to the template."""
    chat = _chat(MISTRAL, bos_token="<s>", eos_token="</s>")  # noqa: S106 - names of tokens
    prompt, spans = _parts(chat, [user("Q")], [model("Aye"), user("So?"), model("Bye")])
    assert prompt == "<s>[INST] Q [/INST]"
    assert spans == [" Aye</s>", "Bye</s>"]


def test_templates_that_ask_without_words() -> None:
    """Template text before the assistant's words is not the assistant's."""
    source = CHATML.replace("{%- if add_gen", "{%- if messages[-1].role != 'tool' and add_gen")
    prompt, spans = _parts(_chat(source), [user("Q"), calling({}), told("1")], [model("Aye")])
    assert (prompt.endswith("1<|im_end|>\n"), spans) == (True, ["Aye<|im_end|>"])
    _, spans = _parts(_chat(), [user("Q")], [model(TURN)])
    assert spans == [f"{TURN}<|im_end|>"]


MARKS = ["<|im_start|>", "<|im_end|>", "<|return|>", "<|end|>", "</s>"]


def test_marks_are_whole() -> None:
    """A special token is not split, though the end may begin like the next turn."""
    source = CHATML + "{%- if not add_generation_prompt %}{{- '</s>' }}{%- endif %}"
    _, spans = _parts(
        ChatRenderer(source, {}, MARKS), [user("Q")], [model("Aye"), user("So?"), model("Bye")]
    )
    assert spans == ["Aye<|im_end|>", "Bye<|im_end|>"]


def test_another_mark_at_the_very_end() -> None:
    """The last turn may end with another token than those before it."""
    source = (
        "{%- for m in messages %}{{- '<|start|>' + m.role + '<|message|>' + m.content }}"
        "{{- '<|return|>' if loop.last and m.role == 'assistant' else '<|end|>' }}{%- endfor %}"
        "{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}"
    )
    chat = ChatRenderer(source, {}, [*MARKS, "<|start|>", "<|message|>"])
    _, spans = _parts(chat, [user("Q")], [model("Aye"), user("So?"), model("Bye")])
    assert spans == ["<|message|>Aye<|end|>", "<|message|>Bye<|return|>"]


def test_calls_before_an_end_without_a_mark() -> None:
    """The call is the last text, so everything after it is the assistant's."""
    source = (
        "{%- for m in messages %}{{- '<|' + m.role + '|>' + m.content }}"
        "{%- for c in m.tool_calls or [] %}{{- '<call>' + c.function.name }}{%- endfor %}"
        "{%- endfor %}{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"
    )
    chat = ChatRenderer(source, {}, ["<|user|>", "<|assistant|>", "<|tool|>"])
    assert _parts(chat, [user("Q")], [calling({}, "So")])[1] == ["So<call>add"]
    with pytest.raises(CannotExport):
        _parts(chat, [user("Q")], [calling({}, "So"), told("1"), model("Aye")])


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{- raise_exception('no') if messages | length > 3 }}" + CHATML, "template_refuses"),
        (CHATML.replace("{%- if add", "{{- messages | length }}{%- if add"), "prompt_changes"),
        (CHATML.replace("{{- m.content }}", "{{- m.content | upper }}"), "not_traced"),
        (CHATML.replace("{{- m.content }}", "{{- m.content | length }}"), "not_traced"),
    ],
)
def test_what_cannot_be_located(source: str, reason: str) -> None:
    """What cannot be located is rejected with a reason, not guessed."""
    with pytest.raises(CannotExport) as caught:
        _parts(_chat(source), [user("Q")], [model("Aye"), told("1"), model("b")])
    assert caught.value.reason == reason


def test_signs_in_the_texts() -> None:
    """Texts that contain our own markers are rejected."""
    with pytest.raises(CannotExport) as caught:
        _parts(_chat(), [user("Q")], [model("\ue0000\ue001")])
    assert caught.value.reason == "not_traced"


def test_whole_conversations() -> None:
    """The assistant's text in all turns of whole conversations."""
    spoken = _chat().rendered_trace([user("Q"), model("a"), user("R"), model("b")], None)
    assert [spoken.text[slice(*span)] for span in spoken.spans] == ["a<|im_end|>", "b<|im_end|>"]
    with pytest.raises(CannotExport) as caught:
        _chat().rendered_trace([model("a")], None)
    assert caught.value.reason == "prompt_is_answer"
