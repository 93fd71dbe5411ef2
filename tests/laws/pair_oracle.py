"""The expected output of `prefpairs pair`, computed naively from DESIGN.md over all n² pairs.

It shares no code with prefpairs. Scores are decimals from the start, contents are JSON text,
and the digest that breaks ties is written out again, because its form is public interface.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds on a pair, named like the command line's options."""

    min_gap: float = 0.0
    max_gap: float | None = None
    min_chosen_score: float | None = None
    high_threshold: float = 0.7
    low_threshold: float = 0.4
    max_pairs: int | None = None


class Seen(NamedTuple):
    """A candidate: the question, the answer, the score and the index."""

    question: tuple[str, str, str]
    answer: str
    score: Decimal
    number: int | None


class Expected(NamedTuple):
    """An expected pair: prompt, tools, both answers, scores, gap and indexes."""

    prompt: str
    tools: str
    chosen: str
    rejected: str
    scores: tuple[Decimal, Decimal, Decimal]
    indexes: tuple[int | None, int | None]


class Unfit(Exception):
    """A row or an answer that may not be paired, with a named reason."""


class Contents:
    """The contents of a file of rows: the candidates that can be paired, and all losses."""

    def __init__(self, rows: Sequence[Row], read: Callable[[Row], list[Row]]) -> None:
        self.lost: Counter[str] = Counter()
        self.rows_lost: Counter[str] = Counter()
        self.found = 0
        self.groups: dict[tuple[str, str, str], list[Seen]] = {}
        for row in rows:
            self._take_row(row, read)
        for question, members in self.groups.items():
            self.groups[question] = self._without_repetitions(members)

    def _take_row(self, row: Row, read: Callable[[Row], list[Row]]) -> None:
        try:
            answers = read(row)
        except Unfit as reason:
            answers = [{"unfit": str(reason)}]
        fates = [self._take_answer(answer) for answer in answers]
        if all(fates):
            self.rows_lost[fates[0] if fates else "no_response"] += 1

    def _take_answer(self, answer: Row) -> str:
        """Add an answer, or return the reason why it is lost."""
        self.found += 1
        try:
            seen = _seen(answer)
        except Unfit as reason:
            self.lost[str(reason)] += 1
            return str(reason)
        self.groups.setdefault(seen.question, []).append(seen)
        return ""

    def _without_repetitions(self, members: list[Seen]) -> list[Seen]:
        """Each rollout once: the same index with the same answer is the same rollout."""
        left: list[Seen] = []
        for place, member in enumerate(members):
            same = [one for one in members if _is_same_rollout(one, member)]
            if member.number is None or len(same) == 1:
                left.append(member)
            elif len({one.score for one in same}) > 1:
                self.lost["conflicting_scores"] += 1
            elif any(_is_same_rollout(one, member) for one in members[:place]):
                self.lost["duplicate_rollout"] += 1
            else:
                left.append(member)
        return left


def _is_same_rollout(one: Seen, other: Seen) -> bool:
    return one.number == other.number and one.answer == other.answer


# What a row contains ---------------------------------------------------------------------


def read_gym(row: Row) -> list[Row]:
    """The one answer of a NeMo Gym rollout."""
    instance = row.get("instance_config") or {}
    if row.get("mask_sample") is True or instance.get("mask_sample") is True:
        raise Unfit("masked")
    if row.get("_ng_failure_class") is not None:
        raise Unfit("failed")
    if row["response"].get("incomplete_details"):
        raise Unfit("incomplete")
    params = row["responses_create_params"]
    task = None
    if row.get("_ng_task_index") is not None:
        task = json.dumps([(row.get("agent_ref") or {}).get("name"), row["_ng_task_index"]])
    return [
        {
            "task": task,
            "prompt": lambda: _gym_prompt(params),
            "tools": [_chat_tool(tool) for tool in params.get("tools") or []],
            "response": lambda: _gym_chat(row["response"]["output"]),
            "score": row.get("reward"),
            "index": row.get("_ng_rollout_index"),
        }
    ]


def read_generic(row: Row) -> list[Row]:
    """The answers of a generic row; `responses` go with `rewards`."""
    prompt, tools = row["prompt"], row.get("tools")
    if prompt is None:
        raise Unfit("no_prompt")
    if "responses" in row:
        both = zip(row["responses"], row["rewards"], strict=True)
        return [{"prompt": prompt, "response": said, "score": score} for said, score in both]
    said, score = row["response"], row["score"]
    if said is None:
        raise Unfit("no_response")
    return [{"prompt": prompt, "response": said, "score": score, "tools": tools}]


def read_candidate(row: Row) -> list[Row]:
    """The one answer of a candidate, whose reasoning `extract` has already separated."""
    return [{**row, "task": row["group"], "verbatim": True}]


