"""A chat template in reverse: from a prompt that it rendered back to the messages.

The text between two messages is learned by rendering a short conversation. Messages that are cut
out of a prompt this way are accepted only if the template renders them to the same prompt again.

Trainers also log prompts without special tokens. Then only the name of a role is left between two
messages, which a user may write as well. So all conversations that could give the text are tried;
if several do, the prompt is unclear.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from prefpairs.chat.template import compiled, render_or_empty
from prefpairs.model.message import Message, Unclear

_MARK = "prefpairs-probe-{}"
_BEGINNING = "prefpairs-beginning"
_LONGEST_BEGINNING = 64
_MOST_KNOWN = 4096
_MOST_TRIED = 64
_ROLES = ("system", "user", "assistant", "tool")
_ASKING = ("user", "tool")
"""The roles whose message may be last in a prompt."""
_LAST = (*_ASKING, "assistant")
"""The same, if an assistant message cannot be with_system from one of them."""
_SPECIAL = re.compile(
    r"<\|[^<>|\s]+\|?>|<[^<>|\s]+\|>|\[gMASK\]|<sop>|<\uff5c[^<>\uff5c]+\uff5c>|</?s>|<bos>|<eos>"
    r"|<(?:start|end)_of_turn>|\[/?[A-Z_]+\]"
)
"""What special tokens around messages look like."""


class _Form(NamedTuple):
    """The text that a template writes around messages."""

    heads: dict[str, str]
    """The text before a first message of each role."""
    joints: dict[str, dict[str, str]]
    """The text between a message of one role and the next one of another."""
    end: str
    """The text after the user's last message: the generation prompt."""

    @property
    def special(self) -> list[str]:
        """The special tokens in it, sorted, so that hash seeds do not matter."""
        words = [*self.heads.values(), *self._between, self.end]
        return sorted({*_SPECIAL.findall("\n".join(words))})

    @property
    def _between(self) -> list[str]:
        return [joint for others in self.joints.values() for joint in others.values()]

    def without(self, tokens: Sequence[str]) -> "_Form":
        """The same form without these tokens."""

        def bare(words: dict[str, str]) -> dict[str, str]:
            return {role: _without(text, tokens) for role, text in words.items()}

        joints = {role: bare(others) for role, others in self.joints.items()}
        return _Form(bare(self.heads), joints, _without(self.end, tokens))

    def separates_messages(self, body: str) -> bool:
        """Whether messages are separated by text that is not too frequent to try every cut."""
        joints = {*self._between, self.end}
        return all(joint and body.count(joint) <= _MOST_TRIED for joint in joints)


class _Found(NamedTuple):
    """The messages that a text was split into, if it is clear which."""

    messages: list[Message] | None
    clear: bool = True


_NOTHING = _Found(None)
_UNCLEAR = _Found(None, clear=False)


