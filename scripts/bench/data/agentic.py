"""Rows of agents in NeMo Gym: tools in the request, then thinking, calls and their results."""

import json
from typing import Any

from bench.data.dice import TASK, Roll, reward, roll
from bench.data.nemo_gym import REQUEST_NULLS, RESPONSE_NULLS, nulls
from bench.data.plan import Plan
from bench.data.words import WordPool

MOST_STEPS = 6
"""A step is reasoning, a call and its result; reasoning and a message follow: 5 to 20 items."""
RULES = 2_500
"""Size of the instructions that all tasks share, in bytes."""
NAMES = ("get_customer", "search_orders", "get_order", "update_address", "refund_order", "escalate")


def _tool(name: str) -> dict[str, Any]:
    """A function as a request declares it."""
    words = name.replace("_", " ")
    keys = ("record_id", "reason", "changes")
    properties = {
        key: {"type": "string", "title": key, "description": f"The {key} to {words} with."}
        for key in keys
    }
    return {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": [*keys],
            "additionalProperties": False,
        },
        "strict": True,
        "type": "function",
        "description": f"Use this to {words}.\nIt returns a record, or an object with an error.",
    }


TOOLS = [_tool(name) for name in NAMES]


def _template(value: Any) -> bytes:
    """Compact JSON with a placeholder for each text; `@` is a placeholder for a number."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace('"@"', "%b").encode()


def _request() -> dict[str, Any]:
    asked = [
        {"content": "You are a customer service agent. %b", "role": "developer", "type": "message"},
        {"content": "Case %b. %b", "role": "user", "type": "message"},
    ]
    return {
        "background": None,
        "include": None,
        "input": asked,
        **nulls(REQUEST_NULLS),
        "max_output_tokens": 8192,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": TOOLS,
    }


def _response() -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": 2600, "input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens": "@", "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_%b",
        "created_at": "@",
        **nulls("error incomplete_details instructions metadata"),
        "model": "Qwen/Qwen3-8B",
        "object": "response",
        "output": "@",
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": TOOLS,
        "top_p": 0.95,
        **nulls(RESPONSE_NULLS),
        "usage": usage | {"total_tokens": "@"},
        "user": None,
    }


ROW = _template(
    {
        "responses_create_params": _request(),
        "response": _response(),
        "reward": "@",
        "reward_components": {"solved": "@", "format": 1.0},
        "_ng_task_index": "@",
        "_ng_rollout_index": "@",
        "agent_ref": {"type": "responses_api_agents", "name": "service_agent"},
    }
)
THOUGHT = _template(
    {
        "id": "rs_%b",
        "summary": [{"text": "\nOkay, %b", "type": "summary_text"}],
        "type": "reasoning",
        "encrypted_content": None,
    }
)
CALL = _template(
    {
        "arguments": '{"record_id": "%b", "reason": "%b", "changes": "%b"}',
        "call_id": "call_%b",
        "name": "%b",
        "type": "function_call",
        "id": "fc_%b",
        "status": "completed",
    }
)
RESULT = _template(
    {
        "call_id": "call_%b",
        "output": '{"record_id": "%b", "status": "open", "amount": %b, "note": "%b"}',
        "type": "function_call_output",
        "id": None,
        "status": None,
    }
)
SAID = _template(
    {
        "id": "msg_%b",
        "content": [
            {
                "annotations": [],
                "text": "\n\n%b\n\nCase %b is closed.",
                "type": "output_text",
                "logprobs": None,
            }
        ],
        "role": "assistant",
        "status": "completed",
        "type": "message",
    }
)


def agentic(plan: Plan, pool: WordPool, task: int, rollout: int) -> bytes:
    """One line."""
    of_task, own = roll(plan.seed, task, TASK), roll(plan.seed, task, rollout)
    score = b"%.3f" % reward(plan.rewards, of_task, own, rollout, plan.per_task)
    length = round(plan.answer_length * own.length)
    steps = 1 + own.numbers[0] // 16 % MOST_STEPS
    items = [item for step in range(steps) for item in _step(plan, pool, own, step)]
    items.append(THOUGHT % (own.ids[1], pool.text(own.numbers[2], length)))
    closed = b"%d" % own.numbers[1]
    items.append(SAID % (own.ids[2], pool.text(own.numbers[3], length // 2), closed))
    tokens = length * steps
    return (
        ROW
        % (
            pool.text(0, RULES),
            b"%d" % task,
            pool.text(of_task.numbers[3], plan.prompt_length),
            own.ids[0],
            b"%d.0" % (1_773_698_120 + own.numbers[0] % 100_000),
            b"[%b]" % b",".join(items),
            b"%d" % tokens,
            b"%d" % (tokens + 2600),
            score,
            score,
            b"%d" % task,
            b"%d" % rollout,
        )
        + b"\n"
    )


def _step(plan: Plan, pool: WordPool, own: Roll, step: int) -> tuple[bytes, bytes, bytes]:
    """A thought, a call and its result. Texts in arguments and results contain no escapes."""
    here = roll(own.numbers[3], own.numbers[2], step)
    first, second, third = here.ids
    length = round(plan.answer_length * here.length)
    name = NAMES[here.numbers[1] % len(NAMES)].encode()
    plain = pool.plain
    return (
        THOUGHT % (first, pool.text(here.numbers[2], length)),
        CALL
        % (
            first[:8],
            plain.text(here.numbers[0], 60),
            plain.text(here.numbers[1], 40),
            second,
            name,
            third,
        ),
        RESULT
        % (
            second,
            first[:8],
            b"%d" % (here.numbers[3] % 1000),
            plain.text(here.numbers[3], length),
        ),
    )
