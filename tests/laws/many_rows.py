"""Any number of rows for the laws at scale: plain dicts, made without prefpairs code.

They include all reasons for dropping rows: copies, copies with other scores, contradictions,
unknown scores, ties, equal answers, groups of one and large groups.
"""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

Row = dict[str, Any]


def lines_of(rows: Sequence[Row]) -> bytes:
    """Rows as lines of JSON."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def pairs_of(size: int, seed: int = 0) -> list[Row]:
    """This many pairs; `meta.n` numbers them, except exact copies."""
    chance = Random(seed)  # noqa: S311 - not for secrets
    scores = chance.sample(range(10 * size), size)
    rows: list[Row] = []
    for number in range(size):
        kind, before = chance.random(), chance.choice(rows) if rows else None
        asked = chance.randrange(size // 3 + 1)
        row: Row = {
            "prompt": f"Question {asked}?",
            "chosen": f"yes {number}",
            "rejected": f"no {number}",
            "group": f"g{asked // 5}",
            "chosen_score": float(scores[number]),
            "rejected_score": float(scores[number] - chance.randrange(1, 5 * size + 2)),
            "meta": {"n": number, "task": number % 97},
        }
        if before is not None and kind < 0.05:
            row = before
        elif before is not None and kind < 0.25:
            row |= {name: before[name] for name in ("prompt", "chosen", "rejected", "group")}
            if kind < 0.12:
                row |= {"chosen": before["rejected"], "rejected": before["chosen"]}
        if kind >= 0.95 or 0.20 <= kind < 0.25:
            row = {name: row[name] for name in row if not name.endswith("_score")}
        rows.append(row)
    return rows


def near_pairs_of(size: int, seed: int = 0) -> list[Row]:
    """Pairs in groups of about four that differ only in case; different groups share no word."""
    rows = pairs_of(size, seed)
    for number, row in enumerate(rows):
        about = (number * 7919) % (size // 4 + 1)
        words = [f"w{about}x{place}" for place in range(8)]
        said = " ".join(words).upper() if number % 2 else " ".join(words)
        rows[number] = {**row, "chosen": said, "prompt": f"Ask {number}?"}
    return rows


def rollouts_of(size: int, seed: int = 0, largest: int = 60) -> list[Row]:
    """This many candidates, shuffled, in groups of one to twelve and a few large ones."""
    chance = Random(seed)  # noqa: S311 - not for secrets
    rows: list[Row] = []
    group = 0
    while len(rows) < size:
        members = chance.choice([1, 2, 3, 4, 8, 8, 8, 12])
        if group % 200 == 7:
            members = largest
        for index in range(min(members, size - len(rows))):
            row: Row = {
                "group": f"g{group}",
                "prompt": f"Question {group}?",
                "response": f"answer {chance.randrange(members * 4)}",
                "score": chance.choice([chance.random(), index / 8, 0.0, 1.0]),
                "index": index,
                "origin": f"given:{len(rows) + 1}",
            }
            rows.append(row if chance.random() < 0.95 or not index else dict(rows[-1]))
        group += 1
    chance.shuffle(rows)
    return rows


def gym_rows_of(rollouts: Sequence[Row]) -> list[Row]:
    """The same rollouts in the format of NeMo Gym; some answers have two parts."""
    return [_gym_row(row, place) for place, row in enumerate(rollouts)]


def _gym_row(row: Row, place: int) -> Row:
    words = row["response"]
    cuts = [words[:3], words[3:]] if place % 10 == 0 else [words]
    return {
        "responses_create_params": {"input": [{"role": "user", "content": row["prompt"]}]},
        "response": {
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": part} for part in cuts],
                }
            ]
        },
        "reward": row["score"],
        "_ng_task_index": int(row["group"][1:]),
        "_ng_rollout_index": row["index"],
        "agent_ref": {"name": "judge"},
    }


def generic_rows_of(rollouts: Sequence[Row]) -> list[Row]:
    """The same rollouts as generic rows, without group and index."""
    return [
        {"prompt": row["prompt"], "response": row["response"], "score": row["score"]}
        for row in rollouts
    ]
