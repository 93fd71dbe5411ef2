"""A chat template turned round: from a prompt that it rendered back to the messages.

Which words stand between two messages is learnt by rendering a short conversation. What is cut
out of a prompt by them counts only if the template makes the very same prompt of it again.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from prefpairs.records.message import Message
from prefpairs.targets.template import compiled, rendered

_MARK = "prefpairs-probe-{}"
_BEGINNING = "prefpairs-beginning"
_LONGEST_BEGINNING = 64
_MOST_KNOWN = 4096


class _Form(NamedTuple):
    """What a template writes around messages."""

    heads: dict[str, str]
    """In front of a first message of each role."""
    joints: dict[str, dict[str, str]]
    """Between a message of one role and the next one of another."""
    end: str
    """Behind the user's last message, where the model is to speak."""


@dataclass(slots=False)
class Unrenderer:
    """Takes prompts apart that a template rendered; the last ones are remembered."""

    source: str
    _known: dict[str, list[Message] | None] = field(default_factory=dict, compare=False, repr=False)

    def messages(self, text: str) -> list[Message] | None:
        """The messages of which the template makes just this text, if there are any."""
        if text not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[text] = self._taken_apart(text)
        return self._known[text]

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process needs to have the same one."""
        return Unrenderer, (self.source,)

    @cached_property
    def _template(self) -> Any:
        return compiled(self.source)

    def _render(self, messages: list[Message], beginning: str = "", *, ask: bool = True) -> str:
        return rendered(self._template, messages, bos_token=beginning, add_generation_prompt=ask)

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
