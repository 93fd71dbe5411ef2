"""Configurations of `submit`: a TOML file of its own, or one of the NeMo Agent Toolkit (YAML)."""

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from prefpairs.cli.recipe import Recipe, lines_of, refuse_twice, spelled
from prefpairs.errors import BadInput, UnknownWord, UsageError
from prefpairs.files.file_stamps import read_small_input
from prefpairs.optional_libraries import missing_library
from prefpairs.submit.service_token import Token
from prefpairs.submit.submit_options import ONLY_TYPED, SubmitOptions, flattened

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_TOKEN = "hf_token"  # noqa: S105 - the name of the option

_ADAPTER, _TRAINER, _BUILDER = (
    "nemo_customizer_trainer_adapter",
    "nemo_customizer_trainer",
    "dpo_traj_builder",
)
_ELSEWHERE = {
    "dataset_output_dir": "export --out-dir writes the dataset",
    "use_full_message_history": "export writes all messages; --last-message only the last one",
    "ttc_step_name": "pair --step-name",
    "exhaustive_pairs": "pair --strategy exhaustive or best-vs-worst",
    "min_score_diff": "pair --min-gap",
    "max_pairs_per_turn": "pair --max-pairs-per-group",
    "require_multiple_candidates": "a pair always needs two candidates",
    "reward_from_score_diff": "rows for DPO have no reward",
    "num_runs": "pair reads the files of several runs: --group-by file",
    "continue_on_collection_error": "rollouts are collected by NAT",
    "deduplicate_pairs": "dedupe",
    "max_pairs": "sample --max-pairs",
    "reward": "scores are in the rollouts",
}
"""Options of the toolkit that are about other steps, and what does it here."""


IN_RECIPES = frozenset(
    {
        *("dataset_output_dir", "use_full_message_history", "ttc_step_name", "exhaustive_pairs"),
        *("min_score_diff", "max_pairs_per_turn", "deduplicate_pairs", "max_pairs"),
    }
)
"""Those that `run` carries out when the configuration is its recipe."""

_RESULTS, _DATASET = ".tmp/nat/finetuning/eval", "customizer-data"
_VALIDATION = 0.2
"""As much as the toolkit keeps for validation."""


class Configured(NamedTuple):
    """What the command line and a configuration say together."""

    options: SubmitOptions
    token: Token
    notes: dict[str, str]
    """What is said of options that belong to other steps, by their names."""


def configured(asked: SubmitOptions) -> Configured:
    """The options, those of the command line first, then those of a file, then the defaults."""
    notes: dict[str, str] = {}
    path: str | None = None
    values: dict[str, Any] = {}
    lines: dict[tuple[str, str], str] = {}
    if asked.config is not None:
        path = asked.config
        values, lines = _read_toml(path)
    elif asked.nat_config is not None:
        path = asked.nat_config
        values, notes = _read_nat(path)
    if path is None:
        return Configured(asked.settled(), Token(asked.token_from), notes)
    written = values.pop(_TOKEN, None) or ""
    if not isinstance(written, str):
        raise UsageError(f"{path}: {_TOKEN} is no text")
    file = Recipe(path, {"": values}, lines)
    for key in values:
        if key in ONLY_TYPED:
            raise UnknownWord("option", key, ()).at(lines.get(("", key)) or path)
    options = asked.over(file.group("", SubmitOptions)).settled()
    token = Token(options.token_from, "" if options.token_from else written)
    return Configured(options, token, notes)


def _read_toml(path: str) -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
    try:
        text = read_small_input(path).decode("utf-8-sig")
        parsed = tomllib.loads(text)
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        refuse_twice(text, path)
        raise UsageError(f"{path}: {error}", "configurations are written in TOML") from None
    lines: dict[tuple[str, str], str] = {}
    for (_, key), place in lines_of(text, path).items():
        lines.setdefault(("", key), place)
    try:
        flat = flattened({spelled(key): value for key, value in parsed.items()})
    except UnknownWord as error:
        raise error.at(lines.get(("", error.word)) or path) from None
    return {key: _with_variables(value, path, key) for key, value in flat.items()}, lines