def _seen(answer: Row) -> Seen:
    if "unfit" in answer:
        raise Unfit(answer["unfit"])
    prompt, response = answer["prompt"], answer["response"]
    if callable(prompt):
        prompt, response = prompt(), response()
    score = answer["score"]
    if score is None:
        raise Unfit("no_score")
    if not isfinite(score):
        raise Unfit("score_not_finite")
    before, said = _turns(prompt, response, verbatim=answer.get("verbatim", False))
    if not before:
        raise Unfit("no_prompt")
    asked = _content(before)
    tools = json.dumps(answer.get("tools") or [], sort_keys=True)
    task = answer.get("task") or f"prompt {asked}"
    return Seen((task, asked, tools), _content(said), decimal(score), answer.get("index"))


def _turns(prompt: Any, response: Any, *, verbatim: bool) -> tuple[list[Row], list[Row]]:
    """Prompt and response as chats; the response is cut to its first and last assistant turn."""
    before = as_chat(prompt, "user") if prompt and prompt != " " else []
    given = as_chat(response, "assistant")
    said = given if verbatim else [_with_thoughts_apart(turn) for turn in given]
    places = [place for place, turn in enumerate(said) if turn["role"] == "assistant"]
    if not places:
        raise Unfit("empty_answer")
    moved, said = said[: places[0]], said[places[0] : places[-1] + 1]
    if not any(map(_speaks, said)):
        _, _, rest = given[places[-1]]["content"].rpartition("</think>")
        raise Unfit("unfinished_thinking" if "<think>" in rest else "empty_answer")
    whole = _numbered(before + moved + said)
    return whole[: len(before + moved)], whole[len(before + moved) :]


def _speaks(turn: Row) -> bool:
    return turn["role"] == "assistant" and bool(turn["content"].strip() or turn.get("tool_calls"))


def as_chat(text: Any, role: str) -> list[Row]:
    """A text as a chat of one message; in a chat, missing content becomes empty."""
    if isinstance(text, str):
        return [{"role": role, "content": text}]
    return [{**turn, "content": turn["content"] or ""} for turn in text]


def _with_thoughts_apart(turn: Row) -> Row:
    """Inline thinking moved to reasoning, with both tags or only one of them."""
    content = turn["content"]
    if turn["role"] != "assistant" or "think>" not in content:
        return turn
    thought, closed, words = content.partition("</think>")
    thought = thought.replace("<think>", "").strip()
    both = [turn.get("reasoning_content") or "", thought]
    words = words.lstrip() if closed else ""
    return {**turn, "content": words, "reasoning_content": "\n".join(filter(None, both))}


# NeMo Gym items ---------------------------------------------------------------------------


def _gym_prompt(params: Row) -> list[Row]:
    given = params.get("input")
    if isinstance(given, str):
        given = [{"role": "user", "content": given}] if given.strip() else []
    turns = _gym_chat(given or [])
    problem = (params.get("metadata") or {}).get("problem_statement")
    if not turns and problem:
        turns = [{"role": "user", "content": problem}]
    if not turns:
        return []
    systems = [params["instructions"]] if params.get("instructions") else []
    while turns and turns[0]["role"] == "system":
        systems.append(turns.pop(0)["content"])
    system = [{"role": "system", "content": "\n\n".join(systems)}] if systems else []
    return system + turns


def _gym_chat(items: Iterable[Row]) -> list[Row]:
    """Responses items as chat messages; consecutive assistant items are one message."""
    chat: list[Row] = []
    open_turn: Row | None = None
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind not in ("message", "reasoning", "function_call", "function_call_output"):
            raise Unfit("unsupported_item")
        if kind == "function_call_output" or role in ("user", "system", "developer"):
            role = {"developer": "system", None: "tool"}.get(role, role)
            words = _text(item.get("content", item.get("output")))
            answers = {"tool_call_id": item.get("call_id")} if role == "tool" else {}
            chat.append({"role": role, "content": words, **answers})
            open_turn = None
            continue
        if kind == "reasoning" and not _thoughts(item):
            continue
        if open_turn is None:
            open_turn = {"role": "assistant", "content": "", "thoughts": [], "tool_calls": []}
            chat.append(open_turn)
        if kind == "message":
            open_turn["content"] += _text(item["content"])
        elif kind == "reasoning":
            open_turn["thoughts"] += _thoughts(item)
        else:
            call = {"name": item["name"], "arguments": item["arguments"]}
            open_turn["tool_calls"].append({"id": item.get("call_id"), "function": call})
    return [{**turn, "reasoning_content": "\n".join(turn.pop("thoughts", []))} for turn in chat]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _thoughts(item: Row) -> list[str]:
    return [part["text"].strip() for part in item["summary"] if part["text"].strip()]


