"""What chat templates can render, found by rendering with them."""

import sys
from typing import Any

import pytest

from prefpairs.chat.template import TemplateFacts, facts_of
from prefpairs.errors import UsageError
from prefpairs.optional_libraries import install_command

SAID = "<|{{ message.role }}|>{{ message.content }}"
THOUGHT = "{% if message.reasoning_content %}<t>{{ message.reasoning_content }}</t>{% endif %}"
CALLED = "{{ call.function.arguments | tojson }}"
SYSTEM_FIRST = "{%- if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
NINE = "{% if call.id | length != 9 %}{{ raise_exception('nine letters') }}{% endif %}"
IF_TOOLS = "{%- if not tools %}{{ raise_exception('no tools') }}{% endif %}"
TYPED = "{{ tools[0].function.parameters.properties.word.type }}"


def _template(arguments: str = "", before: str = "", said: str = SAID) -> str:
    """A template with its own format of arguments."""
    calls = f"{{% for call in message.tool_calls or [] %}}{arguments}{{% endfor %}}"
    return f"{before}{{%- for message in messages %}}{said}{calls}\n{{% endfor %}}"


def test_plain_template() -> None:
    """A template with only roles and contents shows neither calls nor thinking."""
    assert facts_of(_template()) == TemplateFacts(tool_args=None, reasoning=False, system=True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (CALLED, "dict"),
        ("{{ call.function.arguments | tojson(indent=2) }}", "dict"),
        ("{% for key, word in call.function.arguments.items() %}{{ key }}={{ word }}{% endfor %}",
         "dict"),
        (("{% if call.function.arguments is string %}{{ call.function.arguments }}"
         "{% else %}{{ call.function.arguments | tojson }}{% endif %}"), "dict"),
        ("{{ call | tojson }}", "dict"),
        ("{{ '```json\\n' + call.function.arguments }}", "string"),
        (("{% if call.function.arguments is mapping %}{{ raise_exception('text') }}{% endif %}"
         "{{ call.function.arguments }}"), "string"),
        ("{{ call.function.name }}", None),
        ("{{ raise_exception('no calls') }}", None),
        ("{{ call.function.arguments | tojson | tojson }}", None),
        ("{{ call.arguments.word }}", None),
        (NINE + CALLED, "dict"),
        (IF_TOOLS + CALLED, "dict"),
        (TYPED + CALLED, "dict"),
    ],
)  # fmt: skip
def test_form_of_arguments(arguments: str, expected: Any) -> None:
    """The form in which arguments appear once and not quoted twice; objects if both work."""
    assert facts_of(_template(arguments)).tool_args == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (SAID, False),
        (THOUGHT + SAID, True),
        (SAID + THOUGHT, True),
        ("{% if message.reasoning %}{{ message.reasoning }}{% endif %}" + SAID, False),
        (SAID + "{% if not loop.last %}" + THOUGHT + "{% endif %}", False),
    ],
)
def test_thinking(said: str, expected: bool) -> None:
    """Thinking is recognized if the last turn shows it."""
    assert facts_of(_template(said=said)).reasoning is expected


@pytest.mark.parametrize(
    ("before", "said", "expected"),
    [
        ("", SAID, True),
        (SYSTEM_FIRST, SAID, False),
        ("", "{% if message.role != 'system' %}" + SAID + "{% endif %}", False),
        ("{{ messages[0].content if messages[0].role == 'system' }}", SAID, True),
    ],
)
def test_system_messages(before: str, said: str, expected: bool) -> None:
    """A template that rejects or omits system messages does not support them."""
    assert facts_of(_template(before=before, said=said)).system is expected


def test_surroundings_of_transformers() -> None:
    """Tags, names and white space handling that templates rely on."""
    template = (
        "{{ bos_token }}{{ strftime_now('%d %b %Y') }}\n"
        "{% for message in messages %}\n"
        "    {% if loop.index > 9 %}{% break %}{% endif %}\n"
        "    {% generation %}{{ message.content }}{% endgeneration %}\n"
        "{% endfor %}\n"
        "{% if add_generation_prompt %}{{ raise_exception('nothing to add') }}{% endif %}"
        "{{ [1] | tojson(ensure_ascii=False, indent=4) }}{{ eos_token }}"
    )
    assert facts_of(template) == TemplateFacts(tool_args=None, reasoning=False, system=True)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{}",
        "Hello",
        "{{ messages[0].role }}",
        "{{ messages[-1].content }}",
        "{% for message in messages %}{{ message.value }}{% endfor %}",
        "{{ raise_exception('no') }}",
        "{{ nobody.knows.this }}",
        "{% for part in messages[0].content %}{{ part.text }}{% endfor %}",
    ],
)
def test_what_renders_no_chat(source: str) -> None:
    """A template must render both the question and the answer."""
    with pytest.raises(UsageError) as caught:
        facts_of(source)
    assert caught.value.problem == "--template: it does not render a chat of a user and the model"
    assert caught.value.hint == "is this the chat template?"


def test_syntax() -> None:
    """A syntax error shows the library's message with its line."""
    with pytest.raises(UsageError) as caught:
        facts_of("{{ messages }}\n{% for message %}")
    assert caught.value.problem.startswith("--template: ")
    assert caught.value.problem.endswith(" (line 2)")


def test_sandbox() -> None:
    """A template can access and change nothing but its output."""
    with pytest.raises(UsageError, match="does not render a chat"):
        facts_of(_template(before="{{ ''.__class__.__mro__[1].__subclasses__() }}"))
    with pytest.raises(UsageError, match="does not render a chat"):
        facts_of(_template(before="{% set _ = messages.append(1) %}"))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError) as caught:
        facts_of(_template())
    assert caught.value.problem == "--template needs a library that is not installed"
    assert caught.value.hint == install_command("tokens")


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            TemplateFacts("dict", reasoning=True, system=True),
            (
                "the template needs tool-call arguments as objects, reasoning in "
                "reasoning_content, system messages where they are"
            ),
        ),
        (
            TemplateFacts("string", reasoning=False, system=False),
            (
                "the template needs tool-call arguments as text, reasoning in the text, "
                "system messages in the first user message"
            ),
        ),
        (
            TemplateFacts(None, reasoning=False, system=True),
            (
                "the template needs tool calls as text, reasoning in the text, "
                "system messages where they are"
            ),
        ),
    ],
)
def test_sentence(facts: TemplateFacts, sentence: str) -> None:
    """A description of what the template renders."""
    assert facts.sentence() == sentence


def test_arguments_that_python_prints() -> None:
    """Braces with single quotes are not JSON, so the template needs text."""
    source = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.arguments }}{% endfor %}{% endfor %}"
    )
    assert facts_of(source).tool_args == "string"


@pytest.mark.parametrize(
    ("source", "problem"),
    [("{{ " + "[" * 2000, "it is nested too deeply"), ("{{ " + "1" * 5000, "Exceeds the limit")],
)
def test_what_the_compiler_cannot_bear(source: str, problem: str) -> None:
    """A template that crashes the compiler is rejected like other invalid ones."""
    with pytest.raises(UsageError) as caught:
        facts_of(source)
    assert caught.value.problem.startswith(f"--template: {problem}")
