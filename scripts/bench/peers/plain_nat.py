"""What NAT's builder does, in plain Python: the array in memory, all pairs of each turn."""

import json
import sys
from collections import defaultdict
from itertools import combinations

MIN_GAP = 0.2


def main() -> None:
    """Read all, pair each turn, write all."""
    turns = defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as file:
        for item in json.load(file):
            for step in item["intermediate_steps"]:
                payload = step["payload"]
                if payload["event_type"] == "TTC_END" and payload["name"] == "dpo_candidate_move":
                    turns[item["id"], payload["data"]["turn_id"]].append(payload["data"])
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for candidates in turns.values():
            candidates.sort(key=lambda data: data["score"], reverse=True)
            for best, worst in combinations(candidates, 2):
                if best["score"] - worst["score"] >= MIN_GAP:
                    pair = {
                        "prompt": best["input"][-1]["content"],
                        "chosen_response": best["output"],
                        "rejected_response": worst["output"],
                    }
                    file.write(json.dumps(pair) + "\n")


main()