def _chat_tool(tool: Row) -> Row:
    function = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
    return {"type": "function", "function": function}


# Contents and their order -----------------------------------------------------------------


def _content(chat: Iterable[Row]) -> str:
    """The content that makes texts equal: roles, text, reasoning, and calls with arguments."""
    turns = list(chat)
    answered = _answered(turns, numbered=True)
    return json.dumps(list(map(_content_of_turn, turns, answered)), sort_keys=True)


def content_of(text: Any, role: str) -> str:
    """The content of a text as prefpairs writes it."""
    return _content(as_chat(text, role))


def _content_of_turn(turn: Row, answers: Any) -> list[Any]:
    calls = [call["function"] for call in turn.get("tool_calls") or []]
    called = [[call["name"], _arguments(call["arguments"])] for call in calls]
    thoughts, name = turn.get("reasoning_content") or "", turn.get("name") or ""
    return [turn["role"], turn["content"], thoughts, name, called, answers]


def _answered(turns: Sequence[Row], *, numbered: bool) -> list[Any]:
    """The number of the call that each result answers, and 0 for other turns."""
    calls: list[tuple[str, str]] = []
    waiting: list[int] = []
    answered: list[Any] = []
    for turn in turns:
        told: Any = 0
        if turn.get("tool_calls"):
            for call in turn["tool_calls"]:
                calls.append((call.get("id") or "", call["function"]["name"]))
                waiting.append(len(calls))
        elif turn["role"] == "tool":
            given, name = turn.get("tool_call_id") or "", turn.get("name")
            named = [at for at in waiting if calls[at - 1][1] == name and not given]
            same = [at for at in waiting if calls[at - 1][0] == given]
            before = [at for at, (known, _) in enumerate(calls, 1) if known == given != ""]
            own = bool(named or same or before)
            if numbered and not own and re.fullmatch("call_[1-9][0-9]{0,5}", given):
                told = given
            else:
                told = [*named[:1], *same[:1], *before[-1:], *waiting[:1], 0][0]
            waiting = [at for at in waiting if at != told]
        answered.append(told)
    return answered


def _numbered(turns: Sequence[Row]) -> list[Row]:
    """The turns with calls identified by number, and results by their call's number."""
    count, numbered = 0, []
    for turn, told in zip(turns, _answered(turns, numbered=False), strict=True):
        calls = []
        for call in turn.get("tool_calls") or []:
            count += 1
            calls.append({**call, "id": f"call_{count}"})
        own = {"tool_calls": calls} if calls else {}
        bare = {key: turn[key] for key in turn if key != "tool_call_id"}
        numbered.append({**bare, **own, **({"tool_call_id": f"call_{told}"} if told else {})})
    return numbered


def _arguments(text: str) -> Any:
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return text


def digest(content: str) -> bytes:
    """The digest of a content in its public form."""
    parts = [_canonical(turn) for turn in json.loads(content)]
    if len(parts) == 1:
        return sha(parts[0])
    return sha(b"chat\0" + b"".join(map(sha, parts)))


def sha(content: bytes) -> bytes:
    """The first half of the SHA-256 of some bytes."""
    return hashlib.sha256(content).digest()[:16]


