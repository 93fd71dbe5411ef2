"""Hypothesis strategies for rollouts of every format, often equal, tied or unfit."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from run_in_process import Asked, Row, lines_of

from prefpairs.strategies.options import PairOptions

Items = list[Row]

NOISY_ONE_THIRD = (0.123456789012345, 0.1234567890123454, 0.123456789012346)
"""The first two tie to 15 significant digits; the third does not."""

FIT_SCORES = [
    0,
    1,
    0.0,
    -0.0,
    1.0,
    True,
    0.1,
    0.2,
    0.3,
    0.1 + 0.2,
    0.4,
    0.5,
    0.7,
    0.8,
    0.9,
    1 - 0.1,
]
FIT_SCORES += [-1.5, 1e-9, 2, 10.9, -12.7, *NOISY_ONE_THIRD]
UNFIT_SCORES = [None, float("nan"), float("inf"), float("-inf")]

WORDS = ["A", "B", "C", "A ", "naïve ☃ 😀", "line\u2028break\nand \x00"]
SILENCE = ["", " \n"]
THOUGHTS = ["<think>hm</think>A", "hm</think>A", "<think>\n</think>B", "<think>never ends"]
ARGUMENTS = ['{"a": 1, "b": [2]}', '{"b":[2],"a":1}', '{"a": 1, "b": [3]}', "no JSON", ""]
CUT_EMOJI = ["cut \ud83d", "cut \ud83e"]
CALL_IDS = ["call_7f", "call_2", "call_1", ""]


def scores(*, unfit: bool = True) -> st.SearchStrategy[Any]:
    """A few distinct scores with float noise; sometimes missing or not a number."""
    return st.sampled_from(FIT_SCORES * 2 + UNFIT_SCORES if unfit else FIT_SCORES)


def any_scores() -> st.SearchStrategy[float]:
    """Any finite float."""
    return st.floats(allow_nan=False, allow_infinity=False)


def texts() -> st.SearchStrategy[str]:
    """A few distinct answers, so that many are equal; some are empty."""
    return st.sampled_from([*WORDS, "A", "B", "A", "B", *SILENCE, *THOUGHTS])


# NeMo Gym ---------------------------------------------------------------------------------

_ADD = {"type": "function", "name": "add", "parameters": {"type": "object"}}
_SUB = {"type": "function", "name": "sub", "description": "minus", "parameters": {}}
_SYSTEM = {"role": "system", "content": "Be brief."}
_USER = {"role": "user", "content": "2+2?"}
_PARTS = {"role": "user", "type": "message", "content": [{"type": "input_text", "text": "2+2?"}]}

PARAMS: list[Row] = [
    {"input": "2+2?"},
    {"input": [_USER]},
    {"input": [_PARTS], "temperature": 1.0},
    {"input": "2+2?", "instructions": "Be brief."},
    {"input": [_SYSTEM, _USER]},
    {"input": [_SYSTEM, _USER], "instructions": "Be kind."},
    {"input": "2+2?", "instructions": "Be kind.\n\nBe brief."},
    {"input": [{"role": "developer", "content": "Be brief."}, _PARTS]},
    {"input": "2+2?", "tools": [_ADD]},
    {"input": [_USER], "tools": [{**_ADD, "strict": True}]},
    {"input": "2+2?", "tools": [_ADD, _SUB]},
    {"input": "2+2?", "tools": []},
    {"input": "3+3?"},
    {"input": [], "metadata": {"problem_statement": "Fix it."}},
    {"input": []},
    {"input": " "},
]
TASKS = [(None, None), (None, 0), ("solver", 0), ("judge", 0), ("solver", 1), ("solver", "x")]
UNFIT_KEYS: list[Row] = [
    {"mask_sample": True},
    {"mask_sample": False},
    {"instance_config": {"mask_sample": True}},
    {"_ng_failure_class": "timeout"},
]


@st.composite
def gym_params(draw: st.DrawFn) -> Row:
    """Parameters of the request, sometimes with a call and its result in the history."""
    params = draw(st.sampled_from(PARAMS))
    if params["input"] in ([], " ") or draw(st.integers(0, 5)):
        return params
    history = draw(tool_use())
    return {**params, "input": [_USER, *history, {"role": "user", "content": "And now?"}]}


@st.composite
def tool_use(draw: st.DrawFn) -> Items:
    """A call and its result with a random ID."""
    call_id = draw(st.sampled_from(CALL_IDS))
    arguments = draw(st.sampled_from(ARGUMENTS))
    call = {"type": "function_call", "name": "add", "arguments": arguments, "call_id": call_id}
    return [call, {"type": "function_call_output", "call_id": call_id, "output": "4"}]


def _message(text: str) -> Items:
    part = {"type": "output_text", "text": text, "annotations": []}
    return [{"type": "message", "role": "assistant", "content": [part]}]


def _thinking(text: str) -> Items:
    return [{"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": text}]}]


_ODD_ITEMS: list[Items] = [
    [{"type": "message", "role": "user", "content": "Your hand: 8, 5"}],
    [{"type": "reasoning", "summary": [], "encrypted_content": "x"}],
    [{"type": "message", "role": "assistant", "content": "A"}],
    [{"type": "function_call", "name": "add", "arguments": "{}", "call_id": "call_9"}],
    [{"type": "function_call_output", "call_id": "call_9", "output": "9"}],
    [{"type": "mcp_call", "id": "m"}],
]


def gym_outputs(*, odd: bool = True) -> st.SearchStrategy[Items]:
    """Outputs of the model: mostly text, also reasoning, tools, other turns and nothing."""
    words = st.sampled_from(["A", "B", "A", "B", *WORDS, *([*THOUGHTS, *CUT_EMOJI] if odd else [])])
    pieces = st.one_of(
        words.map(_message),
        st.sampled_from([*map(_message, SILENCE), *map(_thinking, ("hm", "ho", " "))]),
        tool_use(),
        st.sampled_from(_ODD_ITEMS),
    )
    several = st.lists(pieces, max_size=4).map(
        lambda lists: [one for some in lists for one in some]
    )
    return st.one_of(words.map(_message), words.map(_message), several)


@st.composite
def gym_rows(draw: st.DrawFn, *, odd: bool = True) -> list[Row]:
    """Rollouts of a few tasks, some repeated with other scores, indexes or call IDs."""
    params = draw(st.lists(gym_params(), min_size=1, max_size=2))
    tasks = draw(st.lists(st.sampled_from(TASKS), min_size=1, max_size=2))
    rows = draw(st.lists(_gym_row(params, tasks, odd=odd), max_size=9))
    for at in draw(st.lists(st.integers(0, 8), max_size=3)) if rows else ():
        rows.append(draw(_echo(rows[at % len(rows)])))
    return rows


@st.composite
def _gym_row(draw: st.DrawFn, params: list[Row], tasks: list[Any], *, odd: bool) -> Row:
    agent, task = draw(st.sampled_from(tasks))
    row: Row = {
        "responses_create_params": draw(st.sampled_from(params)),
        "response": {"id": "r", "output": draw(gym_outputs(odd=odd))},
        "reward": draw(scores()),
        "_ng_task_index": task,
        "_ng_rollout_index": draw(st.sampled_from([None, 0, 1, 2, 3])),
        "agent_ref": agent and {"type": "agent", "name": agent},
    }
    kept = {key: value for key, value in row.items() if value is not None}
    if draw(st.integers(0, 9)) == 0:
        kept |= draw(st.sampled_from(UNFIT_KEYS))
    if draw(st.integers(0, 15)) == 0:
        kept["response"] = {**row["response"], "incomplete_details": {"reason": "length"}}
    return kept


@st.composite
def _echo(draw: st.DrawFn, row: Row) -> Row:
    """The same rollout again, perhaps with one change."""
    change: Row = draw(
        st.sampled_from([{}, {"reward": 0.5}, {"reward": 0.9}, {"_ng_rollout_index": 7}])
    )
    return {**row, **change}


def every_kind_of_gym_row(count: int) -> list[Row]:
    """A fixed list of rollouts that combines each kind of prompt, answer and loss."""
    words = [*map(_message, [*WORDS, *SILENCE, *THOUGHTS, *CUT_EMOJI]), *_ODD_ITEMS]
    fits = FIT_SCORES * 4 + UNFIT_SCORES
    rows: list[Row] = []
    for number in range(count):
        agent, task = TASKS[number // 7 % len(TASKS)]
        row: Row = {
            "responses_create_params": PARAMS[number // 5 % len(PARAMS)],
            "response": {"output": words[number % len(words)]},
            "reward": fits[number * 11 % len(fits)],
            "_ng_task_index": task,
            "_ng_rollout_index": number % 9 or None,
            "agent_ref": agent and {"name": agent},
            **(UNFIT_KEYS[number % len(UNFIT_KEYS)] if number % 17 == 0 else {}),
        }
        rows.append({key: value for key, value in row.items() if value is not None})
    return rows


# NeMo Agent Toolkit -----------------------------------------------------------------------

_TURNS = ["t0", "t0", "t1", "", 0, None]
_INPUTS: list[Any] = ["Play.", [{"role": "user", "content": "Play."}], [_SYSTEM, _USER], None]
_INPUTS += [[_USER, {"role": "assistant", "content": "A"}]]
_OUTPUTS: list[Any] = ["A", "B", "A", "C", {"move": [1, 1]}, None, "", THOUGHTS[0], CUT_EMOJI[0]]
_OUTPUTS += [[{"role": "assistant", "content": "B"}]]


@st.composite
def _nat_step(draw: st.DrawFn) -> Row:
    data = {
        "input": draw(st.sampled_from(_INPUTS[:2] * 3 + _INPUTS)),
        "output": draw(st.sampled_from(_OUTPUTS)),
        "turn_id": draw(st.sampled_from(_TURNS)),
        "candidate_index": draw(st.sampled_from([0, 1, 2, None, "3", 2.0, 1.5])),
        "score": draw(st.one_of(scores(), st.sampled_from(["0.7", "high"]))),
    }
    payload = {
        "event_type": draw(st.sampled_from(["TTC_END"] * 6 + ["TTC_START", "LLM_END"])),
        "name": draw(st.sampled_from(["dpo_candidate_move"] * 6 + ["other"])),
        "data": draw(st.sampled_from([data] * 9 + [None])),
    }
    return {"parent_id": "root", "payload": payload}


@st.composite
def nat_rows(draw: st.DrawFn) -> list[Row]:
    """Items with steps, bare steps and bare payloads."""
    rows: list[Row] = []
    for kind in draw(st.lists(st.sampled_from(["item", "item", "step", "payload"]), max_size=6)):
        if kind == "item":
            steps = draw(st.lists(_nat_step(), max_size=5))
            identity = draw(st.sampled_from([1, "1", "x"]))
            rows.append({"id": identity, "question": "Play.", "intermediate_steps": steps})
        else:
            step = draw(_nat_step())
            rows.append(step if kind == "step" else step["payload"])
    return rows


# Generic rows and candidates --------------------------------------------------------------

_CHATS: list[Any] = ["2+2?", "2+2?", [_USER], [_SYSTEM, _USER], "3+3?"]
_SAID: list[Any] = [
    [{"role": "assistant", "content": "A"}],
    [{"role": "assistant", "content": "A", "reasoning_content": "hm"}],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "function": {"name": "add", "arguments": ARGUMENTS[0]}}],
        },
        {"role": "tool", "content": "4", "tool_call_id": "x"},
        {"role": "assistant", "content": "B"},
    ],
    [{"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "B"}],
    [{"role": "user", "content": "Sure?"}],
]


def answers() -> st.SearchStrategy[Any]:
    """Answers as text or as a chat."""
    return st.one_of(texts(), texts(), st.sampled_from(_SAID))


@st.composite
def one_answer_rows(draw: st.DrawFn) -> list[Row]:
    """Generic rows with one prompt, one response and one score."""
    row = st.fixed_dictionaries(
        {
            "prompt": st.sampled_from([*_CHATS, None, " "]),
            "response": st.one_of(answers(), st.none()),
            "score": scores(),
        },
        optional={"tools": st.just([_ADD])},
    )
    return draw(st.lists(row, max_size=10))


def contest_rows(
    score: st.SearchStrategy[Any] | None = None, *, least: int = 0, most: int = 12
) -> st.SearchStrategy[list[Row]]:
    """Generic rows that mostly compete: two prompts, few answers, valid scores."""
    row = st.fixed_dictionaries(
        {
            "prompt": st.sampled_from(["2+2?", "2+2?", "3+3?"]),
            "response": st.sampled_from(["A", "B", "C", "D"]),
            "score": scores(unfit=False) if score is None else score,
        }
    )
    return st.lists(row, min_size=least, max_size=most)


@st.composite
def many_answer_rows(draw: st.DrawFn) -> list[Row]:
    """Generic rows with one prompt and several responses with scores."""
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 4))
        responses = draw(st.lists(texts(), min_size=count, max_size=count))
        rewards = draw(st.lists(scores(), min_size=count, max_size=count))
        prompt = draw(st.sampled_from(_CHATS))
        rows.append({"prompt": prompt, "responses": responses, "rewards": rewards})
    return rows


def generic_rows() -> st.SearchStrategy[list[Row]]:
    """Generic rows of either kind."""
    return st.one_of(contest_rows(), one_answer_rows(), many_answer_rows())


@st.composite
def candidate_rows(draw: st.DrawFn) -> list[Row]:
    """Rows as `extract` writes them."""
    row = st.fixed_dictionaries(
        {
            "group": st.sampled_from(["g", "h", 'g","h']),
            "prompt": st.sampled_from(_CHATS),
            "response": answers(),
            "score": scores(),
            "index": st.sampled_from([None, 0, 1, 2, -1, 2**63 - 1]),
            "origin": st.sampled_from(["a.jsonl:1", "b.jsonl:2#1"]),
        },
        optional={"tools": st.just([_ADD]), "meta": st.sampled_from([{"k": 1}, {"k": "v"}])},
    )
    return draw(st.lists(row, max_size=10))


# Lines, options, and ways to distribute lines over files ----------------------------------

BAD_LINES = [b"{not JSON}\n", b"words\n", b'{"score": 1\n', b"\xff\xfe\n", b'"text"\n', b"7\n"]
BLANK_LINES = [b"\n", b"   \r\n"]
BAD_GYM_ROWS: list[Row] = [
    {"responses_create_params": {"input": 5}, "response": {"output": []}, "reward": 1.0},
    {"responses_create_params": PARAMS[0], "response": {"output": _message("A")}, "reward": "0.7"},
    {"responses_create_params": PARAMS[0], "response": {"output": 5}, "reward": 1.0},
    {"responses_create_params": PARAMS[0], "reward": 1.0, "_ng_rollout_index": "first"},
]


def rollout_lines() -> st.SearchStrategy[list[bytes]]:
    """Lines of one rollout format, good and unfit."""
    rows = st.one_of(gym_rows(), nat_rows(), generic_rows())
    return rows.map(lambda given: lines_of(*given))


def lines() -> st.SearchStrategy[list[bytes]]:
    """Lines of one format, including candidates."""
    return st.one_of(rollout_lines(), candidate_rows().map(lambda given: lines_of(*given)))


def bad_lines() -> st.SearchStrategy[list[bytes]]:
    """Lines that no source can read."""
    return st.lists(st.sampled_from(BAD_LINES), max_size=4)


def bad_gym_lines() -> st.SearchStrategy[list[bytes]]:
    """Lines that are not rollouts of NeMo Gym."""
    return st.lists(st.sampled_from([*BAD_LINES, *lines_of(*BAD_GYM_ROWS)]), max_size=4)


STRATEGIES = [
    "best-vs-worst",
    "exhaustive",
    "stratified",
    "adjacent",
    "best-vs-rest",
    "random",
    "sweet-spot",
]


def pair_options() -> st.SearchStrategy[PairOptions]:
    """Bounds that sometimes have an effect."""
    return st.builds(
        PairOptions,
        min_gap=st.sampled_from([0.0, 0.0, 0.1, 0.2, 0.5]),
        max_gap=st.sampled_from([None, None, 0.5, 0.9]),
        min_chosen_score=st.sampled_from([None, None, 0.3, 0.9]),
        high_threshold=st.sampled_from([0.7, 0.5, 0.3]),
        low_threshold=st.sampled_from([0.3, 0.1, 0.0]),
        max_pairs_per_group=st.sampled_from([None, None, 1, 2, 5]),
        rejected_per_chosen=st.sampled_from([1, 2, 3]),
        seed=st.integers(0, 3),
    )


def asked_within() -> st.SearchStrategy[Asked]:
    """Every strategy within prompts."""
    return st.builds(Asked, strategy=st.sampled_from(STRATEGIES), options=pair_options())


def asked_across() -> st.SearchStrategy[Asked]:
    """The strategy that pairs answers across prompts."""
    stratified = st.just("stratified")
    return st.builds(
        Asked, strategy=stratified, options=pair_options(), across_prompts=st.just(True)
    )


def asked() -> st.SearchStrategy[Asked]:
    """All options of `pair`."""
    return st.one_of(asked_within(), asked_within(), asked_within(), asked_across())


@st.composite
def shards_of(draw: st.DrawFn, given: list[bytes]) -> list[list[bytes]]:
    """The lines in order, cut into files, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(given)), max_size=3)))
    bounds = [0, *cuts, len(given)]
    return [given[start:end] for start, end in pairwise(bounds)]
