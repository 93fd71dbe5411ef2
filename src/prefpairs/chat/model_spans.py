"""A conversation as rendered by a chat template, and the spans that the model wrote.

It is rendered twice: as it is, and with placeholders instead of the texts of the answer. The
placeholders use the private use area; that one rendering turns into the other is checked.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prefpairs.chat.template import compiled
from prefpairs.limited_process import Refusal
from prefpairs.model.common_prefix import in_common
from prefpairs.model.json_codec import encode
from prefpairs.model.message import Message
from prefpairs.targets.base import CannotExport

_OPEN, _CLOSE = "\ue000", "\ue001"
_PLACEHOLDER = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_ASK: Message = {"role": "user", "content": "Hello?"}

Span = tuple[int, int]


class RenderedChat(NamedTuple):
    """A rendered conversation: its text, the end of its prompt, and the spans the model wrote."""

    text: str
    prompt_end: int
    spans: list[Span]


class _Piece(NamedTuple):
    """A text of a message, and where it is in the rendered text."""

    message: int
    start: int
    end: int


class ChatRenderer:
    """A chat template with its special tokens.

    `marks` are the texts that the tokenizer never splits: one of them ends a turn.
    """

    def __init__(
        self, source: str, specials: Mapping[str, str], marks: Collection[str] = ()
    ) -> None:
        self._template = compiled(source)
        self._specials = {"bos_token": "", "eos_token": "", **specials}
        self._begin, self._inner_end, self._last_end = self._delimiters(marks)

    def text(
        self, messages: Sequence[Message], tools: list[Any] | None, *, go_on: bool = False
    ) -> str:
        """A conversation as text; with `go_on` it ends with the generation prompt."""
        try:
            rendered = self._template.render(
                messages=messages, tools=tools, add_generation_prompt=go_on, **self._specials
            )
        except Refusal:
            raise CannotExport("template_refuses") from None
        return rendered

    def rendered(
        self, prompt: list[Message], answer: list[Message], tools: list[Any] | None
    ) -> RenderedChat:
        """Prompt and answer as text; raises CannotExport if the model's spans cannot be located."""
        asked = self.text(prompt, tools, go_on=True)
        whole = self.text([*prompt, *answer], tools)
        if not whole.startswith(asked):
            raise CannotExport("prompt_changes")
        pieces = self._pieces(prompt, answer, tools, whole)
        return RenderedChat(whole, len(asked), list(self._spans(answer, pieces, whole, len(asked))))

    def rendered_trace(self, messages: list[Message], tools: list[Any] | None) -> RenderedChat:
        """A whole conversation that does not start with the model, with all spans it wrote."""
        first = next(
            (at for at, message in enumerate(messages) if message["role"] == "assistant"), None
        )
        if not first:
            raise CannotExport("no_response" if first is None else "prompt_is_answer")
        return self.rendered(messages[:first], messages[first:], tools)

    def _delimiters(self, marks: Collection[str]) -> tuple[str, str, str]:
        """The text before a turn of the model, and after it: inside a conversation and at its end.

        A turn ends with the text that follows it in both places, or, if they have none in common,
        with the first mark: some templates close a conversation with a mark of its own.
        """
        placeholder = f"{_OPEN}0{_CLOSE}"
        said: Message = {"role": "assistant", "content": placeholder}
        asked, begun = self.text([_ASK], None), self.text([_ASK], None, go_on=True)
        begin = begun[len(asked) :] if begun.startswith(asked) else ""
        last = self.text([_ASK, said], None).partition(placeholder)[2]
        inner = self.text([_ASK, said, _ASK], None).partition(placeholder)[2]
        end = last[: _whole_marks(last, in_common(last, inner), marks)].rstrip()
        if not end and any(mark in last for mark in marks):
            return begin, _to_mark(inner, marks), _to_mark(last, marks)
        return begin, end, end

    def _pieces(
        self, prompt: list[Message], answer: list[Message], tools: list[Any] | None, whole: str
    ) -> list[_Piece]:
        """Where the texts of the answer are in the rendered text."""
        texts: list[tuple[int, str]] = []
        marked = [_with_placeholders(message, at, texts) for at, message in enumerate(answer)]
        if any(_OPEN in text for _, text in texts):
            raise CannotExport("not_traced")
        literals = _PLACEHOLDER.split(self.text([*prompt, *marked], tools))
        place = len(literals[0])
        if not whole.startswith(literals[0]):
            raise CannotExport("not_traced")
        pieces = []
        for number, literal in zip(literals[1::2], literals[2::2], strict=True):
            message, text = texts[int(number)]
            end = next((e for e in _ends(whole, place, text) if whole.startswith(literal, e)), None)
            if end is None:
                raise CannotExport("not_traced")
            pieces.append(_Piece(message, place, end))
            place = end + len(literal)
        if place != len(whole):
            raise CannotExport("not_traced")
        return pieces

    def _spans(
        self, answer: list[Message], pieces: list[_Piece], whole: str, prompt_end: int
    ) -> Iterator[Span]:
        """The spans of the model's turns, including reasoning, calls and the end of the turn."""
        place = prompt_end
        for at, message in enumerate(answer):
            own = [piece for piece in pieces if piece.message == at]
            if message["role"] == "assistant":
                start = (
                    self._start(whole, place, own) if at else self._first(whole, prompt_end, own)
                )
                later = (piece.start for piece in pieces if piece.message > at)
                limit = next(later, len(whole))
                end = self._last_end if message is answer[-1] else self._inner_end
                place = _stop(whole, own[-1].end if own else start, limit, message, end)
                yield start, place
            elif own:
                place = own[-1].end

    def _first(self, whole: str, prompt_end: int, own: list[_Piece]) -> int:
        """The start of the model's first turn; some templates have an empty generation prompt."""
        start = prompt_end + len(self._begin)
        asked_without = whole.startswith(self._begin, prompt_end) and own and own[0].start >= start
        return start if asked_without else prompt_end

    def _start(self, whole: str, place: int, own: list[_Piece]) -> int:
        """The start of the model's next turn, after this place."""
        first = own[0].start if own else None
        if not self._begin:
            start = -1 if first is None else first
        else:
            found = whole.find(self._begin, place)
            start = -1 if found < 0 else found + len(self._begin)
        if start < 0 or (first is not None and start > first):
            raise CannotExport("not_traced")
        return start


