"""From a row of a rollout format to candidates: one module per format, all of them pure.

To add a format, write its module and name it here.
"""

from importlib import import_module

from prefpairs.errors import UnknownWord
from prefpairs.sources.base import Source

SOURCES = {
    "nemo-gym": "NeMo Gym rollouts: responses_create_params, response.output, reward",
    "candidates": "what `prefpairs extract` writes",
    "nat": "NeMo Agent Toolkit: TTC_END steps of workflow_output.json, or steps line by line",
    "traces": "traces of agents: turns with tool errors, final_reward, dpo_pairs",
    "trinity": "Trinity-RFT experiences: eid, prompt_text and response_text or messages, reward",
    "generic": "any rows with a prompt, a response and a score, named by paths or guessed",
}
"""Every source, in the order in which `auto` tries them."""


GENERIC = "generic"
"""The source of rows that no other source recognises."""

TRACES = "traces"
"""The source of the targets that are made from traces."""

KEY_COLUMNS = {
    "nemo-gym": ("responses_create_params",),
    "candidates": ("origin",),
    "nat": ("intermediate_steps", "trajectory", "payload", "event_type"),
    "traces": ("turns",),
    "trinity": ("eid",),
}
"""The columns of which every row of a source has at least one; the source itself looks closer."""


def source_named(name: str) -> Source:
    """The source with this name; its module is imported on demand."""
    if name not in SOURCES:
        raise UnknownWord("source", name, ["auto", *SOURCES])
    module = import_module(f"prefpairs.sources.{name.replace('-', '_')}")
    source: Source = module.SOURCE
    return source
