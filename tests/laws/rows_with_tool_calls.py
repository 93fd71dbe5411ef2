"""Hypothesis strategies for rollouts with tool calls, which do not depend on raw IDs.

A dialogue says which function each result comes from. When it is written as a row of some source,
its calls get random IDs, often ones that prefpairs itself uses. No function is called twice, so
its name identifies the call that a result answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st
from run_in_process import Row

Result = str
"""The function from which a result comes; the result's text contains that name."""

_IDS = [*(f"call_{number}" for number in range(1, 7)), "a", "b", "7", "x-1"]


@dataclass(frozen=True)
class Said:
    """An answer: text, or calls and results with text around them."""

    words: str
    calls: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()
    chat: bool = True


@dataclass(frozen=True)
class Dialogue:
    """A prompt, perhaps with answered calls, and two answers to it: a better and a worse one."""

    calls: tuple[str, ...]
    results: tuple[Result, ...]
    answers: tuple[Said, Said]

    def bindings(self, side: int) -> list[tuple[str, str]]:
        """The results in prompt and answer, each with the function whose call it answers."""
        found = (*self.results, *self.answers[side].results)
        return [(result_of(name), name) for name in found]


def result_of(name: str) -> str:
    """The result of a function."""
    return f"{name} gave this"


@st.composite
def dialogues(draw: st.DrawFn) -> Dialogue:
    """A prompt with up to three calls, and two answers."""
    calls = tuple(f"p{at}" for at in range(draw(st.integers(0, 3))))
    results = draw(_some_of(calls))
    waiting = [name for name in calls if name not in results]
    better, worse = (draw(_answers(side, waiting)) for side in ("better", "worse"))
    return Dialogue(calls, results, (better, worse))


@st.composite
def _answers(draw: st.DrawFn, side: str, waiting: list[str]) -> Said:
    if not draw(st.integers(0, 2)):
        return Said(f"{side}.", chat=draw(st.booleans()))
    calls = tuple(f"{side}{at}" for at in range(draw(st.integers(0, 2))))
    return Said(f"{side}.", calls, draw(_some_of([*waiting, *calls])))


@st.composite
def _some_of(draw: st.DrawFn, names: Any) -> tuple[str, ...]:
    shuffled = draw(st.permutations(names))
    return tuple(shuffled[: draw(st.integers(0, len(names)))])


# As rows ----------------------------------------------------------------------------------


def _chats(dialogue: Dialogue, side: int, ids: dict[str, str]) -> tuple[list[Row], Any]:
    """Prompt and answer as chat messages; an answer without calls is text."""
    said = dialogue.answers[side]
    prompt = [{"role": "user", "content": "Q"}]
    if dialogue.calls:
        prompt += [_calling("", dialogue.calls, ids), *_results(dialogue.results, ids)]
        prompt += [{"role": "user", "content": "Go on."}]
    if not said.chat:
        return prompt, said.words
    begun = _calling("So.", said.calls, ids)
    answer = [begun, *_results(said.results, ids), {"role": "assistant", "content": said.words}]
    return prompt, answer if said.calls or said.results else answer[-1:]


def _ids(names: tuple[str, ...], random: Random) -> dict[str, str]:
    return dict(zip(names, random.sample(_IDS, len(names)), strict=True))


def _calling(words: str, names: tuple[str, ...], ids: dict[str, str]) -> Row:
    calls = [
        {"id": ids[name], "type": "function", "function": {"name": name, "arguments": "{}"}}
        for name in names
    ]
    return {"role": "assistant", "content": words, **({"tool_calls": calls} if calls else {})}


def _results(names: tuple[Result, ...], ids: dict[str, str]) -> list[Row]:
    return [
        {"role": "tool", "content": result_of(name), "tool_call_id": ids[name]} for name in names
    ]


def _items(messages: list[Row]) -> list[Row]:
    """Messages as items of the Responses API."""
    items: list[Row] = []
    for message in messages:
        if message["role"] == "tool":
            given = {"call_id": message["tool_call_id"], "output": message["content"]}
            items.append({"type": "function_call_output", **given})
            continue
        if message["content"]:
            items.append({"role": message["role"], "content": message["content"]})
        items += [
            {"type": "function_call", "call_id": call["id"], **call["function"]}
            for call in message.get("tool_calls", [])
        ]
    return items


def _generic(prompt: list[Row], answer: Any, score: int) -> Row:
    return {"prompt": prompt, "response": answer, "score": score}


def _candidate(prompt: list[Row], answer: Any, score: int) -> Row:
    return {"group": "g", **_generic(prompt, answer, score), "index": score, "origin": f"f:{score}"}


def _gym(prompt: list[Row], answer: Any, score: int) -> Row:
    output = answer if isinstance(answer, str) else _items(answer)
    return {
        "responses_create_params": {"input": _items(prompt)},
        "response": {"output": output},
        "reward": score,
        "_ng_task_index": 0,
    }


def _nat(prompt: list[Row], answer: Any, score: int) -> Row:
    data = {"turn_id": "t", "input": prompt, "output": answer, "score": score}
    payload = {"event_type": "TTC_END", "name": "dpo_candidate_move", "data": data}
    return {"id": 1, "intermediate_steps": [{"payload": payload}]}


SOURCES: dict[str, Callable[[list[Row], Any, int], Row]] = {
    "generic": _generic,
    "candidates": _candidate,
    "nemo-gym": _gym,
    "nat": _nat,
}
"""How each source writes a row with a prompt, an answer and a score."""


def rows_of(source: str, dialogue: Dialogue, random: Random) -> list[Row]:
    """The rows of both answers, the worse one first, each with its own IDs."""
    rows = []
    for side in (1, 0):
        ids = _ids(dialogue.calls + dialogue.answers[side].calls, random)
        rows.append(SOURCES[source](*_chats(dialogue, side, ids), 1 - side))
    return rows


def pair_row(dialogue: Dialogue, random: Random) -> Row:
    """The pair of both answers as another program could write it."""
    better, worse = dialogue.answers
    ids = _ids(dialogue.calls + better.calls + worse.calls, random)
    (prompt, chosen), (_, rejected) = (_chats(dialogue, side, ids) for side in (0, 1))
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def bindings_of(pair: Row, side: str) -> list[tuple[str, str]]:
    """The results in a pair's prompt and answer, each with the function of its call."""
    texts = [pair["prompt"], pair[side]]
    turns = [turn for text in texts if not isinstance(text, str) for turn in text]
    called = [call for turn in turns for call in turn.get("tool_calls", [])]
    names = {call["id"]: call["function"]["name"] for call in called}
    assert len(names) == len(called)
    return [
        (turn["content"], names[turn["tool_call_id"]]) for turn in turns if turn["role"] == "tool"
    ]
