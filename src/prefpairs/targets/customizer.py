"""NeMo Customizer of NeMo Microservices: prompt, chosen_response and rejected_response.

The NeMo Agent Toolkit writes the same rows. By default it keeps only the last message of a prompt,
which loses the system message and all earlier turns; here that requires --last-message.
"""

import json
from collections.abc import Mapping

from prefpairs.dataset.row_rules import Row, Rules
from prefpairs.model.message import as_chat
from prefpairs.targets import nemo_rl
from prefpairs.targets.base import Dataset, Example, Target
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.nemo_rl import text_of

_JOB = {
    "config": "meta/llama-3.1-8b-instruct@v1.0.0+A100",
    "dataset": {"name": "preferences", "namespace": "default"},
    "hyperparameters": {
        "training_type": "dpo",
        "finetuning_type": "all_weights",
        "epochs": 3,
        "batch_size": 4,
        "learning_rate": 5e-05,
        "dpo": {
            "ref_policy_kl_penalty": 0.1,
            "preference_loss_weight": 1.0,
            "preference_average_log_probs": False,
            "sft_loss_weight": 0.0,
        },
    },
}


def rows(example: Example, options: ExportOptions) -> list[Row]:
    """The row of an example: these three columns and no others."""
    prompt = as_chat(example.prompt, "user")
    return [
        {
            "prompt": prompt[-1]["content"] if options.last_message else prompt,
            "chosen_response": text_of(example.chosen),
            "rejected_response": text_of(example.rejected),
        }
    ]


def extras(dataset: Dataset) -> Mapping[str, str]:
    """The body of a job, for POST /v1/customization/jobs."""
    return {"job.json": json.dumps(_JOB, indent=2) + "\n"}


TARGET = Target(
    name="customizer",
    rows=rows,
    files={
        "train": "training/training_file.jsonl",
        "val": "validation/validation_file.jsonl",
        "test": "test/test_file.jsonl",
    },
    columns={"prompt": None, "chosen_response": None, "rejected_response": None},
    extras=extras,
    extra_names=("job.json",),
    single=True,
    templated=False,
    words=frozenset({"last_message"}),
    rules=Rules(
        needs={
            "prompt": frozenset({"chat", "text"}),
            "chosen_response": nemo_rl.TEXT,
            "rejected_response": nemo_rl.TEXT,
        },
        read=nemo_rl.read,
        trains="last",
    ),
)
