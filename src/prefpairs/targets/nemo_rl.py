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

TEXT = frozenset({"text"})

_SCRIPT = """#!/bin/sh
# DPO with NeMo RL on the files of this folder. Run it in a checkout of NeMo RL:
#   sh {script} policy.model_name=MODEL [OVERRIDE]...
# The tokenizer is the model's, unless policy.tokenizer.name names another one.
# A training batch is policy.train_global_batch_size pairs (128): with fewer there is no step.
{remark}here=$(cd "$(dirname "$0")" && pwd)
exec uv run examples/run_dpo.py{words} "$@"
"""


# The shipped configuration sets a tokenizer of its own, whatever the model is.
_OWN_TOKENIZER = "'policy.tokenizer.name=${policy.model_name}'"
_STAND_IN = (
    "# This release loads a validation file: it gets the training file, and never uses it.\n"
)
_NEVER_VALIDATE = ("dpo.val_period=0", "dpo.val_at_start=false", "checkpointing.metric_name=null")
"""The options without a validation set; checkpoints are then kept by age."""


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
    """The command that trains."""
    return {"dpo.sh": command(dataset, "BinaryPreferenceDataset")}


def command(dataset: Dataset, loader: str) -> str:
    """The command that trains, with the options of the release."""
    train, val = dataset.train, dataset.files.get("val")
    words = [_OWN_TOKENIZER, *_overrides(dataset.options.release, loader, train, val)]
    stands_in = dataset.options.release == OLDEST and val is None
    return _SCRIPT.format(
        script="dpo.sh",
        remark=_STAND_IN if stands_in else "",
        words="".join(f" \\\n  {word}" for word in words),
    )


def _overrides(release: str | None, loader: str, train: str, val: str | None) -> list[str]:
    """The overrides, with paths in Hydra's quotes inside those of the shell."""
    path = "'$here/{}'".format
    if release in RELEASES[:2]:
        name = "prefpairs" if release == OLDEST else loader
        words = [f"++data.dataset_name={name}", f'"++data.train_data_path={path(train)}"']
        if val is not None:
            return [*words, f'"++data.val_data_path={path(val)}"']
        stand_in = f'"++data.val_data_path={path(train)}"' if release == OLDEST else None
        return [*words, stand_in or "++data.val_data_path=null", *_NEVER_VALIDATE]
    words = [f"data.train.dataset_name={loader}", f'"+data.train.data_path={path(train)}"']
    if val is None:
        return [*words, "data.validation=null", *_NEVER_VALIDATE]
    return [
        *words,
        f"data.validation.dataset_name={loader}",
        f'"+data.validation.data_path={path(val)}"',
        "data.validation.split=train",
    ]


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
    extra_names=("dpo.sh",),
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
