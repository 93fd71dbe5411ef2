"""A conversation as rendered by a chat template, and the spans that the model wrote."""

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
_SIGN = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_ASK: Message = {"role": "user", "content": "Hello?"}

Span = tuple[int, int]


class RenderedChat(NamedTuple):
    """A rendered conversation: where its prompt ends, and the spans that the model wrote."""

    text: str
    border: int
    spans: list[Span]


class _Piece(NamedTuple):
    """A text of a message, and where it stands."""

    message: int
    start: int
    end: int


class ChatRenderer:
    """A chat template with the names of its special tokens.

    `marks` are the texts that the tokenizer never takes apart: one of them ends a turn.
    """

    def __init__(
        self, source: str, specials: Mapping[str, str], marks: Collection[str] = ()
    ) -> None:
        self._template = compiled(source)
        self._specials = {"bos_token": "", "eos_token": "", **specials}
        self._begin, self._inner_end, self._last_end = self._borders(marks)

    def text(
        self, messages: Sequence[Message], tools: list[Any] | None, *, go_on: bool = False
    ) -> str:
        """A conversation as text; with `go_on` the model is to speak next."""
        try:
            rendered = self._template.render(
                messages=messages, tools=tools, add_generation_prompt=go_on, **self._specials
            )
        except Refusal:
            raise CannotExport("template_refuses") from None
        return rendered

    def spoken(
        self, prompt: list[Message], answer: list[Message], tools: list[Any] | None
    ) -> RenderedChat:
        """Prompt and answer as text; raises CannotExport where it cannot be told who wrote what."""
        asked = self.text(prompt, tools, go_on=True)
        told = self.text([*prompt, *answer], tools)
        if not told.startswith(asked):
            raise CannotExport("prompt_changes")
        pieces = self._pieces(prompt, answer, tools, told)
        return RenderedChat(told, len(asked), list(self._spans(answer, pieces, told, len(asked))))

    def spans_of(self, messages: list[Message], tools: list[Any] | None) -> RenderedChat:
        """A whole conversation that begins with somebody else's words, and all the model wrote."""
        first = next(
            (at for at, message in enumerate(messages) if message["role"] == "assistant"), None
        )
        if not first:
            raise CannotExport("no_response" if first is None else "prompt_is_answer")
        return self.spoken(messages[:first], messages[first:], tools)

    def _borders(self, marks: Collection[str]) -> tuple[str, str, str]:
        """What stands before the model's words, and behind them: inside, and at the very end.

        A turn ends with what stands there whatever comes next; or, where that is nothing, with
        the first mark: some templates close a conversation with another one.
        """
        sign = f"{_OPEN}0{_CLOSE}"
        said: Message = {"role": "assistant", "content": sign}
        asked, begun = self.text([_ASK], None), self.text([_ASK], None, go_on=True)
        begin = begun[len(asked) :] if begun.startswith(asked) else ""
        last = self.text([_ASK, said], None).partition(sign)[2]
        inner = self.text([_ASK, said, _ASK], None).partition(sign)[2]
        end = last[: _whole_marks(last, in_common(last, inner), marks)].rstrip()
        if not end and any(mark in last for mark in marks):
            return begin, _to_mark(inner, marks), _to_mark(last, marks)
        return begin, end, end

    def _pieces(
        self, prompt: list[Message], answer: list[Message], tools: list[Any] | None, told: str
    ) -> list[_Piece]:
        """Where the texts of the answer stand."""
        texts: list[tuple[int, str]] = []
        signed = [_signed(message, at, texts) for at, message in enumerate(answer)]
        if any(_OPEN in text for _, text in texts):
            raise CannotExport("not_traced")
        literals = _SIGN.split(self.text([*prompt, *signed], tools))
        place = len(literals[0])
        if not told.startswith(literals[0]):
            raise CannotExport("not_traced")
        pieces = []
        for number, literal in zip(literals[1::2], literals[2::2], strict=True):
            message, text = texts[int(number)]
            end = next((e for e in _ends(told, place, text) if told.startswith(literal, e)), None)
            if end is None:
                raise CannotExport("not_traced")
            pieces.append(_Piece(message, place, end))
            place = end + len(literal)
        if place != len(told):
            raise CannotExport("not_traced")
        return pieces

    def _spans(
        self, answer: list[Message], pieces: list[_Piece], told: str, border: int
    ) -> Iterator[Span]:
        """What the model wrote: each of its turns, thinking and calls and end of turn included."""
        place = border
        for at, message in enumerate(answer):
            own = [piece for piece in pieces if piece.message == at]
            if message["role"] == "assistant":
                start = self._start(told, place, own) if at else self._first(told, border, own)
                later = (piece.start for piece in pieces if piece.message > at)
                limit = next(later, len(told))
                end = self._last_end if message is answer[-1] else self._inner_end
                place = _stop(told, own[-1].end if own else start, limit, message, end)
                yield start, place
            elif own:
                place = own[-1].end

    def _first(self, told: str, border: int, own: list[_Piece]) -> int:
        """Where the model begins to speak first; some templates ask it without words of theirs."""
        start = border + len(self._begin)
        asked_without = told.startswith(self._begin, border) and own and own[0].start >= start
        return start if asked_without else border

    def _start(self, told: str, place: int, own: list[_Piece]) -> int:
        """Where the model begins to speak, behind this place."""
        first = own[0].start if own else None
        if not self._begin:
            start = -1 if first is None else first
        else:
            found = told.find(self._begin, place)
            start = -1 if found < 0 else found + len(self._begin)
        if start < 0 or (first is not None and start > first):
            raise CannotExport("not_traced")
        return start