@dataclass(slots=False)
class Unrenderer:
    """Splits prompts that a template rendered into messages; results are cached."""

    source: str
    _known: dict[str, _Found] = field(default_factory=dict, compare=False, repr=False)

    def messages(self, text: str) -> list[Message] | None:
        """The messages that the template renders to exactly this text, or None.

        Raises Unclear if several conversations give the text without its special tokens.
        """
        if text not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            whole = self._split(text)
            self._known[text] = _Found(whole) if whole else self._from_bare(text)
        found = self._known[text]
        if not found.clear:
            raise Unclear
        return found.messages

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the source only, so that another process can make an equal one."""
        return Unrenderer, (self.source,)

    @cached_property
    def _template(self) -> Any:
        return compiled(self.source)

    def _render(self, messages: list[Message], beginning: str = "", *, ask: bool = True) -> str:
        return render_or_empty(
            self._template, messages, bos_token=beginning, add_generation_prompt=ask
        )

    @cached_property
    def form(self) -> _Form | None:
        """The text that the template writes around messages, or None if it cannot be determined."""
        bare = self._learned(["user", "assistant", "user", "assistant", "user"])
        if bare is None:
            return None
        with_system = self._learned(["system", "user", "assistant", "user"])
        if with_system is None:
            return bare
        joints = {**bare.joints, "system": with_system.joints["system"]}
        return _Form({**bare.heads, **with_system.heads}, joints, bare.end)

    def _learned(self, roles: list[str]) -> _Form | None:
        chat = [{"role": role, "content": _MARK.format(at)} for at, role in enumerate(roles)]
        text, between = self._render(chat), []
        for message in chat:
            before, mark, text = text.partition(message["content"])
            if not mark:
                return None
            between.append(before)
        joints: dict[str, dict[str, str]] = {}
        for one, other, joint in zip(roles, roles[1:], between[1:], strict=False):
            joints.setdefault(one, {})[other] = joint
        return _Form({roles[0]: between[0]}, joints, text)

    def _split(self, text: str) -> list[Message] | None:
        if self.form is None or not text.endswith(self.form.end):
            return None
        body = text.removesuffix(self.form.end)
        beginnings = self._beginnings(body)
        # The longest first: text that the template adds by itself is not part of a message.
        for role, head in sorted(self.form.heads.items(), key=lambda item: -len(item[1])):
            for beginning in beginnings:
                if not body.startswith(beginning + head):
                    continue
                chat = self._cut(body.removeprefix(beginning + head), role, self.form)
                if chat and self._render(chat, beginning) == text:
                    return chat
        return None

    def _from_bare(self, text: str) -> _Found:
        """The one conversation that gives this text without its special tokens."""
        if self._bare is None or not text.endswith(self._bare.end):
            return _NOTHING
        body = text.removesuffix(self._bare.end)
        if not self._bare.separates_messages(body):
            return _UNCLEAR
        found: dict[str, list[Message]] = {}
        for tried, chat in enumerate(_all_cuts(body, self._bare)):
            if chat[-1]["role"] in _LAST:
                whole = self._render(chat)
                if _without(whole, self._special) == text:
                    found.setdefault(whole, chat)
            if len(found) > 1 or tried == _MOST_TRIED:
                return _UNCLEAR
        chats = [chat for chat in found.values() if chat[-1]["role"] in _ASKING]
        return _Found(chats[0]) if chats else _NOTHING

    @cached_property
    def _special(self) -> Sequence[str]:
        return () if self.form is None else self.form.special

    @cached_property
    def _bare(self) -> _Form | None:
        """The text around messages without special tokens, for any order of roles."""
        if self.form is None or not self._special:
            return None
        heads, joints = {**self.form.heads}, {**self.form.joints}
        for one, other in product(_ROLES, repeat=2):
            for before in ([], ["user"], ["user", "assistant"]):
                if learned := self._learned([*before, one, other, "user"]):
                    heads = learned.heads | heads
                    joints[one] = learned.joints[one] | joints.get(one, {})
                    break
        return _Form(heads, joints, self.form.end).without(self._special)

    def _beginnings(self, body: str) -> list[str]:
        """The possible beginning-of-text tokens of a body, which the template does not contain."""
        probe: list[Message] = [{"role": "user", "content": "?"}]
        if not self._render(probe, _BEGINNING).startswith(_BEGINNING):
            return [""]
        places = (body.find(head) for head in (self.form.heads.values() if self.form else ()))
        return [body[:place] for place in places if 0 <= place <= _LONGEST_BEGINNING]

    @staticmethod
    def _cut(body: str, role: str, form: _Form) -> list[Message]:
        """The messages of a text that starts with this role; the last one must be the user's."""
        chat: list[Message] = []
        while True:
            found = [
                (place, other, joint)
                for other, joint in form.joints.get(role, {}).items()
                if (place := body.find(joint)) >= 0
            ]
            if not found:
                chat.append({"role": role, "content": body})
                return chat if role == "user" else []
            place, other, joint = min(found)
            chat.append({"role": role, "content": body[:place]})
            body, role = body[place + len(joint) :], other


def _without(text: str, tokens: Sequence[str]) -> str:
    for token in tokens:
        text = text.replace(token, "")
    return text


def _all_cuts(body: str, form: _Form) -> Iterator[list[Message]]:
    """All conversations that a text may be, those with few messages first."""
    # The longest first: text that the template adds by itself is not part of a message.
    for role, head in sorted(form.heads.items(), key=lambda item: -len(item[1])):
        if body.startswith(head):
            yield from _cuts(body.removeprefix(head), role, form)


def _cuts(body: str, role: str, form: _Form) -> Iterator[list[Message]]:
    """All conversations that start with a message of this role."""
    yield [{"role": role, "content": body}]
    for other, joint in form.joints.get(role, {}).items():
        place = body.find(joint)
        while place >= 0:
            first = {"role": role, "content": body[:place]}
            for chat in _cuts(body[place + len(joint) :], other, form):
                yield [first, *chat]
            place = body.find(joint, place + 1)
