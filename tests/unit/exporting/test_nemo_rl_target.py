"""NeMo RL: a prompt in chat form, answers of plain text."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from target_rows import (
    CALLED,
    DEEP,
    PLAIN,
    TOLD,
    calling,
    extras_of,
    model,
    pair,
    rows_of,
    system,
    told,
    user,
)

from prefpairs.dataset.row_rules import Row
from prefpairs.targets.base import Dataset
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.nemo_rl import TARGET, read, text_of


def test_row() -> None:
    """Scores have the names that NeMo Gym's script uses."""
    assert rows_of("nemo-rl", PLAIN) == [
        {
            "prompt": [user("Q")],
            "chosen": "Aye",
            "rejected": "Nay",
            "pair_id": PLAIN.id,
            "chosen_reward": 1.0,
            "rejected_reward": 0.25,
            "reward_gap": 0.75,
        }
    ]


def test_row_of_a_trajectory() -> None:
    """Everything is written as roles and texts."""
    (row,) = rows_of("nemo-rl", DEEP._replace(chosen_score=None, rejected_score=None, gap=None))
    assert row == {
        "prompt": [
            system(f"S\n\n{TOLD}"),
            user("Q"),
            model(CALLED),
            user("<tool_response>\n1\n</tool_response>"),
        ],
        "chosen": "<think>\nhm\n</think>\n\nAye",
        "rejected": "Nay",
        "pair_id": DEEP.id,
    }


def test_first_turn_alone() -> None:
    """An answer is one message: the first in which the sides differ."""
    (row,) = rows_of("nemo-rl", pair("Q", [calling(content="Hm"), told("1"), model("A")], "B"))
    assert row["chosen"] == f"Hm\n{CALLED}"


def test_thoughts_of_earlier_turns() -> None:
    """Thoughts of earlier turns are omitted, since templates would wrap them twice."""
    earlier = [user("Q"), model("<think>hm</think>\n\nA", reasoning_content="ho"), user("R")]
    (row,) = rows_of("nemo-rl", pair(earlier, "A", "B"))
    assert row["prompt"] == [user("Q"), model("A"), user("R")]


def test_row_of_an_old_release() -> None:
    """Old releases have other names and no further columns."""
    assert rows_of("nemo-rl", PLAIN, release="0.1") == [
        {"prompt": [user("Q")], "chosen_response": "Aye", "rejected_response": "Nay"}
    ]
    assert rows_of("nemo-rl", PLAIN, release="0.4") == rows_of("nemo-rl", PLAIN)


def test_reading() -> None:
    """The names of both generations are read."""
    old = {"prompt": "Q", "chosen_response": "A", "rejected_response": "B", "k": 1}
    assert read(old) == {"prompt": "Q", "chosen": "A", "rejected": "B", "k": 1}
    assert read(rows_of("nemo-rl", PLAIN)[0]) == rows_of("nemo-rl", PLAIN)[0]


def test_text_of() -> None:
    """The text of a single message, or the text itself."""
    assert (text_of("A"), text_of([model("B")])) == ("A", "B")


TRAIN = "${oc.env:PREFERENCES}/train.jsonl"
VAL = "${oc.env:PREFERENCES}/val.jsonl"
NEVER = {"val_period": 0, "val_at_start": False}


def configuration(*sides: str, release: str, target: str = "nemo-rl") -> Any:
    """The configuration for a dataset with two rows per split."""
    return yaml.safe_load(extras_of(target, *sides, release=release)["dpo.yaml"])


