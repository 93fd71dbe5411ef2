"""Loads each line as a trajectory of the NeMo Agent Toolkit, with the toolkit's own models."""

import argparse
import importlib
import json
import math

import consumer_kit
from consumer_kit import Outcome


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Loads all lines, groups them by example, and writes and loads the collection."""
    models = importlib.import_module("nat.data_models.finetuning")
    rows = [
        row
        for each in consumer_kit.data_files(arguments.path)
        for row in consumer_kit.read_lines(each)
    ]
    groups: dict[str, list[object]] = {}
    for row in rows:
        trajectory = models.Trajectory.model_validate(row)
        (item,) = trajectory.episode
        if not isinstance(item, models.DPOItem):
            message = f"an episode was read as {type(item).__name__}"
            raise TypeError(message)
        groups.setdefault(trajectory.metadata["example_id"], []).append(trajectory)
        prompt = [message.model_dump() for message in item.prompt]
        outcome.show(json.dumps(prompt), item.chosen_response, item.rejected_response)
        outcome.facts["rows_changed"] = outcome.facts.get("rows_changed", 0) + (
            trajectory.model_dump(exclude={"shaped_rewards"}) != row
        )
    collection = models.TrajectoryCollection(trajectories=[*groups.values()], run_id="run")
    again = models.TrajectoryCollection.model_validate_json(collection.model_dump_json())
    loaded = [trajectory for group in again.trajectories for trajectory in group]
    outcome.rows_out = len(loaded)
    outcome.facts["finite_rewards"] = sum(math.isfinite(each.reward) for each in loaded)


if __name__ == "__main__":
    consumer_kit.run("nat_models", "nvidia-nat-core", work)
