"""The options for the form of examples."""

from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import BadInput, FileError, UsageError
from prefpairs.option import filled
from prefpairs.plan.export_plan import ToTargetOrPairs, export_plan
from prefpairs.targets import target_named
from prefpairs.targets.export_options import ExportOptions

PLAIN = "{% for message in messages %}{{ message.role }}:{{ message.content }}\n{% endfor %}"
ARGUMENTS = "{% for call in message.tool_calls or [] %}{}{% endfor %}"
OBJECTS = PLAIN.replace(
    "\n", ARGUMENTS.replace("{}", "{{ call.function.arguments | tojson }}") + "\n"
)
TEXTS = PLAIN.replace("\n", ARGUMENTS.replace("{}", "{{ '=' + call.function.arguments }}") + "\n")
THINKS = OBJECTS.replace(
    "{{ message.content }}", "{{ message.reasoning_content }}{{ message.content }}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + OBJECTS


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "objects", "texts", "thinks", "no_system"):
        Path(f"{name}.jinja").write_text(globals()[name.upper()], "utf-8")


def _plan(to: str = "trl", **words: Any) -> Any:
    return export_plan(to, filled(ExportOptions, words), None)


def _form(to: str = "trl", **words: Any) -> tuple[str, str, str]:
    options = _plan(to, **words).options
    return options.tool_args, options.reasoning_as, options.system


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("objects", ("dict", "text", "keep")),
        ("texts", ("string", "text", "keep")),
        ("thinks", ("dict", "field", "keep")),
        ("no_system", ("dict", "text", "merge")),
        ("plain", ("dict", "text", "keep")),
    ],
)
def test_template(name: str, expected: tuple[str, str, str]) -> None:
    """The rows contain what the template can render."""
    assert _form(template=f"{name}.jinja") == expected


def test_template_that_renders_no_calls() -> None:
    """Calls and tools become text; the target is unchanged otherwise."""
    plan, target = _plan(template="plain.jinja"), target_named("trl")
    assert (plan.target.supports.calls, plan.target.supports.tools) == (False, False)
    assert plan.target.supports.reasoning is target.supports.reasoning is True
    assert plan.target.rules is target.rules
    assert _plan(template="objects.jinja").target is target


def test_options_next_to_a_template() -> None:
    """Options take precedence over the template."""
    words = {"tool_args": "string", "reasoning_as": "nothing", "system": "keep"}
    expected = ("string", "nothing", "keep")
    assert _form(template="thinks.jinja", **words) == expected
    assert _form(template="no_system.jinja", **words) == expected
    plan = _plan(template="plain.jinja", tool_args="string")
    assert plan.target is target_named("trl")
    assert plan.options.tool_args == "string"


def test_what_is_known_of_arguments() -> None:
    """The form is known only if an option or a template determines it."""
    assert _plan().options.tool_args_known is False
    assert _plan(tool_args="dict").options.tool_args_known is True
    assert _plan(template="plain.jinja").options.tool_args_known is True


def test_what_a_template_says() -> None:
    """The description of the template is kept for messages."""
    assert _plan().options.template_says == ""
    assert _plan(template="thinks.jinja").options.template_says == (
        "the template needs tool-call arguments as objects, reasoning in reasoning_content, "
        "system messages where they are"
    )


def test_thinking_where_there_is_no_field() -> None:
    """A template that shows reasoning does not add a field for it."""
    assert _form("nemo-rl", template="thinks.jinja")[1] == "text"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{% for %}", "--template: "),
        ("Hello", "--template: it does not render a chat of a user and the model"),
    ],
)
def test_invalid_template(content: str, problem: str) -> None:
    """The error names the file."""
    Path("odd.jinja").write_text(content, "utf-8")
    with pytest.raises(UsageError) as caught:
        _plan(template="odd.jinja")
    assert caught.value.problem.startswith(problem)
    assert caught.value.place == "odd.jinja"


def test_template_that_cannot_be_read() -> None:
    """A missing file is an error, and so is a configuration without a template."""
    with pytest.raises(FileError):
        _plan(template="nothing.jinja")
    Path("tokenizer_config.json").write_text("{}", "utf-8")
    with pytest.raises(BadInput):
        _plan(template="tokenizer_config.json")


@pytest.mark.parametrize("to", ["openai", "llamafactory", "ms-swift", "customizer"])
def test_targets_without_templates(to: str) -> None:
    """These targets have their own format; the file is not even opened."""
    with pytest.raises(UsageError, match="renders no chat template of yours: no --template"):
        _plan(to, template="nothing.jinja")


def test_no_target() -> None:
    """Pairs stay pairs, unless an option requires a target."""
    assert ToTargetOrPairs().plan(ExportOptions(), "/x") is None
    for words in ({"text": True}, {"turns": "all"}, {"template": "objects.jinja"}):
        with pytest.raises(UsageError) as caught:
            ToTargetOrPairs().plan(filled(ExportOptions, words), None)
        option = f"--{next(iter(words))}"
        assert caught.value.problem == f"{option} says how a target writes pairs: it needs --to"
        assert (caught.value.hint or "").startswith("--to TARGET; one of trl, ")


def test_target() -> None:
    """The plan is the same as for export."""
    plan = ToTargetOrPairs(to="trl").plan(ExportOptions(turns="all"), "/x")
    assert plan is not None
    assert plan.target is target_named("trl")
    assert plan.options == ExportOptions(
        turns="all", tool_args="dict", reasoning_as="text", system="keep", release=""
    )
    assert plan.temp_dir == "/x"
