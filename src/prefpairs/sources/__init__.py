"""From a row of a rollout format to candidates: one module per format, all of them pure.

To add a format, write its module and name it here.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from prefpairs.errors import UnknownWord
from prefpairs.model.record_layout import RecordLayout, TableLayout

if TYPE_CHECKING:
    from prefpairs.sources.base import Source

SOURCES = {
    "nemo-gym": "NeMo Gym rollouts: responses_create_params, response.output, reward",
    "candidates": "what `prefpairs extract` writes",
    "nat": "NeMo Agent Toolkit: TTC_END steps of workflow_output.json, or steps line by line",
    "traces": "traces of agents: turns with tool errors, final_reward, dpo_pairs",
    "trinity": "Trinity-RFT experiences: eid, prompt_text and response_text or messages, reward",
    "verifiers": "verifiers 0.4 and prime-rl: traces.jsonl, an episode a line",
    "verifiers-v0": "verifiers before 0.4: results.jsonl, a rollout a line",
    "inspect-ai": "Inspect logs (.eval, .json): the samples of an evaluation, several epochs each",
    "harbor": "Harbor: the trials of a job, with the trajectories of their agents (ATIF)",
    "nemo-rl": "NeMo RL: train_data_step*.jsonl and val_data_step*.jsonl of a run's logs",
    "skyrl": "SkyRL: dumped_evals/*/*.jsonl, rollouts of an evaluation",
    "rllm": "rLLM: episodes/*/*.json, an episode a file, with the trajectories of its agents",
    "atropos": "Atropos: groups of rollouts with tokens, masks and scores, a group a line",
    "art": "ART: trajectories/*/*.parquet, or .jsonl with a group of trajectories a line",
    "swe": "trajectories that fix issues: Open-SWE-Traces, SWE-rebench, SWE-smith, SWE-agent's",
    "openhands": "OpenHands: output.jsonl of an evaluation, a run of the agent a line",
    "swe-agent": "SWE-agent: .traj files, with the results of the evaluation beside them",
    "preferences": "comparisons with a label instead of scores: HelpSteer3, Arena, Tinker, SHP",
    "reward-bench": "RewardBench 2: lists of right and wrong answers, which score 1 and 0",
    "ultrafeedback": "UltraFeedback: completions of several models, with ratings",
    "lm-eval": "lm-eval: samples_*.jsonl, a document and its answers a line",
    "openai": "completions and responses of OpenAI, vLLM and SGLang, also batch output",
    "generic": "any rows with a prompt, a response and a score, named by paths or guessed",
}
"""Every source, in the order in which `auto` tries them."""


GENERIC = "generic"
"""The source of rows that no other source recognises."""

PREFERENCES = "preferences"
"""The source of rows whose label --preference names."""

TRACES = "traces"
"""The source of the targets that are made from traces."""

KEY_COLUMNS = {
    "nemo-gym": ("responses_create_params",),
    "candidates": ("origin",),
    "nat": ("intermediate_steps", "trajectory", "payload", "event_type"),
    "traces": ("turns",),
    "trinity": ("eid",),
    "verifiers": ("traces",),
    "verifiers-v0": ("example_id", "generation_ms"),
    "inspect-ai": ("eval", "epoch"),
    "harbor": ("trial_name",),
    "nemo-rl": ("rewards", "input_lengths"),
    "skyrl": ("env_class",),
    "rllm": ("episode_id",),
    "atropos": ("masks",),
    "art": ("trajectories",),
    "swe": ("instance_id",),
    "openhands": ("test_result",),
    "swe-agent": ("history",),
    "preferences": (
        "overall_preference",
        "preference_strength",
        "conversation_a",
        "comparison",
        "human_ref_A",
    ),
    "reward-bench": ("num_correct",),
    "ultrafeedback": ("completions",),
    "lm-eval": ("filtered_resps",),
}
"""The columns of which every row of a source has at least one; the source itself looks closer."""

BESIDE_KEY_COLUMNS = {"rewards": ("content",), "completions": ("instruction", "context")}
"""Key columns that rows of one's own have, too. Beside one of these columns, such a row may be of
the source, or a pair."""

KEY_NAMES = {"openai": ("custom_id", "object")}
"""Of a source whose columns are not its own, the names of which every row has at least one: as a
column, or as a field of an output of a model."""


class Companions(NamedTuple):
    """Files that a tool writes next to its rollouts, without rollouts or with copies of them."""

    tool: str
    names: re.Pattern[str]
    """What their paths match."""
    beside: str = ""
    """The file with the rollouts, from where they are; they are read where it is not an input."""


_COMPANIONS = {
    "nemo-gym": Companions(
        "NeMo Gym",
        re.compile(
            r"_(materialized_inputs|failures|reward_profiling|aggregate_metrics)"
            r"\.jsonl?(\.gz|\.zst)?$"
        ),
    ),
    "verifiers": Companions(
        "prime-rl",
        re.compile(r"(^|/)effective/traces\.jsonl(\.gz|\.zst)?$"),
        "../all/traces.jsonl",
    ),
    "skyrl": Companions("SkyRL", re.compile(r"(^|/)aggregated_results\.jsonl$")),
    "verifiers-v0": Companions("verifiers", re.compile(r"(^|/)metadata\.json$"), "results.jsonl"),
}


LAYOUTS = (
    RecordLayout(
        "Inspect",
        re.compile(r"^samples/[^/]+\.json\Z"),
        "header.json",
        ("../header.json", "../_journal/start.json"),
    ),
    RecordLayout(
        "Harbor",
        re.compile(r"(^|/)[^/]+__[A-Za-z0-9]{7}/result\.json\Z"),
        "agent/trajectory.json",
        ("agent/trajectory.json",),
        "result.json",
    ),
    RecordLayout(
        "SWE-agent",
        re.compile(r"[^/]\.traj\Z"),
        "results.json",
        ("results.json", "../results.json", "report.json", "../report.json"),
        "preds.json",
    ),
)
"""Where the records of formats are that are more than a line of one file."""

_OF_ART = {"group_index", "group_metadata", "reward", "metrics", "metadata", "messages"}

TABLES = (TableLayout(frozenset(_OF_ART), "group_index", "trajectories"),)
"""The tables of formats in which a record is more than one row."""


def companions_of(source: str) -> list[Companions]:
    """The files that are skipped for a source; with auto, those of all."""
    names = _COMPANIONS if source == "auto" else {*_COMPANIONS} & {source}
    return [_COMPANIONS[name] for name in names]


def check_source(name: str) -> None:
    """Raise UnknownWord if no source has this name."""
    if name not in ("auto", *SOURCES):
        raise UnknownWord("source", name, ["auto", *SOURCES])


def source_named(name: str) -> "Source":
    """The source with this name; its module is imported on demand."""
    check_source(name)
    module = import_module(f"prefpairs.sources.{name.replace('-', '_')}")
    source: Source = module.SOURCE
    return source
