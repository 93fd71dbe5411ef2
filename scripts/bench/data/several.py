"""Rows with all answers to one prompt: in lists, or in a list of objects."""

import json
from typing import Any

from bench.data.generic import generic
from bench.data.plan import Plan
from bench.data.words import WordPool


def listed(plan: Plan, pool: WordPool, task: int) -> bytes:
    """One line, with a list of answers and one of scores."""
    first, *_ = rows = _rows(plan, pool, task)
    answers, scores = [row["response"] for row in rows], [row["score"] for row in rows]
    return _line({"task": task, "prompt": first["prompt"], "responses": answers, "scores": scores})


def objects(plan: Plan, pool: WordPool, task: int) -> bytes:
    """One line, with an object for each answer."""
    first, *_ = rows = _rows(plan, pool, task)
    samples = [{"text": row["response"], "score": row["score"]} for row in rows]
    return _line({"task": task, "prompt": first["prompt"], "samples": samples})


def _rows(plan: Plan, pool: WordPool, task: int) -> list[dict[str, Any]]:
    """The same answers in rows of their own."""
    return [json.loads(generic(plan, pool, task, rollout)) for rollout in range(plan.per_task)]


def _line(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"
