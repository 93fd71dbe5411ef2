"""NeMo Agent Toolkit: a trajectory per line, with one DPO item, as its builder makes them.

`nat.data_models.finetuning.Trajectory` loads each line. The toolkit groups trajectories by the
`example_id` of their metadata. A run of the toolkit is a file of rollouts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prefpairs.dataset.card import SIGNED
from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.ledger.running_stats import RunningStats
from prefpairs.model.json_codec import encode_pretty
from prefpairs.model.message import as_chat
from prefpairs.model.pair import Pair
from prefpairs.targets import nemo_rl
from prefpairs.targets.base import CannotExport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.nemo_rl import text_of


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example: a trajectory needs a reward."""
    pair = example.pair
    reward = pair.chosen_score if options.reward == "chosen-score" else pair.gap
    if reward is None:
        raise CannotExport("score_unknown")
    item = {
        "prompt": as_chat(example.prompt, "user"),
        "chosen_response": text_of(example.chosen),
        "rejected_response": text_of(example.rejected),
    }
    return [{"episode": [item], "reward": reward, "metadata": _metadata(pair)}]


def _metadata(pair: Pair) -> Row:
    """What the toolkit's builder says of a pair, and the id of the pair."""
    meta = pair.meta or {}
    told = {
        "dpo_type": "preference_pair",
        "score_diff": pair.gap,
        "example_id": str(meta.get("example_id", pair.group)),
        "turn_id": str(meta.get("turn_id", "")),
        "chosen_score": pair.chosen_score,
        "rejected_score": pair.rejected_score,
        "chosen_index": pair.chosen_index,
        "rejected_index": pair.rejected_index,
        "pair_id": pair.id,
    }
    if "num_candidates" in meta:
        told["num_candidates"] = meta["num_candidates"]
    return told


def read(row: Row) -> Row:
    """The pair of a row."""
    episode = row.get("episode")
    item = episode[0] if isinstance(episode, list) and len(episode) == 1 else None
    if not isinstance(item, dict):
        raise BadField("episode", episode, "one DPO item")
    return nemo_rl.read({"prompt": item.get("prompt"), **item})


def check(row: Row) -> Iterator[Finding]:
    """What the toolkit's models do with a row, in addition to the rules."""
    reward = row.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, (int, float)):
        yield Finding(Effect.NO_LOAD, "wrong_type", "reward")
    episode = row.get("episode")
    for place, item in enumerate(episode if isinstance(episode, list) else []):
        given = item if isinstance(item, dict) else {}
        for name in ("chosen_response", "rejected_response"):
            if not isinstance(given.get(name), str):
                yield Finding(Effect.NO_LOAD, "wrong_type", f"episode.{place}.{name}")


class _Figures:
    """Figures about the trajectories of a run, or of all of them."""

    def __init__(self) -> None:
        self._examples: set[str] = set()
        self._turns: set[str] = set()
        self._rewards = RunningStats()

    def add(self, group: str, row: Row) -> None:
        """Count a trajectory."""
        self._examples.add(row["metadata"]["example_id"])
        self._turns.add(group)
        self._rewards.add(row["reward"])

    @property
    def examples(self) -> int:
        """The number of examples that have a trajectory."""
        return len(self._examples)

    def counts(self, prefix: str) -> Row:
        """How many there are of each kind; every trajectory has one pair."""
        counts = {
            "examples": self.examples,
            "turns": len(self._turns),
            "trajectories": self._rewards.count,
            "dpo_pairs": self._rewards.count,
        }
        return {f"{prefix}_{name}": count for name, count in counts.items()}

    def rewards(self) -> Row:
        """Their mean, smallest and largest reward; 0 without any, as in the toolkit."""
        found = self._rewards.summary() or dict.fromkeys(("mean", "min", "max"), 0.0)
        return {f"{name}_reward": found[key] for name, key in _REWARDS.items()}


_REWARDS = {"avg": "mean", "min": "min", "max": "max"}


class Runs:
    """Figures about each run. A pair of answers from two files belongs to both of them."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, ...], _Figures] = {}
        self._all = _Figures()

    def add(self, pair: Pair, rows: Sequence[Row], /) -> None:
        """Count a trajectory."""
        origins = pair.chosen_origin, pair.rejected_origin
        files = tuple(sorted({origin.rpartition(":")[0] for origin in origins}))
        for figures in (self._all, self._runs.setdefault(files, _Figures())):
            figures.add(pair.group, rows[0])

    def history(self) -> list[Row]:
        """An entry for each run, in the order of their names."""
        return [
            {
                "run_number": number,
                "files": files,
                **self._runs[files].counts("num"),
                **self._runs[files].rewards(),
                "message": SIGNED,
            }
            for number, files in enumerate(sorted(self._runs))
        ]

    def final(self) -> Row:
        """The figures about all runs, of a dataset that was not submitted yet."""
        return {
            "status": "pending",
            "message": SIGNED,
            "progress": None,
            "num_collection_runs": len(self._runs),
            "total_trajectory_groups": sum(run.examples for run in self._runs.values()),
            "collection_summary": {**self._all.counts("total"), **self._all.rewards()},
            "job_metadata": None,
        }


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The logs of the toolkit's trainer."""
    made: dict[str, Any] = {_HISTORY: dataset.tally.history(), _FINAL: dataset.tally.final()}
    return {name: encode_pretty(content).decode() for name, content in made.items()}


_HISTORY, _FINAL = "collection_history.json", "final_metrics.json"

TARGET = Target(
    name="nat",
    rows=rows,
    columns={"episode": None, "reward": None, "metadata": None},
    extras=extras,
    extra_names=(_HISTORY, _FINAL),
    tally=Runs,
    single=True,
    templated=False,
    words=frozenset({"reward"}),
    rules=Rules(
        needs={"episode": frozenset({"list"})},
        read=read,
        check=check,
        on_missing=Effect.NO_LOAD,
        on_null=Effect.NO_LOAD,
        trains="last",
    ),
    typed=False,
)
