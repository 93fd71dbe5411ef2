"""A chat template turned round: from a prompt that it rendered back to the messages.

Which words stand between two messages is learnt by rendering a short conversation. What is cut
out of a prompt by them counts only if the template makes the very same prompt of it again.

Trainers also log prompts without their special tokens. What is left between two messages is the
name of a role, which a user may write as well. So all conversations are tried that could give the
text; if several do, it is unclear.
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
"""Who may have spoken last where the model is to speak next."""
_LAST = (*_ASKING, "assistant")
"""Who may have where that cannot be told from one of them."""
_SPECIAL = re.compile(
    r"<\|[^<>|\s]+\|?>|<[^<>|\s]+\|>|\[gMASK\]|<sop>|<\uff5c[^<>\uff5c]+\uff5c>|</?s>|<bos>|<eos>"
    r"|<(?:start|end)_of_turn>|\[/?[A-Z_]+\]"
)
"""How special tokens look that stand around messages."""


class _Form(NamedTuple):
    """What a template writes around messages."""

    heads: dict[str, str]
    """In front of a first message of each role."""
    joints: dict[str, dict[str, str]]
    """Between a message of one role and the next one of another."""
    end: str
    """Behind the user's last message, where the model is to speak."""

    @property
    def special(self) -> list[str]:
        """The special tokens in it, in one order whatever the seed of hashes."""
        words = [*self.heads.values(), *self._between, self.end]
        return sorted({*_SPECIAL.findall("\n".join(words))})

    @property
    def _between(self) -> list[str]:
        return [joint for others in self.joints.values() for joint in others.values()]

    def without(self, tokens: Sequence[str]) -> "_Form":
        """The same once these tokens are skipped."""

        def bare(words: dict[str, str]) -> dict[str, str]:
            return {role: _without(text, tokens) for role, text in words.items()}

        joints = {role: bare(others) for role, others in self.joints.items()}
        return _Form(bare(self.heads), joints, _without(self.end, tokens))

    def tells_turns_apart(self, body: str) -> bool:
        """Whether anything stands between messages, and not too often in this text to try all."""
        joints = {*self._between, self.end}
        return all(joint and body.count(joint) <= _MOST_TRIED for joint in joints)


class _Found(NamedTuple):
    """What a text was taken apart to."""

    messages: list[Message] | None
    clear: bool = True


_NOTHING = _Found(None)
_UNCLEAR = _Found(None, clear=False)


@dataclass(slots=False)
class Unrenderer:
    """Takes prompts apart that a template rendered; the last ones are remembered."""

    source: str
    _known: dict[str, _Found] = field(default_factory=dict, compare=False, repr=False)

    def messages(self, text: str) -> list[Message] | None:
        """The messages of which the template makes just this text, if there are any.

        Raises Unclear where several conversations give the text without its special tokens.
        """
        if text not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            whole = self._taken_apart(text)
            self._known[text] = _Found(whole) if whole else self._from_bare(text)
        found = self._known[text]
        if not found.clear:
            raise Unclear
        return found.messages

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs to have the same one."""
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
        """What the template writes around messages; nothing where that cannot be seen."""
        bare = self._learnt(["user", "assistant", "user", "assistant", "user"])
        if bare is None:
            return None
        told = self._learnt(["system", "user", "assistant", "user"])
        if told is None:
            return bare
        joints = {**bare.joints, "system": told.joints["system"]}
        return _Form({**bare.heads, **told.heads}, joints, bare.end)

    def _learnt(self, roles: list[str]) -> _Form | None:
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

    def _taken_apart(self, text: str) -> list[Message] | None:
        if self.form is None or not text.endswith(self.form.end):
            return None
        body = text.removesuffix(self.form.end)
        beginnings = self._beginnings(body)
        # The longest first: what the template adds by itself is no message of anybody.
        for role, head in sorted(self.form.heads.items(), key=lambda item: -len(item[1])):
            for beginning in beginnings:
                if not body.startswith(beginning + head):
                    continue
                chat = self._cut(body.removeprefix(beginning + head), role, self.form)
                if chat and self._render(chat, beginning) == text:
                    return chat
        return None

    def _from_bare(self, text: str) -> _Found:
        """The one conversation that gives this text once special tokens are skipped."""
        if self._bare is None or not text.endswith(self._bare.end):
            return _NOTHING
        body = text.removesuffix(self._bare.end)
        if not self._bare.tells_turns_apart(body):
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
        """What is left around messages, in any order of roles, once special tokens are skipped."""
        if self.form is None or not self._special:
            return None
        heads, joints = {**self.form.heads}, {**self.form.joints}
        for one, other in product(_ROLES, repeat=2):
            for before in ([], ["user"], ["user", "assistant"]):
                if learnt := self._learnt([*before, one, other, "user"]):
                    heads = learnt.heads | heads
                    joints[one] = learnt.joints[one] | joints.get(one, {})
                    break
        return _Form(heads, joints, self.form.end).without(self._special)

    def _beginnings(self, body: str) -> list[str]:
        """What may stand for the token that begins a text: the template does not say it."""
        probe: list[Message] = [{"role": "user", "content": "?"}]
        if not self._render(probe, _BEGINNING).startswith(_BEGINNING):
            return [""]
        places = (body.find(head) for head in (self.form.heads.values() if self.form else ()))
        return [body[:place] for place in places if 0 <= place <= _LONGEST_BEGINNING]

    @staticmethod
    def _cut(body: str, role: str, form: _Form) -> list[Message]:
        """The messages of a text, the first of which is of this role; the user's is the last."""
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
    """All conversations that a text may be, those of few messages first."""
    # The longest first: what the template adds by itself is no message of anybody.
    for role, head in sorted(form.heads.items(), key=lambda item: -len(item[1])):
        if body.startswith(head):
            yield from _cuts(body.removeprefix(head), role, form)


def _cuts(body: str, role: str, form: _Form) -> Iterator[list[Message]]:
    """All conversations that begin with a message of this role."""
    yield [{"role": role, "content": body}]
    for other, joint in form.joints.get(role, {}).items():
        place = body.find(joint)
        while place >= 0:
            first = {"role": role, "content": body[:place]}
            for chat in _cuts(body[place + len(joint) :], other, form):
                yield [first, *chat]
            place = body.find(joint, place + 1)
