"""Steps as the NeMo Agent Toolkit writes them: `workflow_output.json`, one indented array."""

import json
from collections.abc import Iterator
from typing import Any

from bench.data.dice import TASK, Roll, reward, roll
from bench.data.plan import Plan
from bench.data.words import WordPool

TURNS = 5
"""The number of turns in an item; a turn is a task, its candidates are the rollouts."""


def _step() -> dict[str, Any]:
    """A step with a placeholder for each text; `@` is a placeholder for a number."""
    ancestry = {"function_id": "%b", "function_name": "ttc_move_selector"}
    tried = {"move_id": "turn_%b_move_%b", "turn_index": "@", "candidate_index": "@"}
    messages = [
        {"role": "system", "content": "You are an expert player. Answer with your next move."},
        {"role": "user", "content": "Turn %b. %b"},
    ]
    data = {"input": messages, "output": "%b <move>%b</move>", "chunk": None, "payload": None}
    return {
        "parent_id": "%b",
        "function_ancestry": ancestry | {"parent_id": "root", "parent_name": "<workflow>"},
        "payload": {
            "event_type": "TTC_END",
            "event_timestamp": 1767225600.125,
            "span_event_timestamp": 1767225600.0,
            "framework": None,
            "name": "dpo_candidate_move",
            "tags": None,
            "metadata": tried | {"is_selected": False, "player_symbol": "X", "player_value": 1},
            "data": data
            | {"turn_id": "turn_%b", "turn_index": "@", "candidate_index": "@", "score": "@"},
            "usage_info": None,
            "UUID": "%b",
        },
    }


def _indented(value: Any, depth: int) -> bytes:
    """JSON as NAT writes it, at this depth."""
    text = json.dumps(value, indent=2).replace('"@"', "%b").replace("\n", "\n" + " " * depth)
    return (" " * depth + text).encode()


STEP = _indented(_step(), 6)
ITEM = (
    b'  {\n    "id": %d,\n    "question": "Play.",\n    "answer": "Win!",\n'
    b'    "generated_answer": "Win!",\n    "intermediate_steps": [\n'
)
ITEM_END = b'\n    ],\n    "expected_intermediate_steps": []\n  }'


def nat(plan: Plan, pool: WordPool) -> Iterator[bytes]:
    """The whole array, item by item."""
    yield b"[\n"
    turns = -(-plan.rollouts // plan.per_task)
    for first in range(0, turns, TURNS):
        steps = [
            step(plan, pool, turn, candidate)
            for turn in range(first, min(first + TURNS, turns))
            for candidate in range(plan.per_task)
        ]
        yield (b",\n" if first else b"") + ITEM % (first // TURNS) + b",\n".join(steps) + ITEM_END
    yield b"\n]"


def step(plan: Plan, pool: WordPool, turn: int, candidate: int) -> bytes:
    """One candidate of one turn."""
    of_turn, own = roll(plan.seed, turn, TASK), roll(plan.seed, turn, candidate)
    numbers = (b"%d" % (turn % TURNS), b"%d" % candidate)
    turn_id = numbers[0] + b"_" + of_turn.ids[0][:8]
    score = reward(plan.rewards, of_turn, own, candidate, plan.per_task)
    return STEP % (
        _uuid(of_turn),
        _uuid(of_turn),
        turn_id,
        numbers[1],
        *numbers,
        b"%d" % turn,
        pool.text(of_turn.numbers[3], plan.prompt_length),
        pool.text(own.numbers[3], round(plan.answer_length * own.length)),
        b"%d" % own.numbers[1],
        turn_id,
        *numbers,
        b"%.3f" % score,
        _uuid(own),
    )


def _uuid(of: Roll) -> bytes:
    """An ID as uuid4 writes it."""
    signs = of.ids[1]
    return b"-".join((signs[:8], signs[8:12], signs[12:16], signs[16:20], signs[20:]))
