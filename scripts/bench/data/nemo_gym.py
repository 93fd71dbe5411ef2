"""Rows as NeMo Gym writes them: a request, a response of reasoning and message, a reward."""

import json
from typing import Any

from bench.data.dice import TASK, reward, roll
from bench.data.plan import Plan
from bench.data.words import WordPool

REQUEST_NULLS = """
instructions max_tool_calls metadata model previous_response_id prompt reasoning
service_tier store text top_logprobs top_p truncation user stream
"""
RESPONSE_NULLS = """
background conversation max_output_tokens max_tool_calls previous_response_id prompt
prompt_cache_key reasoning safety_identifier service_tier status text top_logprobs
truncation
"""


def nulls(names: str) -> dict[str, None]:
    """Keys that are always present and always null."""
    return dict.fromkeys(names.split())


def _template() -> bytes:
    """The row with a placeholder for each text; `@` is a placeholder for a number."""
    asked = {"content": "Solve problem %b. %b", "role": "user", "type": "message"}
    thought = {"text": "\nOkay, %b", "type": "summary_text"}
    said = {"annotations": [], "text": "\n\n%b\n\nThe answer is %b.", "type": "output_text"}
    usage: dict[str, Any] = {"input_tokens": 130, "input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens": "@", "output_tokens_details": {"reasoning_tokens": 0}}
    row = {
        "responses_create_params": {"background": None, "include": None, "input": [asked]}
        | nulls(REQUEST_NULLS)
        | {"max_output_tokens": 8192, "parallel_tool_calls": True, "temperature": 1.0}
        | {"tool_choice": "auto", "tools": []},
        "response": {
            "id": "resp_%b",
            "created_at": "@",
            **nulls("error incomplete_details instructions metadata"),
            "model": "Qwen/Qwen3-8B",
            "object": "response",
            "output": [
                {
                    "id": "rs_%b",
                    "summary": [thought],
                    "type": "reasoning",
                    "encrypted_content": None,
                },
                {
                    "id": "msg_%b",
                    "content": [said | {"logprobs": None}],
                    "role": "assistant",
                    "status": "completed",
                    "type": "message",
                },
            ],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            **nulls(RESPONSE_NULLS),
            "usage": usage | {"total_tokens": "@"},
            "user": None,
        },
        "reward": "@",
        "expected_answer": "%b",
        "extracted_answer": "%b",
        "library_reward": "@",
        "judge_evaluations": None,
        "_ng_task_index": "@",
        "_ng_rollout_index": "@",
        "agent_ref": {"type": "responses_api_agents", "name": "physics_agent"},
    }
    text = json.dumps(row, separators=(",", ":"))
    return text.replace('"@"', "%b").encode() + b"\n"


TEMPLATE = _template()


def nemo_gym(plan: Plan, pool: WordPool, task: int, rollout: int) -> bytes:
    """One line."""
    of_task, own = roll(plan.seed, task, TASK), roll(plan.seed, task, rollout)
    score = b"%.3f" % reward(plan.rewards, of_task, own, rollout, plan.per_task)
    length = round(plan.answer_length * own.length)
    tokens = length // 4
    answer = b"%d" % own.numbers[1]
    return TEMPLATE % (
        b"%d" % task,
        pool.text(of_task.numbers[3], plan.prompt_length),
        own.ids[0],
        b"%d.0" % (1_773_698_120 + own.numbers[0] % 100_000),
        own.ids[1],
        pool.text(own.numbers[2], length * 2 // 3),
        own.ids[2],
        pool.text(own.numbers[3], length // 3),
        answer,
        b"%d" % tokens,
        b"%d" % (tokens + 130),
        score,
        b"%d" % of_task.numbers[1],
        answer,
        score,
        b"%d" % task,
        b"%d" % rollout,
    )
