"""The options of a training run at NeMo Customizer, under the names of NAT's own configuration."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from prefpairs.errors import OptionsConflict, UnknownWord, UsageError
from prefpairs.option import flag, one_of, option, options, options_in
from prefpairs.submit.service_request import origin_of

_SERVICE = "Service"
_DATASET = "Dataset"
_JOB = "Job"
_DPO = "DPO"
_DEPLOYMENT = "Deployment"
_WATCH = "Waiting"
_RUN = "The run"

IMAGE = "nvcr.io/nim/meta/llama-3.1-8b-instruct"

IN_TABLES: dict[str, dict[str, str]] = {
    "hyperparameters": {
        name: name
        for name in ("training_type", "finetuning_type", "epochs", "batch_size", "learning_rate")
    },
    "hyperparameters.dpo": {
        name: name
        for name in (
            "ref_policy_kl_penalty",
            "preference_loss_weight",
            "preference_average_log_probs",
            "sft_loss_weight",
        )
    },
    "deployment_config": {
        **{name: name for name in ("image_name", "image_tag", "gpu", "deployment_name")},
        "description": "deployment_description",
    },
}
"""The options in a table of a configuration, by their names there."""

ONLY_TYPED = frozenset({"config", "nat_config", "resume", "again", "dry_run", "quiet"})
"""What belongs to a run, not to a configuration."""


def _yes_or_no(name: str, fallback: bool, panel: str, text: str) -> Any:
    """An option that is true or false, so that the command line can overrule a file."""

    def boolean(typed: Any) -> bool | None:
        return typed if typed is None else one_of(name, str(typed), "true", "false") == "true"

    said = "true" if fallback else "false"
    return option(
        None,
        metavar="true|false",
        panel=panel,
        help=f"{text} (default: {said}).",
        convert=boolean,
        fallback=fallback,
        show_default=False,
    )


@options
class SubmitOptions:
    """Where and how a dataset is trained on, and how the model is deployed."""

    config: str | None = option(
        None,
        metavar="FILE",
        panel=_RUN,
        help="A TOML file with these options: epochs = 3. hyperparameters, hyperparameters.dpo "
        "and deployment_config may be tables. ${NAME} is a variable of the environment.",
    )
    nat_config: str | None = option(
        None,
        metavar="FILE",
        panel=_RUN,
        help="A configuration of the NeMo Agent Toolkit (YAML), read as it is. Options that have "
        "no meaning here are listed.",
    )
    entity_host: str | None = option(
        None, metavar="URL", panel=_SERVICE, help="The service: https://nmp.example.com."
    )
    datastore_host: str | None = option(
        None,
        metavar="URL",
        panel=_SERVICE,
        help="Its Data Store, which takes the files (not with customizer-rl).",
    )
    storage_host: list[str] | None = option(
        None,
        metavar="URL",
        panel=_SERVICE,
        help="Another host to which the Data Store may send uploads of large files.",
    )
    token_from: str | None = option(
        None,
        metavar="FROM",
        panel=_SERVICE,
        help="Where the token is: env:NAME, huggingface (as `hf auth login` stored it), or a "
        "file. Without it, no token is sent.",
    )
    request_timeout_seconds: float = option(
        None,
        metavar="SECONDS",
        least=0.01,
        most=3600,
        panel=_SERVICE,
        help="Give up a request that has no answer after so long.",
        fallback=60.0,
    )
    namespace: str | None = option(
        None, metavar="NAME", panel=_DATASET, help="The namespace, or workspace, of everything."
    )
    create_namespace_if_missing: bool | None = _yes_or_no(
        "--create-namespace-if-missing", True, _DATASET, "Create it if it does not exist"
    )
    dataset_name: str = option(
        None,
        metavar="NAME",
        panel=_DATASET,
        help="The name of the dataset there.",
        fallback="nat-dpo",
    )
    overwrite: bool = flag(
        panel=_DATASET,
        help="Replace the files of an earlier run under this name, and delete its other files.",
    )
    customization_config: str | None = option(
        None,
        metavar="MODEL",
        panel=_JOB,
        help="What is trained: meta/llama-3.1-8b-instruct@v1.0.0+A100; with customizer-rl the "
        "model entity: default/my-model.",
    )
    output_model: str | None = option(
        None, metavar="NAME", panel=_JOB, help="The name of the new model (default: as it likes)."
    )
    training_type: str = option(
        None, choices=("dpo", "sft"), panel=_JOB, help="How it is trained.", fallback="dpo"
    )
    finetuning_type: str = option(
        None,
        choices=("all_weights", "lora"),
        panel=_JOB,
        help="Which weights are trained.",
        fallback="all_weights",
    )
    epochs: int = option(
        None, metavar="N", least=1, panel=_JOB, help="Passes over the dataset.", fallback=3
    )
    batch_size: int = option(
        None, metavar="N", least=1, panel=_JOB, help="Pairs per step.", fallback=4
    )
    learning_rate: float = option(
        None, metavar="RATE", least=0, panel=_JOB, help="The learning rate.", fallback=5e-5
    )
    ref_policy_kl_penalty: float = option(
        None,
        metavar="BETA",
        least=0,
        panel=_DPO,
        help="How strongly the model is kept near the one it started from.",
        fallback=0.1,
    )
    preference_loss_weight: float = option(
        None, metavar="W", least=0, panel=_DPO, help="Weight of the DPO loss.", fallback=1.0
    )
    preference_average_log_probs: bool | None = _yes_or_no(
        "--preference-average-log-probs",
        False,
        _DPO,
        "Average log probabilities over an answer instead of adding them up",
    )
    sft_loss_weight: float = option(
        None,
        metavar="W",
        least=0,
        panel=_DPO,
        help="Weight of an SFT loss on chosen answers.",
        fallback=0.0,
        show_default=False,
    )
    deploy_on_completion: bool | None = _yes_or_no(
        "--deploy-on-completion", False, _DEPLOYMENT, "Deploy the model when it is trained"
    )
    image_name: str = option(
        None,
        metavar="IMAGE",
        panel=_DEPLOYMENT,
        help="The container image that serves it.",
        fallback=IMAGE,
    )
    image_tag: str = option(
        None, metavar="TAG", panel=_DEPLOYMENT, help="Its tag.", fallback="latest"
    )
    gpu: int = option(None, metavar="N", least=1, panel=_DEPLOYMENT, help="GPUs.", fallback=1)
    deployment_name: str | None = option(
        None, metavar="NAME", panel=_DEPLOYMENT, help="Its name (default: that of the submission)."
    )
    deployment_description: str = option(
        None,
        metavar="TEXT",
        panel=_DEPLOYMENT,
        help="Its description.",
        fallback="Fine-tuned model deployment",
    )
    wait_for_completion: bool | None = _yes_or_no(
        "--wait-for-completion", True, _WATCH, "Wait until the job ends"
    )
    no_wait: bool = flag(panel=_WATCH, help="The same as --wait-for-completion false.")
    poll_interval_seconds: float = option(
        None,
        metavar="SECONDS",
        least=0.001,
        panel=_WATCH,
        help="Time between two looks at the status.",
        fallback=30.0,
    )
    deployment_timeout_seconds: float = option(
        None,
        metavar="SECONDS",
        least=0.001,
        panel=_WATCH,
        help="Longest wait for the deployment.",
        fallback=1800.0,
    )
    max_consecutive_status_failures: int = option(
        None,
        metavar="N",
        least=1,
        most=10,
        panel=_WATCH,
        help="Give up after so many looks without an answer.",
        fallback=3,
    )
    resume: bool = flag(
        panel=_RUN, help="Go on with an interrupted submission of this dataset, if there is one."
    )
    again: bool = flag(panel=_RUN, help="Submit a dataset that was submitted before once more.")
    dry_run: bool = flag(
        panel=_RUN, help="Print every request that would be made, without secrets; connect nowhere."
    )
    quiet: bool = flag("-q", "--quiet", panel=_RUN, help="Print only errors.")

    def check(self) -> None:
        """Raise for options that are wrong on their own."""
        for name in ("entity_host", "datastore_host"):
            if getattr(self, name) is not None:
                origin_of(f"--{name.replace('_', '-')}", getattr(self, name))
        for host in self.storage_host or []:
            origin_of("--storage-host", host)
        if self.resume and self.again:
            raise OptionsConflict("--resume", "--again", hint="omit one of them")
        if self.config is not None and self.nat_config is not None:
            raise OptionsConflict("--config", "--nat-config", hint="omit one of them")
        if self.no_wait and self.wait_for_completion:
            raise OptionsConflict("--no-wait", "--wait-for-completion true", hint="omit one")
        if self.learning_rate is not None and not self.learning_rate:
            raise UsageError("--learning-rate is 0, expected more than 0")
        for name in ("namespace", "dataset_name", "deployment_name"):
            value = getattr(self, name)
            if value is not None and not _is_name(value):
                problem = f"--{name.replace('_', '-')} {value}: expected a name"
                raise UsageError(problem, "of letters, digits, dots, hyphens and underscores")

    def over(self, other: Self) -> Self:
        """These options; where they say nothing, those of a file."""
        given = {
            known.field: getattr(self, known.field)
            for known in options_in(type(self))
            if getattr(self, known.field) != known.default
        }
        return dataclasses.replace(other, **given)

    def settled(self) -> Self:
        """The options, with the defaults of those that were not given."""
        defaults = {
            known.field: known.fallback
            for known in options_in(type(self))
            if getattr(self, known.field) is None and known.fallback is not None
        }
        if self.no_wait:
            defaults["wait_for_completion"] = False
        for name in ("entity_host", "datastore_host"):
            if (host := getattr(self, name)) is not None:
                defaults[name] = host.rstrip("/")
        return dataclasses.replace(self, **defaults)


def flattened(table: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a configuration, those in its tables included.

    >>> flattened({"namespace": "games", "hyperparameters": {"epochs": 1, "dpo": {}}})
    {'namespace': 'games', 'epochs': 1}
    """
    flat: dict[str, Any] = {}
    places = [("", table)]
    while places:
        place, inner = places.pop(0)
        for key, value in inner.items():
            name = f"{place}.{key}".lstrip(".")
            if isinstance(value, Mapping) and name in IN_TABLES:
                places.append((name, value))
            elif not place:
                flat[key] = value
            elif key not in IN_TABLES[place]:
                raise UnknownWord(f"option in [{place}]", key, [*IN_TABLES[place]])
            else:
                flat[IN_TABLES[place][key]] = value
    return flat


def _is_name(word: str) -> bool:
    """Whether a word may be part of an address: no slash, nothing that would leave the folder."""
    return word.replace("-", "").replace("_", "").replace(".", "").isalnum() and word.isascii()
