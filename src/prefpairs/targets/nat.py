"""NeMo Agent Toolkit: a trajectory per line, with one DPO item, as its builder makes them.

`nat.data_models.finetuning.Trajectory` loads each line. The toolkit groups trajectories by the
`example_id` of their metadata.
"""

from collections.abc import Iterator

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.errors import BadField
from prefpairs.model.message import as_chat
from prefpairs.model.pair import Pair
from prefpairs.targets import nemo_rl
from prefpairs.targets.base import CannotExport, Example, Target
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


TARGET = Target(
    name="nat",
    rows=rows,
    columns={"episode": None, "reward": None, "metadata": None},
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
