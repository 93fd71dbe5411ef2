"""One row of a rollout format to candidates. One module a format, all of them pure.

A format is added by writing its module and naming it here.
"""

from importlib import import_module
from typing import cast

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


def source_named(name: str) -> Source:
    """The source of a name, loaded when it is asked for."""
    if name not in SOURCES:
        raise UnknownWord("source", name, ["auto", *SOURCES])
    module = import_module(f"prefpairs.sources.{name.replace('-', '_')}")
    return cast("Source", module)