def _canonical(turn: list[Any]) -> bytes:
    role, content, *rest = turn
    if not any(rest) and isinstance(content, str):
        return f"text\0{role}\0{content}".encode()
    others = zip(("reasoning", "name", "calls", "answers"), rest, strict=True)
    told = {"role": role, "content": content, **{key: value for key, value in others if value}}
    written = json.dumps(told, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return b"message\0" + written.encode()


def decimal(score: float) -> Decimal:
    """The score rounded to 15 significant digits.

    >>> decimal(0.1 + 0.2), decimal(True)
    (Decimal('0.3'), Decimal('1'))
    """
    return Decimal(f"{float(score):.15g}") + 0


# The pairs --------------------------------------------------------------------------------


def pairs(contents: Contents, strategy: str, bounds: Bounds) -> Counter[Expected]:
    """All expected pairs, with their counts."""
    choose = STRATEGIES[strategy]
    expected: Counter[Expected] = Counter()
    for members in contents.groups.values():
        ranked = sorted(members, key=_rank)
        chosen = sorted(choose(ranked, bounds), key=lambda both: _width(ranked, both))
        expected.update(_expected(ranked, both) for both in chosen[: bounds.max_pairs])
    return expected


def expected_of(row: Row) -> Expected:
    """An output pair in the same form."""
    scores = row["chosen_score"], row["rejected_score"], row["gap"]
    return Expected(
        prompt=content_of(row["prompt"], "user"),
        tools=json.dumps(row.get("tools", []), sort_keys=True),
        chosen=content_of(row["chosen"], "assistant"),
        rejected=content_of(row["rejected"], "assistant"),
        scores=(_exact(scores[0]), _exact(scores[1]), _exact(scores[2])),
        indexes=(_own_index(row, "chosen"), _own_index(row, "rejected")),
    )


def _own_index(row: Row, side: str) -> int | None:
    """The source's own index; for several answers in a row, the index of each."""
    index: int | None = row[f"{side}_index"]
    is_place = "#" in row[f"{side}_origin"] and row["group"].startswith("prompt:")
    return None if is_place else index


def allowed(group: Sequence[Seen], bounds: Bounds) -> list[tuple[int, int]]:
    """The positions of every two members that may be paired."""
    places = range(len(group))
    return [
        (chosen, rejected)
        for chosen in places
        for rejected in places
        if _is_allowed(group[chosen], group[rejected], bounds)
    ]


def may_meet_across(high: Row, low: Row, bounds: Bounds) -> bool:
    """Whether --strategy stratified --across-prompts may pair two generic rows."""
    chosen, rejected = (
        Seen(("", "", ""), row["response"], decimal(row["score"]), None) for row in (high, low)
    )
    return _is_stratified(chosen, rejected, bounds) and _is_allowed(chosen, rejected, bounds)


def _is_stratified(chosen: Seen, rejected: Seen, bounds: Bounds) -> bool:
    high, low = _exact(bounds.high_threshold), _exact(bounds.low_threshold)
    return chosen.score >= high and rejected.score <= low


def _is_allowed(chosen: Seen, rejected: Seen, bounds: Bounds) -> bool:
    gap = chosen.score - rejected.score
    return (
        gap > 0
        and gap >= _exact(bounds.min_gap)
        and (bounds.max_gap is None or gap <= _exact(bounds.max_gap))
        and (bounds.min_chosen_score is None or chosen.score >= _exact(bounds.min_chosen_score))
        and chosen.answer != rejected.answer
    )


def _exact(number: float) -> Decimal:
    return Decimal(repr(number)) + 0


def _rank(member: Seen) -> tuple[Decimal, bool, int, bytes]:
    """Higher scores first, then by index, then by content; missing indexes come last."""
    return -member.score, member.number is None, member.number or 0, digest(member.answer)


def _width(group: Sequence[Seen], both: tuple[int, int]) -> tuple[Decimal, int, int]:
    """Widest first; equal gaps go by the better chosen answer, then by the group's order."""
    return -_gap(group, both), *both


def _gap(group: Sequence[Seen], both: tuple[int, int]) -> Decimal:
    return group[both[0]].score - group[both[1]].score


def _expected(group: Sequence[Seen], both: tuple[int, int]) -> Expected:
    chosen, rejected = group[both[0]], group[both[1]]
    return Expected(
        prompt=chosen.question[1],
        tools=chosen.question[2],
        chosen=chosen.answer,
        rejected=rejected.answer,
        scores=(chosen.score, rejected.score, _exact(float(_gap(group, both)))),
        indexes=(chosen.number, rejected.number),
    )


def _best_vs_worst(group: Sequence[Seen], bounds: Bounds) -> list[tuple[int, int]]:
    return sorted(allowed(group, bounds), key=lambda both: _width(group, both))[:1]


def _stratified(group: Sequence[Seen], bounds: Bounds) -> list[tuple[int, int]]:
    return [
        (chosen, rejected)
        for chosen, rejected in allowed(group, bounds)
        if _is_stratified(group[chosen], group[rejected], bounds)
    ]


def _adjacent(group: Sequence[Seen], bounds: Bounds) -> list[tuple[int, int]]:
    """For each score, the nearest lower one that it may be paired with, once."""
    nearest = sorted(allowed(group, bounds), key=lambda both: (_gap(group, both), *both))
    first: dict[Decimal, tuple[int, int]] = {}
    for both in nearest:
        first.setdefault(group[both[0]].score, both)
    return list(first.values())


def _best_vs_rest(group: Sequence[Seen], bounds: Bounds) -> list[tuple[int, int]]:
    """The best candidate that may be paired, against all it may be paired with."""
    pairs = allowed(group, bounds)
    best = min((chosen for chosen, _ in pairs), default=None)
    return [both for both in pairs if both[0] == best]


STRATEGIES: dict[str, Callable[[Sequence[Seen], Bounds], list[tuple[int, int]]]] = {
    "best-vs-worst": _best_vs_worst,
    "exhaustive": allowed,
    "stratified": _stratified,
    "adjacent": _adjacent,
    "best-vs-rest": _best_vs_rest,
}
