"""NeMo RL: PreferenceDataset. A context and two ranked completions, with tool calls.

Lower ranks are better. Tool schemas never reach its chat template, so they are written in the
system message. `reward` is where a loss that weights pairs will look for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.model.message import Text, as_chat
from prefpairs.targets.base import ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.nemo_rl import BATCH, FILES, RELEASES, SUFFIXES, check_prompt, files_to_train


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    pair = example.pair
    row: Row = {
        "context": as_chat(example.prompt, "user"),
        "completions": [
            _completion(0, example.chosen, pair.chosen_score),
            _completion(1, example.rejected, pair.rejected_score),
        ],
        "pair_id": pair.id,
    }
    if pair.gap is not None:
        row["reward_gap"] = pair.gap
    return [row]


def read(row: Row) -> Row:
    """The pair of a row: the completion with the lower rank is the chosen one."""
    completions = row.get("completions")
    if not isinstance(completions, list) or len(completions) != 2:
        raise BadField("completions", completions, "two completions")
    for place, completion in enumerate(completions):
        if not isinstance(completion, dict) or not _is_number(completion.get("rank")):
            raise BadField(f"completions.{place}.rank", completion, "a number")
    if completions[0]["rank"] == completions[1]["rank"]:
        raise BadField("completions.1.rank", completions[1]["rank"], "a rank unlike the first")
    chosen, rejected = sorted(completions, key=lambda completion: completion["rank"])
    others = {key: value for key, value in row.items() if key not in ("context", "completions")}
    scores = {
        f"{side}_score": completion["reward"]
        for side, completion in (("chosen", chosen), ("rejected", rejected))
        if completion.get("reward") is not None
    }
    answers = {"chosen": chosen.get("completion"), "rejected": rejected.get("completion")}
    return {"prompt": row.get("context"), **answers, **scores, **others}


def check(row: Row) -> Iterator[Finding]:
    """What NeMo RL does with a row, in addition to the rules."""
    if "task_name" in row:
        yield Finding(Effect.NO_LOAD, "own_task_name", "task_name")
    completions = row.get("completions")
    if not isinstance(completions, list) or len(completions) != 2:
        yield Finding(Effect.CRASH, "not_two_answers", "completions")
        return
    ranks = []
    for place, completion in enumerate(completions):
        given = completion if isinstance(completion, dict) else {}
        ranks.append(given.get("rank"))
        if not isinstance(given.get("completion"), list) or not _is_number(given.get("rank")):
            yield Finding(Effect.CRASH, "wrong_type", f"completions.{place}")
    if ranks[0] == ranks[1] and ranks[0] is not None:
        yield Finding(Effect.CRASH, "tied_ranks", "completions")
    yield from check_prompt(row, "context")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _completion(rank: int, answer: Text, score: float | None) -> dict[str, Any]:
    completion = {"rank": rank, "completion": as_chat(answer, "assistant")}
    return completion if score is None else {**completion, "reward": score}


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The configuration, and the commands that train with it."""
    return files_to_train("PreferenceDataset", dataset)


TARGET = Target(
    name="nemo-rl-ranked",
    rows=rows,
    columns={"context": None, "completions": None, "pair_id": None, "reward_gap": None},
    extras=extras,
    extra_names=FILES,
    supports=ChatSupport(calls=True, earlier_reasoning=False, names=True),
    releases=RELEASES[1:],
    rules=Rules(
        needs={"context": frozenset({"chat"}), "completions": frozenset({"list"})},
        read=read,
        check=check,
        on_empty_prompt=Effect.WARNING,
        suffixes=SUFFIXES,
        trains="last",
        batch=BATCH,
    ),
)