def _whole_marks(text: str, place: int, marks: Collection[str]) -> int:
    """The place, or where the mark begins in whose midst it stands.

    >>> _whole_marks("<|end|><|user|>", 9, ["<|user|>", "<|end|>"])
    7
    """
    begins = (text.rfind(mark, 0, place + len(mark) - 1) for mark in marks)
    found = zip(begins, marks, strict=True)
    inside = [at for at, mark in found if at >= 0 and place < at + len(mark)]
    return min([place, *inside])


def _to_mark(closing: str, marks: Collection[str]) -> str:
    """The text up to the first mark in it, that one included.

    >>> _to_mark(" <|end|><|user|>", ["<|user|>", "<|end|>"])
    ' <|end|>'
    """
    ends = [(closing.find(mark), len(mark)) for mark in marks if mark in closing]
    place, length = min(ends, key=lambda end: (end[0], -end[1]), default=(0, 0))
    return closing[: place + length]


def _stop(told: str, place: int, limit: int, message: Message, end: str) -> int:
    """Where the model's turn ends: calls stand between its words and the end of turn."""
    calls = message.get("tool_calls")
    if not end:
        if not calls:
            return place
        if limit < len(told):
            raise CannotExport("not_traced")
        return len(told.rstrip())
    in_calls = bool(calls) and end in encode(calls).decode()
    found = (told.rfind if in_calls else told.find)(end, place, limit)
    if found < 0:
        raise CannotExport("not_traced")
    return found + len(end)


def _signed(message: Message, at: int, texts: list[tuple[int, str]]) -> Message:
    """The message with a sign for each of its texts; what others say always has one."""
    signed = dict(message)
    for key in ("reasoning_content", "content"):
        text = message.get(key)
        if isinstance(text, str) and (text.strip() or message["role"] != "assistant"):
            signed[key] = f"{_OPEN}{len(texts)}{_CLOSE}"
            texts.append((at, text))
    return signed


def _ends(told: str, place: int, text: str) -> Iterator[int]:
    """Where a text may end that stands here: templates trim it, or write it as JSON."""
    forms = (text, text.strip(), text.lstrip(), text.rstrip(), encode(text)[1:-1].decode())
    return (place + len(form) for form in forms if told.startswith(form, place))
