"""NeMo RL: BinaryPreferenceDataset. A prompt in chat form and two answers of plain text.

Its loader puts each answer unchanged into one message, renders the prompt without tools, and trains
on the last message only. Releases up to 0.3 have other names for the answers.
"""

from collections.abc import Iterator, Mapping

from prefpairs.dataset.row_rules import Effect, Finding, Row, Rules
from prefpairs.model.message import Text, as_chat
from prefpairs.targets.base import ChatSupport, Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions

OLDEST = "0.1"
RELEASES = (OLDEST, "0.4", "0.6")
"""The releases at which its files or its options changed."""

BATCH = 128
SUFFIXES = (".jsonl", ".json", ".parquet", ".arrow", ".csv", ".txt")
"""The file name extensions that its loader knows; any other name is read as a dataset's name."""

FILES = ("dpo.sh", "dpo.yaml", "slurm.sh")
"""The files around the data."""

TEXT = frozenset({"text"})

_CONFIGURATION = """\
# DPO with NeMo RL on the files of this folder: dpo.sh says where they are (PREFERENCES).
# All that is not here is as in the checkout of NeMo RL in which it runs.
defaults: ${{oc.env:PWD}}/examples/configs/dpo.yaml

data:
{data}
policy:
  model_name: ???  # sh dpo.sh policy.model_name=MODEL
  tokenizer:
    name: ${{policy.model_name}}
  max_total_sequence_length: 1024  # NeMo RL masks pairs that are longer: they teach nothing
  train_global_batch_size: {batch}  # pairs; an incomplete batch is no step
  train_micro_batch_size: {micro}

dpo:
  reference_policy_kl_penalty: 0.05
  preference_loss_weight: 1.0
  sft_loss_weight: 0.0
  max_num_epochs: 1
  max_num_steps: 1000000  # NeMo RL's own 150 would leave out the rest of a larger dataset
{validation}
checkpointing:
  enabled: true
  checkpoint_dir: results/dpo  # a run continues from what it finds there
{metric}
logger:
  log_dir: logs
  wandb_enabled: false  # needs `wandb login`
  wandb:
    project: dpo
    name: dpo

cluster:
  gpus_per_node: 1
  num_nodes: 1
"""
_SCRIPT = """#!/bin/sh
# DPO with NeMo RL on the files of this folder. Run it in a checkout of NeMo RL:
#   sh dpo.sh policy.model_name=MODEL [cluster.gpus_per_node=8] [OVERRIDE]...
PREFERENCES=$(cd "$(dirname "$0")" && pwd)
export PREFERENCES PWD
exec uv run examples/run_dpo.py --config "$PREFERENCES/dpo.yaml" "$@"
"""
_SLURM = """#!/bin/sh
# DPO with NeMo RL on several nodes, with Slurm. Run it in a checkout of NeMo RL, which has ray.sub:
#   CONTAINER=IMAGE NODES=2 sh slurm.sh policy.model_name=MODEL [OVERRIDE]...
# GPUS_PER_NODE is 8 by default. MOUNTS adds to the checkout and this folder. SBATCH_ACCOUNT and
# SBATCH_PARTITION are needed, as ray.sub names none; they and SBATCH_TIMELIMIT are read by sbatch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${CONTAINER:?names the image of NeMo RL}"
nodes=${NODES:-2}
gpus=${GPUS_PER_NODE:-8}
quoted() { printf %s "$1" | sed "s/'/'\\\\\\\\''/g; 1s/^/'/; \\$s/\\$/'/"; }
COMMAND="sh $(quoted "$here/dpo.sh") cluster.num_nodes=$nodes cluster.gpus_per_node=$gpus"
for word in "$@"; do COMMAND="$COMMAND $(quoted "$word")"; done
MOUNTS="$PWD:$PWD,$here:$here${MOUNTS:+,$MOUNTS}"
GPUS_PER_NODE=$gpus
export COMMAND CONTAINER MOUNTS GPUS_PER_NODE
exec sbatch --nodes="$nodes" --gres="gpu:$gpus" ray.sub
"""
_VALIDATE = "  val_period: 25\n  val_at_start: true\n  val_global_batch_size: {batch}\n"
_NEVER_VALIDATE = "  val_period: 0\n  val_at_start: false\n"
_BEST = "  metric_name: val:validation-default_loss\n  higher_is_better: false\n"
_NEWEST = "  metric_name: null  # without validation, the newest checkpoints are kept\n"
_STAND_IN = "  # This release loads a validation file: it gets the training file, unused.\n"
_VALIDATION_BATCH = 8


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example."""
    prompt = as_chat(example.prompt, "user")
    chosen, rejected = text_of(example.chosen), text_of(example.rejected)
    if options.release == OLDEST:
        return [{"prompt": prompt, "chosen_response": chosen, "rejected_response": rejected}]
    row = {"prompt": prompt, "chosen": chosen, "rejected": rejected, "pair_id": example.pair.id}
    return [{**row, **rewards(example)}]


def read(row: Row) -> Row:
    """The pair of a row."""
    renamed = {"chosen_response": "chosen", "rejected_response": "rejected"}
    if "prompt" not in row:  # as in Argilla's datasets
        renamed["instruction"] = "prompt"
    return {renamed.get(key, key): value for key, value in row.items()}


def check(row: Row) -> Iterator[Finding]:
    """What NeMo RL does with a row, in addition to the rules."""
    if "chosen_response" in row and "chosen" not in row:
        yield Finding(Effect.CRASH, "old_keys", "chosen_response")
    yield from check_prompt(row, "prompt")


def check_prompt(row: Row, name: str) -> Iterator[Finding]:
    """Find tools, which never reach the model, and reasoning that its template writes twice."""
    if row.get("tools"):
        yield Finding(Effect.WARNING, "tools_unseen", "tools")
    prompt = row.get(name)
    for place, message in enumerate(prompt if isinstance(prompt, list) else []):
        given = message if isinstance(message, dict) else {}
        if given.get("role") == "assistant" and "</think>" in str(given.get("content")):
            yield Finding(Effect.WARNING, "thinking_in_prompt", f"{name}.{place}")


def text_of(answer: Text) -> str:
    """The text of an answer that is one message."""
    return answer if isinstance(answer, str) else str(answer[0]["content"])


REWARDS = dict.fromkeys(("pair_id", "chosen_reward", "rejected_reward", "reward_gap"))
"""The columns of what may travel along."""


def rewards(example: Example) -> Row:
    """The known scores, under the names that NeMo Gym's script uses."""
    pair = example.pair
    scores = {
        "chosen_reward": pair.chosen_score,
        "rejected_reward": pair.rejected_score,
        "reward_gap": pair.gap,
    }
    return {name: score for name, score in scores.items() if score is not None}


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The configuration, and the commands that train with it."""
    return files_to_train("BinaryPreferenceDataset", dataset)


def files_to_train(loader: str, dataset: Dataset) -> Mapping[str, str]:
    """The configuration for a loader, in the words of the release, and the commands."""
    release, val = dataset.options.release, dataset.files.get("val")
    batch = _batch_of(dataset, "train", BATCH)
    if val is None:
        validation, metric = _NEVER_VALIDATE, _NEWEST
    else:
        validation = _VALIDATE.format(batch=_batch_of(dataset, "val", _VALIDATION_BATCH))
        metric = _BEST if release not in RELEASES[:2] else ""  # they have names of their own
    configuration = _CONFIGURATION.format(
        data=_data(release, loader, dataset.train, val),
        batch=batch,
        micro=min(batch, 2),
        validation=validation,
        metric=metric,
    )
    return {"dpo.sh": _SCRIPT, "dpo.yaml": configuration, "slurm.sh": _SLURM}


def _batch_of(dataset: Dataset, side: str, most: int) -> int:
    """The largest power of two for which the rows of a side are enough."""
    rows = dataset.rows.get(side) or next(iter(dataset.rows.values()))
    return min(most, 1 << max(1, rows).bit_length() - 1)


def _data(release: str | None, loader: str, train: str, val: str | None) -> str:
    """The files, under the names of the release."""
    place = "${{oc.env:PREFERENCES}}/{}".format
    if release in RELEASES[:2]:
        name = "prefpairs" if release == OLDEST else loader
        lines = f"  dataset_name: {name}\n  train_data_path: {place(train)}\n"
        if val is not None:
            return f"{lines}  val_data_path: {place(val)}\n"
        stand_in = f"{_STAND_IN}  val_data_path: {place(train)}\n"
        return lines + (stand_in if release == OLDEST else "  val_data_path: null\n")
    side = f"    dataset_name: {loader}\n    data_path: {{}}\n    split: train\n".format
    lines = "  train:\n" + side(place(train))
    return lines + ("  validation: null\n" if val is None else f"  validation:\n{side(place(val))}")


TARGET = Target(
    name="nemo-rl",
    rows=rows,
    columns={
        "prompt": None,
        "chosen": None,
        "rejected": None,
        "chosen_response": None,
        "rejected_response": None,
        **REWARDS,
    },
    extras=extras,
    extra_names=FILES,
    supports=ChatSupport(earlier_reasoning=False),
    single=True,
    releases=RELEASES,
    rules=Rules(
        needs={"prompt": frozenset({"chat", "text"}), "chosen": TEXT, "rejected": TEXT},
        read=read,
        check=check,
        on_null=Effect.NOTHING,
        suffixes=SUFFIXES,
        trains="last",
        batch=BATCH,
    ),
)
