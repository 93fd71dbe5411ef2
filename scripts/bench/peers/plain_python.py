"""The script everyone writes for this job: all rows in memory, grouped, best against worst."""

import json
import sys
from collections import defaultdict
from typing import Any

MIN_GAP = 0.2


def last_user_text(messages: list[dict[str, Any]]) -> str:
    """The prompt, as text."""
    for message in reversed(messages):
        if message["role"] == "user":
            return str(message["content"])
    return ""


def final_text(output: list[dict[str, Any]]) -> str:
    """The answer, as text."""
    for item in reversed(output):
        if item["type"] == "message":
            return str(item["content"][0]["text"])
    return ""


def main() -> None:
    """Read all, pair each group, write all."""
    groups = defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            groups[json.dumps(row["responses_create_params"]["input"])].append(row)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for rows in groups.values():
            best = min(rows, key=lambda row: (-row["reward"], row["_ng_rollout_index"]))
            worst = min(rows, key=lambda row: (row["reward"], row["_ng_rollout_index"]))
            if best["reward"] - worst["reward"] < MIN_GAP:
                continue
            pair = {
                "prompt": last_user_text(best["responses_create_params"]["input"]),
                "chosen": final_text(best["response"]["output"]),
                "rejected": final_text(worst["response"]["output"]),
                "chosen_score": best["reward"],
                "rejected_score": worst["reward"],
            }
            file.write(json.dumps(pair) + "\n")


main()