@pytest.mark.parametrize(
    ("release", "sides", "data"),
    [
        (
            "0.6",
            ["train", "val"],
            {
                "train": {
                    "dataset_name": "BinaryPreferenceDataset",
                    "data_path": TRAIN,
                    "split": "train",
                },
                "validation": {
                    "dataset_name": "BinaryPreferenceDataset",
                    "data_path": VAL,
                    "split": "train",
                },
            },
        ),
        (
            "0.6",
            ["train"],
            {
                "train": {
                    "dataset_name": "BinaryPreferenceDataset",
                    "data_path": TRAIN,
                    "split": "train",
                },
                "validation": None,
            },
        ),
        (
            "0.4",
            ["train", "val"],
            {
                "dataset_name": "BinaryPreferenceDataset",
                "train_data_path": TRAIN,
                "val_data_path": VAL,
            },
        ),
        (
            "0.4",
            ["train"],
            {
                "dataset_name": "BinaryPreferenceDataset",
                "train_data_path": TRAIN,
                "val_data_path": None,
            },
        ),
        (
            "0.1",
            ["train"],
            {"dataset_name": "prefpairs", "train_data_path": TRAIN, "val_data_path": TRAIN},
        ),
    ],
)
def test_configuration(release: str, sides: list[str], data: Row) -> None:
    """The command has the release's options and the existing files."""
    found = configuration(*sides, release=release)
    assert found["data"] == data
    validates = "val" in sides
    assert found["dpo"].items() >= ({"val_period": 25} if validates else NEVER).items()
    assert found["policy"]["tokenizer"] == {"name": "${policy.model_name}"}
    # older releases have other names for the metric, which they set themselves
    assert ("metric_name" in found["checkpointing"]) == (not validates or release == "0.6")
    assert {*found} == {
        *("defaults", "data", "policy", "dpo", "checkpointing", "logger", "cluster")
    }


@pytest.mark.parametrize(("rows", "batch", "micro"), [(1, 1, 1), (100, 64, 2), (500, 128, 2)])
def test_batches_that_the_rows_fill(rows: int, batch: int, micro: int) -> None:
    """NeMo RL drops an incomplete batch, and takes no step without a complete one."""
    dataset = Dataset(
        {"train": "train.jsonl", "val": "val.jsonl"},
        {"train": rows, "val": 5},
        frozenset(),
        ExportOptions(release="0.6"),
    )
    found = yaml.safe_load(TARGET.extras(dataset)["dpo.yaml"])
    assert found["policy"]["train_global_batch_size"] == batch
    assert found["policy"]["train_micro_batch_size"] == micro
    assert found["dpo"]["val_global_batch_size"] == 4


def test_ranked_answers_have_another_loader() -> None:
    """Only the loader differs."""
    plain, ranked = (
        extras_of(name, "train", release="0.6") for name in ("nemo-rl", "nemo-rl-ranked")
    )
    assert ranked == {
        name: text.replace("BinaryPreferenceDataset", "PreferenceDataset")
        for name, text in plain.items()
    }


def test_several_nodes(tmp_path: Path) -> None:
    """Slurm runs dpo.sh in the container, with all arguments as typed."""
    folder, tree, programs = tmp_path / "da'ta 1", tmp_path / "tree", tmp_path / "bin"
    for each in (folder, tree, programs):
        each.mkdir()
    for name, text in extras_of("nemo-rl", "train", release="0.6").items():
        (folder / name).write_text(text, "utf-8")
    shown = "printf '%s\\n' \"$@\""
    sbatch = (
        f'#!/bin/sh\n{shown} "$CONTAINER" "$MOUNTS" "$GPUS_PER_NODE"\nexec bash -c "$COMMAND"\n'
    )
    for name, text in (("sbatch", sbatch), ("uv", f'#!/bin/sh\n{shown} "$PREFERENCES"\n')):
        (programs / name).write_text(text, "utf-8")
        (programs / name).chmod(0o755)
    words = ['policy.model_name=it\'s $HOME \\ "x"', "a=\nb"]
    done = subprocess.run(
        ["sh", str(folder / "slurm.sh"), *words],
        cwd=tree,
        env={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CONTAINER": "image",
            "MOUNTS": "/models:/models",
            "NODES": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        *("--nodes=3", "--gres=gpu:8", "ray.sub", "image"),
        f"{tree}:{tree},{folder}:{folder},/models:/models",
        *("8", "run", "examples/run_dpo.py", "--config", f"{folder}/dpo.yaml"),
        *("cluster.num_nodes=3", "cluster.gpus_per_node=8"),
        *"\n".join(words).splitlines(),
        str(folder),
    ]
    assert done.stderr == ""


def test_several_nodes_need_an_image(tmp_path: Path) -> None:
    """A missing image is an error before anything runs."""
    script = tmp_path / "slurm.sh"
    script.write_text(extras_of("nemo-rl", "train", release="0.6")["slurm.sh"], "utf-8")
    done = subprocess.run(
        ["sh", str(script)], env={"PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert b"CONTAINER: names the image of NeMo RL" in done.stderr
