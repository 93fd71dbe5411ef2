"""One pair to rows of a trainer's format, and its files. One module a trainer, all of them pure.

A target is added by writing its module and naming it here.
"""

from importlib import import_module

from prefpairs.errors import UnknownWord
from prefpairs.targets.base import Target

TARGETS = {
    "trl": "TRL: DPO, and the other trainers of preferences; explicit prompt, chat",
    "nemo-rl": "NeMo RL: BinaryPreferenceDataset; text answers",
    "nemo-rl-ranked": "NeMo RL: PreferenceDataset; ranked answers with tool calls",
    "customizer": "NeMo Customizer of NeMo Microservices: chosen_response, rejected_response",
    "customizer-rl": "NeMo Customizer of NeMo Platform and Helix, its rl backend",
    "trl-kto": "TRL: KTO; answers one by one, each with a label",
    "openai": "OpenAI, Azure, Together and Fireworks: preferred_output, non_preferred_output",
    "llamafactory": "LLaMA-Factory: sharegpt form, with dataset_info.json",
    "ms-swift": "ms-swift: messages, rejected_messages",
    "openrlhf": "OpenRLHF: prompt, chosen and rejected in chat form",
    "axolotl": "Axolotl: chat_template.default",
    "tokens": "token ids and masks: what collators compute, for TRL's DataCollatorForPreference",
    "trinity": "Trinity-RFT: DPO from a folder of conversations",
    "ultrafeedback": "the columns of ultrafeedback_binarized on the Hub",
}
"""Every target."""


OF_TRACES = {"sdpo": "traces as tokens, with and without hints before what mends an error"}
"""What is made of traces themselves, and not of pairs."""


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
        "dataset_info.json",
        "dpo.sh",
        "dpo.yaml",
        "job.json",
        "kto.sh",
    }
)
"""What the targets write into a folder, cards aside: files of one would lie about another."""


def target_named(name: str) -> Target:
    """The target of a name, loaded when it is asked for."""
    spelled = name.replace("_", "-")
    if spelled not in TARGETS:
        raise UnknownWord("target", name, list(TARGETS))
    module = import_module(f"prefpairs.targets.{spelled.replace('-', '_')}")
    target: Target = module.TARGET
    return target
