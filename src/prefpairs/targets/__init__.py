"""From a pair to rows of a trainer's format, and its files: one module per trainer, all pure.

To add a target, write its module and name it here.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prefpairs.errors import UnknownWord

if TYPE_CHECKING:
    from prefpairs.targets.base import Target, TraceTarget

TARGETS = {
    "trl": "TRL: DPO and other preference trainers; explicit prompt, chat",
    "nemo-rl": "NeMo RL: BinaryPreferenceDataset; text answers",
    "nemo-rl-ranked": "NeMo RL: PreferenceDataset; ranked answers with tool calls",
    "customizer": "NeMo Customizer of NeMo Microservices: chosen_response, rejected_response",
    "customizer-rl": "NeMo Customizer of NeMo Platform and Helix, its rl backend",
    "nat": "NeMo Agent Toolkit: a trajectory per line, with one DPO item",
    "trl-kto": "TRL: KTO; single answers with a label each",
    "openai": "OpenAI, Azure, Together and Fireworks: preferred_output, non_preferred_output",
    "llamafactory": "LLaMA-Factory: sharegpt form, with dataset_info.json",
    "ms-swift": "ms-swift: messages, rejected_messages",
    "openrlhf": "OpenRLHF: prompt, chosen and rejected in chat form",
    "axolotl": "Axolotl: chat_template.default",
    "tokens": "token ids and masks: what collators compute, for TRL's DataCollatorForPreference",
    "trinity": "Trinity-RFT: DPO from a folder of conversations",
    "trinity-experience": "Trinity-RFT: experiences in a frame (TRXP) or a SQLite buffer",
    "ultrafeedback": "the columns of ultrafeedback_binarized on the Hub",
}
"""Every target."""


_NO_PAIRS = ("nat", "trl-kto", "tokens", "trinity-experience")
PAIR_FORMATS = tuple(name for name in TARGETS if name not in _NO_PAIRS)
"""The targets whose rows can be read back as pairs."""

DEFAULT = "trl"
"""The format of rows that no line of the next table matches, and the target that hints suggest."""

KEY_COLUMNS = (
    (frozenset({"context", "completions"}), "nemo-rl-ranked"),
    (frozenset({"preferred_output"}), "openai"),
    (frozenset({"chosen_messages", "rejected_messages"}), "trinity"),
    (frozenset({"rejected_messages"}), "ms-swift"),
    (frozenset({"messages", "rejected_response"}), "ms-swift"),
    (frozenset({"conversations"}), "llamafactory"),
    (frozenset({"chosen_response"}), "customizer"),
    (frozenset({"instruction", "chosen"}), "llamafactory"),
    (frozenset({"instruction", "chosen"}), DEFAULT),
    (frozenset({"messages", "chosen"}), "ultrafeedback"),
    (frozenset({"messages", "chosen"}), "axolotl"),
)
"""The format of a row is that of the first line whose columns it has, if `looks_like` agrees."""

HOSTS = ("azure", "together", "fireworks", "openai")
"""What --host may name."""

OF_TRACES = {
    "sdpo": "traces as tokens, with and without hints before turns that fix an error",
    "composer": "batches of traces: GRPO, hint distillation and DPO, as the Composer collator",
}
"""The targets that are made from traces, not from pairs."""


CARD = "README.md"
OF_TARGETS = frozenset(
    {
        "train.jsonl",
        "val.jsonl",
        "test.jsonl",
        "training.jsonl",
        "validation.jsonl",
        "training/training_file.jsonl",
        "validation/validation_file.jsonl",
        "test/test_file.jsonl",
        "train_prefs.jsonl",
        "val_prefs.jsonl",
        "test_prefs.jsonl",
        "collection_history.json",
        "dataset_info.json",
        "dpo.sh",
        "dpo.yaml",
        "final_metrics.json",
        "job.json",
        "kto.sh",
        "slurm.sh",
    }
)
"""The files that targets write into a folder, except cards; old ones would not fit new data."""


def target_named(name: str) -> "Target":
    """The target with this name; its module is imported on demand."""
    spelled = name.replace("_", "-")
    if spelled not in TARGETS:
        raise UnknownWord("target", name, list(TARGETS))
    module = import_module(f"prefpairs.targets.{spelled.replace('-', '_')}")
    target: Target = module.TARGET
    return target


def trace_target_named(name: str) -> "TraceTarget":
    """The target with this name that is made from traces."""
    target: TraceTarget = import_module(f"prefpairs.targets.{name}").TARGET
    return target
