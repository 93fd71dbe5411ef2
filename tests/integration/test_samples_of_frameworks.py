"""Files written by frameworks, against the results of an independent script.

The files are next to the repository, not in it; without them these tests are skipped.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from forked_prefpairs import run

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")


class Sample(NamedTuple):
    """A file or folder, its key in the expected answers, and the options in its README."""

    folder: str
    key: str
    source: str
    words: tuple[str, ...] = ()
    path: str = ""


TRACES = "prime-rl/rollouts/step_1/train"
FILES = [
    Sample("verifiers", "v0/results.jsonl", "verifiers-v0"),
    Sample("verifiers", "v0/results.jsonl", "verifiers-v0", path="v0"),
    Sample("verifiers", "v1/traces.jsonl", "verifiers"),
    Sample("verifiers", "v1_best_of_n/traces.jsonl", "verifiers"),
    Sample("verifiers", f"{TRACES}/all/traces.jsonl", "verifiers"),
    Sample("verifiers", f"{TRACES}/all/traces.jsonl", "verifiers", path="prime-rl/rollouts"),
    Sample("verifiers", f"{TRACES}/effective/traces.jsonl", "verifiers"),
    Sample("inspect", "scene_a.eval", "inspect-ai", ("--score", "includes")),
    Sample("inspect", "scene_a_small.json", "inspect-ai", ("--score", "includes")),
    Sample("inspect", "real_popularity.eval", "inspect-ai"),
    Sample("inspect", "real_log_formats.eval", "inspect-ai"),
    Sample("harbor", "job/", "harbor", ("--score", "correct")),
    Sample("nemo-rl", "train_data_step1.jsonl", "nemo-rl"),
    Sample("nemo-rl", "val_data_step0.jsonl", "nemo-rl"),
    Sample("skyrl", "dumped_evals/openai_gsm8k.jsonl", "skyrl"),
    Sample("skyrl", "dumped_evals/openai_gsm8k.jsonl", "skyrl", path="dumped_evals"),
    Sample("rllm", "episodes/train_step_1_epoch_0/", "rllm"),
    Sample("rllm", "episodes/train_step_1_epoch_0/", "rllm", path="episodes"),
    Sample("atropos", "groups.jsonl", "atropos"),
    Sample("art", "trajectories/train/0000.jsonl", "art"),
    Sample("art", "trajectories/train/0001.parquet", "art"),
    Sample("swe", "nebius_openhands.jsonl", "swe"),
    Sample("swe", "open_swe_traces.jsonl", "swe"),
    Sample("swe", "nebius_swe_agent.jsonl", "swe"),
    Sample("swe", "swe_smith.jsonl", "swe"),
    Sample("swe", "openhands_output.jsonl", "openhands"),
    Sample("swe", "swe-agent/6e44b9__sweagenttestrepo-1c2844.traj", "swe-agent"),
    Sample("swe", "swe-agent/function_calling_simple.traj", "swe-agent"),
]


def _names(path: Path, group: str, index: int | None, origin: str) -> set[str]:
    """What the answers may call a rollout: by its line, place, task and number, trial, or id."""
    holder, _, place = origin.rpartition(":")
    line, _, number = place.partition("#")
    ids = set()
    if path.suffix == ".jsonl":
        row = json.loads(path.read_bytes().splitlines()[int(line) - 1])
        ids = {str(row.get("trajectory_id")), str(row.get("traj_id"))}
    item = int(number or 1) - 1
    names = {f"L{line}", f"L{line}.{item}", f"L{line}[{item}]", f"g{int(line) - 1}.t{item}"}
    parts = [] if group.startswith("prompt:") else json.loads(group)
    of_task = {f"{part}{sign}{index}" for part in parts for sign in "/:"}
    return {*names, *of_task, *ids, Path(holder).parent.name, f"idx{index}"}


def _rows(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("sample", FILES, ids=lambda sample: f"{sample.folder}/{sample.key}")
def test_rollouts_groups_scores_and_pairs(sample: Sample, tmp_path: Path) -> None:
    """The kept rollouts, their groups and scores, and one best and worst per group."""
    answer = json.loads((SAMPLES / sample.folder / "answer.json").read_bytes())[sample.key]
    path = SAMPLES / sample.folder / (sample.path or sample.key)
    summary = tmp_path / "summary.json"
    done = run("extract", *sample.words, str(path), "--summary", str(summary), "--quiet")
    found = json.loads(summary.read_bytes())
    assert {given["source"] for given in found["inputs"]} == {sample.source}
    assert found["candidates"]["found"] == answer["rollouts"]
    groups: dict[str, dict[str, float]] = {}
    for candidate in _rows(done.stdout):
        members = groups.setdefault(candidate["group"], {})
        name = _known(path, candidate["group"], candidate["index"], candidate["origin"], answer)
        members[name] = candidate["score"]
    expected = [
        {one["id"]: one["score"] for one in group["rollouts"] if "drop" not in one}
        for group in answer["detail"]
    ]
    assert sorted(map(sorted, groups.values())) == sorted(map(sorted, filter(None, expected)))
    assert {name: score for group in groups.values() for name, score in group.items()} == {
        name: score for group in expected for name, score in group.items()
    }
    pairs = _rows(run("pair", *sample.words, str(path), "--quiet").stdout)
    assert len(pairs) == answer["pairs"]
    of_groups = [group["pair"] for group in answer["detail"] if group["pair"]]
    for pair in pairs:
        chosen, rejected = (
            _known(path, pair["group"], pair[f"{side}_index"], pair[f"{side}_origin"], answer)
            for side in ("chosen", "rejected")
        )
        (known,) = [one for one in of_groups if chosen in one["chosen"]]
        assert rejected in known["rejected"]
        scores = pair["chosen_score"], pair["rejected_score"], pair["gap"]
        assert scores == (known["chosen_score"], known["rejected_score"], known["gap"])


def _known(path: Path, group: str, index: int | None, origin: str, answer: dict[str, Any]) -> str:
    """The name that the answers use for a rollout."""
    known = {one["id"] for task in answer["detail"] for one in task["rollouts"]}
    (name,) = known & _names(path, group, index, origin)
    return str(name)
