"""Two texts are the same if their content is, and only then.

Texts are made from a plain description: who says what, which parts come with the text, which
function is called with what, and which call a result answers. A description is written
in several ways, with random IDs and volatile fields. Equal descriptions must have equal digests,
however they are written, and different ones different digests.
"""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from identity_from_docs import canonical, digest_of
from run_in_process import Asked, lines_of, pair_lines

from prefpairs.model.content import CONTENT_KEYS
from prefpairs.model.identity import canonical_json, digest_prompt, digest_response
from prefpairs.model.message import read_messages
from prefpairs.model.tool_calls import renumber_calls, tool_call

Turn = tuple[Any, ...]
Row = dict[str, Any]

WORDS = st.sampled_from(["", "a", "b", "ab", "user\0a", "10", "30", "\n"])
VALUES = st.sampled_from([1, 1.0, "1", True, None, [1, 2], [2, 1], {"b": 1, "a": 2}, 1e22, 2**70])
BESIDE = [key for key in CONTENT_KEYS if key not in ("text", "refusal")]
PARTS = st.lists(
    st.tuples(st.sampled_from(BESIDE), st.sampled_from(["x", ["x"], ["y"], {"id": "x"}])),
    max_size=2,
    unique_by=lambda part: part[0],
).map(lambda parts: tuple(sorted(parts, key=lambda part: BESIDE.index(part[0]))))
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["f", "g"]),
        st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2),
    ),
    max_size=3,
)
VOLATILE: list[Row] = [
    {},
    {"id": "msg_1", "status": "completed", "logprobs": [-0.5], "weight": 0},
    {"finish_reason": "stop", "usage": {"tokens": 3}, "annotations": [{"url": "u"}]},
    {"images": [], "audio": None, "refusal": None, "documents": "", "tools": []},
    {"created": 1.5, "model": "m", "reasoning_details": [{"data": "x"}], "prefix": True},
]


@st.composite
def descriptions(draw: Any) -> list[Turn]:
    """Roles and contents; a result names the number of a call that is still open."""
    turns: list[Turn] = []
    waiting: list[int] = []
    count = 0
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["user", "system", "assistant", "tool", "tool"]))
        if kind == "tool" and waiting:
            call = draw(st.sampled_from(waiting))
            waiting.remove(call)
            turns.append(("tool", draw(WORDS), call))
        elif kind == "assistant":
            calls = draw(CALLS)
            waiting += range(count + 1, count + 1 + len(calls))
            count += len(calls)
            turns.append(("assistant", draw(WORDS), draw(WORDS), calls, draw(PARTS)))
        else:
            turns.append(("user" if kind == "tool" else kind, draw(WORDS), draw(PARTS)))
    return turns


def written(turns: Sequence[Turn], random: Random) -> list[Row]:
    """A description as messages, written in one of many ways."""
    ids: list[str] = []
    messages = []
    for turn in turns:
        message: Row = {"role": turn[0], "content": _words(turn[1], random)}
        if turn[0] == "tool":
            message["tool_call_id"] = ids[turn[2] - 1]
        else:
            message |= dict(turn[-1])
        if turn[0] == "assistant":
            message |= {random.choice(["reasoning_content", "reasoning"]): turn[2]}
            fresh = [f"{random.random()}-{len(ids) + at}" for at in range(len(turn[3]))]
            calls = [
                {"id": name, "type": "function", "index": 0, "function": _function(call, random)}
                for name, call in zip(fresh, turn[3], strict=True)
            ]
            ids += fresh
            message["tool_calls"] = calls
        volatile = random.choice(VOLATILE)
        message = {**volatile, **message}
        keys = random.sample([*message], len(message))
        messages.append({key: message[key] for key in keys})
    return messages


def _words(words: str, random: Random) -> Any:
    halves = [{"type": "text", "text": words[:1]}, {"type": "output_text", "text": words[1:]}]
    return random.choice([words, halves])


def _function(call: tuple[str, Row], random: Random) -> Row:
    name, arguments = call
    keys = random.sample([*arguments], len(arguments))
    ordered = {key: arguments[key] for key in keys}
    return {"name": name, "arguments": json.dumps(ordered, indent=random.choice([None, 1]))}


def meaning(turns: Sequence[Turn]) -> str:
    """A description as text in which values of different types differ."""
    return json.dumps(turns, sort_keys=True)


