"""What `export --to nemo-rl` writes beside the data, held against how NeMo RL reads it.

NeMo RL is on no package index. NEMO_RL_SRC names a checkout: then its own run_dpo.py runs with the
configuration of `dpo.sh`, up to setup(). NEMO_RL_PYTHON names a Python with its dependencies;
without it, modules that need them are stood in for, and no row is loaded. Without a checkout, our
file extends one of the documented keys, as OmegaConf and Hydra's own parser read them
(TRAINERS=quick).
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CONSUMERS = Path(__file__).parents[1] / "consumers"
TREE = os.environ.get("NEMO_RL_SRC", "")
MODEL = "org/Some-Model-1B"

sys.path.append(str(CONSUMERS))
from venvs import python_of  # noqa: E402 - a program, not a package

COMMON = """
dpo: {val_period: 25, val_at_start: true, max_num_steps: 150, seed: 42}
checkpointing: {enabled: true, metric_name: METRIC, keep_top_k: 3}
policy:
  model_name: meta-llama/Llama-3.2-1B-Instruct
  tokenizer: {name: meta-llama/Llama-3.2-1B-Instruct}
  train_global_batch_size: 128
  dtensor_cfg: {enabled: true}
cluster: {gpus_per_node: 1, num_nodes: 1}
logger: {log_dir: logs, monitor_gpus: true}
"""
DATA = {
    "0.3": "data: {max_input_seq_length: 1024, dataset_name: HelpSteer3}",
    "0.5": "data: {max_input_seq_length: 1024, dataset_name: HelpSteer3, shuffle: true}",
    "0.6": """data:
  max_input_seq_length: 1024
  train: {dataset_name: HelpSteer3, split: train}
  validation: {dataset_name: HelpSteer3, split: validation}
""",
}
"""The data sections of the releases' configurations, as documented."""


def release_of(tree: Path) -> str:
    """The release of a checkout."""
    text = (tree / "nemo_rl" / "package_info.py").read_text("utf-8")
    major, minor = (
        re.search(rf"^{name} = (\d+)", text, re.MULTILINE) for name in ("MAJOR", "MINOR")
    )
    assert major
    assert minor
    return f"{major[1]}.{minor[1]}"


def exported(folder: Path, target: str, release: str, sides: list[str]) -> Path:
    """A dataset of our sample pairs, with its command."""
    given, out = folder / "data", folder / "o'ut 1"
    given.mkdir()
    for side in sides:
        rows = [{"prompt": f"{side} {n}?", "chosen": "Yes.", "rejected": "No."} for n in range(3)]
        (given / f"{side}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [sys.executable, "-m", "prefpairs", "export", "-q", "--to", target]
    command += ["--release", release, str(given), "--out-dir", str(out)]
    subprocess.run(command, check=True)
    return out


def reached(out: Path, folder: Path, cwd: Path, *words: str) -> dict[str, Any]:
    """The result of `dpo.sh` with `uv run examples/run_dpo.py` replaced by this command."""
    program = folder / "bin" / "uv"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nshift {words[0]}\nexec {" ".join(words[1:])} "$@"\n', "utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    words_of_user = f"policy.model_name={MODEL}", "cluster.gpus_per_node=8"
    done = subprocess.run(
        ["sh", str(out / "dpo.sh"), *words_of_user],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check(config: dict[str, Any], out: Path, release: str, sides: list[str]) -> None:
    """Checks the model, its tokenizer, our files, and the checkpoint settings."""
    assert config["policy"]["model_name"] == MODEL
    assert config["policy"]["tokenizer"]["name"] == MODEL
    assert config["checkpointing"]["enabled"] is True
    assert config["checkpointing"]["keep_top_k"] == 3  # what is omitted here is unchanged
    assert config["dpo"]["seed"] == 42
    assert config["cluster"] == {**config["cluster"], "gpus_per_node": 8, "num_nodes": 1}
    assert config["policy"]["train_global_batch_size"] == 2  # of three rows
    data, val = config["data"], str(out / "val.jsonl")
    nested = tuple(map(int, release.split("."))) >= (0, 6)
    train = data["train"]["data_path"] if nested else data["train_data_path"]
    assert train == str(out / "train.jsonl")
    if "val" in sides:
        assert (data["validation"]["data_path"] if nested else data["val_data_path"]) == val
        assert not nested or data["validation"]["split"] == "train"
        assert config["checkpointing"]["metric_name"] is not None
        assert config["dpo"]["val_period"] > 0
        return
    if nested:
        assert data["validation"] is None
    else:  # the oldest release requires one, so it gets a file that it never uses
        assert data["val_data_path"] == (train if release < "0.4" else None)
    assert config["checkpointing"]["metric_name"] is None
    assert (config["dpo"]["val_period"], config["dpo"]["val_at_start"]) == (0, False)


SIDES = pytest.mark.parametrize("sides", [["train"], ["train", "val"]], ids="+".join)


@pytest.mark.skipif(
    os.environ.get("TRAINERS") not in ("quick", "all"), reason="TRAINERS=quick or all"
)
@SIDES
@pytest.mark.parametrize("release", DATA)
@pytest.mark.parametrize("target", ["nemo-rl", "nemo-rl-ranked"])
def test_the_configuration_extends_that_of_a_release(
    tmp_path: Path, target: str, release: str, sides: list[str]
) -> None:
    """OmegaConf loads both, Hydra accepts overrides, and the values are as expected."""
    if (target, release) == ("nemo-rl-ranked", "0.3"):
        pytest.skip("this release has no such data set")
    metric = "val_loss" if release < "0.6" else "val:validation-default_loss"
    tree = tmp_path / "check'out"
    config = tree / "examples" / "configs" / "dpo.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(COMMON.replace("METRIC", f'"{metric}"') + DATA[release], "utf-8")
    out = exported(tmp_path, target, release, sides)
    program = str(CONSUMERS / "nemo_rl_words.py")
    answer = reached(out, tmp_path, tree, "2", python_of("hydra"), program)
    check(answer["config"], out, release, sides)


@pytest.mark.skipif(not TREE, reason="NEMO_RL_SRC names no checkout of NeMo RL")
@SIDES
@pytest.mark.parametrize("target", ["nemo-rl", "nemo-rl-ranked"])
def test_its_own_script_reaches_setup(tmp_path: Path, target: str, sides: list[str]) -> None:
    """In the words of the checkout's release; files are loaded where that is possible."""
    tree = Path(TREE)
    release = release_of(tree)
    if target == "nemo-rl-ranked" and release < "0.4":
        pytest.skip("this release has no such data set")
    out = exported(tmp_path, target, release, sides)
    python = os.environ.get("NEMO_RL_PYTHON") or python_of("hydra")
    answer = reached(out, tmp_path, tree, "1", python, str(CONSUMERS / "nemo_rl_tree.py"))
    check(answer["config"], out, release, sides)
    for side, count in answer["rows"].items():
        if count is not None and side in sides:
            lines = (out / f"{side}.jsonl").read_text("utf-8").splitlines()
            assert count == len(lines)