def _read_nat(path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The options of the trainer adapter that the configuration uses, and notes on all others."""
    parsed = _parsed_yaml(path)
    finetuning = _mapping(parsed.get("finetuning"))
    notes: dict[str, str] = {}
    adapter_name, adapter = _section(
        parsed, "trainer_adapters", _ADAPTER, finetuning.get("trainer_adapter"), path
    )
    if adapter is None:
        problem = f"it has no trainer adapter of the type {_ADAPTER}"
        raise BadInput(path, problem, "trainer_adapters: NAME: _type: ...")
    values: dict[str, Any] = {}
    known = {*(field for field in SubmitOptions.__dataclass_fields__), _TOKEN}
    try:
        flat = flattened({key: value for key, value in adapter.items() if key != "_type"})
    except UnknownWord as error:
        raise error.at(path) from None
    for key, value in flat.items():
        if key in known - ONLY_TYPED:
            values[key] = _with_variables(value, path, key)
        else:
            notes[key] = _note(f"trainer_adapters.{adapter_name}.{key}", key)
    trainer_name, trainer = _section(parsed, "trainers", _TRAINER, finetuning.get("trainer"), path)
    for key, value in (trainer or {}).items():
        if key == "wait_for_completion":
            values[key] = _with_variables(value, path, key)
        elif key != "_type":
            notes[key] = _note(f"trainers.{trainer_name}.{key}", key)
    builder_name, builder = _section(
        parsed, "trajectory_builders", _BUILDER, finetuning.get("trajectory_builder"), path
    )
    notes |= {
        key: _note(f"trajectory_builders.{builder_name}.{key}", key)
        for key in builder or {}
        if key != "_type"
    }
    return {key: value for key, value in values.items() if value is not None}, notes


def is_nat_config(path: str) -> bool:
    """Whether a recipe is a configuration of the toolkit, by its name."""
    return path.endswith((".yml", ".yaml"))


def nat_recipe(path: str) -> dict[str, dict[str, Any]]:
    """A configuration of the toolkit as the tables of a recipe, from rollouts to the model.

    Its [submit] names the file itself, so that no secret of it gets into a recipe.
    """
    parsed = _parsed_yaml(path)
    finetuning = _mapping(parsed.get("finetuning"))
    _, builder = _section(
        parsed, "trajectory_builders", _BUILDER, finetuning.get("trajectory_builder"), path
    )
    _, trainer = _section(parsed, "trainers", _TRAINER, finetuning.get("trainer"), path)
    _, adapter = _section(
        parsed, "trainer_adapters", _ADAPTER, finetuning.get("trainer_adapter"), path
    )
    pairing, training, sending = builder or {}, trainer or {}, adapter or {}
    general = _mapping(_mapping(parsed.get("eval")).get("general"))
    folder = _with_variables(general.get("output_dir") or _RESULTS, path, "output_dir")
    tables: dict[str, dict[str, Any]] = {
        "read": {"inputs": [f"{str(folder).rstrip('/')}/workflow_output.json"], "from": "nat"},
        "pair": {},
    }
    if "ttc_step_name" in pairing:
        tables["read"]["step_name"] = pairing["ttc_step_name"]
    every = pairing.get("exhaustive_pairs", True)
    tables["pair"]["strategy"] = "exhaustive" if every else "best-vs-worst"
    if pairing.get("min_score_diff"):
        tables["pair"]["min_gap"] = pairing["min_score_diff"]
    if every and pairing.get("max_pairs_per_turn") is not None:
        tables["pair"]["max_pairs_per_group"] = pairing["max_pairs_per_turn"]
    if training.get("deduplicate_pairs", True):
        tables["dedupe"] = {}
    if training.get("max_pairs") is not None:
        tables["sample"] = {"max_pairs": training["max_pairs"]}
    tables["split"] = {"by": "meta.example_id", "val_fraction": _VALIDATION}
    last_message = not sending.get("use_full_message_history", False)
    tables["export"] = {"to": "customizer", "last_message": last_message}
    tables["submit"] = {"nat_config": path}
    tables["write"] = {"out_dir": sending.get("dataset_output_dir") or _DATASET}
    return tables


def _parsed_yaml(path: str) -> Mapping[str, Any]:
    try:
        import yaml
    except ImportError:
        raise missing_library("--nat-config", "customizer") from None
    data = read_small_input(path)
    try:
        parsed = yaml.safe_load(data.decode("utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = "" if where is None else f" in line {where.line + 1}"
        raise BadInput(path, f"not YAML: {getattr(error, 'problem', error)}{line}") from None
    if not isinstance(parsed, Mapping):
        raise BadInput(path, "no configuration of the NeMo Agent Toolkit: it is no mapping")
    return parsed


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _section(
    parsed: Mapping[str, Any], title: str, kind: str, wanted: Any, path: str
) -> tuple[str, Mapping[str, Any] | None]:
    """The section of a kind that the configuration uses, or the only one of that kind."""
    sections = {
        str(name): section
        for name, section in _mapping(parsed.get(title)).items()
        if isinstance(section, Mapping) and section.get("_type") == kind
    }
    if wanted in sections:
        return str(wanted), sections[wanted]
    if len(sections) > 1:
        known = ", ".join(sections)
        problem = f"{title} has several of the type {kind} ({known}), and finetuning names none"
        raise BadInput(path, problem)
    return next(iter(sections.items()), ("", None))


def _note(place: str, key: str) -> str:
    told = _ELSEWHERE.get(key)
    return f"{place} has no meaning here{f': {told}' if told else ''}"


def _with_variables(value: Any, path: str, key: str) -> Any:
    """A value with the variables of the environment in it; a number if it is nothing else."""
    if isinstance(value, list):
        return [_with_variables(one, path, key) for one in value]
    if not isinstance(value, str) or not _VARIABLE.search(value):
        return value

    def replaced(found: re.Match[str]) -> str:
        given = os.environ.get(found[1], found[2])
        if given is None:
            raise UsageError(
                f"{path}: {key}: the variable {found[1]} is not set", f"export {found[1]}=..."
            )
        return given

    text = _VARIABLE.sub(replaced, value)
    if key != _TOKEN and _NUMBER.fullmatch(text):
        return float(text) if set(".eE") & {*text} else int(text)
    return {"true": True, "false": False}.get(text, text)