def digest(turns: Sequence[Turn], random: Random, *, renumbered: bool) -> bytes:
    """The digest of a description, written in some way."""
    messages = read_messages(written(turns, random), "prompt")
    return digest_prompt(renumber_calls(messages) if renumbered else messages)


def changed(turns: list[Turn], random: Random) -> list[Turn]:
    """A description with one thing changed, which may have no effect."""
    turns = [*turns]
    place = random.randrange(len(turns))
    turn = [*turns[place]]
    field = random.randrange(1, len(turn))
    if turn[0] == "tool" and field == 2:
        others = [at for at, one in enumerate(turns) if one[0] == "tool" and at > place]
        if others:  # swap the calls that two results answer
            last = others[-1]
            turns[place], turns[last] = (
                (*turns[place][:2], turns[last][2]),
                (*turns[last][:2], turns[place][2]),
            )
    elif isinstance(turn[field], str):
        turn[field] = random.choice(["", "a", "b", "ab"])
        turns[place] = tuple(turn)
    elif turn[field]:
        turn[field] = turn[field][1:]
        turns[place] = tuple(turn)
    return turns


def stands(turns: Sequence[Turn]) -> bool:
    """Whether each result comes after the call that it answers."""
    count = 0
    for turn in turns:
        if turn[0] == "assistant":
            count += len(turn[3])
        elif turn[0] == "tool" and turn[2] > count:
            return False
    return True


@given(descriptions(), st.randoms(use_true_random=False), st.booleans())
def test_ids_order_of_keys_and_volatile_fields_do_not_count(
    turns: list[Turn], random: Random, renumbered: bool
) -> None:
    """The same content has one digest, however it is written, even with its calls renumbered."""
    assert digest(turns, random, renumbered=renumbered) == digest(turns, random, renumbered=False)


@given(descriptions(), st.randoms(use_true_random=False))
def test_a_change_of_content_changes_the_digest(turns: list[Turn], random: Random) -> None:
    """Text, reasoning, parts, calls, arguments, and which call a result answers all count."""
    other = changed(turns, random)
    if stands(other):
        same = meaning(turns) == meaning(other)
        ours = digest(turns, random, renumbered=False)
        assert (ours == digest(other, random, renumbered=False)) == same


@given(descriptions(), descriptions(), st.randoms(use_true_random=False))
def test_answers_to_different_prompts_never_pair(
    turns: list[Turn], others: list[Turn], random: Random
) -> None:
    """Law 3, with everything that a prompt may contain: only equal prompts pair, and always."""
    ask: Turn = ("user", "?", ())
    prompts = [[*turns, ask], [*random.choice([turns, others, changed(turns, random)]), ask]]
    if not all(map(stands, prompts)):
        return
    rows = [
        {"prompt": written(prompt, random), "response": f"A{score}", "score": score}
        for score, prompt in enumerate(prompts)
    ]
    pairs = pair_lines(lines_of(*rows), Asked()).rows
    assert len(pairs) == (meaning(prompts[0]) == meaning(prompts[1]))


@given(descriptions(), st.randoms(use_true_random=False))
def test_a_record_is_read_as_it_was_written(turns: list[Turn], random: Random) -> None:
    """A record keeps its whole content when it is written and read."""
    messages = renumber_calls(read_messages(written(turns, random), "prompt"))
    assert read_messages(json.loads(json.dumps(messages)), "prompt") == messages


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e16, 9999999999999998.0, 1e-4, 9.9e-5, 5e-324, -0.0, 1e22, 123456.5])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)
ODD = [
    *("", " ", "{", "NaN", "[-Infinity]", "1e400", "-1e400", "[1e9999]", "1" * 400 + ".0"),
    *('"\\ud83d"', '{"\\ud83d":1}', "[" * 251 + "]" * 251, "[" * 250 + "]" * 250, '{"a":1,"a":2}'),
    *("9" * 4300, "9" * 4301, "1e16", "-0", "-0.0", "1.0e2", '"1e400"', '"NaN"', '["a" ]'),
]
IDS = st.sampled_from(["", "x", "y", "call_1", "call_2", "call_0", "call_1234567"])


