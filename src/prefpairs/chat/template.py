"""What a chat template can render: asked by rendering short conversations with it.

Templates differ in the form of arguments that they want, in whether they show thinking that
stands in a field of its own, and in whether they know system messages.
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
_TOLD = "prefpairs-probe"
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
    """What a template renders as it should."""

    tool_args: Literal["dict", "string"] | None
    """The form of arguments; nothing where calls of tools do not come out right in either."""
    reasoning: bool
    """Thinking in reasoning_content."""
    system: bool
    """System messages."""
    results: bool = field(default=True, compare=False)
    """Results of tools, whatever becomes of calls."""

    def sentence(self) -> str:
        """What was seen, for people."""
        calls = {
            "dict": "arguments of calls as objects",
            "string": "arguments of calls as text",
            None: "calls of tools as text",
        }
        thinking = "in reasoning_content" if self.reasoning else "in the text"
        system = "where they are" if self.system else "in the user's first one"
        told = calls[self.tool_args]
        return f"the template wants {told}, thinking {thinking}, system messages {system}"


def facts_of(source: str) -> TemplateFacts:
    """What the template of this source renders."""
    template = compiled(source)
    plain = render_or_empty(template, [{**_ASK, "content": f"{_TOLD}-1"}, _answer(f"{_TOLD}-2")])
    if f"{_TOLD}-1" not in plain or f"{_TOLD}-2" not in plain:
        raise UsageError(
            "--template: it renders no chat of a user and the model", "is this the chat template?"
        )
    return TemplateFacts(
        tool_args=_tool_args(template),
        reasoning=_TOLD
        in render_or_empty(template, [_ASK, _answer("Yes.", reasoning_content=_TOLD)]),
        system=_TOLD in render_or_empty(template, [{"role": "system", "content": _TOLD}, _ASK]),
        results=_TOLD in render_or_empty(template, [_ASK, _answer("Yes."), _result(_TOLD)]),
    )


class Template:
    """A chat template in the surroundings that transformers gives it, and in a process of its own.

    It is foreign code: the sandbox keeps it from what it should not see, and the limits of the
    process from endless loops and giant texts.
    """

    def __init__(self, source: str) -> None:
        _environment()  # here once, so that whatever is loaded need not be loaded there
        self._asked = Limited(partial(_begin, source))
        try:
            self.free_names = set(decode(self._ask({})))
        except Refusal as refusal:
            raise UsageError(f"--template: {refusal}") from None

    def render(self, **values: Any) -> str:
        """What it makes of these values; Refusal where it refuses them."""
        return self._ask(values).decode("utf-8", "surrogatepass")

    def _ask(self, question: dict[str, Any]) -> bytes:
        try:
            return self._asked(encode(question))
        except OverBudget as error:
            hint = "a chat template takes milliseconds; is this one of a model?"
            raise UsageError(f"--template: {error.problem}", hint) from None


def _begin(source: str) -> Callable[[bytes], bytes]:
    """What answers for a template: with its free names first, and then with rendered texts."""
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
    """The template, and the names that it takes from its surroundings."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        names = meta.find_undeclared_variables(environment.parse(source))
        return environment.from_string(source), names
    except TemplateSyntaxError as error:
        raise ValueError(f"{error.message} (line {error.lineno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def compiled(source: str) -> Template:
    """The template of this source, ready to render."""
    return Template(source)


def _environment() -> Any:
    """The surroundings that transformers gives a template."""
    try:
        import jinja2.sandbox
        from jinja2.ext import Extension, loopcontrols
    except ImportError:
        raise missing_library("--template", "tokens") from None

    class Generation(Extension):
        """The tag around what the model wrote, which changes nothing about the text."""

        tags = frozenset({"generation"})  # type: ignore[assignment]  # a set that stays

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = _to_json
    del environment.filters["random"], environment.globals["lipsum"]  # chance, which is not ours
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _some_day}
    return environment


def _tool_args(template: Template) -> Literal["dict", "string"] | None:
    """The form in which arguments come out once, and not quoted twice; an object if both do."""
    arguments = {"word": _TOLD}
    forms: tuple[tuple[Literal["dict", "string"], Any], ...] = (
        ("dict", arguments),
        ("string", encode(arguments).decode()),
    )
    for name, form in forms:
        call = {
            "id": "callprobe",  # nine letters, as Mistral's templates demand
            "type": "function",
            "function": {"name": "find", "arguments": form},
        }
        text = render_or_empty(template, [_ASK, _answer("", tool_calls=[call])], tools=_TOOLS)
        quoted_twice, of_python = '\\"word' in text, "'word':" in text
        if _TOLD in text and not (quoted_twice or of_python):
            return name
    return None


def _result(content: str) -> Message:
    return {"role": "tool", "content": content}


def _answer(content: str, **more: Any) -> Message:
    return {"role": "assistant", "content": content, **more}


def render_or_empty(template: Template, messages: list[Message], **more: Any) -> str:
    """What a template makes of a conversation; nothing where it refuses it."""
    usual = {"add_generation_prompt": False, "bos_token": "", "eos_token": ""}
    with suppress(Refusal):
        return template.render(messages=messages, **{**usual, **more})
    return ""


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _some_day(form: str) -> str:
    """A fixed day, so that the same conversation is the same text tomorrow."""
    return date(2026, 1, 1).strftime(form)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON in the form that transformers gives it in templates, spaces included.

    Nothing else of `json.dumps` may be asked for: `default` would call what the sandbox guards.
    """
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