def _whole_marks(text: str, place: int, marks: Collection[str]) -> int:
    """The place, or the start of the mark that it is inside of.

    >>> _whole_marks("<|end|><|user|>", 9, ["<|user|>", "<|end|>"])
    7
    """
    begins = (text.rfind(mark, 0, place + len(mark) - 1) for mark in marks)
    found = zip(begins, marks, strict=True)
    inside = [at for at, mark in found if at >= 0 and place < at + len(mark)]
    return min([place, *inside])


def _to_mark(closing: str, marks: Collection[str]) -> str:
    """The text up to and including the first mark in it.

    >>> _to_mark(" <|end|><|user|>", ["<|user|>", "<|end|>"])
    ' <|end|>'
    """
    ends = [(closing.find(mark), len(mark)) for mark in marks if mark in closing]
    place, length = min(ends, key=lambda end: (end[0], -end[1]), default=(0, 0))
    return closing[: place + length]


def _stop(whole: str, place: int, limit: int, message: Message, end: str) -> int:
    """The end of the model's turn; calls come between its text and the end of the turn."""
    calls = message.get("tool_calls")
    if not end:
        if not calls:
            return place
        if limit < len(whole):
            raise CannotExport("not_traced")
        return len(whole.rstrip())
    in_calls = bool(calls) and end in encode(calls).decode()
    found = (whole.rfind if in_calls else whole.find)(end, place, limit)
    if found < 0:
        raise CannotExport("not_traced")
    return found + len(end)


def _with_placeholders(message: Message, at: int, texts: list[tuple[int, str]]) -> Message:
    """The message with placeholders for its texts; those of other roles may be blank."""
    marked = dict(message)
    for key in ("reasoning_content", "content"):
        text = message.get(key)
        if isinstance(text, str) and (text.strip() or message["role"] != "assistant"):
            marked[key] = f"{_OPEN}{len(texts)}{_CLOSE}"
            texts.append((at, text))
    return marked


def _ends(whole: str, place: int, text: str) -> Iterator[int]:
    """The possible ends of a text that starts here: templates may trim it or write it as JSON."""
    forms = (text, text.strip(), text.lstrip(), text.rstrip(), encode(text)[1:-1].decode())
    return (place + len(form) for form in forms if whole.startswith(form, place))