@st.composite
def records(draw: Any) -> list[Row]:
    """Messages as in records, with calls and results that need not match."""
    arguments = JSON.map(json.dumps) | st.sampled_from(ODD)
    calls = st.lists(
        st.builds(tool_call, st.sampled_from("fg"), arguments, IDS, st.just("function")), max_size=2
    )
    messages = []
    for role in draw(st.lists(st.sampled_from(["user", "assistant", "tool", "tool"]), max_size=6)):
        message: Row = {
            "role": role,
            "content": draw(WORDS | st.lists(JSON.map(_part) | CALLS_IN_PARTS, max_size=3)),
        }
        if role == "assistant":
            message |= {"reasoning_content": draw(WORDS), "tool_calls": draw(calls)}
        if role == "tool":
            message |= {"tool_call_id": draw(IDS)}
        if draw(st.booleans()):
            message["name"] = draw(st.sampled_from(["f", "g", ""]))
        messages.append({key: value for key, value in message.items() if value or key == "content"})
    return messages


def _part(value: Any) -> Row:
    return {"type": "x", "x": value}


CALLS_IN_PARTS = st.builds(
    lambda kind, key, name, value: {"type": kind, key: name, "input": value},
    st.sampled_from(["tool_use", "server_tool_use", "tool_result", "x"]),
    st.sampled_from(["id", "tool_use_id"]),
    IDS | st.sampled_from([None, 1, ["x"]]),
    JSON,
)


@given(records())
def test_a_stranger_finds_the_same(messages: list[Row]) -> None:
    """An implementation from docs/concepts.md alone finds the same identity, to the bit."""
    assert digest_prompt(messages) == digest_of(messages, "user")


@given(JSON)
def test_canonical_json_does_not_depend_on_a_library(value: Any) -> None:
    """Canonical JSON is the same for any value in both implementations, and can be read back."""
    written = canonical_json(value)
    assert written.decode() == canonical(value)
    assert json.loads(written) == value


def _with_calls_as_parts(ids: Sequence[str], results: Sequence[str]) -> list[Row]:
    """Two calls and their results in Anthropic's format."""
    calls = [
        {"type": "tool_use", "id": one, "name": "f", "input": {"x": at}}
        for at, one in enumerate(ids)
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": one, "content": str(at)}
        for at, one in enumerate(results)
    ]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "Wait."}, *calls]},
        {"role": "user", "content": answers},
        {"role": "assistant", "content": "Done"},
    ]


def test_ids_of_calls_among_parts_do_not_count() -> None:
    """Answers that differ only in these IDs are equal, prompts pair, and results stay bound."""
    one = _with_calls_as_parts(["toolu_1", "toolu_2"], ["toolu_1", "toolu_2"])
    other = _with_calls_as_parts(["toolu_8", "toolu_7"], ["toolu_8", "toolu_7"])
    swapped = _with_calls_as_parts(["toolu_8", "toolu_7"], ["toolu_7", "toolu_8"])
    rows: list[Row] = [
        {"prompt": "Q", "response": one, "score": 1},
        {"prompt": "Q", "response": other},
    ]
    same = lines_of(rows[0], {**rows[1], "score": 0})
    assert pair_lines(same, Asked()).rows == []
    assert (
        len(
            pair_lines(
                lines_of(rows[0], {**rows[1], "response": swapped, "score": 0}), Asked()
            ).rows
        )
        == 1
    )
    ask = {"role": "user", "content": "?"}
    prompts = [
        {"prompt": [*asked, ask], "response": f"A{score}", "score": score}
        for score, asked in enumerate((one, other))
    ]
    assert len(pair_lines(lines_of(*prompts), Asked()).rows) == 1


def test_swapped_results_are_another_text() -> None:
    """10 for A and 30 for B differs from the opposite; the IDs themselves do not matter."""

    def told(first: str, second: str, *ids: str) -> list[Row]:
        calls = [
            {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}
            for name, arguments in zip(ids, ('{"of": "A"}', '{"of": "B"}'), strict=True)
        ]
        return [
            {"role": "assistant", "content": "", "tool_calls": calls},
            {"role": "tool", "content": "10", "tool_call_id": first},
            {"role": "tool", "content": "30", "tool_call_id": second},
        ]

    straight, swapped = told("x", "y", "x", "y"), told("y", "x", "x", "y")
    assert digest_response(straight) != digest_response(swapped)
    assert digest_response(straight) == digest_response(told("p", "q", "p", "q"))
