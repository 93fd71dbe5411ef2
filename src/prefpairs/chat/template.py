"""What a chat template supports, found by rendering short conversations with it.

Templates differ in the form of tool-call arguments that they need, in whether they render reasoning
in a field of its own, and in whether they accept system messages.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, Literal, NoReturn

from prefpairs.errors import UsageError
from prefpairs.limited_process import Limited, OverBudget, Refusal
from prefpairs.model.json_codec import decode, encode
from prefpairs.model.message import Message
from prefpairs.optional_libraries import missing_library

_ASK: Message = {"role": "user", "content": "Hello?"}
_PROBE = "prefpairs-probe"
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find",
            "description": "Finds.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
        },
    }
]


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What a template renders correctly."""

    tool_args: Literal["dict", "string"] | None
    """The form of tool-call arguments, or None if calls are not rendered correctly in either."""
    reasoning: bool
    """Reasoning in reasoning_content."""
    system: bool
    """System messages."""
    results: bool = field(default=True, compare=False)
    """Tool results, even if calls are not rendered."""

    def sentence(self) -> str:
        """The facts as a sentence."""
        calls = {
            "dict": "tool-call arguments as objects",
            "string": "tool-call arguments as text",
            None: "tool calls as text",
        }
        thinking = "in reasoning_content" if self.reasoning else "in the text"
        system = "where they are" if self.system else "in the first user message"
        form = calls[self.tool_args]
        return f"the template needs {form}, reasoning {thinking}, system messages {system}"


def facts_of(source: str) -> TemplateFacts:
    """What a template supports, given its source."""
    template = compiled(source)
    plain = render_or_empty(template, [{**_ASK, "content": f"{_PROBE}-1"}, _answer(f"{_PROBE}-2")])
    if f"{_PROBE}-1" not in plain or f"{_PROBE}-2" not in plain:
        raise UsageError(
            "--template: it does not render a chat of a user and the model",
            "is this the chat template?",
        )
    return TemplateFacts(
        tool_args=_tool_args(template),
        reasoning=_PROBE
        in render_or_empty(template, [_ASK, _answer("Yes.", reasoning_content=_PROBE)]),
        system=_PROBE in render_or_empty(template, [{"role": "system", "content": _PROBE}, _ASK]),
        results=_PROBE in render_or_empty(template, [_ASK, _answer("Yes."), _result(_PROBE)]),
    )


class Template:
    """A chat template in the environment that transformers provides, in a process of its own.

    It is foreign code: the sandbox restricts what it can access, and the limits of the process
    stop endless loops and giant texts.
    """

    def __init__(self, source: str) -> None:
        _environment()  # imports here what the child process would otherwise have to import
        self._process = Limited(partial(_begin, source))
        try:
            self.free_names = set(decode(self._ask({})))
        except Refusal as refusal:
            raise UsageError(f"--template: {refusal}") from None

    def render(self, **values: Any) -> str:
        """Render these values; raises Refusal if the template rejects them."""
        return self._ask(values).decode("utf-8", "surrogatepass")

    def _ask(self, question: dict[str, Any]) -> bytes:
        try:
            return self._process(encode(question))
        except OverBudget as error:
            hint = "a chat template takes milliseconds; does this one belong to a model?"
            raise UsageError(f"--template: {error.problem}", hint) from None


def _begin(source: str) -> Callable[[bytes], bytes]:
    """A function for the child process: its first answer is the free names, then rendered texts."""
    known: list[tuple[Any, set[str]]] = []

    def answer(question: bytes) -> bytes:
        if not known:
            known.append(_compiled(_environment(), source))
        template, names = known[0]
        if values := decode(question):
            return str(template.render(**values)).encode("utf-8", "surrogatepass")
        return encode(sorted(names))

    return answer


def _compiled(environment: Any, source: str) -> tuple[Any, set[str]]:
    """The template, and the names that it takes from its environment."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        names = meta.find_undeclared_variables(environment.parse(source))
        return environment.from_string(source), names
    except TemplateSyntaxError as error:
        raise ValueError(f"{error.message} (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def compiled(source: str) -> Template:
    """The template with this source, ready to render."""
    return Template(source)


def _environment() -> Any:
    """The environment that transformers provides to a template."""
    try:
        import jinja2.sandbox
        from jinja2.ext import Extension, loopcontrols
    except ImportError:
        raise missing_library("--template", "tokens") from None

    class Generation(Extension):
        """The tag around the model's text, which does not change the text."""

        tags = frozenset({"generation"})  # type: ignore[assignment]  # an immutable set

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = _to_json
    del environment.filters["random"], environment.globals["lipsum"]  # these are not reproducible
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _some_day}
    return environment


def _tool_args(template: Template) -> Literal["dict", "string"] | None:
    """The form of arguments that is rendered once and not quoted twice; objects if both are."""
    arguments = {"word": _PROBE}
    forms: tuple[tuple[Literal["dict", "string"], Any], ...] = (
        ("dict", arguments),
        ("string", encode(arguments).decode()),
    )
    for name, form in forms:
        call = {
            "id": "callprobe",  # nine letters, as Mistral's templates require
            "type": "function",
            "function": {"name": "find", "arguments": form},
        }
        text = render_or_empty(template, [_ASK, _answer("", tool_calls=[call])], tools=_TOOLS)
        quoted_twice, of_python = '\\"word' in text, "'word':" in text
        if _PROBE in text and not (quoted_twice or of_python):
            return name
    return None


def _result(content: str) -> Message:
    return {"role": "tool", "content": content}


def _answer(content: str, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def render_or_empty(template: Template, messages: list[Message], **more: Any) -> str:
    """A rendered conversation, or an empty text if the template rejects it."""
    defaults = {"add_generation_prompt": False, "bos_token": "", "eos_token": ""}
    with suppress(Refusal):
        return template.render(messages=messages, **{**defaults, **more})
    return ""


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _some_day(form: str) -> str:
    """A fixed date, so that a conversation renders to the same text every day."""
    return date(2026, 1, 1).strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as transformers writes it in templates, including spaces.

    No other argument of `json.dumps` is accepted: `default` would bypass the sandbox.
    """
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
